//! Which two flows are one connection, when the connection manager has not said so.
//!
//! The evidence, best first: an answer is to a request that was sent before it and not answered
//! yet, which rules partners out until one is left; the UDP source port, which Linux makes of both
//! queue pairs. Where two candidates fit equally well, nothing is said before one is ruled out.

use roce_wire::Service;

use super::connection::{Conn, Percent};
use super::evidence::Evidence;
use super::group::{Group, Member, Place, member, other_side};
use super::key::HostPair;
use super::log::Log;
use super::look::{Look, MOST_PATIENCE, look};
use super::report::LearnedFrom;
use super::requests::WINDOW;
use super::seen::Seen;
use super::table::{At, Table};
use super::unpaired::Unpaired;
use super::verdict::{FIRST_FRAMES, SMALL_PSN, is_answer, nearness};

/// How many answers in a row must fit one flow alone, where there may be more that the capture has
/// not shown yet, and where there are.
const SURE: u32 = 3;
const SURE_OF_RIVALS: u32 = 8;
/// How many must agree with it at the end of the capture, when nothing rules out others any more.
const SURE_AT_END: u32 = 2;
/// How many answers must fit a pair until nothing parts it any more, where they may be accidents.
pub(super) const TRIAL: u8 = 32;
/// After so many answers in a row that nobody asked for, what was ruled out is forgotten: the
/// capture has missed something.
const MISSES: u32 = 4;
/// With more candidates only answers are looked at.
const MANY: usize = 512;
/// With more candidates even a first answer is not: later ones are, if there are any.
const TOO_MANY: usize = 2048;
const FIRST_PATIENCE: u8 = 3;

/// The other direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub slot: usize,
    pub by: LearnedFrom,
    pub confidence: Percent,
    /// How many more answers must fit until it is sure.
    pub trial: u8,
}

/// What looking for it has come to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Pair(Pair),
    /// It is not known yet; of 2 to the power of `patience` answers one is worth looking at.
    Nothing {
        patience: u8,
        /// The flow that it may be, if more packets of both would tell.
        unproven: Option<usize>,
    },
}

impl Pair {
    /// Whether it was there before the connection in `slot`.
    pub(super) fn is_older(&self, table: &Table, slot: usize) -> bool {
        let age = |slot| {
            let conn = table.get(slot)?;
            let is_empty = conn.packets() == 0;
            // Packets of a flow that was doubtful come before its number.
            Some((is_empty, conn.dirs[0].first_frame, conn.id))
        };
        age(self.slot) < age(slot)
    }
}

/// A flow whose other direction is looked for.
struct Seeker<'t> {
    table: &'t Table,
    group: &'t Group,
    place: Place,
    /// The side that its partner is on.
    other: usize,
    conn: &'t Conn,
    me: &'t Member,
    /// What has just come on it; at the end of the capture the last answer on it.
    seen: &'t Seen,
    is_end: bool,
}

/// What is made of a [`Look`].
struct Decision {
    pair: Option<Pair>,
    /// The flow that fits alone, and how many answers in a row say so.
    sole: Option<(usize, u32)>,
    has_rivals: bool,
    unproven: Option<usize>,
}

impl Unpaired {
    /// The one flow that fits `at`, on which `seen` has just come; at the end of the capture the
    /// last answer on it, after which nothing else will come.
    pub(super) fn find(
        &mut self,
        table: &Table,
        at: At,
        seen: &Seen,
        is_end: bool,
    ) -> Option<Found> {
        let conn = table.get(at.slot())?;
        let hosts = conn.dirs[0].key?.hosts();
        let before = core::mem::take(&mut self.look);
        let (group, place) = self.group(&hosts, at.slot())?;
        let other = other_side(&hosts, place.side);
        let me = member(group, place)?;
        let seeker = Seeker { table, group, place, other, conn, me, seen, is_end };
        let candidates = seeker.candidates();
        // A request tells by its UDP source port alone, and that of so many flows is of none.
        if conn.service == Service::Ud || (!is_answer(seen) && candidates > MANY) {
            return None;
        }
        let only = seeker.only_by_port().or_else(|| seeker.last_by_port());
        let has_begun = conn.packets() == 0 && candidates > TOO_MANY;
        if only.is_none() && (has_begun || self.is_exhausted(seen, is_end)) {
            // So many at once are no queue pairs that have just begun.
            return Some(Found::Nothing { patience: FIRST_PATIENCE, unproven: None });
        }
        let mut look = look(before, table, (group, place, other), (conn, me), seen, (only, is_end));
        let decision = seeker.decide(&mut look, only.is_some());
        self.count_steps(look.steps, is_end);
        let found = if let Some(pair) = decision.pair {
            Some(Found::Pair(pair))
        } else if is_answer(seen) {
            let patience = self.note(&hosts, place, &look, &decision);
            let patience = if only.is_some() { 0 } else { patience };
            Some(Found::Nothing { patience, unproven: decision.unproven })
        } else {
            None
        };
        self.look = look;
        found
    }

