//! Two flows become one connection.

use roce_wire::{AckKind, IcrcState, Service};

use super::answers::advance;
use super::connection::Conn;
use super::direction::{Direction, flag};
use super::evidence::Evidence;
use super::group::{Member, Tried, is_near};
use super::key::{FlowKey, HostPair};
use super::log::Log;
use super::pairing::{Found, Pair, TRIAL};
use super::requests::Fit;
use super::search::Search;
use super::seen::{Kind, Seen};
use super::table::At;
use super::tracker::Tracker;
use super::unmatched;
use super::verdict::{FIRST_FRAMES, SMALL_PSN, fits, is_answer};

/// How often all flows are gone through at the end of the capture, as every pair that is found may
/// leave one candidate for another.
const LAST_ROUNDS: usize = 16;
/// And how many flows are looked at then in all.
const LAST_LOOKS: usize = 1 << 17;

/// With so few flows between two hosts a new one is the first other, or the second.
const FEW_EVER: u32 = 4;
/// How often a pair on trial is held to all that is kept of it, in answers that fit; with each of the
/// first of them.
const WEIGHED_EVERY: u8 = 8;

/// What an answer has made of a pair that is on trial, if it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trial {
    GoesOn,
    /// The last one that was wanted fits.
    Passed,
    /// The flows are none of one connection; `is_sure` says that even where there are no others.
    Failed {
        is_sure: bool,
    },
}

impl Tracker {
    /// A flow is new, and its other direction is not known.
    pub(super) fn add_unpaired(&mut self, slot: usize, seen: &Seen) {
        let Some(key) = self.table.get(slot).and_then(|conn| conn.dirs[0].key) else { return };
        if key.src_qp().is_some() {
            return;
        }
        let is_bad = seen.icrc == IcrcState::Bad && !seen.is_known_fault;
        let start = Some(seen.psn).filter(|_| seen.kind.is_request() && !is_bad);
        // Notifications come from another part of the adapter.
        let port = seen.src_port.filter(|_| seen.kind != Kind::Cnp);
        let search = Search::default();
        let member = Member { slot, port, start, search };
        let has_neighbour = self.unpaired.add(&key, member);
        let is_doubtful = start.is_none()
            || has_neighbour
            || seen.psn.get() < SMALL_PSN
            || seen.frame <= FIRST_FRAMES;
        if is_doubtful && let Some(conn) = self.table.get_mut(slot) {
            conn.log = Some(Log::new(&self.log_room));
        }
    }

    #[cold]
    pub(super) fn try_to_pair(&mut self, at: At, seen: &Seen) -> At {
        if let Some(asked) = self.awaited.asked(&self.table, at, seen) {
            return self.complete_asked(at, asked);
        }
        self.part_rivals(at, seen);
        self.free_restarted(at, seen);
        match self.unpaired.find(&self.table, at, seen, false) {
            Some(Found::Pair(pair)) => return self.join(at, pair),
            Some(Found::Nothing { patience, unproven }) => {
                if let Some(conn) = self.table.get_mut(at.slot()) {
                    conn.patience = patience;
                }
                if let Some(partner) = unproven {
                    self.keep_anew(at.slot());
                    self.keep_anew(partner);
                }
            }
            None => {}
        }
        at
    }

    /// What comes on a flow is kept, to be held to others.
    fn keep_anew(&mut self, slot: usize) {
        let Some(conn) = self.table.get_mut(slot).filter(|conn| conn.log.is_none()) else { return };
        let hosts = conn.dirs[0].key.map(|key| key.hosts());
        if hosts.is_some_and(|hosts| self.unpaired.keeps_anew(&hosts, slot)) {
            conn.log = Some(Log::anew(&self.log_room));
            conn.is_open = true;
        }
    }

