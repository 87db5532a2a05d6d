//! Frames that the capture has a second time, a little later.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use super::group::Turn;
use super::tx::Tx;

/// The second copy of a frame.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Whose frame it is.
    pub group: usize,
    pub member: usize,
    pub tx: Tx,
    /// The first copy.
    pub turn: Turn,
    pub bytes: Vec<u8>,
}

/// Copies that wait for their time; as many as fit into the delay.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    waiting: BinaryHeap<Timed>,
}

#[derive(Debug)]
struct Timed {
    time: u64,
    copy: Copy,
}

impl Mirror {
    /// Has the frame captured once more, `delay` nanoseconds later.
    pub(crate) fn add(&mut self, copy: Copy, delay: u64) {
        let time = copy.turn.time.saturating_add(delay);
        self.waiting.push(Timed { time, copy });
    }

    /// The next copy, if its time comes before `time` or nothing else comes any more.
    pub(crate) fn take_before(&mut self, time: Option<u64>) -> Option<(u64, Copy)> {
        let next = self.waiting.peek()?.time;
        if time.is_some_and(|time| time <= next) {
            return None;
        }
        self.waiting.pop().map(|Timed { time, copy }| (time, copy))
    }
}

// The heap gives the greatest first: what is earlier is greater.
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.copy.turn.number).cmp(&(self.time, self.copy.turn.number))
    }
}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timed {}
