//! Acknowledgements, NAKs and responses: what they say of the requests they answer.
//!
//! Their PSNs are in the requester's space. They coalesce: an acknowledgement stands for
//! everything before it, and a jump is no loss.

use roce_wire::{AckKind, NakCode, Psn};

use super::direction::{Direction, flag};
use super::holes::Hole;
use super::lives::is_answer_to_held;
use super::naks::{nak, rnr_nak};
use super::pmtu::Pmtu;
use super::proof::Event;
use super::requests::{WINDOW, is_copy, note_copy};
use super::reuse::may_be_astray;
use super::seen::{Kind, Place, Seen};
use super::spans::{learn_from_last_response, learn_from_response};
use super::timing::Budget;
use super::waiting::{Open, Pending};

/// What an answer means for the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Said {
    /// It goes on.
    GoesOn,
    /// It ends, for this reason.
    Ends(NakCode),
    /// Another one by the same numbers has begun.
    Anew,
    /// It may be to the requests of another flow.
    Astray,
}

/// An answer goes the way of `this`; the requests it answers went the way of `asked`.
#[inline]
pub(super) fn answer(
    asked: &mut Direction,
    this: &mut Direction,
    pmtu: &mut Pmtu,
    seen: &Seen,
    budget: &mut Budget,
) -> Said {
    let psn = seen.psn;
    if seen.msn.is_some_and(|msn| msn.get() != 0) {
        this.set(flag::COUNTS, true);
    }
    if asked.trouble.as_ref().is_some_and(|trouble| trouble.held.is_some())
        && is_answer_to_held(asked, this, pmtu, seen)
    {
        return Said::Anew;
    }
    let is_old = psn.is_before(asked.answered);
    if (is_old || !psn.is_before(asked.next)) && may_be_astray(asked, this, seen) {
        return Said::Astray;
    }
    if is_old && is_copy(this, asked, seen, false) {
        note_copy(this, seen);
        return Said::GoesOn;
    }
    // The IP identification alone does not prove that it is late: requests and answers may take theirs
    // elsewhere in an adapter than where they leave it. Where packets overtake each other, it does.
    let was_sent_before = this.was_sent_before(seen) == Some(true);
    if was_sent_before && this.steps_back(seen) {
        this.step_back(seen);
    } else if was_sent_before && (is_old || this.has_late_packets()) {
        this.note_late(seen, 0);
        let is_ack = seen.answer.is_some_and(|answer| matches!(answer, AckKind::Ack(_)));
        if is_old && seen.kind == Kind::Ack && is_ack {
            // Overtaken by a later one that says more.
            this.acks = this.acks.saturating_add(1);
            return Said::GoesOn;
        }
    }
    let known = asked.has(flag::STARTED);
    if !known {
        this.set(flag::UNMATCHED, true);
    }
    let ahead = psn.distance_from(asked.next);
    if known && (ahead > WINDOW || psn.distance_from(asked.answered) < -WINDOW) {
        if this.steps_back(seen) {
            return Said::GoesOn;
        }
        if !this.has(flag::SETTLED) {
            return Said::Astray;
        }
        let trouble = this.trouble();
        trouble.ghosts = trouble.ghosts.saturating_add(1);
        trouble.proofs.note(Event::Ghost, seen.frame);
        return Said::GoesOn;
    }
    match (seen.kind, seen.answer) {
        (Kind::ReadResponse | Kind::AtomicAck, _) => {
            if matches!(seen.place, Place::First | Place::Middle) {
                learn_from_response(asked, pmtu, seen.payload);
            } else if seen.kind == Kind::ReadResponse && seen.place == Place::Last {
                learn_from_last_response(asked, pmtu, psn);
            } else {
                pmtu.any_packet(seen.payload);
            }
            if known {
                note_answer(asked, seen, true);
                data_response(asked, this, seen);
                complete(asked, seen, budget);
            } else {
                this.goodput = this.goodput.saturating_add(u64::from(seen.payload));
            }
        }
        (_, Some(AckKind::Ack(_))) => {
            this.acks = this.acks.saturating_add(1);
            if known {
                note_answer(asked, seen, false);
                ack(asked, this, seen);
                complete(asked, seen, budget);
            }
        }
        (_, Some(AckKind::RnrNak(timer))) => rnr_nak(asked, this, seen, timer.micros(), known),
        (_, Some(AckKind::Nak(code))) => {
            if let Some(code) = nak(asked, this, seen, code, known) {
                return Said::Ends(code);
            }
        }
        _ => {}
    }
    Said::GoesOn
}

#[inline]
fn note_answer(asked: &mut Direction, seen: &Seen, data: bool) {
    let is_asked_for = asked.has(flag::ANSWER_DUE) && !seen.psn.is_before(asked.first_due);
    let (in_round, round) = (asked.has(flag::IN_ROUND), asked.round);
    if let Some(trouble) = &mut asked.trouble {
        trouble.note_answer(seen.psn, data);
        // It says more than what was sent again since can have called for.
        let is_ahead = in_round && !seen.psn.is_before(round) && trouble.doubt_loss.is_some();
        if !data && (!is_asked_for || is_ahead) {
            // Responders say that of what they had before.
            trouble.convict_duplicates(seen.psn);
        }
        if !seen.psn.add(1).is_before(asked.due) {
            asked.set(flag::ANSWER_DUE, false);
        }
    }
}

