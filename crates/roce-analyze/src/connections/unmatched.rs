//! What was sent again while it was not known whose answers are there: NAKs that belonged to no
//! requests tell why, once both flows are known to be one connection.

use roce_wire::Psn;

use super::proof::Event;
use super::seen::Seen;
use super::trouble::Trouble;

/// How many are remembered of each.
const MAX: usize = 32;

/// A retransmission that began while no answers were known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    psn: Psn,
    frame: u64,
    /// Whether its first packet was missing before.
    was_lost: bool,
    /// How many PSNs had been sent from there on.
    sent: i32,
}

/// What neither requests nor answers tell without each other.
#[derive(Clone, Default, Debug)]
pub(super) struct Unmatched {
    begun: Vec<Begun>,
    /// NAKs, each with its frame.
    naks: Vec<(Psn, u64)>,
}

impl Trouble {
    /// A retransmission begins, and no answers are known.
    pub(super) fn begin_unmatched(&mut self, seen: &Seen, (was_lost, sent): (bool, i32)) {
        // Passed over when it was sent again before: then that is what was lost.
        let was_lost = was_lost || self.skipped.at(seen.psn).is_some();
        let begun = &mut self.unmatched.get_or_insert_default().begun;
        if begun.len() < MAX {
            begun.push(Begun { psn: seen.psn, frame: seen.frame, was_lost, sent });
        }
    }

    /// A NAK asks for a request that is not known.
    pub(super) fn nak_unmatched(&mut self, seen: &Seen) {
        let naks = &mut self.unmatched.get_or_insert_default().naks;
        if naks.len() < MAX {
            naks.push((seen.psn, seen.frame));
        }
    }

    /// The retransmission that seemed to begin in this frame was none.
    pub(super) fn forget_begun(&mut self, frame: u64) {
        if let Some(unmatched) = &mut self.unmatched {
            unmatched.begun.retain(|begun| begun.frame != frame);
        }
    }

    /// The answers of `other` are to these requests: its NAKs tell why some were sent again, and
    /// where they were lost.
    fn match_naks(&mut self, naks: &[(Psn, u64)]) {
        let begun = self.unmatched.take().map_or_else(Vec::new, |unmatched| unmatched.begun);
        let mut naks = naks.iter().copied().peekable();
        for Begun { psn, frame, was_lost, sent } in begun {
            // Each is heard before the next one comes.
            let mut asked = None;
            while let Some((nak, at)) = naks.next_if(|(_, at)| *at < frame) {
                asked = (nak == psn).then_some(at).or(asked);
            }
            let Some(nak) = asked else { continue };
            self.rounds_unknown = self.rounds_unknown.saturating_sub(1);
            self.rounds_nak = self.rounds_nak.saturating_add(1);
            self.proofs.replace(frame, Event::Retransmitted, Event::RetransmittedOnNak);
            if !was_lost {
                self.lose_after(sent.saturating_sub(1), nak);
                self.doubtful_after = self.doubtful_after.saturating_add(1);
            }
        }
    }
}

/// Two flows are one connection, and their answers were not held to their requests: what these seemed
/// to tell by themselves is void, and what the NAKs tell of them is true.
pub(super) fn settle(there: &mut Option<Box<Trouble>>, back: &mut Option<Box<Trouble>>) {
    let naks = |way: &mut Option<Box<Trouble>>| {
        let unmatched = way.as_mut().and_then(|way| way.unmatched.as_mut());
        unmatched.map_or_else(Vec::new, |unmatched| core::mem::take(&mut unmatched.naks))
    };
    let (of_there, of_back) = (naks(there), naks(back));
    for (way, naks) in [(there, of_back), (back, of_there)] {
        if let Some(way) = way {
            way.forget_causes();
            way.match_naks(&naks);
        }
    }
}
