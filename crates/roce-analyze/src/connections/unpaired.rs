//! The flows whose other direction is not known, by their hosts, and what rules pairs of them out.
//!
//! What was ruled out once is never looked at again, so that looking for partners costs a bounded
//! number of steps a packet, however many flows there are.

use hashbrown::HashMap;
use roce_wire::Psn;

use super::group::{Group, Member, Place, Side, Tried, is_alike, is_near, other_side};
use super::key::{FlowKey, HostPair};
use super::look::Look;
use super::search::Search;
use super::seen::Seen;

/// How many flows one way between two hosts are candidates: the newest.
const MAX_MEMBERS: usize = 1 << 15;
/// So many members that are gone are not worth moving the others for.
const FEW_GONE: usize = 64;
/// How many pairs between two hosts are tried on at a time: the newest.
const MAX_TRIALS: usize = 32;
/// How many flows are held to an answer that is out of place where it is.
const MOST_ASKED: usize = 512;
/// How often packets of a flow are kept anew.
const MAX_LOGS: u8 = 8;
/// How many candidates may be looked at for each frame of the capture, on average, and how many more
/// than that, at its beginning or its end.
const STEPS_A_FRAME: u64 = 8;
const STEPS_AT_ONCE: u64 = 1 << 21;
/// So many groups that are only room are not worth going through all.
const MOST_IDLE: usize = 64;
/// How many of the newest flows a new one is compared with.
const NEIGHBOURS: usize = 64;

/// Connections of which only one direction is known, by their hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Unpaired {
    by_hosts: HashMap<HostPair, Group, foldhash::fast::RandomState>,
    /// Where each is in its group.
    places: HashMap<usize, Place, foldhash::fast::RandomState>,
    words: usize,
    /// How many candidates were looked at: while the capture went on, and at its end.
    steps: [u64; 2],
    /// How many groups are only room for flows between the same hosts.
    idle: usize,
    /// The last look at candidates.
    pub(super) look: Look,
}

impl Unpaired {
    /// Whether a pair between two hosts is not sure yet.
    pub(super) fn has_trials(&self, hosts: &HostPair) -> bool {
        self.by_hosts.get(hosts).is_some_and(|group| !group.trials.is_empty())
    }

    /// Adds a connection, of which the flow with this key is known. Says whether another one the
    /// same way has PSNs near to its own.
    pub(super) fn add(&mut self, key: &FlowKey, member: Member) -> bool {
        let (slot, start) = (member.slot, member.start);
        let hosts = key.hosts();
        let side = usize::from(key.is_from_low());
        let mut group = self.used(&hosts);
        let Some(list) = group.sides.get_mut(side) else { return false };
        if list.members.len().saturating_sub(list.gone) >= MAX_MEMBERS {
            list.is_cut = true;
            let oldest = list.members.iter().flatten().next().map(|member| member.slot);
            if let Some(oldest) = oldest {
                self.leave(&hosts, oldest);
            }
            group = self.used(&hosts);
        }
        let other = group.sides.get(1usize.saturating_sub(side));
        if member.port.is_some_and(|port| other.is_some_and(|o| o.ports.contains_key(&port))) {
            group.matched = group.matched.saturating_add(1);
        }
        let Some(list) = group.sides.get_mut(side) else { return false };
        let newest = list.members.iter().rev().take(NEIGHBOURS).flatten();
        let has_neighbour = newest.clone().any(|other| is_near(start, other.start));
        if has_neighbour && newest.clone().any(|other| is_alike(start, other.start)) {
            group.alike = group.alike.saturating_add(1);
        }
        let index = list.members.len();
        if let Some(port) = member.port {
            let (count, newest) = list.ports.entry(port).or_default();
            (*count, *newest) = (count.saturating_add(1), index);
        }
        list.ever = list.ever.saturating_add(1);
        list.members.push(Some(member));
        self.places.insert(slot, Place { side, index });
        has_neighbour
    }

    /// The flow is paired, or gone.
    pub(super) fn remove(&mut self, hosts: &HostPair, slot: usize) {
        self.leave(hosts, slot);
        self.forget_idle(hosts);
    }

    /// The group of two hosts, to put something into it.
    fn used(&mut self, hosts: &HostPair) -> &mut Group {
        let Self { by_hosts, idle, .. } = self;
        let group = by_hosts.entry(*hosts).or_insert_with(|| {
            *idle = idle.saturating_add(1);
            Group::default()
        });
        if !group.is_used {
            group.is_used = true;
            *idle = idle.saturating_sub(1);
        }
        group
    }

