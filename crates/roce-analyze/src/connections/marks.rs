//! ECN and DSCP of one direction: how its packets with data are marked, and its CNPs.

use core::num::NonZeroU64;

use roce_wire::Ecn;

use super::direction::Direction;
use super::proof::Event;
use super::seen::{Kind, Seen};

/// What differs from the usual.
#[derive(Clone, Default, Debug)]
pub(super) struct Unusual {
    /// Packets with data of other traffic classes than the usual one, by ECN codepoint.
    ecn: [u32; 4],
    /// One bit for each DSCP: of packets with data, of CNPs.
    dscps: [u64; 2],
}

const fn dscp_bit(class: u8) -> u64 {
    1 << (class >> 2)
}

impl Direction {
    /// Counts how a packet is marked.
    #[inline]
    pub(super) fn count_marks(&mut self, seen: &Seen) {
        if let Some(class) = seen.traffic_class {
            if !seen.is_data() {
                self.count_others_marks(class, seen);
            } else if self.usual == Some(class) {
                self.usually = self.usually.saturating_add(1);
                if Ecn::from_tos(class) == Ecn::Ce {
                    self.note_congestion(seen);
                }
            } else {
                self.count_unusual(class, seen);
            }
        }
        if let Some(pcp) = seen.pcp {
            self.pcps |= 1u8 << (pcp & 7);
        }
        if seen.kind != Kind::Cnp
            && let Some(port) = seen.src_port
        {
            self.src_ports.add(port);
        }
    }

    /// A packet with data, the first or one with another traffic class than that.
    #[cold]
    fn count_unusual(&mut self, class: u8, seen: &Seen) {
        let ecn = Ecn::from_tos(class);
        if ecn == Ecn::NotEct && self.first_not_ect == 0 {
            let behind = seen.frame.saturating_sub(self.first_frame).saturating_add(1);
            self.first_not_ect = u32::try_from(behind).unwrap_or(0);
        }
        if self.usual.is_none() {
            (self.usual, self.usually) = (Some(class), 1);
        } else {
            let Unusual { ecn: counts, dscps: [data, _] } = &mut self.more().unusual;
            *data |= dscp_bit(class);
            if let Some(count) = counts.get_mut(usize::from(ecn.bits())) {
                *count = count.saturating_add(1);
            }
        }
        if ecn == Ecn::Ce {
            self.note_congestion(seen);
        }
    }

    /// A packet without data.
    #[inline]
    fn count_others_marks(&mut self, class: u8, seen: &Seen) {
        let is_cnp = seen.kind == Kind::Cnp;
        if is_cnp {
            let [_, cnps] = &mut self.more().unusual.dscps;
            *cnps |= dscp_bit(class);
        }
        if Ecn::from_tos(class) == Ecn::Ce {
            let trouble = self.trouble();
            let count = if is_cnp { &mut trouble.ecn_ce_cnps } else { &mut trouble.ecn_ce_acks };
            *count = count.saturating_add(1);
            self.note_congestion(seen);
        }
    }

    /// Notes congestion on the way of a packet that is counted, and marked.
    #[cold]
    fn note_congestion(&mut self, seen: &Seen) {
        let trouble = self.trouble();
        trouble.proofs.note(Event::Ce, seen.frame);
        if seen.is_data() && trouble.ce_since.is_none() {
            trouble.ce_since = seen.time;
        }
    }

    /// Packets with data, by ECN codepoint.
    pub(super) fn ecn(&self) -> [u64; 4] {
        let unusual = self.more.as_ref().map_or([0; 4], |more| more.unusual.ecn);
        let mut counts = unusual.map(u64::from);
        if let Some(class) = self.usual
            && let Some(count) = counts.get_mut(usize::from(Ecn::from_tos(class).bits()))
        {
            *count = count.saturating_add(self.usually.into());
        }
        counts
    }

    /// One bit for each DSCP: of packets with data, of CNPs.
    pub(super) fn dscps(&self) -> [u64; 2] {
        let [data, cnps] = self.more.as_ref().map_or([0; 2], |more| more.unusual.dscps);
        [data | self.usual.map_or(0, dscp_bit), cnps]
    }

    /// The first packet with data that cannot be marked.
    pub(super) fn first_not_ect_frame(&self) -> Option<NonZeroU64> {
        let behind = u64::from(self.first_not_ect).checked_sub(1)?;
        NonZeroU64::new(self.first_frame.saturating_add(behind))
    }
}