#[inline]
fn ack(asked: &mut Direction, this: &mut Direction, seen: &Seen) {
    let end = seen.psn.add(1);
    if !asked.answered.is_before(end) {
        if end == asked.answered {
            let trouble = this.trouble();
            trouble.duplicate_acks = trouble.duplicate_acks.saturating_add(1);
            trouble.proofs.note(Event::DuplicateAck, seen.frame);
            if let Some(trouble) = &mut asked.trouble {
                trouble.convict_duplicates(seen.psn);
            }
        }
        return;
    }
    skip_pending(asked, this, seen);
    advance(asked, seen, end, true);
}

/// Everything before `end` was executed.
#[inline]
pub(super) fn advance(asked: &mut Direction, seen: &Seen, end: Psn, counts_last: bool) {
    if asked.trouble.is_some() || asked.next.is_before(end) {
        advance_with_trouble(asked, seen, end, counts_last);
    }
    if asked.arrived.is_before(end) {
        asked.arrived = end;
    }
    if asked.answered.is_before(end) {
        asked.answered = end;
        asked.set(flag::NAKED | flag::UNANSWERED, false);
        if asked.first_due.is_before(end) {
            asked.first_due = end;
        }
        if !end.is_before(asked.due) {
            asked.set(flag::ANSWER_DUE, false);
        }
    }
}

/// What was executed and not captured; NAKs that have become void. Without `counts_last` the last
/// PSN is one that only a response has.
#[cold]
fn advance_with_trouble(asked: &mut Direction, seen: &Seen, end: Psn, counts_last: bool) {
    let last = end.sub(1);
    // The responses to a READ take PSNs that no request was made with.
    let counted = if counts_last { end } else { last };
    let mut missing = 0u32;
    if asked.next.is_before(end) {
        missing = u32::try_from(counted.distance_from(asked.next)).unwrap_or(0);
        let unseen = Hole::new(asked.next, missing, seen);
        asked.trouble().answered_unseen.extend(unseen);
        asked.next = end;
        asked.set(flag::MESSAGE_KNOWN, false);
    }
    let Some(trouble) = &mut asked.trouble else { return };
    missing = missing.saturating_add(trouble.request_holes.fill_before(counted));
    trouble.request_holes.fill(last, 1);
    trouble.skipped.fill_before(end);
    if missing > 0 {
        trouble.not_captured = trouble.not_captured.saturating_add(u64::from(missing));
        trouble.proofs.note(Event::NotCaptured, seen.frame);
    }
    trouble.settle_naks(end);
    let fastest = asked.times.as_ref().and_then(|times| times.ack_latency.shortest_of_few());
    trouble.settle_asked(end, seen.time, fastest);
    trouble.rnr.take_if(|(rnr, _)| rnr.is_before(end));
    if asked.answered.is_before(end) {
        trouble.tries = None;
        // A second acknowledgement may still come of what is answered now.
        let before = asked.answered;
        trouble.doubtful.retain(|doubtful| !doubtful.is_before(before));
        trouble.newest_duplicates.retain(|duplicate| !duplicate.is_before(end));
        trouble.rnr_tries = None;
    }
}

/// Responses come in the order of the requests: those that should have come before this answer
/// are missing. An acknowledgement does not tell which transmission it answers, so repeated
/// requests wait on.
#[inline]
fn skip_pending(asked: &mut Direction, this: &mut Direction, seen: &Seen) {
    let is_due = |pending: &Pending| !pending.is_repeat && !seen.psn.is_before(pending.end.sub(1));
    while let Some(skipped) = asked.pending.take(is_due) {
        // A FLUSH or READ that is answered by a plain acknowledgement is answered.
        if seen.psn != skipped.end.sub(1) {
            note_skipped(asked, this, seen, &skipped, skipped.end);
        }
    }
}

/// Responses from `skipped.next` to `end` were not seen.
pub(super) fn note_skipped(
    asked: &Direction,
    this: &mut Direction,
    seen: &Seen,
    skipped: &Pending,
    end: Psn,
) {
    let start = skipped.next;
    let len = u32::try_from(end.distance_from(start)).unwrap_or(0);
    if len == 0 {
        return;
    }
    let again = |p: &Pending| p.is_repeat && !start.is_before(p.next) && start.is_before(p.end);
    let is_asked_again = asked.pending.iter().any(again);
    // Of a repeated request that has no response at all it is not known whether it arrived, nor of
    // one that is skipped by the response to an earlier one, made again: only what comes behind it
    // proves that it was executed.
    let is_behind = !seen.psn.is_before(start);
    let is_sure = skipped.is_begun || (!skipped.is_repeat && is_behind);
    let trouble = this.trouble();
    let is_again = !asked.responded.is_before(end) && trouble.missed_responses.at(start).is_none();
    let hole = Hole { is_sure, is_again, ..Hole::new(start, len, seen) };
    if is_asked_again {
        if is_sure {
            trouble.lose_responses(&hole, start, len);
            trouble.proofs.note(Event::LostBeforeCapture, seen.frame);
        } else if !skipped.is_repeat && len == 1 {
            // One response or its request; that many responses go missing at once is less likely
            // than that their request did.
            trouble.lost_either = trouble.lost_either.saturating_add(1);
            trouble.proofs.note(Event::LostEither, seen.frame);
        }
        trouble.miss_responses(hole);
        return;
    }
    if let Some(old) = trouble.response_holes.add(hole) {
        trouble.lost_somewhere = trouble.lost_somewhere.saturating_add(u64::from(old.len));
        trouble.proofs.note(Event::PassedOver, old.frame);
    }
}