    /// What is known of two hosts that have no flows any more is nothing; only its room is kept, as
    /// the next flow is often between the same two.
    fn forget_idle(&mut self, hosts: &HostPair) {
        let Some(group) = self.by_hosts.get_mut(hosts).filter(|group| group.is_used) else {
            return;
        };
        if group.on_trial > 0 || group.sides.iter().any(|side| !side.is_empty() || side.is_cut) {
            return;
        }
        group.sides.iter_mut().for_each(Side::reset);
        group.trials.clear();
        (group.matched, group.alike, group.is_used) = (0, 0, false);
        self.idle = self.idle.saturating_add(1);
        if self.idle > MOST_IDLE && self.idle.saturating_mul(2) > self.by_hosts.len() {
            self.by_hosts.retain(|_, group| group.is_used);
            self.idle = 0;
        }
    }

    /// The pair is sure, or none any more.
    pub(super) fn end_trial(&mut self, hosts: &HostPair, slot: usize) {
        self.keep_trials(hosts, |other| other.slot != slot);
        if let Some(group) = self.by_hosts.get_mut(hosts) {
            group.on_trial = group.on_trial.saturating_sub(1);
        }
        self.forget_idle(hosts);
    }

    /// A pair between these hosts is not sure yet: until it is, the group stays.
    pub(super) fn begin_trial(&mut self, hosts: &HostPair) {
        let group = self.used(hosts);
        group.on_trial = group.on_trial.saturating_add(1);
    }

    /// The pair is not sure yet.
    pub(super) fn add_trial(&mut self, hosts: &HostPair, tried: Tried) {
        let trials = &mut self.used(hosts).trials;
        if trials.len() >= MAX_TRIALS {
            trials.remove(0);
        }
        trials.push(tried);
    }

    /// A direction of a pair on trial has its first request.
    pub(super) fn start_trial(&mut self, hosts: &HostPair, (slot, dir): (usize, usize), psn: Psn) {
        let trials = self.by_hosts.get_mut(hosts).map(|group| group.trials.iter_mut());
        if let Some(tried) = trials.into_iter().flatten().find(|tried| tried.slot == slot) {
            tried.starts(dir, psn);
        }
    }

    /// Of the pairs between two hosts that were not sure when they were added, keeps those that are
    /// `wanted` still.
    pub(super) fn keep_trials(&mut self, hosts: &HostPair, wanted: impl FnMut(&Tried) -> bool) {
        if let Some(group) = self.by_hosts.get_mut(hosts) {
            group.trials.retain(wanted);
        }
    }

    fn leave(&mut self, hosts: &HostPair, slot: usize) {
        let Some(Place { side, index }) = self.places.remove(&slot) else { return };
        let Self { by_hosts, words, .. } = self;
        let Some(group) = by_hosts.get_mut(hosts) else { return };
        let Some(list) = group.sides.get_mut(side) else { return };
        let Some(member) = list.members.get_mut(index).and_then(Option::take) else { return };
        *words = words.saturating_sub(member.search.ruled_out.len());
        list.gone = list.gone.saturating_add(1);
        if list.members.last().is_some_and(Option::is_none) {
            group.cut(hosts, side, words);
        }
        let Some(list) = group.sides.get(side) else { return };
        if list.gone > FEW_GONE && list.gone.saturating_mul(2) > list.members.len() {
            self.close_up(hosts, side);
        }
    }

    /// Moves the members of a side together.
    fn close_up(&mut self, hosts: &HostPair, side: usize) {
        let Self { by_hosts, places, words, .. } = self;
        let Some(group) = by_hosts.get_mut(hosts) else { return };
        let Some(list) = group.sides.get_mut(side) else { return };
        let mut new_places = Vec::with_capacity(list.members.len());
        let mut next = 0usize;
        for member in &list.members {
            new_places.push(member.as_ref().map(|member| {
                places.insert(member.slot, Place { side, index: next });
                if let Some((_, newest)) = member.port.and_then(|port| list.ports.get_mut(&port)) {
                    *newest = next;
                }
                let index = next;
                next = next.saturating_add(1);
                index
            }));
        }
        list.members.retain(Option::is_some);
        list.gone = 0;
        let others = group.sides.get_mut(other_side(hosts, side));
        for member in others.into_iter().flat_map(|side| &mut side.members).flatten() {
            member.search.moved(&new_places, words);
        }
    }

    /// The group of a flow, and its place there.
    pub(super) fn group(&self, hosts: &HostPair, slot: usize) -> Option<(&Group, Place)> {
        Some((self.by_hosts.get(hosts)?, *self.places.get(&slot)?))
    }

