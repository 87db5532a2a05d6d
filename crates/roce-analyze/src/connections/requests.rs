//! The PSNs of requests: gaps, late packets, retransmissions, and what the responder had before.
//!
//! Two views are kept of one stream. `next` is what the capture has seen; `arrived` is what the
//! responder waits for, were all that was captured to arrive. A NAK that asks for something
//! before `arrived` therefore proves a loss behind the capture point, and one that asks for a
//! hole in what was captured proves a loss before it.

use roce_wire::Service;

use super::again::{
    goes_on_behind_late, is_late, lost, note_doubtful, overtaken, retransmission, was_not_late,
};
use super::beginning::{early, early_and_answered, is_beginning};
use super::copies::is_untroubled;
use super::direction::{Direction, flag};
use super::disorder::is_behind_answer;
use super::hindsight::{Verdict, look_back};
use super::holes::Hole;
use super::lives::{is_held_near, while_held, wild};
use super::messages::{account, check_length, follow_message};
use super::naks::begin_after_rnr;
use super::pmtu::Pmtu;
use super::proof::Event;
use super::seen::{Place, Seen};
use super::spans::{resolve_span, span};
use super::trouble::{Late, MAX_REMEMBERED};
use super::waiting::Pending;

/// A PSN farther away than this has nothing to do with the stream, in PSNs.
pub(super) const WINDOW: i32 = 1 << 16;
/// How long a packet may be late when nothing tells it from a retransmission, in nanoseconds.
pub(super) const LATE: u64 = 10_000_000;
/// How far apart the two copies of one frame may be when only time tells, in nanoseconds.
const COPY: u64 = 500_000;

/// Whether the packet belongs to what came before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    Yes,
    /// The queue pair has begun anew: another connection by the same numbers.
    Anew,
    /// That is not known yet. It is held, and counted later.
    Held,
    /// It was sent before.
    Again,
    /// It is an answer, which may be to the requests of another flow. It is not counted yet.
    Astray,
    /// It is a copy of that transmission, and was not sent again.
    Copy(usize),
}

/// A request goes the way of `this`; answers come the way of `back`.
#[inline]
pub(super) fn request(
    this: &mut Direction,
    back: &mut Direction,
    pmtu: &mut Pmtu,
    seen: &Seen,
) -> Fit {
    if matches!(seen.place, Place::First | Place::Middle) {
        learn_full_packet(this, pmtu, seen);
    } else {
        pmtu.any_packet(seen.payload);
    }
    let mut are_held = false;
    if let Some(trouble) = &mut this.trouble {
        are_held = trouble.held.is_some();
        if let Some((psn, len)) = trouble.unknown_span.take() {
            resolve_span(this, pmtu, (psn, len), seen.psn);
        }
    }
    let span = span(this, *pmtu, seen);
    if !this.has(flag::STARTED) {
        start(this, seen);
        begin_after_rnr(this, back, seen);
    }
    let ahead = seen.psn.distance_from(this.next);
    if ahead > WINDOW || (ahead < -WINDOW && seen.psn.distance_from(this.answered) < -WINDOW) {
        if this.steps_back(seen) {
            old_request(this, back, seen, span);
            return Fit::Yes;
        }
        return wild(this, back, pmtu, (seen, span));
    }
    if are_held && let Some(fit) = while_held(this, back, pmtu, (seen, span)) {
        return fit;
    }
    if ahead != 0 && is_held_near(this, back, seen, span) {
        return Fit::Held;
    }
    follow_request(this, back, *pmtu, (seen, span))
}

/// A request of the stream, which takes `span` PSNs.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every packet, in one place")]
pub(super) fn follow_request(
    this: &mut Direction,
    back: &mut Direction,
    pmtu: Pmtu,
    (seen, span): (&Seen, u32),
) -> Fit {
    let ahead = seen.psn.distance_from(this.next);
    if ahead >= 0 {
        new_request(this, seen, span, ahead.unsigned_abs());
    } else {
        old_request(this, back, seen, span);
    }
    check_length(this, pmtu, seen);
    if ahead >= 0 { Fit::Yes } else { Fit::Again }
}

