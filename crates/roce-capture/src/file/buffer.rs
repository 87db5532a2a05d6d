//! The one buffer that every source is read through and every frame borrows from.
//!
//! Plain read(2) into a reused buffer rather than a mapping: a mapping dies with SIGBUS when the
//! file is truncated under it, does not work for pipes and compressed files, counts as resident
//! memory, and needs unsafe. It would not be faster either: on two million page-cached frames of
//! 130 bytes this walk, a bare walk over a mapping and pcap-parser over a mapping take the same
//! 20 to 35 ns a frame, as busy as the machine is; pcap-parser over read(2) takes 40 to 55 ns.

use std::io::{self, Read};

/// How much is asked of the source at once, in bytes. From 64 KiB to 1 MiB there is no difference
/// that can be measured; this much, and what is found out about it, fits the second-level cache of
/// most processors. That saves 7 % of the time where two threads share a reader.
const CAPACITY: usize = 256 << 10;

/// Bytes read ahead of a streaming source.
pub(super) struct Buffer {
    source: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    /// `bytes[start..end]` is read and not yet taken.
    start: usize,
    end: usize,
    /// Where `bytes` begins in the stream.
    base: u64,
    ended: bool,
    hold: Hold,
}

/// Whether what is in the buffer may move to make room for more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hold {
    Free,
    /// It may not.
    Held,
    /// It may not, and more was asked for.
    Exhausted,
}

impl Buffer {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Self {
        let bytes = vec![0; CAPACITY];
        Self { source, bytes, start: 0, end: 0, base: 0, ended: false, hold: Hold::Free }
    }

    /// What is read and not yet taken.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Where [`Self::available`] starts in the (uncompressed) stream.
    pub(super) const fn offset(&self) -> u64 {
        self.base.saturating_add(self.start as u64)
    }

    /// Sees to it that at least `needed` bytes are available; false when the stream ends first.
    /// Waits for no more than that, so that a live pipe is read as it comes.
    #[inline]
    pub(super) fn fill(&mut self, needed: usize) -> io::Result<bool> {
        if self.available().len() >= needed {
            return Ok(true);
        }
        self.refill(needed)
    }

    /// From now on nothing in the buffer moves: asking for more than there is fails.
    pub(super) const fn hold(&mut self) {
        self.hold = Hold::Held;
    }

    /// The buffer may be read into again.
    pub(super) const fn release(&mut self) {
        self.hold = Hold::Free;
    }

    /// Whether more was asked for while it was held.
    pub(super) const fn is_exhausted(&self) -> bool {
        matches!(self.hold, Hold::Exhausted)
    }

    /// Where in the buffer the next byte to be taken stands.
    pub(super) const fn position(&self) -> usize {
        self.start
    }

    /// Gives the bytes away, and goes on in others with what is not yet taken.
    pub(super) fn exchange(&mut self, others: &mut Vec<u8>) {
        let rest = self.bytes.get(self.start..self.end).unwrap_or_default();
        let len = rest.len().max(CAPACITY);
        if others.len() < len {
            others.resize(len, 0);
        }
        if let Some(front) = others.get_mut(..rest.len()) {
            front.copy_from_slice(rest);
        }
        (self.base, self.start, self.end) = (self.offset(), 0, rest.len());
        core::mem::swap(&mut self.bytes, others);
    }

    #[cold]
    fn refill(&mut self, needed: usize) -> io::Result<bool> {
        if self.hold != Hold::Free {
            self.hold = Hold::Exhausted;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.bytes.copy_within(self.start..self.end, 0);
        self.base = self.offset();
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
        while self.end < needed {
            if self.end == self.bytes.len() {
                // Grows with what really arrives, not with what a length field claims.
                let doubled = self.bytes.len().saturating_mul(2);
                self.bytes.resize(doubled.min(needed.max(CAPACITY)), 0);
            }
            let room = self.bytes.get_mut(self.end..).unwrap_or_default();
            if self.ended || room.is_empty() {
                return Ok(false);
            }
            match self.source.read(room) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end = self.end.saturating_add(n).min(self.bytes.len()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Takes the next `n` bytes, which [`Self::fill`] has seen to.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> &[u8] {
        self.take_part(n, 0, n)
    }

    /// The same; returns only `len` bytes of them, `skip` bytes from their start.
    #[inline]
    pub(super) fn take_part(&mut self, n: usize, skip: usize, len: usize) -> &[u8] {
        // Nothing can wrap that would not be out of the buffer anyway: a record has 16 MiB at most.
        let from = self.start.wrapping_add(skip);
        self.start = self.start.wrapping_add(n).min(self.end);
        let to = from.wrapping_add(len).min(self.start);
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// What was taken last, as far back as it is still there; all of it before the next [`Self::fill`].
    pub(super) fn taken(&self) -> &[u8] {
        self.bytes.get(..self.start).unwrap_or_default()
    }

    /// Gives back the source, the bytes already read from it in front.
    pub(super) fn into_source(self) -> impl Read + Send {
        let Self { source, bytes, start, end, .. } = self;
        let read = bytes.get(start..end).unwrap_or_default().to_vec();
        io::Cursor::new(read).chain(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, as a slow pipe does.
    struct Drip(u8);

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 || out.is_empty() {
                return Ok(0);
            }
            out[0] = self.0;
            self.0 -= 1;
            Ok(1)
        }
    }

    #[test]
    fn it_reads_no_further_than_asked() {
        let mut buffer = Buffer::new(Box::new(Drip(9)));
        assert!(buffer.fill(4).unwrap());
        assert_eq!(buffer.available(), [9, 8, 7, 6]);
        assert_eq!(buffer.take(3), [9, 8, 7]);
        assert_eq!(buffer.offset(), 3);
        assert!(!buffer.fill(7).unwrap());
        assert_eq!(buffer.available(), [6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn it_grows_with_what_arrives() {
        let source = io::repeat(7).take(3 * CAPACITY as u64);
        let mut buffer = Buffer::new(Box::new(source));
        assert!(!buffer.fill(1 << 40).unwrap());
        assert!(buffer.bytes.len() <= 4 * CAPACITY);
        assert_eq!(buffer.take(3 * CAPACITY).len(), 3 * CAPACITY);
        assert!(!buffer.fill(1).unwrap());
    }
}
