//! Which frame of a direction was sent before which, and which was captured twice: by the newest
//! frames, and by the IP identification where that counts.

use super::direction::Direction;
use super::proof::Event;
use super::seen::Seen;

/// How many frames back a frame is looked for that was captured twice; a power of two.
pub(super) const RECENT: usize = 16;
/// How far apart the IP identifications of neighbours are that were counted up. Linux shares a
/// counter among flows, and leaps when it was idle.
const NEAR: u16 = 2048;

/// Tells the newest frames of a direction apart, but for one in 32768; never 0.
const fn fingerprint(seen: &Seen) -> u16 {
    let mixed = (seen.mark ^ seen.psn.get()).wrapping_mul(0x9e37_79b1);
    let [high, low, ..] = mixed.to_be_bytes();
    u16::from_be_bytes([high, low]) | 1
}

impl Direction {
    /// Remembers a frame, to know it again.
    #[inline]
    pub(super) fn remember(&mut self, seen: &Seen) {
        let at = usize::from(self.recent_at) % RECENT;
        if let Some(slot) = self.recent.get_mut(at) {
            *slot = fingerprint(seen);
        }
        self.recent_at = self.recent_at.wrapping_add(1);
    }

    /// Whether copies are the rule: two of five packets are.
    pub(super) fn is_mirrored(&self) -> bool {
        let copies = self.trouble.as_ref().map_or(0, |trouble| trouble.duplicate_frames);
        copies > 0 && copies.saturating_mul(5) >= self.packets.saturating_mul(2)
    }

    /// How many frames back the same frame was captured, 0 for right before.
    #[inline]
    pub(super) fn same_frame(&self, seen: &Seen) -> Option<usize> {
        let wanted = fingerprint(seen);
        // Nearly always it is none of them, which is told by one look at all.
        if self.recent.iter().fold(true, |none, known| none & (*known != wanted)) {
            return None;
        }
        (0..RECENT).find(|back| {
            let at = usize::from(self.recent_at).wrapping_sub(1).wrapping_sub(*back) % RECENT;
            self.recent.get(at) == Some(&wanted)
        })
    }

    /// Follows the IP identification, which most senders count up.
    #[inline]
    pub(super) fn follow_ip_id(&mut self, id: u16, seen: &Seen) {
        let step = id.wrapping_sub(self.ip_id).cast_signed();
        let (forward, backward) = &mut self.ip_id_steps;
        if self.packets > 1 {
            if *forward == u8::MAX {
                // The past counts half.
                (*forward, *backward) = (*forward / 2, *backward / 2);
            }
            if step != 0 && step.unsigned_abs() < NEAR {
                // Backward too: it counts, and was overtaken.
                *forward = forward.saturating_add(1);
            } else if *backward < u8::MAX && self.same_frame(seen).is_none() {
                // What was captured twice says nothing.
                let (_, backward) = &mut self.ip_id_steps;
                *backward = backward.saturating_add(1);
            }
        }
        if step > 0 || self.packets <= 1 {
            self.ip_id = id;
        }
    }

    /// Whether the packet was sent before the newest one seen; `None` when that cannot be told.
    #[inline]
    pub(super) fn was_sent_before(&self, seen: &Seen) -> Option<bool> {
        let id = seen.ip_id.filter(|_| self.ip_id_counts())?;
        let step = id.wrapping_sub(self.ip_id).cast_signed();
        // What is far away is of another counter: acknowledgements may have one of their own.
        (step.unsigned_abs() < NEAR).then_some(step < 0)
    }

    /// Whether packets of this direction came behind later ones.
    #[cold]
    pub(super) fn has_late_packets(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.late_packets() > 0)
    }

    /// Counts a packet that comes behind later ones; says whether it was late on the wire. Where its
    /// time is earlier than theirs, it only stands behind them in the capture.
    #[cold]
    pub(super) fn note_late(&mut self, seen: &Seen, depth: u32) -> bool {
        let is_misplaced =
            self.last_time.get().zip(seen.time).is_some_and(|(last, now)| now < last);
        let trouble = self.trouble();
        if is_misplaced {
            trouble.misplaced = trouble.misplaced.saturating_add(1);
            return false;
        }
        trouble.out_of_order = trouble.out_of_order.saturating_add(1);
        trouble.max_reorder_depth = trouble.max_reorder_depth.max(depth);
        trouble.proofs.note(Event::OutOfOrder, seen.frame);
        true
    }

    /// Whether the IP identification of this direction counts packets, so that it tells the order
    /// in which they were sent.
    pub(super) const fn ip_id_counts(&self) -> bool {
        let (forward, backward) = self.ip_id_steps;
        forward >= 1 && backward.saturating_mul(4) < forward
    }
}
