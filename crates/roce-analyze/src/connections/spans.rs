//! How many PSNs a READ takes: as many as it has responses, which depends on the path MTU. Where that
//! is not known the request behind it tells, or the responses do.

use roce_wire::Psn;

use super::direction::Direction;
use super::messages::MAX_DMA_LEN;
use super::pmtu::{Pmtu, longest_span};
use super::seen::{Kind, Seen};

/// How many PSNs the request takes.
#[inline]
pub(super) fn span(this: &mut Direction, pmtu: Pmtu, seen: &Seen) -> u32 {
    if seen.kind != Kind::Read {
        return 1;
    }
    let len = seen.dma_len.filter(|len| *len <= MAX_DMA_LEN).unwrap_or(0);
    pmtu.span(len).unwrap_or_else(|| {
        this.trouble().unknown_span = Some((seen.psn, len));
        1
    })
}

/// The packet after a READ of unknown length in PSNs tells it.
#[cold]
pub(super) fn resolve_span(
    this: &mut Direction,
    pmtu: &mut Pmtu,
    (psn, len): (Psn, u32),
    next: Psn,
) {
    if let Ok(psns) = u32::try_from(next.distance_from(psn)) {
        pmtu.by_span(len, psns);
    }
    // Of the spans that it may have the longest before the next request; the rest is a gap.
    let room = u32::try_from(next.distance_from(psn)).unwrap_or(0);
    let span = pmtu.span(len).unwrap_or_else(|| longest_span(len, room));
    read_takes(this, psn, span);
}

/// The READ at `psn`, the last request so far, takes `span` PSNs.
fn read_takes(this: &mut Direction, psn: Psn, span: u32) {
    let end = psn.add(span);
    if end.distance_from(this.next) > 0 {
        if this.arrived == this.next {
            this.arrived = end;
        }
        if this.due == this.next {
            this.due = end;
        }
        if this.round == this.next {
            this.round = end;
        }
        this.next = end;
    }
    if let Some(pending) = this.pending.back_mut()
        && pending.end == psn.add(1)
    {
        pending.end = end;
    }
    if let Some(open) = this.open.iter_mut().next()
        && open.end == psn.add(1)
    {
        open.end = end;
    }
}

/// The responses tell the path MTU: so many PSNs does the last READ take.
pub(super) fn learn_from_response(this: &mut Direction, pmtu: &mut Pmtu, payload: u32) {
    pmtu.full_packet(payload);
    if let Some(trouble) = &mut this.trouble
        && let Some((psn, len)) = trouble.unknown_span
        && let Some(span) = pmtu.span(len)
    {
        trouble.unknown_span = None;
        read_takes(this, psn, span);
    }
}

/// The last response to the last READ tells how many PSNs it takes.
pub(super) fn learn_from_last_response(this: &mut Direction, pmtu: &mut Pmtu, psn: Psn) {
    if let Some(trouble) = &mut this.trouble
        && let Some(read) = trouble.unknown_span.take_if(|(read, _)| read.is_before(psn))
    {
        resolve_span(this, pmtu, read, psn.add(1));
    }
}
