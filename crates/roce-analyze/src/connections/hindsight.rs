//! Late or lost, told with hindsight: a packet that seemed to be sent again in place of a lost one,
//! and then is seen once more although nothing asks for it once more, had only come late.

use roce_wire::Psn;

use super::direction::{Direction, flag};
use super::proof::Event;
use super::seen::Seen;
use super::trouble::{MAX_NAKS, MAX_REMEMBERED, OpenNak, Trouble};

/// What is sent again so soon after another packet of its sender has not timed out, in nanoseconds:
/// adapters and kernels take no less than some hundred microseconds.
pub(super) const SHORTEST_TIMEOUT: u64 = 50_000;

/// Why a retransmission began, as it seems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    Nak,
    Timeout,
    Unknown,
}

/// A request that was taken for lost before the capture point when it was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub psn: Psn,
    /// Whether it was lost when it was sent again.
    pub is_again: bool,
    /// The frame that it was seen in.
    pub frame: u64,
    /// How many PSNs it came behind the newest.
    pub depth: u32,
    /// Why a retransmission seemed to begin with it, if one did.
    pub began: Option<Why>,
    /// Whether it was asked for since, so that it is sent once more in any case.
    pub is_asked: bool,
}

/// A request that was asked for, taken for lost behind the capture point, and sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedLoss {
    pub psn: Psn,
    /// Behind what had been sent before: an answer to something there comes behind all answers to
    /// what was sent again.
    pub end: Psn,
    /// The frame of the NAK.
    pub frame: u64,
    /// When it was sent again, in nanoseconds.
    pub time: u64,
    /// How long the NAK took at least, in nanoseconds.
    pub gap: u64,
}

/// What a packet is that was seen before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It is sent again.
    Again,
    /// It came late: the one before was sent again.
    Late,
}

/// Whether the hints are more than one, and three of four cases or more.
const fn is_most(hints: u64, cases: u64) -> bool {
    hints > 1 && hints.saturating_mul(4) >= cases.saturating_mul(3)
}

impl Trouble {
    /// The responder asks for `psn`: from there on all is sent once more.
    pub(super) fn ask_again(&mut self, psn: Psn) {
        for lost in self.newest_losses.iter_mut().filter(|lost| !lost.psn.is_before(psn)) {
            lost.is_asked = true;
        }
        self.late_psns.retain(|late| late.is_before(psn));
    }

    /// A retransmission begins with this packet: what was lost from there on is sent once more,
    /// unless the one that it was seen in was none.
    pub(super) fn settle_losses(&mut self, seen: &Seen) {
        if core::mem::take(&mut self.was_no_round) {
            return;
        }
        let is_before = |lost: &&mut Lost| lost.frame < seen.frame;
        for lost in self.newest_losses.iter_mut().filter(is_before) {
            lost.is_asked |= !lost.psn.is_before(seen.psn);
        }
    }

    /// A request came late: perhaps the responder asks for it, as those that overtook it arrive
    /// first.
    pub(super) fn remember_late(&mut self, psn: Psn) {
        if self.late_psns.len() >= MAX_REMEMBERED {
            self.late_psns.pop_front();
        }
        self.late_psns.push_back(psn);
    }

    /// A retransmission begins with `psn`, and all had been sent before `end`; `loss` is the frame of
    /// the NAK that it answers, when that was taken for a loss behind the capture point, and how long
    /// that NAK took.
    pub(super) fn sent_again(
        &mut self,
        (psn, end): (Psn, Psn),
        loss: Option<(u64, u64)>,
        time: Option<u64>,
    ) {
        // What is sent more than once again does not tell.
        self.asked_losses.retain(|asked| asked.psn.is_before(psn));
        if let Some(((frame, gap), time)) = loss.zip(time) {
            if self.asked_losses.len() >= MAX_NAKS {
                self.asked_losses.pop_front();
            }
            self.asked_losses.push_back(AskedLoss { psn, end, frame, time, gap });
        }
    }

    /// What was asked for was sent again once and had been executed before: the first had arrived,
    /// though late.
    fn acquit(&mut self, asked: AskedLoss) {
        self.duplicate_requests = self.duplicate_requests.saturating_add(1);
        self.came_late_behind(asked.frame);
    }

