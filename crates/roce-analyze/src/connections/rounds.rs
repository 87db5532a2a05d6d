//! The beginning of a retransmission: what asked for it, and where the packet was lost.

use roce_wire::Psn;

use super::direction::{Direction, flag};
use super::holes::Hole;
use super::proof::Event;
use super::seen::Seen;
use super::trouble::{Head, OpenNak, Tail};
use super::waiting::Pending;

/// How long a requester goes on after a NAK that it has not heard, at least, and how long it waits then
/// before it sends again, in nanoseconds.
const UNHEARD: u64 = 10_000;
const TIMEOUT: u64 = 1_000_000;

/// A retransmission begins with `seen`; `was_lost` says that its original is missing at the
/// capture, so that the place of the loss is known, and `tail` what is missing at the end if it
/// is one after a timeout.
pub(super) fn begin(
    this: &mut Direction,
    back: &mut Direction,
    seen: &Seen,
    (was_lost, tail): (bool, Option<Tail>),
) {
    let psn = seen.psn;
    let (arrived, next) = (this.arrived, this.next);
    let is_busy = is_busy(this, back, seen);
    let longest = this.longest_answer();
    let waits = Waits { next, last: this.last_time.get(), now: seen.time, longest };
    let trouble = this.trouble();
    if back.key.is_none() {
        trouble.begin_unmatched(seen, (was_lost, next.distance_from(psn)));
    }
    trouble.tries = match trouble.tries {
        Some((last, tries)) if last == psn => Some((psn, tries.saturating_add(1))),
        _ => {
            trouble.is_alive = false;
            Some((psn, 2))
        }
    };
    // That an answer was lost once more shows only when there was one once more.
    let wants_data = seen.kind.has_data_response();
    let last = trouble.head.replace(Head {
        psn,
        arrived,
        wants_data,
        is_answered: false,
        packets: 0,
        calls: false,
        tail: None,
        gap_loss: None,
    });
    let has_answer = last.is_none_or(|last| last.psn != psn || last.is_answered);
    let rnr = trouble.rnr.take();
    let is_unheard = trouble.open_naks.iter().any(|nak| nak.psn == psn && nak.is_unheard(waits));
    let (nak, loss) = take_nak(&mut trouble.open_naks, psn);
    trouble.sent_again((psn, next), loss, seen.time);
    trouble.settle_losses(seen);
    if let Some((_, since)) = rnr {
        trouble.rounds_rnr = trouble.rounds_rnr.saturating_add(1);
        trouble.proofs.note(Event::RetransmittedOnRnr, seen.frame);
        if let (Some(since), Some(now)) = (since, seen.time) {
            trouble.rnr_stall = trouble.rnr_stall.saturating_add(now.saturating_sub(since));
        }
    } else if is_unheard {
        trouble.rounds_timeout = trouble.rounds_timeout.saturating_add(1);
        // The NAK may be lost, or the requester have ignored it: soft-RoCE does as long as it waits for what
        // an earlier one has called for.
        trouble.proofs.note(Event::RetransmittedOnTimeout, seen.frame);
    } else if nak.is_some() || is_busy {
        trouble.rounds_nak = trouble.rounds_nak.saturating_add(1);
        trouble.proofs.note(Event::RetransmittedOnNak, seen.frame);
    } else if was_answered_past(this, back, seen) {
        let had = last.filter(|last| !last.is_answered && last.psn.is_before(psn));
        on_gap(this, back, seen, (has_answer, had));
    } else {
        on_timeout(this, back, seen, (was_lost, has_answer));
        if let Some(head) = &mut this.trouble().head {
            head.tail = tail;
        }
    }
    note_lost_head(this, seen, rnr.map(|(psn, _)| psn).or(nak));
    // What was asked for before comes again, in order, behind this request.
    resolve_response_holes(back, seen);
}

/// Whether the requester has sent something so shortly before that nothing can have timed out, and
/// NAKs make it begin again: where they come one after another, as they do when packets overtake
/// each other, not every one is followed by what it asks for.
fn is_busy(this: &Direction, back: &Direction, seen: &Seen) -> bool {
    let has_naks = back.trouble.as_ref().is_some_and(|t| t.naks.first().is_some_and(|n| *n > 0));
    has_naks && !seen.kind.has_data_response() && this.is_soon(seen)
}

/// What a requester has done before it sends again, and when.
#[derive(Clone, Copy)]
struct Waits {
    /// Behind the newest of its requests.
    next: Psn,
    /// When it sent something last, in nanoseconds.
    last: Option<u64>,
    now: Option<u64>,
    /// How long answers took at most, in nanoseconds.
    longest: u64,
}

impl OpenNak {
    /// Whether the requester has not heard it, or not heeded it: it went on as if nothing had come, for
    /// longer than that takes, and then waited.
    fn is_unheard(&self, waits: Waits) -> bool {
        let since = |then: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(then?));
        let on_its_way = waits.longest.saturating_mul(2).max(UNHEARD);
        self.next.is_before(waits.next)
            && since(self.time, waits.last).is_some_and(|went_on| went_on > on_its_way)
            && since(waits.last, waits.now).is_some_and(|waited| waited >= TIMEOUT)
    }
}

