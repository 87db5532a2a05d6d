//! Frames of a file many at a time, to be looked at in any order or in another thread.

use super::{FileReader, Record};
use crate::{Error, Frame, LinkType};

/// Frames that stand in memory together, with the bytes of the file around them.
///
/// [`FileReader::fill_chunk`] fills it. The bytes are not copied: the reader gives the memory that
/// it has read into, and goes on in that of the chunk.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    bytes: Vec<u8>,
    /// The number of its first frame.
    first: u64,
    placed: Vec<Placed>,
}

/// Where a frame stands in the bytes, and what the file says of it.
#[derive(Clone, Copy, Debug)]
struct Placed {
    time_ns: Option<u64>,
    /// A buffer is never longer than a record and what was read ahead: 32 bits are enough.
    at: u32,
    len: u32,
    wire_len: u32,
    link_type: LinkType,
    interface: u32,
}

impl Chunk {
    /// How many frames there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.placed.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    /// Keeps the first `len` frames only.
    pub fn truncate(&mut self, len: usize) {
        self.placed.truncate(len);
    }

    /// The frame at this place, from 0.
    #[must_use]
    pub fn frame(&self, at: usize) -> Option<Frame<'_>> {
        let number = self.first.saturating_add(u64::try_from(at).ok()?);
        Some(self.placed.get(at)?.frame(number, &self.bytes))
    }

    /// The frames, in the order of the file.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.placed
            .iter()
            .zip(0..)
            .map(|(placed, at)| placed.frame(self.first.wrapping_add(at), &self.bytes))
    }
}

impl Placed {
    #[inline]
    fn frame<'c>(&self, number: u64, bytes: &'c [u8]) -> Frame<'c> {
        let Self { time_ns, link_type, wire_len, interface, .. } = *self;
        let (at, len) = (self.at as usize, self.len as usize);
        let data = bytes.get(at..at.wrapping_add(len)).unwrap_or_default();
        Frame { number, time_ns, link_type, wire_len, data, interface }
    }
}

impl FileReader {
    /// Fills the chunk with the frames that the next read of the file brings, one at least; what
    /// was in it is gone. `false` at the end of what can be read, as [`Self::next_frame`] has it.
    ///
    /// It waits for the first frame only, so a pipe is read as it comes.
    ///
    /// # Errors
    /// [`Error::Read`] when the system fails to read on.
    pub fn fill_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, Error> {
        chunk.placed.clear();
        chunk.first = self.number.saturating_add(1);
        if !self.done {
            match self.next_record() {
                Ok(Some(record)) => self.place(&record, chunk),
                Ok(None) => self.done = true,
                Err(stop) => self.stop(stop)?,
            }
        }
        if chunk.placed.is_empty() {
            return Ok(false);
        }
        // From here on nothing in the buffer may move.
        self.buffer.hold();
        while !self.done {
            match self.next_record() {
                Ok(Some(record)) => self.place(&record, chunk),
                Ok(None) => self.done = true,
                Err(_) if self.buffer.is_exhausted() => break,
                Err(stop) => {
                    self.buffer.release();
                    self.stop(stop)?;
                }
            }
        }
        self.buffer.release();
        self.buffer.exchange(&mut chunk.bytes);
        Ok(true)
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory")]
    fn place(&mut self, record: &Record, chunk: &mut Chunk) {
        self.number = self.number.saturating_add(1);
        let at = self.buffer.position().saturating_add(record.head);
        self.buffer.take(record.total);
        chunk.placed.push(Placed {
            time_ns: record.time_ns,
            at: u32::try_from(at).unwrap_or(u32::MAX),
            len: u32::try_from(record.captured).unwrap_or(0),
            wire_len: record.wire_len,
            link_type: record.link_type,
            interface: record.interface,
        });
    }
}