    /// Everything before `end` is executed. What was sent again so shortly before that it cannot
    /// have been answered yet had come before, though late.
    pub(super) fn settle_asked(&mut self, end: Psn, time: Option<u64>, fastest: Option<u64>) {
        self.asked_losses.retain(|asked| !asked.end.is_before(end));
        while let Some(at) = self.asked_losses.iter().position(|asked| asked.psn.is_before(end))
            && let Some(asked) = self.asked_losses.get(at).copied()
        {
            let fastest = fastest.filter(|ns| *ns > 0).unwrap_or(asked.gap) / 2;
            let is_soon = time.is_some_and(|now| now.saturating_sub(asked.time) < fastest);
            if !is_soon || !self.is_reordered_after() {
                return;
            }
            self.asked_losses.remove(at);
            self.acquit(asked);
        }
    }

    /// What was counted as lost behind the capture point, as this frame says, came late there.
    pub(super) fn came_late_behind(&mut self, frame: u64) {
        self.lost_after = self.lost_after.saturating_sub(1);
        self.doubtful_after = self.doubtful_after.saturating_sub(1);
        self.reordered_after = self.reordered_after.saturating_add(1);
        self.proofs.replace(frame, Event::LostAfterCapture, Event::ReorderedAfterCapture);
    }

    /// Everything before `end` is there.
    pub(super) fn settle_naks(&mut self, end: Psn) {
        let mut late = [None; MAX_NAKS];
        let settled = self.open_naks.iter_mut().filter(|nak| nak.psn.is_before(end));
        for (nak, late) in settled.zip(&mut late) {
            nak.is_void = true;
            *late = nak.loss.take();
        }
        // Not sent again, and yet there: they came late, behind the capture point.
        late.into_iter().flatten().for_each(|frame| self.came_late_behind(frame));
    }

    /// Whether packets overtake each other before the capture point: some that nobody asked for
    /// did, or nearly all that seemed to be lost.
    fn is_reordered(&self) -> bool {
        let [hints, _] = self.hints;
        self.late_packets() > 0 || is_most(hints, self.lost_before.saturating_add(self.lost_again))
    }

    /// The same behind the capture point.
    fn is_reordered_after(&self) -> bool {
        let [_, hints] = self.hints;
        self.reordered_after > 0 || is_most(hints, self.doubtful_after)
    }

    /// A request that was taken for lost is seen once more.
    fn hint_late(&mut self, psn: Psn) {
        let is_it = |lost: &&mut Lost| lost.psn == psn && !lost.is_asked;
        if let Some(lost) = self.newest_losses.iter_mut().find(is_it) {
            lost.is_asked = true;
            let [hints, _] = &mut self.hints;
            *hints = hints.saturating_add(1);
        }
    }

    /// A request up to `psn` came that had been executed before, if that is likely. A response, as
    /// `is_data` says, is only that of its own request.
    pub(super) fn convict_asked(&mut self, psn: Psn, is_data: bool) {
        let is_it = |asked: &AskedLoss| asked.psn == psn || (!is_data && !psn.is_before(asked.psn));
        if self.duplicate_frames > 0 {
            // Acknowledgements are captured twice, too.
            return;
        }
        let at = self.asked_losses.iter().position(is_it);
        let Some(asked) = at.and_then(|at| self.asked_losses.remove(at)) else { return };
        if self.is_reordered_after() {
            self.acquit(asked);
        } else {
            let [_, hints] = &mut self.hints;
            *hints = hints.saturating_add(1);
        }
    }

    /// Takes back that the request was lost, as it is seen once more.
    fn take_back(&mut self, psn: Psn) -> Option<Lost> {
        let at = self.newest_losses.iter().position(|lost| lost.psn == psn && !lost.is_asked)?;
        let lost = self.newest_losses.remove(at)?;
        let count = if lost.is_again { &mut self.lost_again } else { &mut self.lost_before };
        *count = count.saturating_sub(1);
        self.proofs.replace(lost.frame, Event::LostBeforeCapture, Event::OutOfOrder);
        self.out_of_order = self.out_of_order.saturating_add(1);
        self.max_reorder_depth = self.max_reorder_depth.max(lost.depth);
        Some(lost)
    }