    /// The flow at `at` and another are one connection; returns where the flow is then.
    pub(super) fn join(&mut self, at: At, pair: Pair) -> At {
        // The one that was there first keeps its number.
        let (first, second) = if pair.is_older(&self.table, at.slot()) {
            (pair.slot, at.slot())
        } else {
            (at.slot(), pair.slot)
        };
        let hosts = self.table.get(first).and_then(|conn| conn.dirs[0].key).map(|k| k.hosts());
        let Some(hosts) = hosts else { return at };
        let is_on_trial = pair.trial > 0 && [first, second].iter().all(|slot| self.has_all(*slot));
        if is_on_trial {
            self.unpaired.begin_trial(&hosts);
        }
        self.unpaired.remove(&hosts, first);
        self.unpaired.remove(&hosts, second);
        let Some((back, log)) = self.table.take_single(second) else { return at };
        let again = if back.packets == 0 {
            // Nothing went by that should have been followed otherwise.
            None
        } else {
            let taken = log.as_deref().map(|log| (back.key, log));
            self.table.get(first).and_then(|conn| self.follow_again(conn, taken?, pair))
        };
        let Some(conn) = self.table.get_mut(first) else { return at };
        let logs = conn.log.take().zip(log).filter(|_| is_on_trial);
        match again {
            Some(again) => *conn = again,
            None => put_together(conn, back, pair),
        }
        if let Some((there, back)) = logs {
            conn.log = Some(Log::merged(there, &back));
            conn.trial = pair.trial;
            self.unpaired.add_trial(&hosts, Tried::new(first, &conn.dirs));
        }
        self.table.enter(first, 1);
        At::new(first, usize::from(second == at.slot())).unwrap_or(at)
    }

    /// Whether all packets of a flow are kept.
    fn has_all(&self, slot: usize) -> bool {
        let log = self.table.get(slot).and_then(|conn| conn.log.as_deref());
        log.is_some_and(|log| log.is_whole)
    }

    /// A flow turns up that may be part of a pair instead of one that is: then that was not sure.
    fn part_rivals(&mut self, at: At, seen: &Seen) {
        let Some(conn) = self.table.get(at.slot()) else { return };
        let Some(key) = conn.dirs[0].key else { return };
        let hosts = key.hosts();
        if !self.unpaired.has_trials(&hosts) {
            return;
        }
        // As long as there was one flow each way nothing spoke against their being a pair.
        let is_first_other = conn.packets() == 0 && self.unpaired.ever(&hosts) <= FEW_EVER;
        let mut parted = Vec::new();
        let table = &self.table;
        self.unpaired.keep_trials(&hosts, |tried| {
            if !is_first_other && !tried.may_be_near(seen.psn) {
                return true;
            }
            let pair = table.get(tried.slot).filter(|pair| pair.is_on_trial_between(&hosts));
            let Some(pair) = pair else { return false };
            let is_contested = pair.trial > TRIAL && pair.has_rival(&key, seen);
            let is_parted = is_contested || (is_first_other && pair.is_contradicted());
            if is_parted {
                parted.push(tried.slot);
            }
            !is_parted
        });
        for slot in parted {
            self.part(slot);
        }
    }

    /// The flow of `key` and the one that it was paired with are none of one connection; returns
    /// where it is then.
    pub(super) fn part_for_good(&mut self, at: At, key: &FlowKey, seen: &Seen) -> At {
        let is_final = self.unpaired.is_one_each_way(&key.hosts());
        let partner = self.table.get(at.slot()).and_then(|conn| {
            conn.dirs.get(1usize.saturating_sub(at.dir())).and_then(|direction| direction.key)
        });
        self.part(at.slot());
        let Some(now) = self.table.find(key) else { return at };
        if self.table.get(now.slot()).is_some_and(|conn| conn.packets() == 0) {
            self.add_unpaired(now.slot(), seen);
        }
        if let Some(partner) = partner.and_then(|partner| self.table.find(&partner)) {
            let slots = (now.slot(), partner.slot());
            self.unpaired.rule_out_pair(&key.hosts(), slots, is_final);
        }
        now
    }