    /// Remembers what was found out; returns how patient to be with more.
    fn note(&mut self, hosts: &HostPair, place: Place, look: &Look, decision: &Decision) -> u8 {
        self.rule_out(hosts, place, &look.ruled_out);
        let patience = look.patience();
        let Some(search) = self.search(hosts, place) else { return patience };
        search.sole = decision.sole;
        search.has_rivals = decision.has_rivals;
        search.is_final |= look.is_final;
        if !look.fits.is_empty() || look.unknown > 0 {
            search.misses = 0;
            return patience;
        }
        search.misses = search.misses.saturating_add(1);
        let resets = search.resets;
        if search.misses >= MISSES {
            self.forget(hosts, place);
        }
        patience.max(resets.min(MOST_PATIENCE))
    }
}

impl Seeker<'_> {
    fn candidates(&self) -> usize {
        self.group.sides.get(self.other).map_or(0, |side| side.members.len())
    }

    /// Where there are many, the flow that is the only one to have the UDP source port of this one.
    fn only_by_port(&self) -> Option<usize> {
        let tells = self.candidates() > MANY || self.group.has_ports_of_pairs(self.is_end);
        let port = self.me.port.filter(|_| tells)?;
        let is_alone = self.group.only_with(self.place.side, port) == Some(self.place.index);
        self.group.only_with(self.other, port).filter(|_| is_alone)
    }

    /// At the end of the capture, where the flows of a connection have the same UDP source port: the
    /// flow that is left with the port of this one. Of a few it is the only one that the packets do
    /// not speak against, and it has no other partner.
    fn last_by_port(&self) -> Option<usize> {
        let tells = self.is_end && self.other != self.place.side && self.candidates() <= TOO_MANY;
        let port = self.me.port.filter(|_| tells && self.group.has_ports_of_pairs(true))?;
        let mine = self.group.few_with(self.place.side, port)?;
        let theirs = self.group.few_with(self.other, port)?;
        if let ([_], [only]) = (mine.as_slice(), theirs.as_slice()) {
            return Some(*only);
        }
        let log = |side, index| self.log_of(member(self.group, Place { side, index })?.slot);
        let may_be = |one: usize, other: usize| {
            let logs = log(self.place.side, one).zip(log(self.other, other));
            logs.is_none_or(|(one, other)| !Evidence::of_flows(one, other).is_against())
        };
        let mut fits = theirs.into_iter().filter(|index| may_be(self.place.index, *index));
        let partner = fits.next().filter(|_| fits.next().is_none())?;
        let mut rivals = mine.into_iter().filter(|index| *index != self.place.index);
        (!rivals.any(|rival| may_be(rival, partner))).then_some(partner)
    }

    /// Whether this flow and that one are the only ones, this way and the other, that have their UDP
    /// source port.
    fn only_share_port(&self, index: usize) -> bool {
        let tells = self.group.has_some_ports_of_pairs();
        let Some(port) = self.me.port.filter(|_| tells) else { return false };
        self.group.only_with(self.place.side, port) == Some(self.place.index)
            && self.group.only_with(self.other, port) == Some(index)
    }

    /// Whether that flow had other UDP source ports than this one, where those of a connection have
    /// the same.
    fn has_other_port(&self, index: usize) -> bool {
        let them = self.slot_of(index).and_then(|slot| self.table.get(slot));
        let Some(theirs) = them.map(|them| them.dirs[0].src_ports) else { return false };
        let mine = self.conn.dirs[0].src_ports;
        let are_known = !mine.is_empty() && !theirs.is_empty();
        let has_it = |port: &u16| theirs.contains(port);
        are_known && !mine.iter().any(has_it) && self.group.most_share_ports()
    }

    fn slot_of(&self, index: usize) -> Option<usize> {
        Some(member(self.group, Place { side: self.other, index })?.slot)
    }

    fn log_of(&self, slot: usize) -> Option<&Log> {
        self.table.get(slot)?.log.as_deref()
    }

    fn decide(&self, look: &mut Look, is_only_by_port: bool) -> Decision {
        let Self { table, group, place, other, conn, me, seen, is_end } = *self;
        let has_rivals = me.search.has_rivals || look.is_near || look.fits.len() > 1;
        let mut decision = Decision { pair: None, sole: None, has_rivals, unproven: None };
        let holds_all = is_end || conn.packets().is_power_of_two();
        let is_last = is_end && is_only_by_port;
        look.hold_to_evidence(table, (group, other), conn, (holds_all, is_last));
        // Where the PSN alone would do, and the port says it, too, there is nothing to be tried.
        let is_spread = self.is_spread();
        let is_proven = look.fits.len() == 1 && answers_wanted(has_rivals, is_spread, seen) == 1;
        if let Some((index, by, confidence)) = look.found_by_port() {
            let trial = if by == LearnedFrom::Port || is_proven { 0 } else { TRIAL };
            let pair = |slot| Pair { slot, by, confidence, trial };
            decision.pair = self.slot_of(index).map(pair);
            return decision;
        }
        if !is_answer(seen) {
            return decision;
        }
        let (sole, confidence) = if is_only_by_port {
            (look.fits.first().copied(), 90)
        } else {
            look.sole((group, place, other), me)
        };
        let Some(sole) = sole.filter(|sole| !self.has_other_port(*sole)) else { return decision };
        let sure = match me.search.sole {
            Some((before, sure)) if before == sole => sure.saturating_add(1),
            _ => 1,
        };
        decision.sole = Some((sole, sure));
        if is_only_by_port && group.has_ports_of_pairs(is_end) {
            let trial = if is_proven { 0 } else { TRIAL };
            let pair = |slot| Pair { slot, by: LearnedFrom::Psn, confidence, trial };
            decision.pair = self.slot_of(sole).map(pair);
        } else if is_only_by_port || !is_contested(group, place, me, sole) {
            self.weigh(&mut decision, look, (sole, sure), (confidence, is_spread));
        }
        decision
    }

    /// Whether there are so many flows that their PSNs are spread over all there are.
    fn is_spread(&self) -> bool {
        let ever = self.group.most_ever().max(self.candidates());
        nearness(ever, self.group.are_alike(), self.seen) < WINDOW.unsigned_abs()
    }

    /// Whether the only flow that fits is the one.
    fn weigh(
        &self,
        decision: &mut Decision,
        look: &Look,
        (sole, sure): (usize, u32),
        (confidence, is_spread): (Percent, bool),
    ) {
        let Some(slot) = self.slot_of(sole) else { return };
        let (me, has_rivals) = (self.me.slot, decision.has_rivals);
        let wanted = answers_wanted(has_rivals, is_spread, self.seen);
        let is_enough = sure >= wanted;
        let is_whole = |slot| self.log_of(slot).is_some_and(|log| log.is_whole);
        let are_whole = is_whole(me) && is_whole(slot);
        let agree = look.agree(sole);
        let has_no_like = self.group.is_one_each_way() || self.only_share_port(sole);
        // What was taken for one connection can be parted only with all packets of both.
        let is_proven = is_spread
            || wanted == 1
            || are_whole
            || agree >= SURE_OF_RIVALS
            || (has_no_like && (is_enough || self.is_end));
        let is_last_word = self.is_end && (is_spread || has_no_like || agree >= SURE_AT_END);
        if !is_proven {
            decision.unproven = Some(slot);
        } else if is_enough || !has_rivals || is_last_word {
            let confidence = if is_enough || !has_rivals { confidence } else { 80 };
            let more = u8::try_from(wanted.saturating_sub(sure)).unwrap_or(0);
            let is_sure = self.is_end || wanted == 1 || !are_whole;
            let trial = if is_sure { 0 } else { TRIAL.saturating_add(more) };
            decision.pair = Some(Pair { slot, by: LearnedFrom::Psn, confidence, trial });
        }
    }
}

/// How many answers in a row must fit the same flow alone. Where PSNs are spread over all there are
/// rivals are such by accident, and fit once at most.
const fn answers_wanted(has_rivals: bool, is_spread: bool, seen: &Seen) -> u32 {
    if has_rivals && !is_spread {
        SURE_OF_RIVALS
    } else if has_rivals || seen.frame <= FIRST_FRAMES || seen.psn.get() < SMALL_PSN {
        SURE
    } else {
        1
    }
}

/// Whether another flow that goes the same way may be the partner of the one at `index` as well.
fn is_contested(group: &Group, place: Place, me: &Member, index: usize) -> bool {
    let side = group.sides.get(place.side);
    let mut rivals = side.into_iter().flat_map(|side| &side.members).flatten();
    rivals.any(|rival| {
        rival.slot != me.slot && rival.search.sole.is_some_and(|(sole, _)| sole == index)
    })
}