    /// The retransmission of one packet that seemed to begin with this one was none.
    fn take_back_round(&mut self, lost: &Lost, arrived: Psn, is_over: bool) {
        let Some(why) = lost.began else { return };
        if is_over {
            self.selective = self.selective.saturating_sub(1);
        }
        self.was_no_round = true;
        self.forget_begun(lost.frame);
        if why == Why::Nak {
            self.rounds_nak = self.rounds_nak.saturating_sub(1);
            self.proofs.remove(lost.frame, Event::RetransmittedOnNak);
            // That NAK is heard only now.
            let nak = OpenNak {
                psn: lost.psn,
                loss: None,
                waited_for: arrived,
                gap: 0,
                next: arrived,
                time: None,
                is_void: false,
            };
            if self.open_naks.len() >= MAX_NAKS {
                self.open_naks.remove(0);
            }
            self.open_naks.push(nak);
        } else if why == Why::Unknown {
            self.rounds_unknown = self.rounds_unknown.saturating_sub(1);
            self.proofs.remove(lost.frame, Event::Retransmitted);
        } else {
            self.rounds_timeout = self.rounds_timeout.saturating_sub(1);
            self.proofs.remove(lost.frame, Event::RetransmittedOnTimeout);
        }
    }
}

/// A request is seen once more: was it, when it was taken for sent again, only late?
pub(super) fn look_back(this: &mut Direction, seen: &Seen) -> Verdict {
    let is_soon = this.is_soon(seen);
    let (in_round, arrived, psn) = (this.has(flag::IN_ROUND), this.arrived, seen.psn);
    if is_soon && in_round && psn.is_before(this.round) && this.is_late_again(psn) {
        this.note_late(seen, u32::try_from(this.round.distance_from(psn)).unwrap_or(0));
        let trouble = this.trouble();
        trouble.skipped.fill(psn, 1);
        trouble.retransmitted = trouble.retransmitted.saturating_add(1);
        return Verdict::Late;
    }
    let goes_on_behind = in_round && psn.add(1).is_before(this.round);
    let Some(trouble) = this.trouble.as_mut().filter(|_| is_soon) else { return Verdict::Again };
    if !trouble.is_reordered() {
        trouble.hint_late(psn);
        return Verdict::Again;
    }
    let Some(lost) = trouble.take_back(psn) else { return Verdict::Again };
    if goes_on_behind && trouble.head.is_some_and(|head| head.packets > 1) {
        return Verdict::Late;
    }
    let is_head = trouble.head.is_some_and(|head| head.psn == psn);
    trouble.retransmitted = trouble.retransmitted.saturating_sub(1);
    trouble.skipped.forget_since(lost.frame);
    if is_head {
        trouble.take_back_round(&lost, arrived, !in_round);
        this.set(flag::IN_ROUND, false);
    }
    Verdict::Again
}

impl Direction {
    /// A retransmission of one packet is over: of a sender that sends all again from there on it is
    /// none, and the packet was late.
    pub(super) fn was_no_round(&mut self) -> bool {
        let arrived = self.arrived;
        let Some(trouble) = &mut self.trouble else { return false };
        let (all, one) = (trouble.go_back_n, trouble.selective);
        let is_likely = all > one && trouble.is_reordered();
        let Some(head) = trouble.head.filter(|_| is_likely) else { return false };
        let Some(lost) = trouble.take_back(head.psn) else { return false };
        trouble.retransmitted = trouble.retransmitted.saturating_sub(1);
        trouble.take_back_round(&lost, arrived, false);
        true
    }

    /// Whether the retransmission that goes on has passed over the request, and nothing asks for it.
    fn is_late_again(&self, psn: Psn) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| {
            let is_asked = trouble.open_naks.iter().any(|nak| !psn.is_before(nak.psn));
            !is_asked
                && trouble.is_reordered()
                && trouble.skipped.at(psn).is_some_and(|hole| !hole.asked_for)
        })
    }

    /// Whether the sender has sent something so shortly before that nothing can have timed out.
    pub(super) fn is_soon(&self, seen: &Seen) -> bool {
        self.since_last(seen).is_some_and(|since| since < SHORTEST_TIMEOUT)
    }
}
