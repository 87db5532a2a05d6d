//! Reading capture files: one streaming reader over one buffer for every source and format.

mod buffer;
mod byte_order;
mod chunk;
mod compress;
mod damage;
mod detect;
mod erf;
mod format;
mod part;
mod pcap;
mod pcapng;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Frame, LinkType};
use buffer::Buffer;
use damage::Stop;

pub(crate) use byte_order::ByteOrder;
pub use chunk::Chunk;
pub use damage::{Damage, DamageKind};
pub use format::{Compression, Container, Format, Resolution};
pub(crate) use part::Form;
pub use part::{Block, Envelope, Part};
pub(crate) use pcapng::{ENHANCED_PACKET, INTERFACE, SECTION};

/// The longest record that is believed, in bytes: 16 MiB, as much as Wireshark accepts of a
/// pcapng block. A longer one is damage; the buffer never grows beyond it.
pub const MAX_RECORD: u32 = 16 << 20;

/// A capture file being read: pcap, pcapng or ERF; plain, gzip or zstd; told by content.
///
/// Memory: one buffer of 256 KiB, which grows only for a record that is longer, up to
/// [`MAX_RECORD`]; a zstd frame adds its window, which is refused beyond 32 MiB.
pub struct FileReader {
    name: String,
    buffer: Buffer,
    decoder: Decoder,
    format: Format,
    /// The number of the last frame delivered.
    number: u64,
    damage: Option<Damage>,
    done: bool,
    /// Whether [`Self::next_part`] has told of the file header.
    header_told: bool,
    taken: Arc<AtomicU64>,
    total: Option<u64>,
}

/// What follows the file header.
enum Decoder {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
    Erf,
}

/// Where in the buffer the next record and its frame stand.
struct Record {
    time_ns: Option<u64>,
    link_type: LinkType,
    interface: u32,
    wire_len: u32,
    /// Bytes of the record before the frame.
    head: usize,
    /// Bytes of the frame.
    captured: usize,
    /// Bytes of the whole record, what follows the frame included.
    total: usize,
}

impl FileReader {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// When it cannot be opened, is empty, is no capture, or its header makes no sense.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let (file, total) = match File::open(path).and_then(|f| f.metadata().map(|m| (f, m))) {
            Ok((_, meta)) if meta.is_dir() => return Err(Error::Directory { file: name }),
            Ok((file, meta)) => (file, meta.is_file().then_some(meta.len())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::NoSuchFile { file: name });
            }
            Err(source) => return Err(Error::Open { file: name, source }),
        };
        let mut reader = Self::from_read(name, Box::new(file))?;
        reader.total = total;
        Ok(reader)
    }

    /// Reads a capture from standard input as it comes.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn stdin() -> Result<Self, Error> {
        Self::from_read("standard input".to_owned(), Box::new(io::stdin()))
    }

    /// Reads a capture from anything that gives bytes; `name` is what errors call it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_read(name: String, source: Box<dyn Read + Send>) -> Result<Self, Error> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Box::new(Counted { source, taken: Arc::clone(&taken) });
        let opened = detect::open(counted).map_err(|fault| fault.into_error(&name))?;
        let detect::Opened { buffer, decoder, format } = opened;
        Ok(Self {
            name,
            buffer,
            decoder,
            format,
            number: 0,
            damage: None,
            done: false,
            header_told: false,
            taken,
            total: None,
        })
    }

    /// The same, its first frame numbered `first` (0 counts as 1): for reading several files as
    /// one trace.
    #[must_use]
    pub fn with_first_number(mut self, first: u64) -> Self {
        self.number = first.saturating_sub(1);
        self
    }

    /// The next frame, or `None` at the end of what can be read: then [`Self::damaged`] says
    /// whether that is the end of the file.
    ///
    /// # Errors
    /// [`Error::Read`] when the system fails to read on.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory twice")]
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Error> {
        if self.done {
            return Ok(None);
        }
        let next = match &mut self.decoder {
            // Delivered at once, the record need not pass through memory.
            Decoder::Pcap(pcap) => match pcap.next(&mut self.buffer) {
                Ok(Some(record)) => return Ok(Some(self.deliver(&record))),
                other => other,
            },
            Decoder::Pcapng(pcapng) => pcapng.next(&mut self.buffer),
            Decoder::Erf => erf::next(&mut self.buffer),
        };
        match next {
            Ok(Some(record)) => Ok(Some(self.deliver(&record))),
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(stop) => self.stop(stop).map(|()| None),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory twice")]
    fn next_record(&mut self) -> Result<Option<Record>, Stop> {
        match &mut self.decoder {
            Decoder::Pcap(pcap) => pcap.next(&mut self.buffer),
            Decoder::Pcapng(pcapng) => pcapng.next(&mut self.buffer),
            Decoder::Erf => erf::next(&mut self.buffer),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory twice")]
    fn deliver(&mut self, record: &Record) -> Frame<'_> {
        self.number = self.number.wrapping_add(1);
        let data = self.buffer.take_part(record.total, record.head, record.captured);
        Frame {
            number: self.number,
            time_ns: record.time_ns,
            link_type: record.link_type,
            wire_len: record.wire_len,
            data,
            interface: record.interface,
        }
    }

    /// Ends the reading: damage is kept for who asks, a failure of the system is an error.
    #[cold]
    fn stop(&mut self, stop: Stop) -> Result<(), Error> {
        self.done = true;
        let (offset, packet) = (self.buffer.offset(), self.number.saturating_add(1));
        match stop.settle(self.format.compression) {
            Ok(what) => {
                self.damage = Some(Damage { offset, packet, what });
                Ok(())
            }
            Err(source) => Err(Error::Read { file: self.name.clone(), offset, packet, source }),
        }
    }

    /// Why the reading ended before the end of the file, if it did. Everything before the damage
    /// has been delivered.
    #[must_use]
    pub const fn damaged(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// What kind of file it is.
    #[must_use]
    pub fn format(&self) -> Format {
        let resolution = match &self.decoder {
            Decoder::Pcap(pcap) => Some(pcap.resolution()),
            Decoder::Pcapng(pcapng) => pcapng.finest_resolution(),
            Decoder::Erf => Some(Resolution::Binary(32)),
        };
        Format { resolution, ..self.format }
    }

    /// The name that errors call it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the last frame delivered; 0 before the first.
    #[must_use]
    pub const fn last_number(&self) -> u64 {
        self.number
    }

    /// How many bytes of the input, compressed as it may be, have been worked through.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        match self.format.compression {
            Compression::None => self.buffer.offset(),
            _ => self.taken.load(Ordering::Relaxed),
        }
    }

    /// How many bytes the input has, where that is known: a file, not a pipe.
    #[must_use]
    pub const fn total_bytes(&self) -> Option<u64> {
        self.total
    }
}

/// Counts what is read from the input, below any decompression.
struct Counted {
    source: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(out)?;
        self.taken.fetch_add(u64::try_from(n).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(n)
    }
}
