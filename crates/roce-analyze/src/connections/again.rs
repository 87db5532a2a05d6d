//! Requests with a PSN that was passed over or seen before: late, or sent again, and why.

use super::beginning;
use super::direction::{Direction, flag};
use super::hindsight::Why;
use super::holes::Hole;
use super::proof::Event;
use super::requests::LATE;
use super::seen::Seen;
use super::tail;
use super::trouble::{Late, MAX_REMEMBERED, Trouble};

/// The packet fills a hole and is sent again, it seems: the first was lost.
pub(super) fn lost(this: &mut Direction, back: &mut Direction, seen: &Seen, span: u32) {
    let depth = this.next.distance_from(seen.psn).unsigned_abs();
    let rounds = |t: &Trouble| (t.rounds_nak, t.rounds_timeout, t.rounds_unknown);
    let before = rounds(this.trouble());
    let is_certain = this.was_sent_before(seen) == Some(false);
    this.trouble().lose(seen.psn, false, seen.frame, is_certain);
    retransmission(this, back, seen, span, true);
    let trouble = this.trouble();
    let after = rounds(trouble);
    if let Some(newest) = trouble.newest_losses.iter_mut().rfind(|lost| lost.psn == seen.psn) {
        newest.depth = depth;
        newest.began = match (before, after) {
            ((before, ..), (after, ..)) if before != after => Some(Why::Nak),
            ((_, before, _), (_, after, _)) if before != after => Some(Why::Timeout),
            ((.., before), (.., after)) => (before != after).then_some(Why::Unknown),
        };
    }
}

/// The packet was sent before the newest one: by a retransmission, or before that.
pub(super) fn overtaken(this: &mut Direction, seen: &Seen, span: u32) {
    let depth = if this.has(flag::IN_ROUND) { this.round } else { this.next };
    let depth = u32::try_from(depth.distance_from(seen.psn)).unwrap_or(0);
    this.note_late(seen, depth);
    let trouble = this.trouble();
    trouble.skipped.fill(seen.psn, span);
    // What came before it was the retransmission, when it was taken for lost.
    if !trouble.find_lost(seen.psn) {
        trouble.retransmitted = trouble.retransmitted.saturating_add(1);
    }
}

/// What is sent again after a timeout may have been executed before.
pub(super) fn note_doubtful(this: &mut Direction, seen: &Seen) {
    let trouble = this.trouble();
    if trouble.doubt.is_some_and(|end| seen.psn.is_before(end)) {
        if trouble.doubtful.len() >= MAX_REMEMBERED {
            trouble.doubtful.pop_front();
        }
        trouble.doubtful.push_back(seen.psn);
    }
}

/// Whether the packet that fills a hole was sent before those that made the hole.
pub(super) fn is_late(this: &Direction, seen: &Seen, hole: &Hole) -> bool {
    if let Some(before) = this.was_sent_before(seen) {
        return before;
    }
    if hole.asked_for || (this.has(flag::IN_ROUND) && this.round == seen.psn) {
        return false;
    }
    match (hole.time, seen.time) {
        (Some(then), Some(now)) => now.saturating_sub(then) < LATE,
        _ => true,
    }
}

/// The packet right before, if it came late, or so it seemed, and this one goes on behind it though
/// it was captured before: both were sent again.
pub(super) fn goes_on_behind_late(this: &mut Direction, seen: &Seen) -> Option<Late> {
    let (last, trouble) = (this.last_frame, this.trouble.as_mut()?);
    let late = trouble.late.take_if(|late| late.is_right_before(last, seen))?;
    trouble.request_holes.at(seen.psn).is_none().then_some(late)
}

/// What seemed to be late was the beginning of a retransmission.
pub(super) fn was_not_late(this: &mut Direction, back: &mut Direction, late: &Late) {
    let Late { seen, span, is_counted, depth } = late;
    let trouble = this.trouble();
    if *is_counted {
        trouble.out_of_order = trouble.out_of_order.saturating_sub(1);
        trouble.max_reorder_depth = *depth;
        trouble.proofs.drop_last(Event::OutOfOrder, 1);
    }
    trouble.late_psns.retain(|late| *late != seen.psn);
    lost(this, back, seen, *span);
}

/// The packet was sent before: why again, and what does that prove?
pub(super) fn retransmission(
    this: &mut Direction,
    back: &mut Direction,
    seen: &Seen,
    span: u32,
    was_lost: bool,
) {
    let is_unknown = this.has(flag::IN_ROUND) && this.round == seen.psn;
    if is_unknown && this.trouble().head.is_none() {
        beginning::was_not_late(this);
    }
    let trouble = this.trouble();
    trouble.retransmitted = trouble.retransmitted.saturating_add(1);
    // Whoever jumps to what a NAK asks for does so because of that NAK.
    let is_asked = trouble.open_naks.iter().any(|nak| nak.psn == seen.psn);
    let goes_on = this.has(flag::IN_ROUND)
        && !seen.psn.is_before(this.round)
        && !(is_asked && this.round.is_before(seen.psn));
    if !goes_on {
        let tail = tail::missing_from(this, back, seen);
        if this.has(flag::IN_ROUND) {
            this.end_round(seen);
        }
        super::rounds::begin(this, back, seen, (was_lost, tail));
        this.set(flag::IN_ROUND, true);
    } else if this.round.is_before(seen.psn) {
        this.pass_over(this.round, seen);
    }
    let times = this.follow_tail(seen).min(tail::MOST_TIMES);
    let is_known = this.note_lost_again(seen, span);
    for _ in u32::from(is_known)..times {
        this.trouble().lose(seen.psn, true, seen.frame, false);
    }
    this.round = seen.psn.add(span);
    let psn = seen.psn;
    for open in this.open.iter_mut().filter(|open| psn.is_before(open.end)) {
        open.is_repeated = true;
    }
}
