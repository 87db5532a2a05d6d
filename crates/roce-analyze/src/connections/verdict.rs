//! What one answer says of a flow: whether it may answer a request of that flow.

use roce_wire::{Psn, Service};

use super::direction::{Direction, flag};
use super::requests::WINDOW;
use super::seen::{Kind, Seen};

/// The first frames of a capture. Of the queue pairs that are at work then not all have been seen
/// yet, so that the only one that fits need not be the right one.
pub(super) const FIRST_FRAMES: u64 = 4096;
/// PSNs below this are those of queue pairs that began at 0, all of them alike.
pub(super) const SMALL_PSN: u32 = 1 << 16;
/// With fewer candidates each that is near is one too many.
const FEW: u32 = 64;
/// How long requests that were sent before the capture began may be answered, in nanoseconds.
const YOUNG: u64 = 10_000_000;

/// What an answer says of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It has a request that this may answer.
    Fits,
    /// It has none.
    RuledOut {
        /// Whether another answer might have fit.
        is_near: bool,
    },
    /// It may have had one before the capture began.
    Unknown,
    /// It has no requests.
    Silent,
}

pub(super) const fn is_answer(seen: &Seen) -> bool {
    matches!(seen.kind, Kind::Ack | Kind::AtomicAck | Kind::ReadResponse)
}

/// How far apart PSNs are that may belong together though one does not answer the other. Where queue
/// pairs do not begin at 0, nor otherwise alike, their PSNs are spread over all there are: the more of them there are, the
/// more are near to each other by accident.
pub(super) fn nearness(members: usize, are_alike: bool, seen: &Seen) -> u32 {
    const PSNS: u32 = 1 << 24;
    let members = u32::try_from(members).unwrap_or(u32::MAX).max(1);
    let spread = (PSNS / 64).checked_div(members).unwrap_or(0);
    if are_alike || seen.psn.get() < SMALL_PSN || members < FEW {
        return WINDOW.unsigned_abs();
    }
    spread.clamp(64, WINDOW.unsigned_abs())
}

/// Whether the flow has a request that this answers.
pub(super) fn fits(theirs: (&Direction, Service), seen: &Seen) -> bool {
    verdict(theirs, seen, 0) == Verdict::Fits
}

/// What an answer says of a flow that its requests may be in. What is up to `near` away may have been
/// asked for before the capture began.
pub(super) fn verdict((theirs, service): (&Direction, Service), seen: &Seen, near: u32) -> Verdict {
    if service != seen.service && service != Service::Cnp {
        return Verdict::RuledOut { is_near: false };
    }
    if !theirs.has(flag::STARTED) {
        return Verdict::Silent;
    }
    let window = WINDOW.unsigned_abs();
    let behind = seen.psn.distance_from(end_of(theirs));
    if behind >= 0 {
        return Verdict::RuledOut { is_near: behind.unsigned_abs() <= near };
    }
    let (is_there, is_near) = (behind.unsigned_abs() <= window, behind.unsigned_abs() <= near);
    if !is_there
        || (matches!(seen.kind, Kind::ReadResponse | Kind::AtomicAck) && !theirs.has_wanted_data())
    {
        return Verdict::RuledOut { is_near };
    }
    if !seen.psn.is_before(theirs.answered) {
        return Verdict::Fits;
    }
    let is_young = match (theirs.first_time.get(), seen.time) {
        (Some(first), Some(now)) => now.saturating_sub(first) < YOUNG,
        _ => seen.frame.saturating_sub(theirs.first_frame) < FIRST_FRAMES,
    };
    let early = theirs.answered.distance_from(seen.psn).unsigned_abs();
    if is_young && early <= near && !theirs.has(flag::START_KNOWN) {
        Verdict::Unknown
    } else {
        Verdict::RuledOut { is_near }
    }
}

/// Behind the last PSN that its requests take; the last READ may take more than is known.
fn end_of(theirs: &Direction) -> Psn {
    let open = theirs.trouble.as_ref().and_then(|trouble| trouble.unknown_span);
    let end = open.map(|(psn, len)| psn.add(super::pmtu::longest_span(len, u32::MAX)));
    end.filter(|end| theirs.next.is_before(*end)).unwrap_or(theirs.next)
}