/// The NAK that asked for this: the one for this very PSN, else the newest that is not settled.
fn take_nak(naks: &mut Vec<OpenNak>, psn: Psn) -> (Option<Psn>, Option<(u64, u64)>) {
    if let Some(at) = naks.iter().position(|nak| nak.psn == psn) {
        // What was asked for before is void now.
        let loss = naks.drain(..=at).next_back().and_then(|nak| Some((nak.loss?, nak.gap)));
        return (Some(psn), loss);
    }
    // Whoever begins before what a NAK asks for, which stands for everything before that, has not
    // heard it.
    let is_heard = |nak: &&OpenNak| !nak.is_void && !psn.is_before(nak.psn);
    let newest = naks.iter().rev().find(is_heard).map(|nak| nak.psn);
    naks.clear();
    (newest, None)
}

/// Whether the requester saw an answer to something later while this one's was missing. That it
/// takes for a NAK (IBA 9.9.2.2: implied).
fn was_answered_past(this: &Direction, back: &Direction, seen: &Seen) -> bool {
    if !seen.kind.has_data_response() {
        return false;
    }
    let after = seen.psn.add(1);
    let hole = back.trouble.as_ref().is_some_and(|t| t.response_holes.at(seen.psn).is_some());
    hole || after.is_before(this.answered) || after.is_before(this.responded)
}

fn on_gap(
    this: &mut Direction,
    back: &mut Direction,
    seen: &Seen,
    (has_answer, had): (bool, Option<Head>),
) {
    let responded = this.responded;
    let trouble = this.trouble();
    trouble.rounds_gap = trouble.rounds_gap.saturating_add(1);
    trouble.proofs.note(Event::RetransmittedOnGap, seen.frame);
    // Behind a response that is missing a requester takes none: they are not lost.
    let was_taken = trouble.take_gap(seen.psn, responded);
    let lost = back.trouble();
    if let Some(frame) = had.and_then(|had| had.gap_loss) {
        // It asks for something later now, and nothing was sent again meanwhile.
        lost.came_late_behind(frame);
    }
    if has_answer && was_taken && lost.response_holes.at(seen.psn).is_none() {
        // The one behind it tells of it.
        lost.lose_after(responded.distance_from(seen.psn).saturating_sub(1), seen.frame);
        lost.doubtful_after = lost.doubtful_after.saturating_add(1);
        if let Some(head) = &mut this.trouble().head {
            head.gap_loss = Some(seen.frame);
        }
    }
}

/// Whether the requester has not waited longer than for other answers: nothing has timed out then,
/// and late packets may be all there is. Where packets overtake each other an older one may just come
/// behind the first of a retransmission.
fn is_early(this: &Direction, seen: &Seen) -> bool {
    let longest = this.longest_answer();
    let least = if this.has_late_packets() { longest.max(TIMEOUT) } else { longest };
    this.is_soon(seen) || this.since_last(seen).is_some_and(|waited| waited <= least)
}

fn on_timeout(
    this: &mut Direction,
    back: &mut Direction,
    seen: &Seen,
    (was_lost, has_answer): (bool, bool),
) {
    let is_early = is_early(this, seen);
    let trouble = this.trouble();
    if is_early {
        // Sooner than answers come nothing times out: the capture may have missed a NAK.
        trouble.rounds_unknown = trouble.rounds_unknown.saturating_add(1);
        trouble.proofs.note(Event::Retransmitted, seen.frame);
    } else {
        trouble.rounds_timeout = trouble.rounds_timeout.saturating_add(1);
        trouble.proofs.note(Event::RetransmittedOnTimeout, seen.frame);
    }
    if was_lost {
        return;
    }
    if seen.psn.is_before(this.answered) {
        // The capture has the answer; the requester has not.
        if has_answer {
            let (answers, lost) = (this.answered.distance_from(seen.psn), back.trouble());
            lost.lose_after(answers, seen.frame);
            lost.doubtful_after = lost.doubtful_after.saturating_add(u64::from(is_early));
        }
    } else if this.has(flag::ANSWER_DUE)
        && seen.psn.is_before(this.due)
        && seen.psn.is_before(this.arrived)
        && this.first_due.is_before(this.arrived)
    {
        // Something here calls for an answer, and none came by: request or answer were lost on
        // the far side. What the responder has is not known then.
        let is_begun = |p: &Pending| p.is_begun && seen.psn == p.next;
        if this.pending.iter().any(is_begun) {
            // The request has arrived: what is missing are responses.
            drop_pending(this, back, seen);
            return;
        }
        // As long as nothing calls for an answer again, it is the same that waits.
        this.set(flag::ANSWER_DUE, false);
        let (end, due) = (this.arrived, this.due.sub(1));
        let sent = this.next.distance_from(seen.psn);
        let trouble = this.trouble();
        trouble.lose_after(sent, seen.frame);
        trouble.perhaps_answers = trouble.perhaps_answers.saturating_add(1);
        trouble.doubtful_after = trouble.doubtful_after.saturating_add(u64::from(is_early));
        trouble.unproven_losses = trouble.unproven_losses.saturating_add(1);
        (trouble.doubt, trouble.doubt_loss) = (Some(end), Some(due));
        trouble.doubtful.clear();
        let certain = if seen.psn.is_before(this.answered) { this.answered } else { seen.psn };
        // Had one arrived behind a lost one, there were a NAK. So the first that is to be answered
        // did not arrive, and those before it did; unless the responder had said NAK already.
        this.arrived = if this.has(flag::NAKED) || this.first_due.is_before(certain) {
            certain
        } else {
            this.first_due
        };
        drop_pending(this, back, seen);
    }
}

