//! A capture written in the form of the one it is made from: other bytes in the frames, and times,
//! interfaces, comments and whatever else the file holds as they were.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::output::{Output, Sink};
use crate::file::{ByteOrder, ENHANCED_PACKET, Form, INTERFACE, SECTION};
use crate::{Block, Envelope, Error, Frame, MAX_RECORD};

const INTERFACE_STATISTICS: u32 = 5;

/// Bytes of a block in front of its body.
const BLOCK_HEAD: usize = 8;
/// Bytes of the bodies in front of their options.
const SECTION_BODY: usize = 16;
const INTERFACE_BODY: usize = 8;
const STATISTICS_BODY: usize = 12;

/// Where a packet block says its lengths.
const LENGTH: usize = 4;
const CAPTURED: usize = 20;
const WIRE: usize = 24;
/// Where a simple packet block says its length on the wire.
const SIMPLE_WIRE: usize = 8;
/// Where a pcap record says its lengths.
const PCAP_CAPTURED: usize = 8;
const PCAP_WIRE: usize = 12;

/// The option of a packet block with a sum over its bytes.
const OPTION_HASH: u16 = 3;
/// Options of packets that name nothing and nobody: flags, drops, number, queue, verdict.
const PACKET_OPTIONS: [u16; 5] = [2, 4, 5, 6, 7];
/// Those of interfaces: speed, resolution, zone, length of the FCS, time offset.
const INTERFACE_OPTIONS: [u16; 5] = [8, 9, 10, 13, 14];
/// Those of statistics: times and counts.
const STATISTICS_OPTIONS: [u16; 7] = [2, 3, 4, 5, 6, 7, 8];

/// A copy of a capture being written, pcap of pcap or pcapng of pcapng, from the parts that
/// [`FileReader::next_part`](crate::FileReader::next_part) gives.
///
/// What is copied without a change comes out byte for byte, with one exception: a section that
/// says its length in bytes says after that it is unknown.
pub struct FileCopy {
    output: Output,
    nameless: bool,
    scratch: Vec<u8>,
}

