//! What a connection has played ahead: frames that wait for their turn among those of others.
//!
//! Playing a few frames at a time keeps the state of one connection in the cache while it is
//! needed.

use std::collections::VecDeque;

use super::tx::Tx;
use crate::queue::drop_first;
use crate::truth::DetailKind;

/// Something that happened on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub time: u64,
    pub what: What,
    /// Whose it is, once the group has it.
    pub member: u16,
    pub tx: Tx,
}

impl Entry {
    pub(crate) const fn new(time: u64, what: What, tx: Tx) -> Self {
        Self { time, what, member: 0, tx }
    }
}

/// What it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A frame passed the capture point.
    Frame,
    /// A packet did not come to the capture point.
    Absent(DetailKind),
    /// The responder had executed this request before.
    Duplicate,
}

/// The frames and what happened between them, in order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    entries: VecDeque<Entry>,
    frames: usize,
}

/// Frames are played ahead until there are so many of them.
const ENOUGH_FRAMES: usize = 4;

impl Batch {
    pub(crate) const fn is_full(&self) -> bool {
        self.frames >= ENOUGH_FRAMES
    }

    /// Whether no frame waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.frames = self.frames.saturating_add(usize::from(entry.what == What::Frame));
        self.entries.push_back(entry);
    }

    /// When the next frame has its turn.
    pub(crate) fn next_time(&self) -> Option<u64> {
        self.entries.iter().find(|entry| entry.what == What::Frame).map(|entry| entry.time)
    }

    /// What comes next; it stays until it is dropped.
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub(crate) fn drop_first(&mut self) {
        let is_frame = self.first().is_some_and(|entry| entry.what == What::Frame);
        self.frames = self.frames.saturating_sub(usize::from(is_frame));
        drop_first(&mut self.entries);
    }
}
