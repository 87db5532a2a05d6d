//! Which two flows are one connection, when the connection manager has not said so.
//!
//! The evidence, best first: an answer is to a request that was sent before it and not answered
//! yet, which rules partners out until one is left; the UDP source port, which Linux makes of both
//! queue pairs. Where two candidates fit equally well, nothing is said before one is ruled out.

use roce_wire::Service;

use super::connection::Percent;
use super::key::HostPair;
use super::log::Log;
use super::look::{Look, MOST_PATIENCE, look};
use super::report::LearnedFrom;
use super::requests::WINDOW;
use super::seen::Seen;
use super::table::{At, Table};
use super::unpaired::{Group, Member, Place, Unpaired, member};
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
        let id = |slot| table.get(slot).map(|conn| conn.id);
        id(self.slot) < id(slot)
    }
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
        let key = conn.dirs[0].key?;
        if conn.service == Service::Ud {
            return None;
        }
        let hosts = key.hosts();
        let (group, place) = self.group(&hosts, at.slot())?;
        let other = if hosts.is_one() { place.side } else { 1usize.saturating_sub(place.side) };
        let me = member(group, place)?;
        // A request tells by its UDP source port alone, and that of so many flows is of none.
        let candidates = group.sides.get(other).map_or(0, |side| side.members.len());
        if !is_answer(seen) && candidates > MANY {
            return None;
        }
        if conn.packets() == 0 && candidates > TOO_MANY {
            // So many at once are no queue pairs that have just begun.
            return Some(Found::Nothing { patience: FIRST_PATIENCE, unproven: None });
        }
        let mut look = look(table, (group, place, other), (conn, me), seen);
        let has_rivals = me.search.has_rivals || look.is_near || look.fits.len() > 1;
        let holds_all = is_end || conn.packets().is_power_of_two();
        look.hold_to_evidence(table, (group, other), conn, holds_all);
        let slot_of = |index| Some(member(group, Place { side: other, index })?.slot);
        if let Some((index, by, confidence)) = look.found_by_port() {
            let trial = if by == LearnedFrom::Port { 0 } else { TRIAL };
            return Some(Found::Pair(Pair { slot: slot_of(index)?, by, confidence, trial }));
        }
        if !is_answer(seen) {
            return None;
        }
        let (sole, confidence) = look.sole((group, place, other), me);
        let sure = match (me.search.sole, sole) {
            (Some((before, sure)), Some(now)) if before == now => sure.saturating_add(1),
            _ => 1,
        };
        let is_spread = nearness(group.most_ever().max(candidates), seen) < WINDOW.unsigned_abs();
        let wanted = answers_wanted(has_rivals, is_spread, seen);
        let is_enough = sure >= wanted;
        let mut unproven = None;
        if let Some((index, slot)) = sole.and_then(|index| Some((index, slot_of(index)?)))
            && !is_contested(group, place, me, index)
        {
            let is_whole = |slot| log_of(table, slot).is_some_and(|log| log.is_whole);
            let are_whole = is_whole(at.slot()) && is_whole(slot);
            let agree = look.agree(index);
            // What was taken for one connection can be parted only with all packets of both.
            let is_proven = is_spread || wanted == 1 || are_whole || agree >= SURE_OF_RIVALS;
            let is_last_word = is_end && (is_spread || agree >= SURE_AT_END);
            if is_proven && (is_enough || !has_rivals || is_last_word) {
                let confidence = if is_enough || !has_rivals { confidence } else { 80 };
                let more = u8::try_from(wanted.saturating_sub(sure)).unwrap_or(0);
                let is_sure = is_end || wanted == 1 || !are_whole;
                let trial = if is_sure { 0 } else { TRIAL.saturating_add(more) };
                return Some(Found::Pair(Pair { slot, by: LearnedFrom::Psn, confidence, trial }));
            }
            unproven = Some(slot).filter(|_| !is_proven);
        }
        let sole = sole.map(|sole| (sole, sure));
        let patience = self.note(&hosts, place, &look, (sole, has_rivals));
        Some(Found::Nothing { patience, unproven })
    }

    /// Remembers what was found out; returns how patient to be with more.
    fn note(
        &mut self,
        hosts: &HostPair,
        place: Place,
        look: &Look,
        (sole, has_rivals): (Option<(usize, u32)>, bool),
    ) -> u8 {
        self.rule_out(hosts, place, &look.ruled_out);
        let patience = look.patience();
        let Some(search) = self.search(hosts, place) else { return patience };
        search.sole = sole;
        search.has_rivals = has_rivals;
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

fn log_of(table: &Table, slot: usize) -> Option<&Log> {
    table.get(slot)?.log.as_deref()
}

/// Whether another flow that goes the same way may be the partner of the one at `index` as well.
fn is_contested(group: &Group, place: Place, me: &Member, index: usize) -> bool {
    let side = group.sides.get(place.side);
    let mut rivals = side.into_iter().flat_map(|side| &side.members).flatten();
    rivals.any(|rival| {
        rival.slot != me.slot && rival.search.sole.is_some_and(|(sole, _)| sole == index)
    })
}