impl FileCopy {
    /// Creates or replaces a file.
    ///
    /// # Errors
    /// [`Error::Create`] when the file cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = File::create(path)
            .map_err(|source| Error::Create { file: path.display().to_string(), source })?;
        Ok(Self::to_file(file, path))
    }

    /// Writes to a file that is open and empty; `path` is what errors call it.
    #[must_use]
    pub fn to_file(file: File, path: &Path) -> Self {
        Self::new(Output::new(path.display().to_string(), Sink::File(file)))
    }

    /// Writes to anything that takes bytes; `name` is what errors call it.
    #[must_use]
    pub fn to_write(name: String, sink: Box<dyn Write + Send>) -> Self {
        Self::new(Output::new(name, Sink::Stream(sink)))
    }

    const fn new(output: Output) -> Self {
        Self { output, nameless: false, scratch: Vec::new() }
    }

    /// The same without what may name people, hosts and their networks: comments, names and
    /// addresses of interfaces, systems and programs, name resolutions, secrets, and all blocks
    /// and options whose content is not known here.
    #[must_use]
    pub const fn nameless(mut self) -> Self {
        self.nameless = true;
        self
    }

    /// Appends what carries no frame.
    ///
    /// # Errors
    /// When the file takes no more ([`Error::Write`]).
    pub fn block(&mut self, block: &Block<'_>) -> Result<(), Error> {
        self.output.check()?;
        let out = self.output.pending();
        match block.kind {
            None => out.extend(block.bytes),
            Some(SECTION) => self.section(block),
            Some(INTERFACE) if self.nameless => {
                nameless_block(out, block, INTERFACE_BODY, &INTERFACE_OPTIONS);
            }
            Some(INTERFACE_STATISTICS) if self.nameless => {
                nameless_block(out, block, STATISTICS_BODY, &STATISTICS_OPTIONS);
            }
            Some(_) if self.nameless => {}
            Some(_) => out.extend(block.bytes),
        }
        self.output.mark(0);
        self.output.flush_if_full()
    }

    fn section(&mut self, block: &Block<'_>) {
        let out = self.output.pending();
        if self.nameless {
            let start = out.len();
            nameless_block(out, block, SECTION_BODY, &[]);
            forget_length(out, start);
        } else {
            put_section(out, block);
        }
    }

    /// Appends a frame in the envelope of the frame it was made from: `frame.data` and
    /// `frame.wire_len` may be others.
    ///
    /// # Errors
    /// When the file takes no more ([`Error::Write`]), or the frame is too long for the format.
    pub fn frame(&mut self, frame: &Frame<'_>, envelope: &Envelope<'_>) -> Result<(), Error> {
        self.output.check()?;
        let captured = match u32::try_from(frame.data.len()) {
            // A block and its options must not be longer than what readers believe.
            Ok(len) if len < MAX_RECORD >> 1 || frame.data.len() <= envelope.data.len() => len,
            _ => {
                let (file, number) = (self.output.name().to_owned(), frame.number);
                return Err(Error::Unwritable { file, number, what: "it is longer than 8 MiB" });
            }
        };
        let lengths = (captured, frame.wire_len.max(captured));
        let out = self.output.pending();
        match envelope.form {
            Form::Erf => {
                out.extend(frame.data);
                if frame.data.len() == envelope.data.len() {
                    out.extend(envelope.tail);
                }
            }
            Form::Pcap => {
                let start = out.len();
                out.extend(envelope.head);
                set_lengths(out, start, envelope, lengths, (PCAP_CAPTURED, PCAP_WIRE));
                out.extend(frame.data);
            }
            Form::Packet => packet(out, &mut self.scratch, frame, envelope, lengths, self.nameless),
            Form::Simple(snaplen) => simple(out, frame, envelope, lengths, snaplen),
        }
        self.output.mark(1);
        self.output.flush_if_full()
    }

    /// Ends the file; returns how many frames are in it. Dropping the copy writes the rest too,
    /// but cannot tell of an error.
    ///
    /// # Errors
    /// [`Error::Write`] when the file takes no more.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.output.flush()?;
        Ok(self.output.frames())
    }

    /// Hands everything gathered to the system.
    ///
    /// # Errors
    /// [`Error::Write`] when the file takes no more.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.output.flush()
    }
}

impl Drop for FileCopy {
    fn drop(&mut self) {
        // Nobody is left to tell; `finish` is for those who want to know.
        let _ = self.output.flush();
    }
}

/// Appends the header of a section.
pub(super) fn put_section(out: &mut Vec<u8>, block: &Block<'_>) {
    let start = out.len();
    out.extend(block.bytes);
    forget_length(out, start);
}

/// The length that a section says of itself would be wrong after any change.
fn forget_length(out: &mut [u8], start: usize) {
    // Byte-order mark and version stand in front of it.
    let field = start.saturating_add(BLOCK_HEAD).saturating_add(8);
    put(out, field, &[0xff; 8]);
}

/// Writes the lengths into the head that begins at `start`, where they have changed.
fn set_lengths(
    out: &mut [u8],
    start: usize,
    envelope: &Envelope<'_>,
    (captured, wire): (u32, u32),
    (captured_at, wire_at): (usize, usize),
) {
    let order = envelope.order;
    if usize::try_from(captured) != Ok(envelope.data.len()) {
        put(out, start.saturating_add(captured_at), &order.bytes(captured));
    }
    if wire != envelope.wire_len {
        put(out, start.saturating_add(wire_at), &order.bytes(wire));
    }
}

/// An enhanced packet block, or the obsolete one.
fn packet(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    frame: &Frame<'_>,
    envelope: &Envelope<'_>,
    lengths: (u32, u32),
    nameless: bool,
) {
    let start = out.len();
    out.extend(envelope.head);
    set_lengths(out, start, envelope, lengths, (CAPTURED, WIRE));
    out.extend(frame.data);
    let padding = padding_of(envelope.data.len());
    let options = envelope.tail.get(padding..envelope.tail.len().saturating_sub(4));
    let mut options = options.unwrap_or_default();
    if frame.data.len() == envelope.data.len() {
        out.extend(envelope.tail.get(..padding).unwrap_or_default());
    } else {
        pad(out);
    }
    if nameless {
        keep_options(scratch, options, envelope.order, |code| PACKET_OPTIONS.contains(&code));
        options = scratch;
    } else if frame.data != envelope.data && has_option(options, envelope.order, OPTION_HASH) {
        // It is a sum over the bytes that were there before.
        keep_options(scratch, options, envelope.order, |code| code != OPTION_HASH);
        options = scratch;
    }
    out.extend(options);
    end_block(out, start, envelope.order);
}

