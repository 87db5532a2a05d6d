//! What became of the frames.

use super::Batch;

/// What the kernel took and what it refused.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Frames that the kernel took.
    pub frames: u64,
    /// Their bytes, without check sequence.
    pub bytes: u64,
    /// Frames that the kernel refused.
    pub failed: u64,
    /// The first of them.
    pub first_failure: Option<Refused>,
}

/// A frame that the kernel refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Its number.
    pub number: u64,
    /// How long it is, in bytes.
    pub len: usize,
    /// What the system said.
    pub reason: String,
}

impl Tally {
    /// All frames that were handed over.
    #[must_use]
    pub const fn tried(&self) -> u64 {
        self.frames.saturating_add(self.failed)
    }

    /// Counts the frames of a batch as if they had been sent.
    pub fn pretend(&mut self, batch: &Batch) {
        for (_, frame) in batch.frames(0) {
            self.took(frame.len());
        }
    }

    pub(super) fn took(&mut self, len: usize) {
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
    }

    pub(super) fn refused(&mut self, number: u64, len: usize, reason: impl FnOnce() -> String) {
        self.failed = self.failed.saturating_add(1);
        self.first_failure.get_or_insert_with(|| Refused { number, len, reason: reason() });
    }
}