fn learn_full_packet(this: &mut Direction, pmtu: &mut Pmtu, seen: &Seen) {
    if !pmtu.full_packet(seen.payload) {
        let trouble = this.trouble();
        trouble.length_errors = trouble.length_errors.saturating_add(1);
        trouble.proofs.note(Event::Length, seen.frame);
    }
}

#[cold]
fn start(this: &mut Direction, seen: &Seen) {
    this.set(flag::STARTED, true);
    // What the connection manager told is where it starts, when the capture has it from there.
    let told = this.start;
    let ahead = seen.psn.distance_from(told);
    if this.has(flag::START_KNOWN) && (0..=WINDOW).contains(&ahead) {
        this.set(flag::MESSAGE_KNOWN, true);
    } else {
        this.start = seen.psn;
    }
    let start = this.start;
    (this.next, this.arrived, this.answered) = (start, start, start);
    (this.round, this.responded, this.due) = (start, start, start);
}

/// A request that goes on where the last one ended, or `gap` PSNs behind.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every packet, in one place")]
fn new_request(this: &mut Direction, seen: &Seen, span: u32, gap: u32) {
    if gap > 0 {
        note_gap(this, seen, gap);
    }
    let is_resent = this.has(flag::IN_ROUND) && gap == 0 && this.goes_on_unseen(seen, span);
    if this.has(flag::IN_ROUND) && !is_resent {
        if this.was_sent_before(seen) == Some(true) {
            // Overtaken by a retransmission.
            this.note_late(seen, 0);
        }
        this.end_round(seen);
    }
    this.next = seen.psn.add(span);
    let in_order = this.arrived == seen.psn || seen.service == Service::Uc;
    if in_order {
        this.arrived = this.next;
    }
    expect_answer(this, seen, span, in_order, false);
    follow_message(this, seen, gap == 0);
    account(this, seen, span, is_resent);
}

#[cold]
fn note_gap(this: &mut Direction, seen: &Seen, gap: u32) {
    if this.steps_back(seen) {
        this.begin_behind(seen);
        return start(this, seen);
    }
    let hole = Hole::new(this.next, gap, seen);
    let trouble = this.trouble();
    if let Some(lost) = trouble.request_holes.add(hole) {
        trouble.lost_somewhere = trouble.lost_somewhere.saturating_add(u64::from(lost.len));
        trouble.proofs.note(Event::PassedOver, lost.frame);
    }
}

/// Notes which answers are to come. `arrives` is whether the responder would take the packet.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every packet")]
fn expect_answer(this: &mut Direction, seen: &Seen, span: u32, arrives: bool, is_repeat: bool) {
    if seen.service == Service::Uc {
        return;
    }
    let end = seen.psn.add(span);
    let data = seen.kind.has_data_response();
    if seen.ack_req || data {
        if !this.has(flag::ANSWER_DUE) {
            this.first_due = seen.psn;
        }
        if !this.has(flag::ANSWER_DUE) || this.due.is_before(end) {
            this.due = end;
            this.set(flag::ANSWER_DUE, true);
        }
    }
    if data && arrives {
        this.pending.push(Pending { next: seen.psn, end, is_begun: false, is_repeat });
    }
}

