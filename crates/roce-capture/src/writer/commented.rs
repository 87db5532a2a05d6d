//! A pcapng file made of any capture, with comments on some of its frames.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::copy::{end_block, options, pad, padding_of, put_section};
use super::output::{Output, Sink};
use super::{WriterOptions, pcapng};
use crate::file::{ByteOrder, ENHANCED_PACKET, Form, SECTION};
use crate::{Block, Envelope, Error, Frame, MAX_RECORD};

/// The longest comment, in bytes: what its length field can say.
const MAX_COMMENT: usize = u16::MAX as usize;
/// The option of a comment.
const OPTION_COMMENT: u16 = 1;
/// Bytes of an option in front of its value.
const OPTION_HEAD: usize = 4;

/// A pcapng file being written from the parts that
/// [`FileReader::next_part`](crate::FileReader::next_part) gives, with comments on frames
/// (`opt_comment`), which Wireshark shows and filters by as `frame.comment`.
///
/// What comes from pcapng stays as it is, byte for byte: times, interfaces, names, and the comments
/// that are there already. What comes from other files is put into a section of its own. A frame
/// without a time that gets a comment has the time 0 from then on: the one kind of block that can be
/// without a time has no room for a comment.
pub struct CommentedCopy {
    output: Output,
    options: WriterOptions,
    /// The interfaces of the section that this copy has begun itself, if the last one is such.
    own: Option<Vec<pcapng::Interface>>,
    is_begun: bool,
    is_stale: fn(&[u8]) -> bool,
}

impl CommentedCopy {
    /// Creates or replaces a file.
    ///
    /// # Errors
    /// [`Error::Create`] when the file cannot be made.
    pub fn create(path: &Path, options: &WriterOptions) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file =
            File::create(path).map_err(|source| Error::Create { file: name.clone(), source })?;
        Ok(Self::new(Output::new(name, Sink::File(file)), options))
    }

    /// Writes to anything that takes bytes; `name` is what errors call it.
    #[must_use]
    pub fn to_write(name: String, sink: Box<dyn Write + Send>, options: &WriterOptions) -> Self {
        Self::new(Output::new(name, Sink::Stream(sink)), options)
    }

    fn new(output: Output, options: &WriterOptions) -> Self {
        Self { output, options: options.clone(), own: None, is_begun: false, is_stale: |_| false }
    }

    /// The same without those comments on frames that are stale: that an earlier copy had made.
    #[must_use]
    pub const fn without(mut self, is_stale: fn(&[u8]) -> bool) -> Self {
        self.is_stale = is_stale;
        self
    }

    /// Appends what carries no frame. The header of a pcap file is left out: the frames say the
    /// same.
    ///
    /// # Errors
    /// When the file takes no more ([`Error::Write`]).
    pub fn block(&mut self, block: &Block<'_>) -> Result<(), Error> {
        self.output.check()?;
        let out = self.output.pending();
        match block.kind {
            None => return Ok(()),
            Some(SECTION) => {
                put_section(out, block);
                (self.own, self.is_begun) = (None, true);
            }
            Some(_) => out.extend(block.bytes),
        }
        self.output.mark(0);
        self.output.flush_if_full()
    }

    /// Appends a frame as it is, with a comment unless that is empty. A comment of more than
    /// 65,535 bytes is cut.
    ///
    /// # Errors
    /// When the file takes no more ([`Error::Write`]), or the frame is too long for the format.
    pub fn frame(
        &mut self,
        frame: &Frame<'_>,
        envelope: &Envelope<'_>,
        comment: &str,
    ) -> Result<(), Error> {
        self.output.check()?;
        let comment = comment.get(..comment.floor_char_boundary(MAX_COMMENT)).unwrap_or_default();
        // With its comment a block must not be longer than what readers believe.
        let length = u32::try_from(frame.data.len()).ok().filter(|length| {
            comment.is_empty() && *length < MAX_RECORD || *length < MAX_RECORD >> 1
        });
        let Some(length) = length else {
            return Err(self.unwritable(frame, "it is longer than 8 MiB"));
        };
        match envelope.form {
            Form::Pcap | Form::Erf => self.new_block(frame, length, comment)?,
            _ if comment.is_empty() && !self.has_stale(envelope) => {
                let out = self.output.pending();
                out.extend(envelope.head);
                out.extend(envelope.data);
                out.extend(envelope.tail);
            }
            Form::Packet => packet(self.output.pending(), envelope, comment, self.is_stale),
            Form::Simple(_) => simple(self.output.pending(), envelope, length, comment),
        }
        self.output.mark(1);
        self.output.flush_if_full()
    }

    /// Whether the frame has a comment that is to go.
    fn has_stale(&self, envelope: &Envelope<'_>) -> bool {
        envelope.form == Form::Packet
            && comments(envelope).any(|comment| comment.is_some_and(self.is_stale))
    }

    /// A frame that was in no block before.
    fn new_block(&mut self, frame: &Frame<'_>, length: u32, comment: &str) -> Result<(), Error> {
        let interfaces = match &mut self.own {
            Some(interfaces) => interfaces,
            None => {
                pcapng::section(self.output.pending(), &self.options.application);
                self.is_begun = true;
                self.own.insert(Vec::new())
            }
        };
        let name = (frame.link_type, frame.interface);
        let Some(id) = pcapng::interface(self.output.pending(), interfaces, name, &self.options)
        else {
            return Err(self.unwritable(frame, "its link type is above 65535"));
        };
        pcapng::packet(self.output.pending(), frame, length, id, comment);
        Ok(())
    }

    fn unwritable(&self, frame: &Frame<'_>, what: &'static str) -> Error {
        Error::Unwritable { file: self.output.name().to_owned(), number: frame.number, what }
    }

    /// Ends the file; returns how many frames are in it. Dropping the copy writes the rest too,
    /// but cannot tell of an error.
    ///
    /// # Errors
    /// [`Error::Write`] when the file takes no more.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.complete();
        self.output.flush()?;
        Ok(self.output.frames())
    }

    /// A file without frames is still a capture.
    fn complete(&mut self) {
        if !self.is_begun {
            pcapng::section(self.output.pending(), &self.options.application);
            self.output.mark(0);
            self.is_begun = true;
        }
    }
}

