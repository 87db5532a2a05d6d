//! Captures that begin in the middle of a connection: what lies before the first request that was
//! captured is unknown.
//!
//! A packet from there may have been sent before and come late, or be sent again, or be the copy of
//! one that came before the capture began. Whether it was lost is not told. It counts as late until
//! those behind it come once more, or copies: then nothing is told of it but that it was there.

use roce_wire::Psn;

use super::again::retransmission;
use super::direction::{Direction, flag};
use super::holes::Hole;
use super::messages::account_answered;
use super::pairs::{Before, Lag};
use super::proof::Event;
use super::requests::{LATE, WINDOW};
use super::seen::Seen;
use super::trouble::Trouble;

impl Direction {
    /// Whether the PSN is one from before the first request that was captured.
    pub(super) fn is_before_start(&self, psn: Psn) -> bool {
        let length = self.next.distance_from(self.start);
        psn.is_before(self.start) && (0..=WINDOW).contains(&length)
    }

    /// The connection has, or had, what lies before the first request seen, as this packet or the
    /// NAK that asks for it says. `false` where that was answered before.
    pub(super) fn begin_earlier(&mut self, seen: &Seen) -> bool {
        let len = u32::try_from(self.start.distance_from(seen.psn)).unwrap_or(0);
        if len == 0 || self.answered != self.start {
            return false;
        }
        // A responder that has completed nothing may ask for the first packet of all.
        let asked_for = seen.msn.is_some_and(|msn| msn.get() == 0);
        let start = seen.psn;
        let hole = Hole { asked_for, is_early: true, ..Hole::new(start, len, seen) };
        self.trouble().request_holes.add(hole);
        (self.start, self.answered, self.arrived) = (start, start, start);
        true
    }

    /// What seemed to be late may have been a copy of what came before the capture began.
    pub(super) fn forget_late(&mut self) {
        if let Some(trouble) = self.trouble.as_mut().filter(|trouble| trouble.out_of_order > 0) {
            (trouble.out_of_order, trouble.max_reorder_depth) = (0, 0);
            trouble.proofs.keep(|event| event != Event::OutOfOrder);
        }
    }

    /// The next request is the first one.
    pub(super) fn forget_requests(&mut self) {
        if self.has(flag::STARTED) {
            let start = self.start;
            self.trouble().first_start.get_or_insert(start);
        }
        self.forget_waiting();
        let known = flag::STARTED | flag::IN_ROUND | flag::MESSAGE_OPEN | flag::ANSWER_DUE;
        self.set(known | flag::NAKED | flag::UNANSWERED, false);
        self.set(flag::MESSAGE_KNOWN, false);
    }

    /// Nothing that the PSNs seem to tell so far is true: the capture began in the middle of it.
    pub(super) fn begin_anew(&mut self) {
        self.forget_requests();
        if let Some(trouble) = &mut self.trouble {
            trouble.forget_order();
        }
    }
}

/// Whether the packet that lies before the first one seen is the one that the connection began with,
/// which its responder asks for: then that was lost.
pub(super) fn is_beginning(this: &mut Direction, seen: &Seen, hole: &Hole) -> bool {
    let is_it = hole.asked_for && hole.start == seen.psn && seen.place.begins();
    if is_it {
        this.trouble().request_holes.prove(seen.psn);
    }
    is_it
}

/// A request from before the first one seen, of which nothing was answered yet.
pub(super) fn early(this: &mut Direction, back: &mut Direction, seen: &Seen, span: u32) {
    let is_late = this.was_sent_before(seen) == Some(true);
    let may_be_late = !this.has(flag::NAKED);
    let times = this.first_time.get().zip(seen.time);
    let depth = this.next.distance_from(seen.psn).unsigned_abs();
    let (in_round, round) = (this.has(flag::IN_ROUND), this.round);
    let trouble = this.trouble();
    trouble.is_early = true;
    if is_late {
        trouble.remember_late(seen.psn);
        this.note_late(seen, depth);
        return;
    }
    let is_long_since = times.is_some_and(|(then, now)| now.saturating_sub(then) >= LATE);
    let is_asked = trouble.open_naks.iter().any(|nak| nak.psn == seen.psn)
        || trouble.rnr.is_some_and(|(psn, _)| psn == seen.psn);
    let goes_on = in_round && trouble.head.is_some() && !seen.psn.is_before(round);
    if is_asked || goes_on || is_long_since {
        // Sent again, though it does not show what became of the first.
        retransmission(this, back, seen, span, true);
    } else {
        if may_be_late {
            trouble.remember_late(seen.psn);
            if this.note_late(seen, depth) {
                let trouble = this.trouble();
                trouble.perhaps_late = trouble.perhaps_late.saturating_add(1);
            }
        }
        go_on_unknown(this, seen, span);
    }
}