#[inline]
fn data_response(asked: &mut Direction, this: &mut Direction, seen: &Seen) {
    let psn = seen.psn;
    let end = psn.add(1);
    let is_new = !psn.is_before(asked.responded);
    let waits = |p: &Pending| !psn.is_before(p.next) && psn.is_before(p.end);
    let expected = asked.pending.iter().position(waits);
    if !is_new && let Some(trouble) = &mut asked.trouble {
        trouble.convict_asked(psn, true);
    }
    if let Some(at) = expected {
        take_response(asked, this, seen, at);
        let mut is_first = is_new;
        if !is_new {
            let trouble = this.trouble();
            trouble.retransmitted = trouble.retransmitted.saturating_add(1);
            is_first = trouble.missed_responses.fill(psn, 1) > 0;
        } else if let Some(trouble) = &mut this.trouble
            && !trouble.missed_responses.is_empty()
        {
            trouble.missed_responses.fill(psn, 1);
        }
        if is_first {
            this.goodput = this.goodput.saturating_add(u64::from(seen.payload));
        }
    } else {
        unexpected_response(asked, this, seen, is_new);
    }
    if is_new {
        asked.responded = end;
    }
    if asked.answered.is_before(end) {
        advance(asked, seen, end, seen.place.begins());
    }
}

fn take_response(asked: &mut Direction, this: &mut Direction, seen: &Seen, at: usize) {
    for _ in 0..at {
        if let Some(skipped) = asked.pending.pop() {
            note_skipped(asked, this, seen, &skipped, skipped.end);
        }
    }
    let Some(pending) = asked.pending.front_mut() else { return };
    let before = *pending;
    pending.next = seen.psn.add(1);
    pending.is_begun = true;
    if pending.next == pending.end || seen.place.ends() {
        asked.pending.pop();
    }
    if before.next != seen.psn {
        // Later responses of the same message are here, so the earlier ones were sent.
        let begun = Pending { is_begun: true, ..before };
        note_skipped(asked, this, seen, &begun, seen.psn);
    }
}

/// A response that nothing waits for: late, captured twice, or to a request that was not seen.
#[cold]
fn unexpected_response(asked: &Direction, this: &mut Direction, seen: &Seen, is_new: bool) {
    let trouble = this.trouble();
    let was_sent = trouble.response_holes.at(seen.psn).is_some_and(|hole| hole.is_sure);
    if trouble.response_holes.fill(seen.psn, 1) > 0 && was_sent {
        if this.was_sent_before(seen).is_none() {
            this.note_late(seen, 0);
        }
        this.goodput = this.goodput.saturating_add(u64::from(seen.payload));
    } else if is_new {
        this.goodput = this.goodput.saturating_add(u64::from(seen.payload));
    } else if is_copy(this, asked, seen, false) {
        note_copy(this, seen);
    } else if asked.is_before_start(seen.psn) {
        // It was asked for before the capture began.
        this.goodput = this.goodput.saturating_add(u64::from(seen.payload));
    } else {
        let trouble = this.trouble();
        trouble.retransmitted = trouble.retransmitted.saturating_add(1);
    }
}

/// Messages that are answered now: how long it took.
#[inline]
fn complete(asked: &mut Direction, seen: &Seen, budget: &mut Budget) {
    let Some(now) = seen.time else { return };
    while let Some(open) = asked.open.front() {
        let is_answered = |open: &Open| !asked.answered.is_before(open.end);
        // One of which a packet was lost may never be whole. What comes behind tells its end.
        if !is_answered(open) || !(open.is_whole || asked.open.second().is_some_and(is_answered)) {
            break;
        }
        let open = *open;
        asked.open.pop();
        let (now_open, _) = &mut asked.in_flight;
        let gone = if open.is_read { 0 } else { open.bytes };
        *now_open = if asked.open.front().is_none() { 0 } else { now_open.saturating_sub(gone) };
        if !open.is_whole {
            // When exactly it was answered is not known.
            continue;
        }
        let elapsed = now.saturating_sub(open.first_time);
        let times = asked.times();
        times.completion.record(elapsed, budget);
        if open.is_repeated {
            // Nobody knows which transmission is answered.
        } else if open.is_read {
            times.read_response.get_or_insert_default().record(elapsed, budget);
        } else if !open.wants_data {
            let latency = elapsed.saturating_sub(u64::from(open.sending));
            times.ack_latency.record(latency, budget);
        }
    }
    asked.open.shrink();
}
