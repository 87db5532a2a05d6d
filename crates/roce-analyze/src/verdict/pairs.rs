//! Who speaks with whom, in which version, each way.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use roce_wire::{Addr, Class, Frame, Net, Service};

use super::{Answer, carrier_index};

/// What went one way between two hosts. Indexed like [`super::CARRIERS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Direction {
    /// Packets by how they are carried.
    pub packets: [u64; 4],
    /// The number of the first frame of each; 0 where there is none.
    pub first_frame: [u64; 4],
    /// Requests on reliable connections: those that must be answered.
    pub requests: u64,
    /// Responses on reliable connections.
    pub responses: u64,
}

impl Direction {
    /// All packets.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.packets.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The version of what went this way.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let [v1, v4, v6, _] = self.packets;
        Answer::of(v1 > 0, v4 > 0 || v6 > 0)
    }
}

/// Two hosts, the lower address first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The host with the lower address.
    pub a: Addr,
    /// The other one.
    pub b: Addr,
    /// What went from `a` to `b`.
    pub a_to_b: Direction,
    /// What went from `b` to `a`.
    pub b_to_a: Direction,
}

impl Pair {
    /// The version between the two.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let [v1, v4, v6, _] = self.both();
        Answer::of(v1 > 0, v4 > 0 || v6 > 0)
    }

    /// Packets both ways, by how they are carried.
    #[must_use]
    pub fn both(&self) -> [u64; 4] {
        let mut sum = self.a_to_b.packets;
        for (sum, count) in sum.iter_mut().zip(self.b_to_a.packets) {
            *sum = sum.saturating_add(count);
        }
        sum
    }

    /// Whether the two directions are carried differently although both are there.
    #[must_use]
    pub fn disagrees(&self) -> bool {
        let kinds = |way: &Direction| way.packets.map(|count| count > 0);
        self.a_to_b.total() > 0
            && self.b_to_a.total() > 0
            && kinds(&self.a_to_b) != kinds(&self.b_to_a)
    }

    /// The numbers of the first frame of each kind, each way, in ascending order.
    #[must_use]
    pub fn first_frames(&self) -> Vec<u64> {
        let ways = [self.a_to_b.first_frame, self.b_to_a.first_frame];
        let mut frames: Vec<u64> = ways.into_iter().flatten().filter(|frame| *frame > 0).collect();
        frames.sort_unstable();
        frames
    }

    /// The lower frame number of the two directions: when the pair was first seen.
    #[must_use]
    pub fn first_frame(&self) -> u64 {
        self.first_frames().first().copied().unwrap_or(0)
    }
}

/// All pairs, up to a bound.
#[derive(Clone, Debug)]
pub struct Pairs {
    // The keys come from the wire, so the hash is seeded.
    index: HashMap<(Addr, Addr), usize, RandomState>,
    list: Vec<Pair>,
    max: usize,
    last: usize,
    unlisted: u64,
}

impl Pairs {
    pub(super) fn new(max: usize) -> Self {
        Self { index: HashMap::default(), list: Vec::new(), max, last: 0, unlisted: 0 }
    }

    /// The pairs in the order in which they were first seen.
    #[must_use]
    pub fn as_slice(&self) -> &[Pair] {
        &self.list
    }

    /// Packets of pairs that did not fit.
    #[must_use]
    pub const fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Adds a packet; one that is not sound asks for no answer.
    pub(super) fn add(&mut self, net: &Net<'_>, frame: &Frame<'_>, number: u64, is_sound: bool) {
        let (src, dst) = (net.src(), net.dst());
        let forward = src <= dst;
        let (a, b) = if forward { (src, dst) } else { (dst, src) };
        let Some(pair) = self.pair(a, b) else {
            self.unlisted = self.unlisted.saturating_add(1);
            return;
        };
        let way = if forward { &mut pair.a_to_b } else { &mut pair.b_to_a };
        let kind = carrier_index(net.carrier());
        if let (Some(packets), Some(first)) =
            (way.packets.get_mut(kind), way.first_frame.get_mut(kind))
        {
            if *packets == 0 {
                *first = number;
            }
            *packets = packets.saturating_add(1);
        }
        let info = frame.packet().and_then(|(_, packet)| packet.bth.opcode.info());
        if let Some(info) =
            info.filter(|info| is_sound && matches!(info.service, Service::Rc | Service::Xrc))
        {
            match info.class {
                Class::Request => way.requests = way.requests.saturating_add(1),
                Class::Response => way.responses = way.responses.saturating_add(1),
                Class::Control => {}
            }
        }
    }

    /// The pair, made if there is room; most packets are of the same pair as the one before.
    fn pair(&mut self, a: Addr, b: Addr) -> Option<&mut Pair> {
        let is_last = self.list.get(self.last).is_some_and(|pair| pair.a == a && pair.b == b);
        if !is_last {
            let count = self.list.len();
            self.last = match self.index.entry((a, b)) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(_) if count >= self.max => return None,
                Entry::Vacant(entry) => {
                    let (a_to_b, b_to_a) = (Direction::default(), Direction::default());
                    self.list.push(Pair { a, b, a_to_b, b_to_a });
                    *entry.insert(count)
                }
            };
        }
        self.list.get_mut(self.last)
    }
}