/// What came before it was sent again, as this packet is: none of it was late.
pub(super) fn was_not_late(this: &mut Direction) {
    let Some(trouble) = &mut this.trouble else { return };
    let late = u64::from(core::mem::take(&mut trouble.perhaps_late));
    trouble.proofs.drop_first(Event::OutOfOrder, late);
    trouble.out_of_order = trouble.out_of_order.saturating_sub(late);
    trouble.retransmitted = trouble.retransmitted.saturating_add(late);
    if trouble.out_of_order == 0 {
        trouble.max_reorder_depth = 0;
    }
}

/// The same where what came behind it was answered: the packet was executed, and no answer to it
/// tells anything.
pub(super) fn early_and_answered(this: &mut Direction, seen: &Seen, span: u32) {
    this.trouble().is_early = true;
    go_on_unknown(this, seen, span);
    account_answered(this, seen);
}

/// If this is a retransmission, it began nobody knows why.
fn go_on_unknown(this: &mut Direction, seen: &Seen, span: u32) {
    this.trouble().head = None;
    this.round = seen.psn.add(span);
    this.set(flag::IN_ROUND, true);
}

/// Looks at a frame that was captured before, when the first frame of all `began` and copies have a
/// known `lag`. Once it is certain that copies come, it is asked whether the capture began with
/// some of what came before: then all that the PSNs seemed to say is wrong.
pub(super) fn look_at_beginning(
    this: &mut Direction,
    other: &mut Direction,
    (began, lag): (Option<u64>, Option<Lag>),
    before: Before,
) {
    let counts = this.ip_id_counts();
    let trouble = this.trouble();
    if trouble.is_beginning_known {
        return;
    }
    if !counts && lag.is_none() {
        return;
    }
    trouble.is_beginning_known = true;
    if !is_at_once(this, other, began, before) {
        return;
    }
    if began_before(this, other) {
        this.begin_anew();
        other.begin_anew();
    } else {
        this.forget_late();
    }
}

/// Whether the connection was there when the capture began, so that of its first packets some may
/// be copies of what came before.
fn is_at_once(this: &Direction, other: &Direction, began: Option<u64>, before: Before) -> bool {
    let both = [this, other].into_iter().filter(|dir| dir.packets > 0);
    match (began, both.filter_map(|dir| dir.first_time.get()).min(), before.ns) {
        (Some(began), Some(first), Some(lag)) => {
            first.saturating_sub(began) <= lag.saturating_add(lag / 8).saturating_add(1_000)
        }
        _ => true,
    }
}

/// Whether some were, so that what the PSNs seemed to tell is wrong.
fn began_before(this: &Direction, other: &Direction) -> bool {
    let is_early = |dir: &Direction| {
        dir.has(flag::UNMATCHED) || dir.trouble.as_ref().is_some_and(|trouble| trouble.is_early)
    };
    let is_in_order =
        |dir: &Direction| dir.trouble.as_ref().is_none_or(|trouble| trouble.is_in_order());
    let first_is_copied = this.trouble.as_ref().is_some_and(|trouble| trouble.first_is_copied);
    let both = [this, other];
    // Answers, or requests, came from before the first request. Or the first packet is a copy, as
    // none of it comes.
    both.into_iter().any(is_early) || (!first_is_copied && !both.into_iter().all(is_in_order))
}

impl Trouble {
    /// Whether nothing was missing, late, or sent again so far.
    pub(super) fn is_in_order(&self) -> bool {
        let counts = [
            self.retransmitted,
            self.late_packets(),
            self.reordered_after,
            self.lost_before,
            self.lost_after,
            self.lost_again,
            self.lost_either,
            self.lost_somewhere,
            self.not_captured,
            self.behind_answers,
            u64::from(self.duplicate_acks),
            u64::from(self.sequence_errors),
        ];
        counts == [0; 12] && self.request_holes.is_empty() && self.response_holes.is_empty()
    }

    /// Forgets all that PSNs seem to have told; what packets say by themselves stays.
    pub(super) fn forget_order(&mut self) {
        let old = core::mem::take(self);
        *self = Self {
            held: old.held,
            duplicate_frames: old.duplicate_frames,
            first_is_copied: old.first_is_copied,
            is_beginning_known: old.is_beginning_known,
            lag: old.lag,
            thrown_away: old.thrown_away,
            naks: old.naks,
            rnr_naks: old.rnr_naks,
            rnr_timer: old.rnr_timer,
            ghosts: old.ghosts,
            latest_time: old.latest_time,
            first_start: old.first_start,
            length_errors: old.length_errors,
            p_key_changes: old.p_key_changes,
            other_keys: old.other_keys,
            icrc_bad: old.icrc_bad,
            cnps: old.cnps,
            ecn_ce_acks: old.ecn_ce_acks,
            ecn_ce_cnps: old.ecn_ce_cnps,
            ce_since: old.ce_since,
            cnp_delay: old.cnp_delay,
            proofs: old.proofs,
            ..Self::default()
        };
        self.proofs.keep(|event| !event.is_of_order());
    }
}
