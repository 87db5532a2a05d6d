//! NAKs: where a packet was lost, a receiver that was not ready, and the end of a connection.

use roce_wire::{NakCode, Psn};

use super::answers::{advance, note_skipped};
use super::direction::{Direction, flag};
use super::proof::Event;
use super::seen::Seen;
use super::trouble::{Head, MAX_NAKS, OpenNak};
use super::waiting::Pending;

#[cold]
pub(super) fn rnr_nak(
    asked: &mut Direction,
    this: &mut Direction,
    seen: &Seen,
    timer_micros: u32,
    known: bool,
) {
    let trouble = this.trouble();
    trouble.rnr_naks = trouble.rnr_naks.saturating_add(1);
    trouble.rnr_timer = Some(timer_micros);
    trouble.proofs.note(Event::RnrNak, seen.frame);
    if !known {
        // It was sent before the capture began, and will be again.
        asked.trouble().rnr = Some((seen.psn, seen.time));
        return;
    }
    stop_at(asked, this, seen);
    let trouble = asked.trouble();
    trouble.rnr = Some((seen.psn, seen.time));
    trouble.rnr_tries = match trouble.rnr_tries {
        Some((psn, tries)) if psn == seen.psn => Some((psn, tries.saturating_add(1))),
        _ => Some((seen.psn, 1)),
    };
}

/// The first request that was captured may be what the receiver was not ready for before.
#[cold]
pub(super) fn begin_after_rnr(this: &mut Direction, back: &Direction, seen: &Seen) {
    let Some(trouble) = &mut this.trouble else { return };
    let Some((psn, since)) = trouble.rnr.take() else { return };
    let timer = back.trouble.as_ref().and_then(|back| back.rnr_timer).unwrap_or(0);
    let Some(waited) = since.zip(seen.time).map(|(then, now)| now.saturating_sub(then)) else {
        return;
    };
    // Sent again before that, it were the first time, captured behind the answer to it.
    if psn == seen.psn && waited.saturating_mul(2) >= u64::from(timer).saturating_mul(1_000) {
        trouble.retransmitted = trouble.retransmitted.saturating_add(1);
        trouble.rounds_rnr = trouble.rounds_rnr.saturating_add(1);
        trouble.rnr_stall = trouble.rnr_stall.saturating_add(waited);
        trouble.proofs.note(Event::RetransmittedOnRnr, seen.frame);
    }
}

#[cold]
pub(super) fn nak(
    asked: &mut Direction,
    this: &mut Direction,
    seen: &Seen,
    code: NakCode,
    known: bool,
) -> Option<NakCode> {
    let (slot, event) = match code {
        NakCode::PSN_SEQUENCE_ERROR => (0, Event::NakSequence),
        NakCode::INVALID_REQUEST => (1, Event::NakInvalidRequest),
        NakCode::REMOTE_ACCESS_ERROR => (2, Event::NakRemoteAccess),
        NakCode::REMOTE_OPERATIONAL_ERROR => (3, Event::NakRemoteOperational),
        _ => (4, Event::NakOther),
    };
    let trouble = this.trouble();
    if let Some(count) = trouble.naks.get_mut(slot) {
        *count = count.saturating_add(1);
    }
    trouble.proofs.note(event, seen.frame);
    if slot != 0 {
        return Some(code);
    }
    if !known {
        trouble.nak_unmatched(seen);
    }
    if known {
        if asked.is_before_start(seen.psn) && !asked.begin_earlier(seen) {
            return None;
        }
        let waited_for = waits_for(asked, seen.psn);
        let was_late = asked.trouble().late_psns.contains(&seen.psn);
        let arrived = asked.arrived;
        stop_at(asked, this, seen);
        asked.trouble().acquit_duplicates(seen.psn);
        if was_late {
            // Those that made the hole called for it, and now it is there.
            asked.arrived = arrived;
        }
        note_sequence_nak(asked, seen, if was_late { seen.psn } else { waited_for });
        asked.trouble().ask_again(seen.psn);
    }
    None
}

/// What the responder waits for by what was captured, as it asks for `psn`. What it asked for
/// before and has now without a retransmission was late and not lost: then it stands where it
/// stood before that NAK.
fn waits_for(asked: &Direction, psn: Psn) -> Psn {
    let naks = asked.trouble.iter().flat_map(|trouble| &trouble.open_naks);
    naks.filter(|nak| nak.loss.is_some() && nak.psn.is_before(psn)).map(|nak| nak.waited_for).fold(
        asked.arrived,
        |waited, before| if waited.is_before(before) { before } else { waited },
    )
}

/// The responder executed everything before this PSN and nothing from it on.
fn stop_at(asked: &mut Direction, this: &mut Direction, seen: &Seen) {
    let psn = seen.psn;
    let before = |pending: &Pending| !pending.is_repeat && !psn.is_before(pending.end);
    while let Some(skipped) = asked.pending.take(before) {
        note_skipped(asked, this, seen, &skipped, skipped.end);
    }
    asked.pending.retain(|pending| pending.next.is_before(psn));
    if asked.answered.is_before(psn) {
        advance(asked, seen, psn, true);
    }
    if psn.is_before(asked.arrived) {
        asked.arrived = psn;
    }
    asked.set(flag::NAKED, true);
}

/// Where the packet was lost that the responder asks for; `waited_for` is what it waits for by
/// what was captured.
fn note_sequence_nak(asked: &mut Direction, seen: &Seen, waited_for: Psn) {
    let psn = seen.psn;
    let gap = asked.since_last(seen).unwrap_or(0);
    let is_on_its_way = asked.has(flag::IN_ROUND) && psn.is_before(asked.round);
    let next = asked.next;
    let sent = next.distance_from(psn);
    let trouble = asked.trouble();
    if trouble.rnr.is_some_and(|(rnr, _)| rnr == psn) {
        // It had no room for it: what came behind is out of sequence.
        return;
    }
    let mut loss = None;
    if trouble.request_holes.ask_for(psn) {
        // Whether it was lost or late, the packet that fills the hole will tell.
    } else if trouble.skipped.ask_for(psn) {
        // Counted when it comes.
    } else if psn != waited_for || trouble.selective > trouble.go_back_n {
        // Captured, in order or behind what the responder has kept since.
        // The one behind it called for this.
        trouble.lose_after(sent.saturating_sub(1), seen.frame);
        trouble.doubtful_after = trouble.doubtful_after.saturating_add(1);
        // What was sent again before it was asked for is acknowledged without another time. Was it
        // in order when it was sent first, then that was lost, and not late.
        let was_in_order = |head: Head| !psn.is_before(head.psn) && psn.is_before(head.arrived);
        let is_sent_again = is_on_its_way && trouble.head.is_some_and(was_in_order);
        loss = (!is_sent_again).then_some(seen.frame);
    }
    if trouble.open_naks.len() >= MAX_NAKS {
        trouble.open_naks.remove(0);
    }
    let time = seen.time;
    trouble.open_naks.push(OpenNak { psn, loss, waited_for, gap, next, time, is_void: false });
}