impl Drop for CommentedCopy {
    fn drop(&mut self) {
        self.complete();
        // Nobody is left to tell; `finish` is for those who want to know.
        let _ = self.output.flush();
    }
}

/// The options of a packet block, each whole.
fn options_of<'e>(envelope: &Envelope<'e>) -> impl Iterator<Item = (u16, &'e [u8])> {
    let padding = padding_of(envelope.data.len());
    let end = envelope.tail.len().saturating_sub(4);
    options(envelope.tail.get(padding..end).unwrap_or_default(), envelope.order)
}

/// Its comments; `None` for other options.
fn comments<'e>(envelope: &Envelope<'e>) -> impl Iterator<Item = Option<&'e [u8]>> {
    let order = envelope.order;
    options_of(envelope).map(move |(code, option)| comment(code, option, order))
}

/// The text of an option that is a comment.
fn comment(code: u16, option: &[u8], order: ByteOrder) -> Option<&[u8]> {
    let [_, _, a, b] = *option.first_chunk::<OPTION_HEAD>().filter(|_| code == OPTION_COMMENT)?;
    let text = option.get(OPTION_HEAD..)?;
    Some(text.get(..usize::from(order.u16([a, b]))).unwrap_or(text))
}

/// An enhanced packet block, or the obsolete one, with a comment, unless it is empty, behind the
/// options it has; without comments that are stale.
fn packet(out: &mut Vec<u8>, envelope: &Envelope<'_>, new: &str, is_stale: fn(&[u8]) -> bool) {
    let start = out.len();
    let order = envelope.order;
    out.extend(envelope.head);
    out.extend(envelope.data);
    let padding = padding_of(envelope.data.len());
    out.extend(envelope.tail.get(..padding).unwrap_or_default());
    let mut has_options = !new.is_empty();
    for (code, option) in options_of(envelope) {
        if !comment(code, option, order).is_some_and(is_stale) {
            out.extend(option);
            pad(out);
            has_options = true;
        }
    }
    if !new.is_empty() {
        pcapng::comment(out, new, order);
    } else if has_options {
        out.extend([0; 4]);
    }
    end_block(out, start, order);
}

/// A simple packet block has no room for options: it becomes an enhanced one.
fn simple(out: &mut Vec<u8>, envelope: &Envelope<'_>, length: u32, comment: &str) {
    let start = out.len();
    let order = envelope.order;
    for word in [ENHANCED_PACKET, 0, 0, 0, 0, length, envelope.wire_len] {
        out.extend(order.bytes(word));
    }
    out.extend(envelope.data);
    pad(out);
    pcapng::comment(out, comment, order);
    end_block(out, start, order);
}
