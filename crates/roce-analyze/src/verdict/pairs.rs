//! Who speaks with whom, in which version, each way.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use roce_wire::{Addr, Class, Net};

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

    fn merge(&mut self, other: &Self) {
        let firsts = self.first_frame.iter_mut().zip(other.first_frame);
        for (first, theirs) in firsts.filter(|(_, theirs)| *theirs > 0) {
            *first = if *first == 0 { theirs } else { theirs.min(*first) };
        }
        for (count, theirs) in self.packets.iter_mut().zip(other.packets) {
            *count = count.saturating_add(theirs);
        }
        self.requests = self.requests.saturating_add(other.requests);
        self.responses = self.responses.saturating_add(other.responses);
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

/// What tells pairs apart: both addresses as numbers, the lower one first. Comparing and hashing
/// these is all that is done with addresses for most packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    low: u128,
    high: u128,
    is_lid: bool,
}

impl Key {
    /// The key, and whether the source is the lower address.
    #[inline]
    fn of(net: &Net<'_>) -> (Self, bool) {
        const MAPPED: u128 = 0xffff << 32;
        let v4 = |ip: std::net::Ipv4Addr| MAPPED | u128::from(ip.to_bits());
        let (src, dst, is_lid) = match net {
            Net::V2Ipv4(ip, ..) => (v4(ip.src()), v4(ip.dst()), false),
            Net::V2Ipv6(ip, ..) => (ip.src().to_bits(), ip.dst().to_bits(), false),
            Net::V1(grh) => {
                (u128::from_be_bytes(grh.sgid.0), u128::from_be_bytes(grh.dgid.0), false)
            }
            Net::InfiniBand(lrh, _) => {
                (u128::from(lrh.slid.get()), u128::from(lrh.dlid.get()), true)
            }
        };
        if src <= dst {
            (Self { low: src, high: dst, is_lid }, true)
        } else {
            (Self { low: dst, high: src, is_lid }, false)
        }
    }
}

impl Key {
    /// A byte in which the keys of neighbouring hosts differ.
    #[inline]
    fn slot(self) -> usize {
        let mixed = self.low.wrapping_mul(31) ^ self.high;
        let folded = mixed ^ mixed >> 64 ^ mixed >> 8;
        usize::from(folded.to_le_bytes()[0])
    }
}

/// All pairs, up to a bound.
#[derive(Clone, Debug)]
pub struct Pairs {
    // The keys come from the wire, so the hash is seeded.
    index: HashMap<Key, usize, RandomState>,
    list: Vec<(Key, Pair)>,
    /// Where pairs met lately stand in the list, by a few bits of their key.
    recent: [usize; RECENT],
    max: usize,
    unlisted: u64,
}

/// How many pairs are found without hashing: one for each value of a byte.
const RECENT: usize = 256;

impl Pairs {
    pub(super) fn new(max: usize) -> Self {
        let recent = [usize::MAX; RECENT];
        Self { index: HashMap::default(), list: Vec::new(), recent, max, unlisted: 0 }
    }

    /// The pairs; in the order in which they were first seen unless verdicts were merged.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Pair> {
        self.list.iter().map(|(_, pair)| pair)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Packets of pairs that did not fit.
    #[must_use]
    pub const fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Adds a packet; one that is not sound asks for no answer.
    #[inline]
    pub(super) fn add(&mut self, net: &Net<'_>, class: Option<Class>, number: u64) {
        let (key, forward) = Key::of(net);
        let Some(pair) = self.pair(key, || ends(net, forward)) else {
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
            *packets = packets.wrapping_add(1);
        }
        match class {
            Some(Class::Request) => super::bump(Some(&mut way.requests)),
            Some(Class::Response) => super::bump(Some(&mut way.responses)),
            Some(Class::Control) | None => {}
        }
    }

    /// The pair, made if there is room.
    #[inline]
    fn pair(&mut self, key: Key, ends: impl FnOnce() -> (Addr, Addr)) -> Option<&mut Pair> {
        let slot = self.recent.get_mut(key.slot())?;
        if self.list.get(*slot).is_none_or(|(met, _)| *met != key) {
            let count = self.list.len();
            *slot = match self.index.entry(key) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(_) if count >= self.max => return None,
                Entry::Vacant(entry) => {
                    let (a, b) = ends();
                    let (a_to_b, b_to_a) = (Direction::default(), Direction::default());
                    self.list.push((key, Pair { a, b, a_to_b, b_to_a }));
                    *entry.insert(count)
                }
            };
        }
        self.list.get_mut(*slot).map(|(_, pair)| pair)
    }

    /// Takes over what another part of the same trace saw.
    pub(super) fn merge(&mut self, other: Self) {
        self.unlisted = self.unlisted.saturating_add(other.unlisted);
        for (key, theirs) in other.list {
            match self.pair(key, || (theirs.a, theirs.b)) {
                Some(pair) => {
                    pair.a_to_b.merge(&theirs.a_to_b);
                    pair.b_to_a.merge(&theirs.b_to_a);
                }
                None => {
                    let packets = theirs.a_to_b.total().saturating_add(theirs.b_to_a.total());
                    self.unlisted = self.unlisted.saturating_add(packets);
                }
            }
        }
    }

    /// Puts the pairs in the order in which they were first seen.
    pub(super) fn sort(&mut self) {
        self.list.sort_by_cached_key(|(_, pair)| pair.first_frame());
        self.recent = [usize::MAX; RECENT];
        self.index = self.list.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
    }
}

/// Both ends, the lower one first.
fn ends(net: &Net<'_>, forward: bool) -> (Addr, Addr) {
    if forward { (net.src(), net.dst()) } else { (net.dst(), net.src()) }
}
