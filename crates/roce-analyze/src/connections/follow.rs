//! The way of nearly all packets: out of plain frames, and many at a time.

use roce_wire::{IcrcState, Link, Ports, plain};

use super::sighting::{Sight, Sighting};
use super::table::At;
use super::tracker::{Tracker, count_carrier};

/// How many packets are looked up at a time.
pub(super) const GROUP: usize = 16;

/// So many connections fit the caches of a processor.
const IN_CACHE: usize = 2048;

impl Tracker {
    /// Takes a frame by its bytes, as [`roce_wire::Frame::parse`] would, if it is a plain one:
    /// `false` where [`Self::observe`] must be asked.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    pub fn observe_plain(
        &mut self,
        (link, bytes, wire_len): (Link, &[u8], usize),
        ports: &Ports,
        number: u64,
        time_ns: Option<u64>,
    ) -> bool {
        let checks_icrc = self.config.check_icrc;
        let sight = Sight { number, time_ns, checks_icrc, list: &mut self.waiting };
        if plain(link, bytes, wire_len, ports, sight).is_none() {
            return false;
        }
        if self.waiting.len() >= GROUP {
            self.follow_waiting();
        }
        true
    }

    /// Whatever comes next, the packets before it have been taken.
    #[inline(never)]
    pub(super) fn follow_waiting(&mut self) {
        let mut waiting = core::mem::take(&mut self.waiting);
        self.follow_in_order(&waiting);
        waiting.clear();
        self.waiting = waiting;
    }

    /// Takes packets that were taken out of their frames, in the order of the capture.
    #[inline]
    pub fn follow_all(&mut self, sightings: &[Sighting]) {
        self.follow_waiting();
        self.follow_in_order(sightings);
    }

    #[inline]
    fn follow_in_order(&mut self, sightings: &[Sighting]) {
        for group in sightings.chunks(GROUP) {
            if self.table.len() > IN_CACHE {
                self.table.fetch(group);
            }
            // Looked up one by one, each would wait for the memory that the last one asked for.
            let places = self.table.find_all(group);
            let changes = self.table.changes();
            for (place, sighting) in places.iter().zip(group) {
                let is_valid = self.table.changes() == changes;
                self.follow_at(sighting, place.filter(|_| is_valid));
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every packet")]
    fn follow_at(&mut self, Sighting { key, seen }: &Sighting, at: Option<At>) {
        self.totals.count_frame(seen.frame, seen.time, seen.wire_len.into(), seen.is_cut);
        count_carrier(&mut self.totals, key.carrier());
        let [ok, _, unchecked] = &mut self.totals.icrc;
        let count = if seen.icrc == IcrcState::Ok { ok } else { unchecked };
        *count = count.wrapping_add(1);
        self.flow(key, seen, at);
    }
}
