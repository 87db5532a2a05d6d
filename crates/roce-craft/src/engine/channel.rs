//! The way from one end to the other, in two legs: up to the capture point, and from there on.

use std::collections::VecDeque;

use super::tx::Tx;
use crate::queue::drop_first;

/// Packets on one leg, the next to arrive first.
#[derive(Debug, Default)]
pub(crate) struct Leg {
    packets: VecDeque<(u64, Tx)>,
    /// When the first of them arrives: asked far more often than it changes, and near at hand here.
    next: Option<u64>,
}

impl Leg {
    /// Puts a packet on the way; it arrives at `time`.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, tx: &Tx) {
        if self.packets.back().is_none_or(|(last, _)| *last <= time) {
            self.packets.push_back((time, *tx));
            self.next.get_or_insert(time);
            return;
        }
        // Packets that are held back are few.
        let at = self.packets.partition_point(|(other, _)| *other <= time);
        self.packets.insert(at, (time, *tx));
        self.next = self.packets.front().map(|(time, _)| *time);
    }

    /// When the next packet arrives.
    pub(crate) const fn next_time(&self) -> Option<u64> {
        self.next
    }

    /// The next packet; it stays until it is dropped.
    pub(crate) fn first(&self) -> Option<&(u64, Tx)> {
        self.packets.front()
    }

    /// The same packet to be changed.
    pub(crate) fn first_mut(&mut self) -> Option<(u64, &mut Tx)> {
        self.packets.front_mut().map(|(time, tx)| (*time, tx))
    }

    pub(crate) fn drop_first(&mut self) {
        drop_first(&mut self.packets);
        self.next = self.packets.front().map(|(time, _)| *time);
    }
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    pub before: Leg,
    pub after: Leg,
    /// When the last packet reached the capture point: jitter does not reorder.
    pub last_capture: u64,
    /// The same for the receiver.
    pub last_arrival: u64,
}
