//! Flows become connections: the first packet of each, its other direction, and its next life.

use roce_wire::IcrcState;

use super::copies::Repeat;
use super::key::FlowKey;
use super::partners::Trial;
use super::report::LearnedFrom;
use super::requests::Fit;
use super::seen::Seen;
use super::table::At;
use super::tracker::Tracker;

/// After so many packets a flow is only kept on where others go the other way.
const FEW: usize = 96;

impl Tracker {
    /// A packet of a connection, and its place where that is known.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every packet, in one place")]
    pub(super) fn flow(&mut self, key: &FlowKey, seen: &Seen, at: Option<At>) {
        if self.copies.are_watched(seen.frame) {
            return self.flow_out_of_line(key, seen);
        }
        self.totals.count_marks(seen);
        let conn = at.and_then(|at| Some((at, self.table.get_mut(at.slot())?)));
        match conn {
            Some((at, conn)) if !conn.must_pair(seen) => {
                let fit = conn.observe(at.dir(), seen, &mut self.budget);
                self.totals.count_connection_packet();
                if fit != Fit::Yes {
                    self.unfit(at, fit, seen);
                }
            }
            _ => _ = self.begin(key, (seen, None), at),
        }
    }

    /// The same, out of the way of most packets: where copies may come, and frames that are not
    /// plain.
    #[cold]
    pub(super) fn flow_out_of_line(&mut self, key: &FlowKey, seen: &Seen) {
        self.totals.count_marks(seen);
        if !self.copies.are_watched(seen.frame) {
            self.begin(key, (seen, None), None);
            return;
        }
        let repeat = self.copies.compare(key, seen);
        let seen = &Seen { is_compared: true, ..*seen };
        let fit = self.begin(key, (seen, repeat), None);
        if repeat.is_some() {
            self.copies.settle(seen, if let Fit::Copy(at) = fit { Some(at) } else { None });
        }
    }

    /// A packet of a flow that is new, or may be paired now; `at` is its place where that is known.
    fn begin(
        &mut self,
        key: &FlowKey,
        (seen, repeat): (&Seen, Option<Repeat>),
        at: Option<At>,
    ) -> Fit {
        let known = at.or_else(|| self.table.find(key));
        let Some(at) = known.or_else(|| self.new_flow(*key, seen)) else { return Fit::Yes };
        let tells = self.table.get(at.slot()).is_some_and(|conn| conn.tells_partner(seen));
        let at = if tells { self.try_to_pair(at, seen) } else { at };
        let trial = self.table.get_mut(at.slot()).map(|conn| conn.try_on(at.dir(), seen));
        let is_wrong = match trial {
            Some(Trial::Failed { is_sure }) => {
                is_sure || !self.unpaired.is_one_each_way(&key.hosts())
            }
            _ => false,
        };
        let at = if is_wrong { self.undo(at, key, seen) } else { at };
        let Some(conn) = self.table.get_mut(at.slot()) else { return Fit::Yes };
        let hosts = conn.dirs[0].key.map(|key| key.hosts());
        conn.keep(at.dir(), seen, repeat);
        let has_run_out = conn.trial > 0 && conn.log.is_none();
        if has_run_out {
            conn.trial = 0;
        }
        if conn.log.as_ref().is_some_and(|log| log.packets().len() == FEW)
            && hosts.is_some_and(|hosts| self.unpaired.is_alone(&hosts, at.slot()))
        {
            // Nothing goes the other way: one direction is captured.
            conn.log = None;
        }
        (conn.is_open, conn.is_single) = (conn.log.is_some(), !conn.is_paired());
        let has_begun = conn.trial == 0 || conn.has_started(at.dir());
        let fit = conn.observe_out_of_line(at.dir(), (seen, repeat), &mut self.budget);
        let starts = !has_begun && conn.has_started(at.dir());
        self.totals.count_connection_packet();
        if let Some(hosts) = hosts.filter(|_| starts) {
            self.unpaired.start_trial(&hosts, (at.slot(), at.dir()), seen.psn);
        }
        if let Some(hosts) = hosts.filter(|_| has_run_out || trial == Some(Trial::Passed)) {
            self.unpaired.end_trial(&hosts, at.slot());
        }
        self.unfit(at, fit, seen);
        fit
    }

    /// An answer speaks against a pair: one of the two queue pairs is used again, or they never
    /// were one connection. Returns where the flow is then.
    #[cold]
    fn undo(&mut self, at: At, key: &FlowKey, seen: &Seen) -> At {
        self.change_partner(at, seen).unwrap_or_else(|| self.part_for_good(at, key, seen))
    }