    /// The flows that go the other way than `key` and are not paired, if there are few.
    pub(super) fn other_way(&self, key: &FlowKey) -> Vec<usize> {
        let hosts = key.hosts();
        let other = other_side(&hosts, usize::from(key.is_from_low()));
        let side = self.by_hosts.get(&hosts).and_then(|group| group.sides.get(other));
        let side = side.filter(|side| side.members.len() <= MOST_ASKED);
        side.into_iter().flat_map(|side| &side.members).flatten().map(|m| m.slot).collect()
    }

    /// Whether no flow goes the other way between the hosts of this one.
    pub(super) fn is_alone(&self, hosts: &HostPair, slot: usize) -> bool {
        self.group(hosts, slot).is_some_and(|(group, place)| {
            let other = group.sides.get(1usize.saturating_sub(place.side));
            !hosts.is_one() && other.is_none_or(Side::is_empty)
        })
    }

    /// The search of a flow.
    pub(super) fn search(&mut self, hosts: &HostPair, place: Place) -> Option<&mut Search> {
        let list = self.by_hosts.get_mut(hosts)?.sides.get_mut(place.side)?;
        Some(&mut list.members.get_mut(place.index)?.as_mut()?.search)
    }

    /// Whether the packets of a flow are to be kept anew.
    pub(super) fn keeps_anew(&mut self, hosts: &HostPair, slot: usize) -> bool {
        let Some(place) = self.places.get(&slot).copied() else { return false };
        let Some(search) = self.search(hosts, place) else { return false };
        search.logs = search.logs.saturating_add(1);
        search.logs <= MAX_LOGS
    }

    /// Whether so many candidates were looked at that one more look at all of them is too much.
    pub(super) fn is_exhausted(&self, seen: &Seen, is_end: bool) -> bool {
        let [before, at_end] = self.steps;
        if is_end {
            return at_end >= STEPS_AT_ONCE;
        }
        before >= seen.frame.saturating_mul(STEPS_A_FRAME).saturating_add(STEPS_AT_ONCE)
    }

    pub(super) fn count_steps(&mut self, steps: u32, is_end: bool) {
        let [before, at_end] = &mut self.steps;
        let count = if is_end { at_end } else { before };
        *count = count.saturating_add(steps.into());
    }

    /// The flow at `place` cannot be the other direction of these.
    pub(super) fn rule_out(&mut self, hosts: &HostPair, place: Place, others: &[usize]) {
        let list = self.by_hosts.get_mut(hosts).and_then(|g| g.sides.get_mut(place.side));
        let member = list.and_then(|list| list.members.get_mut(place.index)?.as_mut());
        let Some(Member { search, .. }) = member else { return };
        for other in others {
            search.rule_out(*other, &mut self.words);
        }
    }

    /// How many flows there ever were between hosts.
    pub(super) fn ever(&self, hosts: &HostPair) -> u32 {
        self.by_hosts.get(hosts).map_or(0, Group::ever)
    }

    /// Whether there never was more than one flow each way between hosts.
    pub(super) fn is_one_each_way(&self, hosts: &HostPair) -> bool {
        self.by_hosts.get(hosts).is_none_or(Group::is_one_each_way)
    }

    /// These flows are none of one connection; `is_final` says that nothing will make them one.
    pub(super) fn rule_out_pair(
        &mut self,
        hosts: &HostPair,
        (slot, other): (usize, usize),
        is_final: bool,
    ) {
        let places = (self.places.get(&slot).copied(), self.places.get(&other).copied());
        if let (Some(place), Some(other)) = places {
            self.rule_out(hosts, place, &[other.index]);
            if let Some(search) = self.search(hosts, place) {
                search.is_final |= is_final;
            }
        }
    }

    /// What was ruled out for the flow at `place` is forgotten.
    pub(super) fn forget(&mut self, hosts: &HostPair, place: Place) {
        let list = self.by_hosts.get_mut(hosts).and_then(|g| g.sides.get_mut(place.side));
        let member = list.and_then(|list| list.members.get_mut(place.index)?.as_mut());
        if let Some(Member { search, .. }) = member {
            search.forget(&mut self.words);
        }
    }

    /// The places of all flows between hosts that have some both ways, in no order.
    pub(super) fn two_way(&self) -> Vec<usize> {
        let two_way = |(hosts, group): &(&HostPair, &Group)| {
            let used = group.sides.iter().filter(|side| !side.is_empty()).count();
            used == 2 || (used == 1 && hosts.is_one())
        };
        let groups = self.by_hosts.iter().filter(two_way).flat_map(|(_, group)| &group.sides);
        groups.flat_map(|side| &side.members).flatten().map(|member| member.slot).collect()
    }
}