/// A requester begins with what it was asked for, or with the oldest request that has no answer.
/// If the responder still waits for that one and the capture shows a later one first, the
/// beginning of the retransmission is missing, too.
fn note_lost_head(this: &mut Direction, seen: &Seen, asked: Option<Psn>) {
    let first = asked.unwrap_or(this.answered);
    if this.arrived == first && first.is_before(seen.psn) {
        this.pass_over(first, seen);
    }
}

impl Direction {
    /// What is sent again is sent in order: from `start` up to this packet it is missing. When it
    /// is sent once more, it was lost.
    pub(super) fn pass_over(&mut self, start: Psn, seen: &Seen) {
        self.pass_over_to(start, seen.psn, seen);
    }

    fn pass_over_to(&mut self, start: Psn, end: Psn, seen: &Seen) {
        let len = u32::try_from(end.distance_from(start)).unwrap_or(0);
        let hole = Hole { is_again: true, ..Hole::new(start, len, seen) };
        self.trouble().skipped.add(hole);
    }

    /// The retransmission is over: the packet is not part of it.
    pub(super) fn end_round(&mut self, seen: &Seen) {
        self.set(flag::IN_ROUND, false);
        let (round, next) = (self.round, self.next);
        let trouble = self.trouble();
        // Where it began before the capture did, nothing is known of it.
        let Some(Head { packets, .. }) = trouble.head else { return };
        // Adapters that send only what is missing send a packet at a time.
        if round != next && packets < 2 {
            if self.was_no_round() {
                return;
            }
            let trouble = self.trouble();
            trouble.selective = trouble.selective.saturating_add(1);
            return;
        }
        trouble.go_back_n = trouble.go_back_n.saturating_add(1);
        if !seen.psn.is_before(next) {
            self.pass_over_to(round, next, seen);
        }
    }

    /// A request is sent again: if it was passed over when it was sent again before, it was lost then.
    pub(super) fn note_lost_again(&mut self, seen: &Seen, span: u32) -> bool {
        let trouble = self.trouble();
        let was_lost = trouble.skipped.fill(seen.psn, span) > 0;
        if was_lost {
            trouble.lose(seen.psn, true, seen.frame, false);
        }
        was_lost
    }
}

/// The requests that wait for responses are void: they are made again. Of those that were begun
/// to be answered the rest is missing.
fn drop_pending(this: &mut Direction, back: &mut Direction, seen: &Seen) {
    while let Some(pending) = this.pending.pop() {
        let missing = u64::try_from(pending.end.distance_from(pending.next)).unwrap_or(0);
        if pending.is_begun && missing > 0 {
            let lost = back.trouble();
            lost.lost_before = lost.lost_before.saturating_add(missing);
            lost.proofs.note(Event::LostBeforeCapture, seen.frame);
        }
    }
}

/// Responses that are asked for again were lost before the capture; those before them were not
/// asked for, so the requester has them: only the capture has not.
fn resolve_response_holes(back: &mut Direction, seen: &Seen) {
    let Some(lost) = back.trouble.as_mut().filter(|t| !t.response_holes.is_empty()) else {
        return;
    };
    let mut proofs = Vec::new();
    let holes: Vec<Hole> = lost.response_holes.drain().collect();
    for hole in holes {
        let end = hole.start.add(hole.len);
        let wanted = u32::try_from(end.distance_from(seen.psn)).unwrap_or(0).min(hole.len);
        let had = u64::from(hole.len.saturating_sub(wanted));
        if !hole.is_sure {
            lost.miss_responses(hole);
            // Only what the requester begins with is what it missed, for certain. A responder that
            // never answers it loses nothing.
            if hole.contains(seen.psn) && lost.last_either != Some(seen.psn) {
                lost.last_either = Some(seen.psn);
                lost.lost_either = lost.lost_either.saturating_add(1);
                lost.proofs.note(Event::LostEither, seen.frame);
            }
            continue;
        }
        lost.lose_responses(&hole, end.sub(wanted), wanted);
        lost.miss_responses(hole);
        lost.not_captured = lost.not_captured.saturating_add(had);
        let event = if wanted > 0 { Event::LostBeforeCapture } else { Event::NotCaptured };
        proofs.push((event, hole.frame));
    }
    for (event, frame) in proofs {
        lost.proofs.note(event, frame);
    }
}
