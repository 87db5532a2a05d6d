//! Writing capture files: pcapng, or pcap where the name says so.

mod behind;
mod commented;
mod copy;
mod output;
mod pcap;
mod pcapng;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::{Error, Frame, LinkType, MAX_RECORD};
use output::{Output, Sink};

pub use commented::CommentedCopy;
pub use copy::FileCopy;

/// How a capture file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Whether a pcap file is to hold nanoseconds; pcapng always does. Some old readers know only
    /// microseconds, so switch it off where the source's
    /// [`Resolution`](crate::Resolution) does not need them.
    pub nanoseconds: bool,
    /// The snaplen to put into the header, in bytes.
    pub snaplen: u32,
    /// The program's name, which pcapng records.
    pub application: String,
    /// Whether a file may leave the system's memory, all but its first GiB, as soon as it is on
    /// disk. That takes far less of the kernel's time where long files are made as fast as can be;
    /// where bursts are to be caught it is of no use, since a disk is kept busy sooner.
    pub uncached: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            nanoseconds: true,
            snaplen: 256 << 10,
            application: "roce-sniff".to_owned(),
            uncached: false,
        }
    }
}

/// A capture file being written.
///
/// Frames are gathered and written in whole records, in order. When the disk is full, the file is
/// cut back to the last whole record that fits, and the error names the file and how many frames
/// are in it.
pub struct FileWriter {
    output: Output,
    encoding: Encoding,
    options: WriterOptions,
}

enum Encoding {
    /// The link type, once the first frame has said it.
    Pcap(Option<LinkType>),
    /// The interfaces described so far: one for each link type.
    Pcapng(Vec<pcapng::Interface>),
}

impl FileWriter {
    /// Creates or replaces a file: pcap when its name ends in `.pcap` or `.cap`, else pcapng.
    ///
    /// # Errors
    /// [`Error::Create`] when the file cannot be made.
    pub fn create(path: &Path, options: &WriterOptions) -> Result<Self, Error> {
        let file = File::create(path)
            .map_err(|source| Error::Create { file: path.display().to_string(), source })?;
        Ok(Self::to_file(file, path, options))
    }

    /// Writes to a file that is open and empty; `path` is what errors call it, and says the format
    /// as for [`Self::create`].
    #[must_use]
    pub fn to_file(file: File, path: &Path, options: &WriterOptions) -> Self {
        let output = Output::new(path.display().to_string(), Sink::File(file));
        Self::new(output, Self::names_pcap(path), options)
    }

    /// Whether a name asks for pcap: it ends in `.pcap` or `.cap`.
    #[must_use]
    pub fn names_pcap(path: &Path) -> bool {
        path.extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("pcap") || end.eq_ignore_ascii_case("cap"))
    }

    /// Writes pcapng to anything that takes bytes; `name` is what errors call it.
    #[must_use]
    pub fn to_write(name: String, sink: Box<dyn Write + Send>, options: &WriterOptions) -> Self {
        Self::new(Output::new(name, Sink::Stream(sink)), false, options)
    }

    fn new(mut output: Output, is_pcap: bool, options: &WriterOptions) -> Self {
        if options.uncached {
            output.forget_behind();
        }
        let encoding = if is_pcap {
            Encoding::Pcap(None)
        } else {
            pcapng::section(output.pending(), &options.application);
            output.mark(0);
            Encoding::Pcapng(Vec::new())
        };
        Self { output, encoding, options: options.clone() }
    }

    /// Appends a frame. A time that is not known is written as 0, except in pcapng where the
    /// frame is whole and of the first link type: there it stays unknown.
    ///
    /// # Errors
    /// When the file takes no more ([`Error::Write`]), or the format cannot express the frame.
    pub fn write(&mut self, frame: &Frame<'_>) -> Result<(), Error> {
        self.output.check()?;
        let length = match u32::try_from(frame.data.len()) {
            Ok(length) if length < MAX_RECORD => length,
            _ => return Err(self.unwritable(frame, "it is longer than 16 MiB")),
        };
        match &mut self.encoding {
            Encoding::Pcap(link_type) => {
                let first = *link_type.get_or_insert_with(|| {
                    pcap::header(self.output.pending(), frame.link_type, &self.options);
                    frame.link_type
                });
                if first != frame.link_type {
                    let file = self.output.name().to_owned();
                    return Err(Error::SeveralLinkTypes { file, first, second: frame.link_type });
                }
                let nanoseconds = self.options.nanoseconds;
                if !pcap::record(self.output.pending(), frame, length, nanoseconds) {
                    return Err(self.unwritable(frame, "its time is beyond the year 2106"));
                }
            }
            Encoding::Pcapng(interfaces) => {
                let name = (frame.link_type, 0);
                let Some(id) =
                    pcapng::interface(self.output.pending(), interfaces, name, &self.options)
                else {
                    return Err(self.unwritable(frame, "its link type is above 65535"));
                };
                pcapng::packet(self.output.pending(), frame, length, id, "");
            }
        }
        self.output.mark(1);
        self.output.flush_if_full()
    }

    fn unwritable(&self, frame: &Frame<'_>, what: &'static str) -> Error {
        Error::Unwritable { file: self.output.name().to_owned(), number: frame.number, what }
    }

    /// Hands everything gathered to the system.
    ///
    /// # Errors
    /// [`Error::Write`] when the file takes no more.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.output.flush()
    }

    /// Ends the file; returns how many frames are in it. Dropping the writer writes the rest too,
    /// but cannot tell of an error.
    ///
    /// # Errors
    /// [`Error::Write`] when the file takes no more.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.complete();
        self.output.flush()?;
        Ok(self.output.frames())
    }

    /// A pcap file without frames still has a header.
    fn complete(&mut self) {
        if let Encoding::Pcap(link_type @ None) = &mut self.encoding {
            *link_type = Some(LinkType::ETHERNET);
            pcap::header(self.output.pending(), LinkType::ETHERNET, &self.options);
            self.output.mark(0);
        }
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.complete();
        // Nobody is left to tell; `finish` is for those who want to know.
        let _ = self.output.flush();
    }
}

/// Whether two paths lead to the same file, as when a capture would be written over itself.
#[must_use]
pub fn same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| -> io::Result<_> {
        use std::os::unix::fs::MetadataExt;
        let meta = path.metadata()?;
        Ok((meta.is_file(), meta.dev(), meta.ino()))
    };
    match (identity(a), identity(b)) {
        (Ok(a), Ok(b)) => a.0 && a == b,
        _ => false,
    }
}