/// A request with a PSN that was passed over or seen before.
#[cold]
fn old_request(this: &mut Direction, back: &mut Direction, seen: &Seen, span: u32) {
    if this.steps_back(seen) {
        this.begin_behind(seen);
        start(this, seen);
        return new_request(this, seen, span, 0);
    }
    if is_behind_answer(this, back, seen, span) {
        return;
    }
    if this.is_before_start(seen.psn) && !this.begin_earlier(seen) {
        early_and_answered(this, seen, span);
        return;
    }
    if let Some(late) = goes_on_behind_late(this, seen) {
        was_not_late(this, back, &late);
    }
    let hole = this.trouble().request_holes.at(seen.psn).copied();
    let is_first = hole.is_some();
    let mut is_resent = false;
    match hole {
        Some(hole) if hole.is_early && !is_beginning(this, seen, &hole) => {
            early(this, back, seen, span);
        }
        Some(hole) if is_late(this, seen, &hole) => {
            let depth = this.next.distance_from(seen.psn).unsigned_abs();
            let before = this.trouble().max_reorder_depth;
            let is_counted = this.note_late(seen, depth);
            let late = Late { seen: Box::new(*seen), span, is_counted, depth: before };
            this.trouble().late = Some(late);
            this.trouble().remember_late(seen.psn);
        }
        Some(_) => {
            is_resent = true;
            lost(this, back, seen, span);
        }
        None if is_copy(this, back, seen, true) => {
            let before = seen.psn.is_before(this.arrived);
            note_copy(this, seen);
            if before {
                let trouble = this.trouble();
                trouble.duplicate_frame_requests =
                    trouble.duplicate_frame_requests.saturating_add(1);
            }
            return;
        }
        None if this.was_sent_before(seen) == Some(true) => overtaken(this, seen, span),
        None if look_back(this, seen) == Verdict::Late => {}
        None => retransmission(this, back, seen, span, false),
    }
    let executed = seen.psn.is_before(this.arrived);
    if !executed && !is_first {
        note_doubtful(this, seen);
    }
    if executed && !is_first {
        let trouble = this.trouble();
        trouble.duplicate_requests = trouble.duplicate_requests.saturating_add(1);
        trouble.unproven_duplicates = trouble.unproven_duplicates.saturating_add(1);
        if trouble.newest_duplicates.len() >= MAX_REMEMBERED {
            trouble.newest_duplicates.pop_front();
        }
        trouble.newest_duplicates.push_back(seen.psn);
    }
    let arrives = executed || seen.psn == this.arrived;
    let end = seen.psn.add(span);
    if seen.psn == this.arrived {
        this.arrived = end;
    }
    let is_last = !end.is_before(this.next);
    if is_last && this.has(flag::MESSAGE_OPEN) == seen.place.ends() {
        // It is not what was sent before: the queue pair may be another one by now.
        this.set(flag::MESSAGE_KNOWN, false);
    }
    if end.distance_from(this.next) > 0 {
        this.next = end;
    }
    expect_answer(this, seen, span, arrives, executed);
    if is_first {
        this.trouble().request_holes.fill(seen.psn, span);
        account(this, seen, span, is_resent);
    }
}

/// Whether the frame was captured before. Where the IP identification counts, the ICRC is never
/// the same twice; elsewhere only what follows soon is a copy, and at once unless copies are the
/// rule on this connection or nothing can have called for a retransmission.
pub(super) fn is_copy(this: &Direction, other: &Direction, seen: &Seen, is_request: bool) -> bool {
    if seen.is_compared {
        // It was compared with more than a direction remembers.
        return false;
    }
    let Some(back) = this.same_frame(seen) else { return false };
    if let Some(id) = seen.ip_id.filter(|_| this.ip_id_counts()) {
        return id.wrapping_sub(this.ip_id).cast_signed() <= 0;
    }
    if is_request && !this.is_mirrored() && !is_untroubled(this, other) {
        return false;
    }
    let soon = this.since_last(seen).is_none_or(|since| since < COPY);
    let is_uncalled = is_request && !seen.kind.has_data_response();
    soon && (back == 0 || is_uncalled || this.is_mirrored() || other.is_mirrored())
}

pub(super) fn note_copy(this: &mut Direction, seen: &Seen) {
    let trouble = this.trouble();
    trouble.duplicate_frames = trouble.duplicate_frames.saturating_add(1);
    trouble.proofs.note(Event::DuplicateFrame, seen.frame);
}