    /// A packet that is more than the next one of its connection.
    #[cold]
    fn unfit(&mut self, at: At, fit: Fit, seen: &Seen) {
        match fit {
            Fit::Yes | Fit::Copy(_) => {}
            Fit::Again => self.copies.suspect(seen.frame),
            Fit::Held => {
                self.copies.suspect(seen.frame);
                self.restarts.note(at.slot(), &mut self.table);
            }
            Fit::Anew => self.begin_anew(at, seen),
            Fit::Astray => self.find_asked(at, seen),
        }
    }

    /// A flow of which nothing was seen before.
    #[cold]
    fn new_flow(&mut self, key: FlowKey, seen: &Seen) -> Option<At> {
        let is_doubtful = seen.icrc == IcrcState::Bad && !seen.is_known_fault;
        if is_doubtful && self.suspects.note(&key, seen) {
            // Its numbers may be what is wrong.
            let count = &mut self.totals.icrc_bad_elsewhere;
            *count = count.saturating_add(1);
            return None;
        }
        let there = key.datagram_back().and_then(|back| self.table.find(&back));
        if let Some(back) = there {
            return self.complete_datagram(key, back);
        }
        self.make_room();
        if self.copies.are_watched(seen.frame) {
            self.copies.suspect(seen.frame);
        } else {
            self.copies.begin(&key, seen);
        }
        let conn = self.new_conn([Some(key), None], seen.service);
        let slot = self.table.add(conn);
        let Some(slot) = slot else {
            self.totals.refused = self.totals.refused.saturating_add(1);
            return None;
        };
        self.add_unpaired(slot, seen);
        for packet in self.suspects.take(&key) {
            let elsewhere = &mut self.totals.icrc_bad_elsewhere;
            *elsewhere = elsewhere.saturating_sub(1);
            self.totals.count_connection_packet();
            if let Some(conn) = self.table.get_mut(slot) {
                conn.begin_with(0, &packet, &mut self.budget);
            }
        }
        At::new(slot, 0)
    }

    /// The flow at `at`, of which nothing is counted yet, is that of a connection that was asked for.
    pub(super) fn complete_asked(&mut self, at: At, asked: usize) -> At {
        let Some(taken) = self.table.remove(at.slot()) else { return at };
        self.forget_pairing(&taken, at.slot());
        let Some(conn) = self.table.get_mut(asked) else { return at };
        let Some(key) = taken.dirs[0].key else { return at };
        conn.dirs[0].key = Some(key);
        conn.pairing = Some((LearnedFrom::Port, 80));
        self.awaited.remove(&key.hosts(), asked);
        self.table.enter(asked, 0);
        At::new(asked, 0).unwrap_or(at)
    }

    /// The way back of a datagram flow.
    fn complete_datagram(&mut self, key: FlowKey, back: At) -> Option<At> {
        let conn = self.table.get_mut(back.slot())?;
        conn.dirs[1].key = Some(key);
        conn.pairing = Some((LearnedFrom::Datagram, 100));
        self.table.enter(back.slot(), 1);
        self.unpaired.remove(&key.hosts(), back.slot());
        At::new(back.slot(), 1)
    }

    /// The queue pair of a connection that is over, or far from where it was, is used again: what
    /// was held is of the new one.
    #[cold]
    fn begin_anew(&mut self, at: At, seen: &Seen) {
        let Some(mut old) = self.table.remove(at.slot()) else { return };
        let keys = [old.dirs[0].key, old.dirs[1].key];
        let (service, pairing) = (old.service, old.pairing);
        let mut packets = old.take_held();
        packets.push((at.dir(), *seen));
        self.forget_pairing(&old, at.slot());
        self.retire(old);
        self.make_room();
        let mut conn = self.new_conn(keys, service);
        conn.pairing = pairing;
        let is_single = !conn.is_paired();
        let Some(slot) = self.table.add(conn) else { return };
        let first = packets.first().map(|(_, seen)| *seen);
        if let (true, Some(first)) = (is_single, first) {
            self.add_unpaired(slot, &first);
        }
        if seen.kind.is_request() && !is_single {
            // Nobody has answered yet.
            self.restarts.note(slot, &mut self.table);
        }
        let Some(conn) = self.table.get_mut(slot) else { return };
        for (dir, seen) in packets {
            conn.begin_with(dir, &seen, &mut self.budget);
        }
    }
}
