//! Lost or late, when nothing tells: what is known of a whole connection in the end.
//!
//! Where packets overtake each other a receiver asks for what is on its way, and what is asked for
//! is no loss yet. Unless that is rare beside the losses, those that nothing else proves are not
//! told as losses: they were lost or late.

use super::proof::Event;
use super::trouble::Trouble;

/// Packets that came late are rare where there are so many losses to each, at least.
const RARE: u64 = 8;

/// Casts doubt on losses where packets overtake each other, of both directions of a connection: an
/// answer that is late makes a request seem lost, too.
pub(super) fn doubt_losses(directions: [Option<&mut Trouble>; 2]) {
    let mut troubles: Vec<_> = directions.into_iter().flatten().collect();
    let sum = |of: fn(&Trouble) -> u64| {
        let all = troubles.iter().map(|trouble| of(trouble));
        all.fold(0, u64::saturating_add)
    };
    let (late, hints) = (sum(Trouble::late), sum(Trouble::hinted));
    // One hint alone may be an accident.
    let late = late.saturating_add(if hints > 1 { hints } else { 0 });
    let doubtful = sum(Trouble::doubtful_losses);
    if late > 0 && late.saturating_mul(RARE) >= doubtful {
        troubles.iter_mut().for_each(|trouble| trouble.doubt());
    }
}

impl Trouble {
    /// How many packets were late.
    const fn late(&self) -> u64 {
        self.late_packets().saturating_add(self.reordered_after)
    }

    /// How many would have been by hindsight.
    const fn hinted(&self) -> u64 {
        let [before, after] = self.hints;
        before.saturating_add(after)
    }

    /// Losses before the capture point that may have been late packets.
    fn doubtful_before(&self) -> u64 {
        let all = [self.lost_before, self.lost_again, self.not_captured];
        all.into_iter().fold(0, u64::saturating_add).saturating_sub(self.lost_for_certain)
    }

    fn doubtful_losses(&self) -> u64 {
        self.doubtful_before().saturating_add(self.doubtful_after)
    }

    fn doubt(&mut self) {
        let (before, after) = (self.doubtful_before(), self.doubtful_after);
        let [_, late_after] = self.hints;
        // When each of them has come once more than it was sent again, none was lost.
        let late_after = if late_after >= after { after } else { 0 };
        let again = self.lost_again.min(self.lost_for_certain);
        let first = self.lost_for_certain.saturating_sub(again).min(self.lost_before);
        (self.lost_again, self.lost_before, self.not_captured) = (again, first, 0);
        self.lost_after = self.lost_after.saturating_sub(after);
        self.reordered_after = self.reordered_after.saturating_add(late_after);
        self.lost_or_late = [before, after.saturating_sub(late_after)];
        for (event, count) in [
            (Event::LostBeforeCapture, before),
            (Event::NotCaptured, before),
            (Event::LostAfterCapture, after),
        ] {
            self.proofs.turn_last(event, Event::LostOrLate, count);
        }
    }
}
