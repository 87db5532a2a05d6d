//! Captures that are not in order: requests that stand behind the answers to them, as where the
//! clocks of two taps differ, and time that steps back, as where files are joined in the wrong order.
//!
//! What the order of packets tells elsewhere, it does not tell there.

use super::direction::{Direction, flag};
use super::holes::Holes;
use super::messages::account_answered;
use super::proof::Event;
use super::requests::LATE;
use super::seen::Seen;
use super::trouble::Trouble;

/// So far behind a later frame one stands that is not a little late, in nanoseconds.
const STEP: u64 = 10_000_000;
/// So many requests stand behind their answers where that is no accident.
const MANY: u64 = 3;
/// The same where nothing else tells them from requests that were sent again.
const MANY_IN_A_ROW: u32 = 8;

/// Takes a request that was answered before it was captured, and not captured before: shortly before,
/// so that nothing has timed out, or as others are. Says whether it is one.
pub(super) fn is_behind_answer(
    this: &mut Direction,
    back: &mut Direction,
    seen: &Seen,
    span: u32,
) -> bool {
    let Some(trouble) = &mut this.trouble else { return false };
    let Some(hole) = trouble.answered_unseen.at(seen.psn).copied() else { return false };
    let times = hole.time.zip(seen.time);
    let is_long = times.is_some_and(|(then, now)| now.saturating_sub(then) >= LATE);
    if is_long && trouble.behind_answers < MANY && !are_many(this, back) {
        return false;
    }
    let Some(trouble) = &mut this.trouble else { return false };
    if is_long || trouble.answered_unseen.is_full() {
        let (in_a_row, _) = &mut trouble.perhaps_behind;
        *in_a_row = (*in_a_row).max(MANY_IN_A_ROW);
    }
    let filled = u64::from(trouble.answered_unseen.fill(seen.psn, span));
    trouble.not_captured = trouble.not_captured.saturating_sub(filled);
    trouble.behind_answers = trouble.behind_answers.saturating_add(filled);
    trouble.proofs.replace(hole.frame, Event::NotCaptured, Event::AheadOfRequest);
    account_answered(this, seen);
    this.set(flag::MESSAGE_KNOWN, false);
    true
}

/// Another request comes long after it was answered, and was not captured before. Says whether that
/// are so many in a row that the capture is not in order: then none of them was sent again.
fn are_many(this: &mut Direction, back: &mut Direction) -> bool {
    let messages = this.all_messages();
    let is_answered = this.next == this.answered;
    let Some(trouble) = &mut this.trouble else { return false };
    let (count, before) = trouble.perhaps_behind;
    let goes_on = is_answered && messages.saturating_sub(before) <= count;
    let count = if goes_on { count.saturating_add(1) } else { 1 };
    trouble.perhaps_behind = (count, if goes_on { before } else { messages });
    if count < MANY_IN_A_ROW {
        return false;
    }
    let unseen = core::mem::take(&mut trouble.answered_unseen);
    trouble.forget_order();
    (trouble.not_captured, trouble.behind_answers) = (unseen.sum(), MANY);
    trouble.answered_unseen = unseen;
    this.set(flag::IN_ROUND, false);
    if let Some(trouble) = &mut back.trouble {
        trouble.forget_lost_answers();
    }
    true
}

/// One request behind its answer may be sent again, after the capture has missed the first and the
/// requester the answer. Where many are, the capture is not in order, and no time between request and
/// answer is right.
pub(super) fn settle_order(dirs: &mut [Direction; 2]) {
    for dir in dirs.iter_mut() {
        let messages = u64::from(dir.all_messages());
        let Some(trouble) = &mut dir.trouble else { continue };
        let behind = trouble.behind_answers;
        if behind < MANY && behind.saturating_mul(2) < messages {
            trouble.behind_answers = 0;
            trouble.not_captured = trouble.not_captured.saturating_add(behind);
            trouble.proofs.turn_last(Event::AheadOfRequest, Event::NotCaptured, behind);
        }
    }
    let is_behind = |dir: &Direction| dir.trouble.as_ref().is_some_and(|t| t.behind_answers > 0);
    let [there, back] = dirs;
    let (is_there, is_back) = (is_behind(there), is_behind(back));
    for (dir, are_responses_ahead) in [(&mut *there, is_back), (&mut *back, is_there)] {
        if let Some(trouble) = dir.trouble.as_mut().filter(|_| are_responses_ahead) {
            // The responses to the first requests came before these, too.
            trouble.not_captured = 0;
            trouble.response_holes = Holes::default();
            trouble.proofs.keep(|event| event != Event::NotCaptured);
        }
        if is_there || is_back {
            dir.times = None;
        }
    }
    for at in 0..dirs.len() {
        forget_far_behind(dirs, at);
    }
}