    /// Two flows may not be one connection after all.
    fn part(&mut self, slot: usize) {
        let is_full = self.len().saturating_add(1) >= self.config.max_connections;
        let Some(conn) = self.table.get_mut(slot) else { return };
        let Some(log) = conn.log.take().filter(|_| !is_full && conn.cm.is_none()) else { return };
        let Some(conn) = self.table.remove(slot) else { return };
        for (dir, key) in conn.dirs.iter().map(|direction| direction.key).enumerate() {
            let id = if dir == 0 { Some(conn.id) } else { None };
            self.add_parted(id, (key, conn.service), log.of_direction(dir));
        }
        if let Some(key) = conn.dirs[0].key {
            self.unpaired.end_trial(&key.hosts(), slot);
        }
    }

    /// A flow that was thought to be part of a pair.
    fn add_parted(
        &mut self,
        id: Option<u64>,
        (key, service): (Option<FlowKey>, Service),
        log: Box<Log>,
    ) {
        let mut conn = match id {
            Some(id) => self.conn_of(id, [key, None], service),
            None => self.new_conn([key, None], service),
        };
        for packet in log.packets() {
            let repeat = packet.repeat.as_deref().copied();
            conn.follow_whatever(0, (&packet.seen, repeat), &mut self.budget);
        }
        let first = log.packets().first().map(|packet| packet.seen);
        let Some(slot) = self.table.add(conn) else { return };
        if let Some(first) = first {
            self.add_unpaired(slot, &first);
        }
        if let Some(conn) = self.table.get_mut(slot) {
            conn.log = Some(log);
        }
    }

    /// The connection, had it been known from the beginning; `None` where not all is kept that this
    /// takes.
    fn follow_again<'l>(
        &self,
        first: &'l Conn,
        (key, back): (Option<FlowKey>, &'l Log),
        pair: Pair,
    ) -> Option<Conn> {
        let there = first.log.as_deref()?;
        if !there.is_whole || !back.is_whole {
            return None;
        }
        let keys = [first.dirs[0].key, key];
        let mut conn = self.conn_of(first.id, keys, first.service);
        conn.pairing = Some((pair.by, pair.confidence));
        conn.cm.clone_from(&first.cm);
        conn.first_seen.clone_from(&first.first_seen);
        conn.is_over = first.is_over;
        let mut budget = self.budget;
        let packets = |log: &'l Log, dir| log.packets().iter().map(move |packet| (dir, packet));
        let mut all: Vec<_> = packets(there, 0).chain(packets(back, 1)).collect();
        all.sort_by_key(|(_, packet)| packet.seen.frame);
        for (dir, packet) in all {
            let repeat = packet.repeat.as_deref().copied();
            if conn.observe_settled(dir, (&packet.seen, repeat), &mut budget) == Fit::Anew {
                return None;
            }
        }
        Some(conn)
    }

    /// The newest answer of a flow that was paired at the end, which says what had arrived.
    fn settle_answered(&mut self, at: At, seen: &Seen) {
        let Some(conn) = self.table.get_mut(at.slot()) else { return };
        let is_ack = seen.answer.is_none_or(|answer| matches!(answer, AckKind::Ack(_)));
        let asked = conn.dirs.get_mut(1usize.saturating_sub(at.dir()));
        if let Some(asked) = asked.filter(|asked| is_ack && asked.has(flag::STARTED)) {
            // It may be to a request that the capture lacks.
            let end = seen.psn.add(1);
            let end = if asked.next.is_before(end) { asked.next } else { end };
            advance(asked, seen, end, true);
        }
    }

