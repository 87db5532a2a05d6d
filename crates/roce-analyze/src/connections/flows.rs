//! Flows become connections: the first packet of each, its other direction, and its next life.

use roce_wire::IcrcState;

use super::direction::flag;
use super::key::FlowKey;
use super::report::LearnedFrom;
use super::requests::Fit;
use super::seen::Seen;
use super::table::At;
use super::tracker::Tracker;

impl Tracker {
    /// A packet of a connection.
    #[inline]
    pub(super) fn flow(&mut self, key: FlowKey, seen: &Seen) {
        if self.copies.are_watched(seen.frame) {
            self.flow_watched(key, seen);
        } else {
            self.packet_of(key, seen);
        }
    }

    /// The same where copies may come.
    fn flow_watched(&mut self, key: FlowKey, seen: &Seen) {
        let repeat = self.copies.compare(&key, seen);
        let told = Some(repeat.unwrap_or_default());
        let fit = self.packet_of(key, &Seen { repeat: told, ..*seen });
        if repeat.is_some() {
            self.copies.settle(seen, if let Fit::Copy(at) = fit { Some(at) } else { None });
        }
    }

    #[inline]
    fn packet_of(&mut self, key: FlowKey, seen: &Seen) -> Fit {
        let at = match self.table.find(&key) {
            Some(at) => at,
            None => match self.new_flow(key, seen) {
                Some(at) => at,
                None => return Fit::Yes,
            },
        };
        let Some(conn) = self.table.get_mut(at.slot()) else { return Fit::Yes };
        let fit = if conn.must_pair(seen) {
            let at = self.try_to_pair(at, seen);
            let conn = self.table.get_mut(at.slot());
            (at, conn.map_or(Fit::Yes, |conn| conn.observe(at.dir(), seen, &mut self.budget)))
        } else {
            (at, conn.observe(at.dir(), seen, &mut self.budget))
        };
        self.totals.connection_packets = self.totals.connection_packets.saturating_add(1);
        match fit {
            (_, Fit::Yes | Fit::Copy(_)) => {}
            (_, Fit::Again) => self.copies.suspect(seen.frame),
            (at, Fit::Anew) => self.begin_anew(at, seen),
        }
        fit.1
    }

    /// A flow of which nothing was seen before.
    #[cold]
    fn new_flow(&mut self, key: FlowKey, seen: &Seen) -> Option<At> {
        if seen.icrc == IcrcState::Bad && !seen.is_known_fault {
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
        self.unpaired.add(key.hosts(), slot);
        self.table.find(&key)
    }

    #[cold]
    fn try_to_pair(&mut self, at: At, seen: &Seen) -> At {
        if let Some(asked) = self.awaited.asked(&self.table, at, seen) {
            return self.complete_asked(at, asked);
        }
        let Some(pair) = self.unpaired.find(&self.table, at, seen) else { return at };
        // The one that was there first keeps its number.
        let (first, second) = if pair.is_older(&self.table, at.slot()) {
            (pair.slot, at.slot())
        } else {
            (at.slot(), pair.slot)
        };
        let hosts = self.table.get(first).and_then(|conn| conn.dirs[0].key).map(|k| k.hosts());
        if let Some(hosts) = hosts {
            self.unpaired.remove(&hosts, first);
            self.unpaired.remove(&hosts, second);
        }
        let Some(taken) = self.table.remove(second) else { return at };
        let Some(conn) = self.table.get_mut(first) else { return at };
        let [taken, _] = taken.dirs;
        let key = taken.key;
        conn.dirs[1] = taken;
        let [there, back] = &mut conn.dirs;
        if there.has(flag::UNMATCHED) {
            back.forget_waiting();
        }
        if back.has(flag::UNMATCHED) {
            there.forget_waiting();
        }
        conn.pairing = Some((pair.by, pair.confidence));
        self.table.enter(first, 1);
        key.filter(|_| second == at.slot())
            .and_then(|key| self.table.find(&key))
            .unwrap_or_else(|| At::new(first, 0).unwrap_or(at))
    }

    /// The flow at `at`, of which nothing is counted yet, is that of a connection that was asked for.
    fn complete_asked(&mut self, at: At, asked: usize) -> At {
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
        self.table.find(&key)
    }

    /// The queue pair of a connection that is over, or far from where it was, is used again.
    #[cold]
    fn begin_anew(&mut self, at: At, seen: &Seen) {
        let Some(old) = self.table.remove(at.slot()) else { return };
        let keys = [old.dirs[0].key, old.dirs[1].key];
        let (service, pairing) = (old.service, old.pairing);
        self.forget_pairing(&old, at.slot());
        self.retire(old);
        self.make_room();
        let mut conn = self.new_conn(keys, service);
        conn.pairing = pairing;
        conn.observe(at.dir(), seen, &mut self.budget);
        let slot = self.table.add(conn);
        if let (Some(slot), Some(key), None) = (slot, keys[0], keys[1]) {
            self.unpaired.add(key.hosts(), slot);
        }
    }
}
