//! Frames that the capture has a second time, a little later.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use super::tx::Tx;

/// The second copy of a frame.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Whose frame it is.
    pub stream: usize,
    pub tx: Tx,
    /// The number of the first copy.
    pub of: u64,
    pub bytes: Vec<u8>,
}

/// Copies that wait for their time; as many as fit into the delay.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    waiting: BinaryHeap<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    time: u64,
    copy: Copy,
}

impl Mirror {
    pub(crate) fn add(&mut self, time: u64, copy: Copy) {
        self.waiting.push(Waiting { time, copy });
    }

    /// The next copy, if its time comes before `time` or nothing else comes any more.
    pub(crate) fn take_before(&mut self, time: Option<u64>) -> Option<(u64, Copy)> {
        let next = self.waiting.peek()?.time;
        if time.is_some_and(|time| time <= next) {
            return None;
        }
        self.waiting.pop().map(|Waiting { time, copy }| (time, copy))
    }
}

// The heap gives the greatest first: what is earlier is greater.
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.copy.of).cmp(&(self.time, self.copy.of))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}
