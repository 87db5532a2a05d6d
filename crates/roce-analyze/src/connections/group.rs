//! The flows between two hosts whose other direction is not known.

use hashbrown::HashMap;
use roce_wire::Psn;

use super::direction::{Direction, flag};
use super::key::HostPair;
use super::search::Search;

/// How many flows may share a UDP source port that is taken for that of two queue pairs: one in 16384
/// of those that share one that everybody has fits by accident.
const MOST_SHARED: u32 = 3;
/// And one in so many flows, where there are many.
const SHARE: u32 = 16;
/// How many flows with the same UDP source port are held to each other.
const FEW_SHARED: u32 = 4;
/// So many flows show whether ports are those of pairs.
const MANY_EVER: u32 = 256;
/// The same when there are no more to come.
const FEW_EVER: u32 = 16;
/// Where there are more flows the other way, what they know of places that become free stays.
const FEW_OTHERS: usize = 64;
/// Room for so many flows is kept where there are none.
const KEPT: usize = 64;
/// How many UDP source ports Linux takes for RoCE.
const PORTS: u32 = 1 << 14;
/// How far apart queue pairs begin at most that begin alike, in PSNs: of a thousand that begin
/// anywhere one does so among 64 others.
const ALIKE: u32 = 128;
/// How far the requests of a pair on trial may have got since it was made: few were answered.
const PROGRESS: u32 = 1 << 20;

/// Where a flow is in its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub side: usize,
    pub index: usize,
}

/// The unpaired flows between two hosts, by the host that they come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub sides: [Side; 2],
    /// The newest pairs between these hosts that are not sure yet.
    pub trials: Vec<Tried>,
    /// How many there are in all.
    pub on_trial: u32,
    /// Flows that came when there was one the other way with their UDP source port.
    pub matched: u32,
    /// Flows that came when there was one the same way that began at nearly the same PSN.
    pub alike: u32,
    /// Whether there are any flows, or pairs on trial.
    pub is_used: bool,
}

/// A pair that is not sure yet.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub slot: usize,
    /// What was behind the newest request of each direction when the pair was made, if there was one.
    next: [Option<Psn>; 2],
}

impl Tried {
    pub(super) fn new(slot: usize, dirs: &[Direction; 2]) -> Self {
        let next = |dir: &Direction| dir.has(flag::STARTED).then_some(dir.next);
        let [a, b] = dirs;
        Self { slot, next: [next(a), next(b)] }
    }

    /// One direction has its first request, with this PSN.
    pub(super) fn starts(&mut self, dir: usize, psn: Psn) {
        if let Some(next) = self.next.get_mut(dir) {
            *next = Some(psn);
        }
    }

    /// Whether a packet with this PSN may have to do with it.
    pub(super) fn may_be_near(&self, psn: Psn) -> bool {
        let is_near = |next: Psn| psn.distance_from(next).unsigned_abs() <= PROGRESS;
        self.next.into_iter().flatten().any(is_near)
    }
}

/// Those that come from one of the hosts, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// `None` where one was that is gone: the places of the others are remembered elsewhere.
    pub members: Vec<Option<Member>>,
    pub gone: usize,
    /// Whether there were more than are listed, so that none is the only one.
    pub is_cut: bool,
    /// How many flows ever had each UDP source port, and where the newest of them is.
    pub ports: HashMap<u16, (u32, usize), foldhash::fast::RandomState>,
    /// How many there ever were.
    pub ever: u32,
}

impl Side {
    pub(super) fn is_empty(&self) -> bool {
        self.members.len() == self.gone
    }

    /// There are none any more, and it is as if there never had been.
    pub(super) fn reset(&mut self) {
        if self.members.capacity() > KEPT || self.ports.capacity() > KEPT {
            *self = Self::default();
            return;
        }
        self.members.clear();
        self.ports.clear();
        (self.gone, self.is_cut, self.ever) = (0, false, 0);
    }
}

impl Group {
    /// Takes the places at the end away that nobody has.
    pub(super) fn cut(&mut self, hosts: &HostPair, side: usize, words: &mut usize) {
        let other = other_side(hosts, side);
        if self.sides.get(other).is_none_or(|others| others.members.len() > FEW_OTHERS) {
            return;
        }
        let Some(list) = self.sides.get_mut(side) else { return };
        while list.members.last().is_some_and(Option::is_none) {
            list.members.pop();
            list.gone = list.gone.saturating_sub(1);
        }
        let len = list.members.len();
        let others = self.sides.get_mut(other);
        for member in others.into_iter().flat_map(|side| &mut side.members).flatten() {
            member.search.cut(len, words);
        }
    }