/// A simple packet block; one that cannot say what was captured becomes an enhanced one without a
/// time, the only form that can.
fn simple(
    out: &mut Vec<u8>,
    frame: &Frame<'_>,
    envelope: &Envelope<'_>,
    (captured, wire): (u32, u32),
    snaplen: u32,
) {
    let start = out.len();
    let implied = if snaplen == 0 { wire } else { wire.min(snaplen) };
    let order = envelope.order;
    if implied == captured {
        out.extend(envelope.head);
        if wire != envelope.wire_len {
            put(out, start.saturating_add(SIMPLE_WIRE), &order.bytes(wire));
        }
    } else {
        for word in [ENHANCED_PACKET, 0, 0, 0, 0, captured, wire] {
            out.extend(order.bytes(word));
        }
    }
    out.extend(frame.data);
    if frame.data.len() == envelope.data.len() {
        out.extend(envelope.tail.get(..padding_of(envelope.data.len())).unwrap_or_default());
    }
    pad(out);
    end_block(out, start, order);
}

/// A block with those of its options that stay.
fn nameless_block(out: &mut Vec<u8>, block: &Block<'_>, body: usize, stay: &[u16]) {
    let start = out.len();
    let options_at = BLOCK_HEAD.saturating_add(body);
    let end = block.bytes.len().saturating_sub(4);
    out.extend(block.bytes.get(..options_at).unwrap_or_default());
    let mut kept = Vec::new();
    let options = block.bytes.get(options_at..end).unwrap_or_default();
    keep_options(&mut kept, options, block.order, |code| stay.contains(&code));
    out.extend(kept);
    end_block(out, start, block.order);
}

/// Appends the length of the block that begins at `start`, there and at its beginning.
pub(super) fn end_block(out: &mut Vec<u8>, start: usize, order: ByteOrder) {
    let total = out.len().saturating_sub(start).saturating_add(4);
    let length = order.bytes(u32::try_from(total).unwrap_or(u32::MAX));
    out.extend(length);
    put(out, start.saturating_add(LENGTH), &length);
}

/// The options one after the other: code and the whole of it, header and padding included.
pub(super) fn options(mut bytes: &[u8], order: ByteOrder) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let &[a, b, c, d] = bytes.first_chunk()?;
        let (code, len) = (order.u16([a, b]), usize::from(order.u16([c, d])));
        let whole = len.next_multiple_of(4).saturating_add(4);
        // The padding of the last one may be missing.
        let (option, rest) = bytes.split_at_checked(whole).unwrap_or((bytes, &[]));
        bytes = rest;
        (code != 0).then_some((code, option))
    })
}

fn has_option(bytes: &[u8], order: ByteOrder, wanted: u16) -> bool {
    options(bytes, order).any(|(code, _)| code == wanted)
}

/// Puts into `kept` the options whose code passes, and the end of options if there are any.
fn keep_options(kept: &mut Vec<u8>, bytes: &[u8], order: ByteOrder, passes: impl Fn(u16) -> bool) {
    kept.clear();
    for (_, option) in options(bytes, order).filter(|(code, _)| passes(*code)) {
        kept.extend(option);
        pad(kept);
    }
    if !kept.is_empty() {
        kept.extend([0; 4]);
    }
}

/// How many bytes are missing to a multiple of 4.
pub(super) const fn padding_of(len: usize) -> usize {
    len.next_multiple_of(4).saturating_sub(len)
}

/// Pads to a multiple of 4; everything in a pcapng file begins at one.
pub(super) fn pad(out: &mut Vec<u8>) {
    let len = out.len().saturating_add(padding_of(out.len()));
    out.resize(len, 0);
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    let end = at.saturating_add(bytes.len());
    if let Some(room) = out.get_mut(at..end) {
        room.copy_from_slice(bytes);
    }
}