    /// Nothing will rule out any more candidates: what is left must do.
    pub(super) fn pair_at_end(&mut self) {
        let mut looks = 0usize;
        for round in 0..LAST_ROUNDS {
            let mut slots = self.unpaired.two_way();
            slots.sort_unstable();
            let mut has_changed = false;
            for slot in slots {
                looks = looks.saturating_add(1);
                if looks > LAST_LOOKS {
                    return;
                }
                let Some(at) = At::new(slot, 0) else { continue };
                let Some(seen) = self.table.get(slot).and_then(last_answer) else { continue };
                let found = self.unpaired.find(&self.table, at, &seen, true);
                if let Some(Found::Pair(pair)) = found {
                    let joined = self.join(at, pair);
                    self.settle_answered(joined, &seen);
                    has_changed = true;
                }
            }
            // The first round tells what each may be, and so what others cannot be.
            if !has_changed && round > 0 {
                return;
            }
        }
    }
}

/// The newest answer of a flow whose packets are all known.
fn last_answer(conn: &Conn) -> Option<Seen> {
    let is_trusted = |seen: &Seen| seen.icrc != IcrcState::Bad || seen.is_known_fault;
    let is_answer = |seen: &&Seen| is_answer(seen) && is_trusted(seen);
    let packets = conn.log.as_ref()?.packets().iter().rev();
    packets.map(|packet| &packet.seen).find(is_answer).copied()
}

/// The flow `back` is the other direction of `conn`. What its answers were to is not known any more.
fn put_together(conn: &mut Conn, back: Direction, pair: Pair) {
    conn.log = None;
    let had_answers = back.packets > 0;
    conn.dirs[1] = back;
    let [there, back] = &mut conn.dirs;
    if had_answers {
        // Some came by that were to these requests, and nobody knew.
        unmatched::settle(&mut there.trouble, &mut back.trouble);
    }
    if there.has(flag::UNMATCHED) {
        back.forget_waiting();
    }
    if back.has(flag::UNMATCHED) {
        there.forget_waiting();
    }
    conn.pairing = Some((pair.by, pair.confidence));
}

impl Conn {
    fn is_on_trial_between(&self, hosts: &HostPair) -> bool {
        let is_between = self.dirs[0].key.is_some_and(|key| key.hosts() == *hosts);
        is_between && self.log.is_some() && self.is_paired() && self.trial > 0
    }

    /// Whether all that is kept speaks against the pair.
    fn is_contradicted(&self) -> bool {
        self.log.as_deref().is_some_and(|log| Evidence::of_pair(log, None).is_against())
    }

    /// An answer of a pair that is on trial: it counts if it fits.
    pub(super) fn try_on(&mut self, dir: usize, seen: &Seen) -> Trial {
        let Some(log) = self.log.as_deref().filter(|_| self.trial > 0 && is_answer(seen)) else {
            return Trial::GoesOn;
        };
        if seen.icrc == IcrcState::Bad && !seen.is_known_fault {
            return Trial::GoesOn;
        }
        let [a, b] = &self.dirs;
        let asked = if dir == 0 { b } else { a };
        let fits = fits((asked, self.service), seen);
        let trial = self.trial.saturating_sub(u8::from(fits));
        let is_early = trial > TRIAL.saturating_sub(WEIGHED_EVERY);
        let is_time = !fits || is_early || trial.is_multiple_of(WEIGHED_EVERY);
        let evidence = is_time.then(|| Evidence::of_pair(log, Some((dir, seen))));
        if let Some(evidence) = evidence.filter(|evidence| evidence.is_against()) {
            return Trial::Failed { is_sure: evidence.is_against_all_doubt() };
        }
        self.trial = trial;
        if trial > 0 {
            return Trial::GoesOn;
        }
        self.log = None;
        Trial::Passed
    }

    /// Whether a packet of another flow may be part of this pair: it begins as one of the flows did,
    /// or answers one of them.
    fn has_rival(&self, key: &FlowKey, seen: &Seen) -> bool {
        self.dirs.iter().any(|direction| {
            let Some(known) = direction.key else { return false };
            if is_answer(seen) {
                known.src() == key.dst() && fits((direction, self.service), seen)
            } else {
                seen.kind.is_request()
                    && known.src() == key.src()
                    && direction.has(flag::STARTED)
                    && is_near(Some(direction.next), Some(seen.psn))
            }
        })
    }
}