/// Where requests stand so far behind their answers that more was answered meanwhile than is
/// remembered, the others seem to be sent again, or not to be there.
fn forget_far_behind(dirs: &mut [Direction; 2], at: usize) {
    let [there, back] = dirs;
    let (this, back) = if at == 0 { (there, back) } else { (back, there) };
    let Some(trouble) = &mut this.trouble else { return };
    let (in_a_row, _) = trouble.perhaps_behind;
    if in_a_row < MANY_IN_A_ROW || trouble.behind_answers < u64::from(MANY_IN_A_ROW) {
        return;
    }
    trouble.not_captured = 0;
    trouble.proofs.keep(|event| event != Event::NotCaptured);
    let has_refused = |t: &Trouble| t.naks != [0; 5] || t.rnr_naks > 0;
    if back.trouble.as_ref().is_some_and(|trouble| has_refused(trouble)) {
        return;
    }
    (trouble.retransmitted, trouble.rounds_timeout, trouble.duplicate_requests) = (0, 0, 0);
    trouble.proofs.keep(|event| event != Event::RetransmittedOnTimeout);
    if let Some(trouble) = &mut back.trouble {
        trouble.forget_lost_answers();
    }
}

impl Direction {
    /// Whether the packet stands far behind a later one.
    pub(super) fn steps_back(&self, seen: &Seen) -> bool {
        let times = self.last_time.get().zip(seen.time);
        times.is_some_and(|(last, now)| now.saturating_add(STEP) < last)
    }

    /// The capture goes on with what was before: how the requests follow on one another tells
    /// nothing there.
    pub(super) fn begin_behind(&mut self, seen: &Seen) {
        self.step_back(seen);
        self.trouble().forget_open();
        self.forget_requests();
    }

    /// The capture goes on with what was before: what was sent before which is told anew.
    pub(super) fn step_back(&mut self, seen: &Seen) {
        let last = self.last_time.get();
        let trouble = self.trouble();
        trouble.latest_time = trouble.latest_time.max(last);
        self.last_time = seen.time.into();
        self.ip_id = seen.ip_id.map_or(self.ip_id, |id| id.wrapping_sub(1));
    }

    /// The time of the latest packet, in nanoseconds, wherever it stands.
    pub(super) fn latest_time(&self) -> Option<u64> {
        self.last_time.get().max(self.trouble.as_ref().and_then(|trouble| trouble.latest_time))
    }
}

impl Trouble {
    /// What was sent again because its answer seemed to be lost was not.
    fn forget_lost_answers(&mut self) {
        (self.lost_after, self.doubtful_after, self.reordered_after) = (0, 0, 0);
        let is_it = |event| matches!(event, Event::LostAfterCapture | Event::ReorderedAfterCapture);
        self.proofs.keep(|event| !is_it(event));
    }

    /// What was open stays open, and counts neither as lost nor as anything else.
    fn forget_open(&mut self) {
        for holes in [
            &mut self.request_holes,
            &mut self.response_holes,
            &mut self.missed_responses,
            &mut self.skipped,
            &mut self.answered_unseen,
        ] {
            *holes = Holes::default();
        }
        self.open_naks.clear();
        self.asked_losses.clear();
        self.newest_losses.clear();
        self.newest_duplicates.clear();
        self.doubtful.clear();
        self.late_psns.clear();
        (self.rnr, self.rnr_tries, self.tries) = (None, None, None);
        (self.gap, self.head, self.late) = (None, None, None);
        (self.doubt, self.doubt_loss, self.unknown_span) = (None, None, None);
        (self.last_either, self.thrown_away) = (None, None);
        (self.unproven_duplicates, self.unproven_losses) = (0, 0);
    }
}