    /// How many flows there ever were.
    pub(super) fn ever(&self) -> u32 {
        self.sides.iter().fold(0, |sum, side| sum.saturating_add(side.ever))
    }

    /// Whether the two flows of a connection have the same UDP source port, as far as ports tell: the
    /// second of nearly every two finds its own on the other side.
    pub(super) fn has_ports_of_pairs(&self, is_end: bool) -> bool {
        let ever = self.ever();
        // At the end no flow will come any more that has none.
        let least = if is_end { FEW_EVER } else { MANY_EVER };
        ever > least && self.matched.saturating_mul(20) > ever.saturating_mul(9)
    }

    /// Whether queue pairs do not begin anywhere, but many of them alike: one in eight does.
    pub(super) fn are_alike(&self) -> bool {
        self.alike.saturating_mul(8) >= self.ever()
    }

    /// Whether flows the other way have the UDP source port of half of those that could find one, or
    /// more: that is no accident, and others do not belong together.
    pub(super) fn most_share_ports(&self) -> bool {
        let fewer = self.sides.iter().map(|side| side.ever).min().unwrap_or(0);
        fewer >= FEW_EVER / 2 && self.matched.saturating_mul(2) >= fewer
    }

    /// Whether ports that are the same may be more than an accident: of few flows one is, and of many
    /// there are some more than that makes.
    pub(super) fn has_some_ports_of_pairs(&self) -> bool {
        let [a, b] = [0, 1].map(|side: usize| self.sides.get(side).map_or(0, |side| side.ever));
        let accidents = a.saturating_mul(b) / (PORTS / 8);
        let least = accidents.saturating_add(4).min(a.min(b) / 2);
        self.ever() <= FEW_EVER || self.matched >= least
    }

    /// The only flow that ever had a UDP source port.
    pub(super) fn only_with(&self, side: usize, port: u16) -> Option<usize> {
        let (count, index) = *self.sides.get(side)?.ports.get(&port)?;
        let is_there = || member(self, Place { side, index }).is_some_and(|m| m.port == Some(port));
        Some(index).filter(|_| count == 1 && is_there())
    }

    /// The flows that are left with a UDP source port, if few ever had it.
    pub(super) fn few_with(&self, side: usize, port: u16) -> Option<Vec<usize>> {
        let side = self.sides.get(side)?;
        side.ports.get(&port).filter(|(count, _)| *count <= FEW_SHARED)?;
        let with_port =
            |member: &Option<Member>| member.as_ref().is_some_and(|m| m.port == Some(port));
        let members = side.members.iter().enumerate();
        Some(members.filter(|(_, member)| with_port(member)).map(|(index, _)| index).collect())
    }

    /// Whether there never was more than one flow each way: whatever speaks against them speaks
    /// against the capture.
    pub(super) fn is_one_each_way(&self) -> bool {
        self.sides.iter().all(|side| side.ever <= 1)
    }

    /// How many flows there ever were, on the side with more.
    pub(super) fn most_ever(&self) -> usize {
        let most = self.sides.iter().map(|side| side.ever).max().unwrap_or(0);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Whether so many flows have a UDP source port, of all that there were, that it tells nothing of
    /// the queue pairs of one.
    pub(super) fn is_shared(&self, port: u16) -> bool {
        self.sides.iter().any(|side| {
            let count = side.ports.get(&port).map_or(0, |(count, _)| *count);
            count > MOST_SHARED && count.saturating_mul(SHARE) > side.ever
        })
    }
}

/// One of them. What its packets were stands in its connection.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub slot: usize,
    /// UDP source port of its first packet.
    pub port: Option<u16>,
    /// PSN of its first packet, if that is a request.
    pub start: Option<Psn>,
    pub search: Search,
}

/// The side that the partners are on of the flows on this one.
pub(super) const fn other_side(hosts: &HostPair, side: usize) -> usize {
    if hosts.is_one() { side } else { 1usize.saturating_sub(side) }
}

/// The flow at a place of a group.
pub(super) fn member(group: &Group, place: Place) -> Option<&Member> {
    group.sides.get(place.side)?.members.get(place.index)?.as_ref()
}

/// Whether two streams began at nearly the same PSN.
pub(super) fn is_alike(a: Option<Psn>, b: Option<Psn>) -> bool {
    let distance = a.zip(b).map(|(a, b)| a.distance_from(b).unsigned_abs());
    distance.is_some_and(|distance| distance <= ALIKE)
}

/// Whether two streams have PSNs that might be taken for each other's.
pub(super) fn is_near(a: Option<Psn>, b: Option<Psn>) -> bool {
    let distance = a.zip(b).map(|(a, b)| a.distance_from(b).unsigned_abs());
    distance.is_some_and(|distance| distance <= super::requests::WINDOW.unsigned_abs())
}
