//! Messages: their packets in sequence, their sizes, and when they began.

use roce_wire::Service;

use super::direction::{Direction, flag};
use super::pmtu::Pmtu;
use super::proof::Event;
use super::seen::{Kind, Place, Seen};
use super::waiting::{Open, OpenMessages};

/// The largest DMA length the standard allows, in bytes.
pub(super) const MAX_DMA_LEN: u32 = 1 << 31;

/// Holds the packet to the one before: messages are First, Middle …, Last, or Only.
#[inline]
pub(super) fn follow_message(this: &mut Direction, seen: &Seen, contiguous: bool) {
    let known = contiguous && this.has(flag::MESSAGE_KNOWN);
    let is_write = seen.kind == Kind::Write;
    if known {
        let open = this.has(flag::MESSAGE_OPEN);
        let same = this.has(flag::MESSAGE_IS_WRITE) == is_write;
        if open == seen.place.begins() || (open && !same) {
            let trouble = this.trouble();
            trouble.sequence_errors = trouble.sequence_errors.saturating_add(1);
            trouble.proofs.note(Event::OpcodeSequence, seen.frame);
        }
    }
    this.set(flag::MESSAGE_KNOWN, true);
    this.set(flag::MESSAGE_OPEN, !seen.place.ends());
    this.set(flag::MESSAGE_IS_WRITE, is_write);
}

/// Counts what is seen for the first time.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every packet")]
pub(super) fn account(this: &mut Direction, seen: &Seen, span: u32, is_repeated: bool) {
    let bytes = account_answered(this, seen);
    if matches!(seen.service, Service::Rc | Service::Xrc)
        && let Some(time) = seen.time
        && !this.has(flag::UNANSWERED)
    {
        open_message(this, seen, span, (time, bytes, is_repeated));
    }
}

/// The same of what no answer is to come to; says of how many bytes it is.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every packet")]
pub(super) fn account_answered(this: &mut Direction, seen: &Seen) -> u32 {
    this.goodput = this.goodput.saturating_add(u64::from(seen.payload));
    let ends = u32::from(seen.place.ends());
    let [sends, writes, reads] = &mut this.messages;
    let [send_bytes, write_bytes] = &mut this.message_bytes;
    let (count, sum, bytes) = match seen.kind {
        Kind::Send => (sends, send_bytes, seen.payload),
        Kind::Write => (writes, write_bytes, seen.payload),
        Kind::Read => {
            let len = seen.dma_len.filter(|len| *len <= MAX_DMA_LEN).unwrap_or(0);
            (reads, &mut this.read_bytes, len)
        }
        kind => return account_rare(this, kind == Kind::Atomic),
    };
    *sum = sum.saturating_add(bytes.into());
    *count = count.saturating_add(ends);
    bytes
}

/// An atomic request or a FLUSH: each is one packet.
#[cold]
fn account_rare(this: &mut Direction, is_atomic: bool) -> u32 {
    let [atomics, flushes] = &mut this.more().rare_messages;
    let (count, bytes) = if is_atomic { (atomics, 8) } else { (flushes, 0) };
    *count = count.saturating_add(1);
    bytes
}

impl Direction {
    /// Messages that have ended: send, write, read, atomic, flush.
    pub(super) fn messages_by_kind(&self) -> [u32; 5] {
        let [send, write, read] = self.messages;
        let [atomic, flush] = self.more.as_ref().map_or([0; 2], |more| more.rare_messages);
        [send, write, read, atomic, flush]
    }

    /// Atomic requests.
    pub(super) fn atomics(&self) -> u32 {
        let [_, _, _, atomics, _] = self.messages_by_kind();
        atomics
    }

    /// All messages that have ended.
    pub(super) fn all_messages(&self) -> u32 {
        self.messages_by_kind().into_iter().fold(0, u32::saturating_add)
    }

    /// How many of them are answered, at least.
    pub(super) fn answered_messages(&self) -> u32 {
        let all = self.all_messages();
        if self.answered == self.next {
            return all;
        }
        let open = self.open.count();
        open.map_or(0, |open| all.saturating_sub(u32::try_from(open).unwrap_or(u32::MAX)))
    }

    /// Whether there was a request for an answer with data.
    pub(super) fn has_wanted_data(&self) -> bool {
        let [_, _, with_data @ ..] = self.messages_by_kind();
        with_data.iter().any(|count| *count > 0)
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every packet")]
fn open_message(
    this: &mut Direction,
    seen: &Seen,
    span: u32,
    (time, bytes, is_repeated): (u64, u32, bool),
) {
    let end = seen.psn.add(span);
    if seen.kind != Kind::Read {
        let (now, most) = &mut this.in_flight;
        *now = now.saturating_add(bytes);
        *most = (*most).max(*now);
    }
    if this.open.are_hopeless() && this.answered == this.start {
        // One direction only was captured, or the other side is dead: there is nothing to time.
        this.set(flag::UNANSWERED, true);
        (this.open, this.in_flight) = (OpenMessages::default(), (0, 0));
    } else if seen.place.begins() {
        this.open.push(Open {
            end,
            bytes,
            first_time: time,
            sending: 0,
            is_whole: seen.place.ends(),
            is_repeated,
            is_read: seen.kind == Kind::Read,
            wants_data: seen.kind.has_data_response(),
        });
    } else if let Some(open) = this.open.iter_mut().find(|open| open.end == seen.psn) {
        open.end = end;
        open.bytes = open.bytes.saturating_add(bytes);
        open.sending = u32::try_from(time.saturating_sub(open.first_time)).unwrap_or(u32::MAX);
        open.is_whole |= seen.place.ends();
        open.is_repeated |= is_repeated;
    }
}

/// Payloads that no responder takes (IBA C9-92, C9-94).
#[inline]
pub(super) fn check_length(this: &mut Direction, pmtu: Pmtu, seen: &Seen) {
    let Some(pmtu) = pmtu.seen() else { return };
    let wrong = match seen.place {
        Place::Last => seen.payload == 0 || seen.payload > pmtu,
        Place::Only => seen.payload > pmtu || seen.dma_len.is_some_and(|len| len > MAX_DMA_LEN),
        Place::First | Place::Middle => false,
    };
    if wrong {
        let trouble = this.trouble();
        trouble.length_errors = trouble.length_errors.saturating_add(1);
        trouble.proofs.note(Event::Length, seen.frame);
    }
}
