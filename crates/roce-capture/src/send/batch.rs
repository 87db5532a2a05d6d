//! Frames that are handed to the kernel together.

use std::ops::Range;

/// Frames that wait to be sent, and their numbers.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    frames: Vec<(u64, Range<usize>)>,
}

impl Batch {
    /// How many frames make it full.
    pub const FULL: usize = 64;

    /// Adds a frame: its number, for errors, and its bytes from the Ethernet header on, without
    /// check sequence.
    pub fn push(&mut self, number: u64, frame: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.frames.push((number, start..self.bytes.len()));
    }

    /// Takes all frames out.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }

    /// How many frames are in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether it holds as many frames as are worth one system call.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.frames.len() >= Self::FULL
    }

    /// The frames from one index on: number and bytes.
    pub(super) fn frames(&self, from: usize) -> impl Iterator<Item = (u64, &[u8])> {
        let frames = self.frames.get(from..).unwrap_or_default();
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        frames.iter().map(move |(number, range)| (*number, bytes(range)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut batch = Batch::default();
        for number in 1..=3 {
            batch.push(number, &vec![7; number as usize]);
        }
        let kept: Vec<_> = batch.frames(1).collect();
        assert_eq!(kept, [(2, &[7, 7][..]), (3, &[7, 7, 7][..])]);
        assert_eq!((batch.len(), batch.is_full()), (3, false));
        batch.clear();
        assert!(batch.is_empty() && batch.frames(9).next().is_none());
    }
}
