//! Flows whose ICRC is always wrong: behind an address translation, or of a sender that computes it
//! wrongly.
//!
//! Such packets are kept out of the PSN state, as what is wrong may be anything. But that all of a
//! flow agree with those of another is no accident.

use super::connection::Conn;
use super::direction::flag;
use super::evidence::Evidence;
use super::pairing::Pair;
use super::report::LearnedFrom;
use super::table::At;
use super::tracker::Tracker;

/// So many answers must agree with the requests.
const SURE: u32 = 3;
/// How many packets are held to each other in all.
const MOST_PACKETS: usize = 1 << 21;

impl Conn {
    /// Whether all packets of a flow had a wrong ICRC.
    pub(super) fn is_faulty(&self) -> bool {
        let [only, _] = &self.dirs;
        !self.is_paired() && !only.has(flag::GOOD_ICRC)
    }
}

impl Tracker {
    /// At the end of the capture: flows whose ICRC is always wrong, and their other directions.
    pub(super) fn pair_faulty(&mut self) {
        let mut slots = self.unpaired.two_way();
        slots.retain(|slot| self.table.get(*slot).is_some_and(Conn::is_faulty));
        slots.sort_unstable();
        let mut left = MOST_PACKETS;
        for slot in slots {
            let Some(partner) = self.agreeing(slot, &mut left) else { continue };
            let (true, Some(at)) =
                (self.agreeing(partner, &mut left) == Some(slot), At::new(slot, 0))
            else {
                continue;
            };
            let by = LearnedFrom::Psn;
            self.join(at, Pair { slot: partner, by, confidence: 80, trial: 0 });
        }
    }

    /// The only flow that agrees with the one in `slot`, one of the two being faulty.
    fn agreeing(&self, slot: usize, left: &mut usize) -> Option<usize> {
        let conn = self.table.get(slot).filter(|conn| !conn.is_paired())?;
        let (key, mine) = (conn.dirs[0].key?, conn.log.as_deref()?);
        let mut found = None;
        for other in self.unpaired.other_way(&key) {
            let Some(them) = self.table.get(other).filter(|_| other != slot) else { continue };
            let Some(theirs) = them.log.as_deref() else { continue };
            if !conn.is_faulty() && !them.is_faulty() {
                continue;
            }
            let packets = mine.packets().len().saturating_add(theirs.packets().len());
            *left = left.checked_sub(packets)?;
            let evidence = Evidence::of_flows(mine, theirs);
            if evidence.agree >= SURE && !evidence.is_against() && found.replace(other).is_some() {
                return None;
            }
        }
        found
    }
}
