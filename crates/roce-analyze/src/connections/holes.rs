//! Ranges of PSNs that were passed over: bounded, in order of the wire.

use roce_wire::Psn;

use super::seen::Seen;

/// How many ranges are kept; the oldest give way.
const MAX: usize = 32;

/// A range of PSNs that were not seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hole {
    pub start: Psn,
    /// In PSNs, at least 1.
    pub len: u32,
    /// The frame that made it visible.
    pub frame: u64,
    /// When that was, in nanoseconds.
    pub time: Option<u64>,
    /// Whether the receiver has said that it misses it.
    pub asked_for: bool,
    /// Of responses: whether they were sent, beyond doubt.
    pub is_sure: bool,
    /// Of responses: whether they were seen before, and only what was sent again is missing.
    pub is_again: bool,
    /// Of requests: whether they lie before the first one that was captured, so that they may have
    /// come before the capture began.
    pub is_early: bool,
}

impl Hole {
    /// One that this packet makes visible.
    pub(super) const fn new(start: Psn, len: u32, seen: &Seen) -> Self {
        Self {
            start,
            len,
            frame: seen.frame,
            time: seen.time,
            asked_for: false,
            is_sure: true,
            is_again: false,
            is_early: false,
        }
    }

    pub(super) fn contains(&self, psn: Psn) -> bool {
        let distance = psn.distance_from(self.start);
        u32::try_from(distance).is_ok_and(|distance| distance < self.len)
    }

    fn end(&self) -> Psn {
        self.start.add(self.len)
    }
}

/// The holes of one stream of PSNs.
#[derive(Clone, Default, Debug)]
pub(super) struct Holes {
    list: Vec<Hole>,
}

impl Holes {
    /// Adds one; returns the one that had to give way, unless it tells nothing.
    pub(super) fn add(&mut self, hole: Hole) -> Option<Hole> {
        if hole.len == 0 {
            return None;
        }
        let oldest = (self.list.len() >= MAX).then(|| self.list.remove(0));
        self.list.push(hole);
        oldest.filter(|hole| !hole.is_early)
    }

    /// Adds one; where there are many already, to the newest if it goes on there.
    pub(super) fn extend(&mut self, hole: Hole) {
        let is_full = self.list.len() >= MAX;
        match self.list.last_mut().filter(|last| is_full && last.end() == hole.start) {
            Some(last) => {
                last.len = last.len.saturating_add(hole.len);
                (last.frame, last.time) = (hole.frame, hole.time);
            }
            None => _ = self.add(hole),
        }
    }

    /// Whether more may have been added than are kept.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MAX
    }

    /// How many PSNs lie in holes.
    pub(super) fn sum(&self) -> u64 {
        self.list.iter().fold(0, |sum, hole| sum.saturating_add(hole.len.into()))
    }

    /// The hole that `psn` lies in.
    pub(super) fn at(&self, psn: Psn) -> Option<&Hole> {
        self.list.iter().find(|hole| hole.contains(psn))
    }

    /// How many of `[psn, psn + len)` lie in holes.
    pub(super) fn overlap(&self, psn: Psn, len: u32) -> u32 {
        let end = psn.add(len);
        self.list.iter().fold(0, |sum, hole| {
            let before = signed(hole.start.distance_from(psn)).min(len);
            let after = signed(end.distance_from(hole.end())).min(len);
            sum.saturating_add(len.saturating_sub(before.saturating_add(after)))
        })
    }

    /// The hole that `psn` lies in is one between packets of the capture, and not before the first.
    pub(super) fn prove(&mut self, psn: Psn) {
        if let Some(hole) = self.list.iter_mut().find(|hole| hole.contains(psn)) {
            hole.is_early = false;
        }
    }

    /// The receiver misses `psn`.
    pub(super) fn ask_for(&mut self, psn: Psn) -> bool {
        match self.list.iter_mut().find(|hole| hole.contains(psn)) {
            Some(hole) => {
                // Before the first packet of the capture there is more that nobody knows.
                hole.asked_for |= !hole.is_early;
                true
            }
            None => false,
        }
    }

    /// Takes `[psn, psn + len)` out of the holes; returns how many PSNs that were, without those
    /// before the first packet of the capture.
    pub(super) fn fill(&mut self, psn: Psn, len: u32) -> u32 {
        let end = psn.add(len);
        let mut filled = 0u32;
        let mut rest: Vec<Hole> = Vec::new();
        self.list.retain_mut(|hole| {
            let before = signed(psn.distance_from(hole.start)).min(hole.len);
            let after = signed(hole.end().distance_from(end)).min(hole.len);
            let kept = before.saturating_add(after);
            if kept >= hole.len {
                return true;
            }
            if !hole.is_early {
                filled = filled.saturating_add(hole.len.saturating_sub(kept));
            }
            if after > 0 && before > 0 {
                rest.push(Hole { start: end, len: after, ..*hole });
            }
            match (before, after) {
                (0, 0) => false,
                (0, after) => {
                    (hole.start, hole.len) = (end, after);
                    true
                }
                (before, _) => {
                    hole.len = before;
                    true
                }
            }
        });
        for hole in rest {
            self.add(hole);
        }
        filled
    }

    /// Takes out everything before `end`; returns how many PSNs that were, as [`Self::fill`] does.
    pub(super) fn fill_before(&mut self, end: Psn) -> u32 {
        let Some(oldest) = self.list.iter().map(|hole| hole.start).min_by(|a, b| {
            // Serial order holds among the holes of one window.
            a.distance_from(*b).cmp(&0)
        }) else {
            return 0;
        };
        match u32::try_from(end.distance_from(oldest)) {
            Ok(len) if len > 0 => self.fill(oldest, len),
            _ => 0,
        }
    }

    /// Takes out those that became visible in this frame or later.
    pub(super) fn forget_since(&mut self, frame: u64) {
        self.list.retain(|hole| hole.frame < frame);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Hole> + '_ {
        self.list.drain(..)
    }
}

/// A distance as a length: what lies behind is nothing.
fn signed(distance: i32) -> u32 {
    u32::try_from(distance).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(start: u32, len: u32) -> Hole {
        Hole {
            start: Psn::new(start),
            len,
            frame: 1,
            time: None,
            asked_for: false,
            is_sure: true,
            is_again: false,
            is_early: false,
        }
    }

    #[test]
    fn filling_splits_and_counts() {
        let mut holes = Holes::default();
        holes.add(hole(10, 10));
        assert_eq!(holes.fill(Psn::new(13), 2), 2);
        assert!(holes.at(Psn::new(12)).is_some() && holes.at(Psn::new(14)).is_none());
        assert_eq!(holes.fill(Psn::new(0), 11), 1);
        assert_eq!(holes.fill(Psn::new(0), 100), 7);
        assert!(holes.is_empty());
    }

    #[test]
    fn holes_may_lie_across_the_wrap() {
        let mut holes = Holes::default();
        holes.add(hole(0xff_fffe, 4));
        assert!(holes.at(Psn::new(1)).is_some() && holes.at(Psn::new(2)).is_none());
        assert_eq!(holes.fill_before(Psn::new(1)), 3);
        assert_eq!(holes.fill(Psn::new(1), 1), 1);
        assert!(holes.is_empty());
    }

    #[test]
    fn the_oldest_gives_way() {
        let mut holes = Holes::default();
        for n in 0..u32::try_from(MAX).unwrap() {
            assert_eq!(holes.add(hole(n * 10, 1)), None);
        }
        assert_eq!(holes.add(hole(5000, 1)).unwrap().start, Psn::new(0));
        assert_eq!(holes.list.len(), MAX);
    }
}
