//! Frames of a file that is not quite in the order of time, put in order.
//!
//! A kernel hands over what several processors have received in blocks, so a frame may stand behind
//! some that came later. To who follows connections an answer in front of its request is a loss.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use anyhow::Result;
use roce_capture::{Frame as Captured, LinkType};
use roce_wire::Ports;

use crate::drive::{Sink, Took};

/// How many frames are held back at most.
const MAX_FRAMES: usize = 1 << 16;
/// How many of their bytes.
const MAX_BYTES: usize = 64 << 20;
/// How often the order of the file may be left: that takes 64 MiB to remember.
const MAX_LEAPS: usize = 1 << 22;

/// Hands the frames on in the order of time, as far as that is in so many frames. They are counted
/// anew then: their numbers tell the order that they are followed in.
pub(crate) struct Sorted<F> {
    take: F,
    held: BinaryHeap<Held>,
    numbers: Numbers,
    /// The time of the latest that was handed on.
    newest: u64,
    bytes: usize,
    /// Memory of frames that were handed on.
    spare: Vec<Vec<u8>>,
}

/// A frame of its own.
struct Held {
    time_ns: u64,
    number: u64,
    link_type: LinkType,
    wire_len: u32,
    interface: u32,
    has_time: bool,
    data: Vec<u8>,
}

impl<F: FnMut(&Captured<'_>, &Ports)> Sorted<F> {
    pub(crate) fn new(take: F) -> Self {
        let (held, numbers) = (BinaryHeap::new(), Numbers::default());
        Self { take, held, numbers, newest: 0, bytes: 0, spare: Vec::new() }
    }

    /// Hands on what is left; returns where the frames stand in the file.
    pub(crate) fn finish(mut self, ports: &Ports) -> Numbers {
        while self.hand_on(ports) {}
        self.numbers
    }

    fn hand_on(&mut self, ports: &Ports) -> bool {
        let Some(held) = self.held.pop() else { return false };
        let Held { time_ns, number, link_type, wire_len, interface, has_time, data } = held;
        self.bytes = self.bytes.saturating_sub(data.len());
        // One that is too late to be put where it belongs.
        self.numbers.is_incomplete |= time_ns < self.newest;
        self.newest = self.newest.max(time_ns);
        let time_ns = has_time.then_some(time_ns);
        let number = self.numbers.next(number);
        let frame = Captured { number, time_ns, link_type, wire_len, interface, data: &data };
        if !self.numbers.is_incomplete {
            // Otherwise nobody wants to know what comes of it.
            (self.take)(&frame, ports);
        }
        self.spare.push(data);
        true
    }
}

impl<F: FnMut(&Captured<'_>, &Ports)> Sink for Sorted<F> {
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took> {
        let Captured { number, time_ns, link_type, wire_len, interface, data } = *captured;
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(data);
        self.bytes = self.bytes.saturating_add(data.len());
        // What has no time stays behind the frame in front of it.
        let time = time_ns.or_else(|| Some(self.held.peek()?.time_ns)).unwrap_or(0);
        self.held.push(Held {
            time_ns: time,
            number,
            link_type,
            wire_len,
            interface,
            has_time: time_ns.is_some(),
            data: copy,
        });
        while self.held.len() > MAX_FRAMES || self.bytes > MAX_BYTES {
            self.hand_on(ports);
        }
        Ok(Took { write: false, count: true })
    }
}

/// Where frames stand in the file that were handed on, by their new numbers, from 1.
#[derive(Default, Debug)]
pub(crate) struct Numbers {
    count: u64,
    /// New and old number wherever the old ones do not go on, in order.
    leaps: Vec<(u64, u64)>,
    /// Whether there were more than are remembered, or frames were too far from their place to be put
    /// there.
    pub(crate) is_incomplete: bool,
}

impl Numbers {
    /// Gives the frame that stands at `old` its new number.
    fn next(&mut self, old: u64) -> u64 {
        self.count = self.count.saturating_add(1);
        if self.old(self.count) != old {
            if self.leaps.len() < MAX_LEAPS {
                self.leaps.push((self.count, old));
            } else {
                self.is_incomplete = true;
            }
        }
        self.count
    }

    /// Where the frame with a new number stands.
    pub(crate) fn old(&self, new: u64) -> u64 {
        let leaps = match self.leaps.last() {
            Some((last, _)) if *last <= new => self.leaps.len(),
            _ => self.leaps.partition_point(|(first, _)| *first <= new),
        };
        let leap = leaps.checked_sub(1).and_then(|at| self.leaps.get(at));
        leap.map_or(new, |(first, old)| old.saturating_add(new.saturating_sub(*first)))
    }
}

impl Held {
    const fn place(&self) -> (u64, u64) {
        (self.time_ns, self.number)
    }
}

/// The earliest is the greatest: a heap gives that first.
impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        other.place().cmp(&self.place())
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Held {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_equals_keep_their_order() {
        let mut numbers = Vec::new();
        let mut sorted = Sorted::new(|captured: &Captured<'_>, _: &Ports| {
            numbers.push((captured.number, captured.data.first().copied().unwrap_or(0)));
        });
        let ports = Ports::default();
        for (number, time_ns) in (1..).zip([30, 10, 10, 40, 20]) {
            let data = &u64::to_le_bytes(number);
            let (link_type, time_ns) = (LinkType::ETHERNET, Some(time_ns));
            let frame = Captured { number, time_ns, link_type, wire_len: 8, interface: 0, data };
            sorted.frame(&frame, &ports).unwrap();
        }
        let places = sorted.finish(&ports);
        assert_eq!(numbers, [(1, 2), (2, 3), (3, 5), (4, 1), (5, 4)]);
        assert_eq!([1, 2, 3, 4, 5].map(|new| places.old(new)), [2, 3, 5, 1, 4]);
        assert!(!places.is_incomplete);
    }

    #[test]
    fn what_is_too_far_from_its_place_is_not_sorted() {
        let last = u64::try_from(MAX_FRAMES).unwrap() + 1;
        let mut sorted = Sorted::new(|_: &Captured<'_>, _: &Ports| {});
        for number in 1..=last + 1 {
            // The last is the earliest, and more frames stand in front of it than are held.
            let time_ns = Some(if number > last { 0 } else { number });
            let link_type = LinkType::ETHERNET;
            let frame =
                Captured { number, time_ns, link_type, wire_len: 0, interface: 0, data: &[] };
            sorted.frame(&frame, &Ports::default()).unwrap();
        }
        assert!(sorted.finish(&Ports::default()).is_incomplete);
    }
}
