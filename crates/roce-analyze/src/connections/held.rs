//! Requests that are held until it is known whether they begin a new life of their queue pair, and
//! what an answer says of that.

use core::ops::RangeInclusive;

use roce_wire::{AckKind, Psn};

use super::direction::{Direction, flag};
use super::lives::PAUSE;
use super::seen::{Kind, Seen};

/// How many are held that may be of the stream just as well, until an answer tells: a window of
/// messages.
const MAX_HELD_NEAR: usize = 64;

/// How many answers a responder keeps, to send them again.
const MAX_KEPT: u32 = 16;

/// What a requester has to send it sends sooner than one message in so many nanoseconds, unless it
/// waits for something.
const SLOW: u64 = 16_000;

/// Requests that may be the first of a new life.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Each with the PSNs that it takes.
    pub requests: Vec<(Seen, u32)>,
    /// Where they begin.
    start: Psn,
    /// Behind the highest of them.
    pub next: Psn,
    /// Whether the stream had been silent for long.
    pub was_silent: bool,
    /// When the last request before them came, in nanoseconds.
    after: Option<u64>,
    /// Whether they may be of the stream just as well: sent again, or behind some that are missing.
    pub is_near: bool,
    /// How many of those are held at most.
    pub most: usize,
}

impl Held {
    pub(super) fn new(
        this: &Direction,
        (seen, span): (&Seen, u32),
        (was_silent, is_near): (bool, bool),
    ) -> Box<Self> {
        let (start, next) = (seen.psn, seen.psn.add(span));
        Box::new(Self {
            requests: vec![(*seen, span)],
            start,
            next,
            was_silent,
            after: this.last_time.get(),
            is_near,
            most: MAX_HELD_NEAR,
        })
    }

    pub(super) fn first(&self) -> Option<&Seen> {
        self.requests.first().map(|(seen, _)| seen)
    }

    /// How long the first of them has been held.
    pub(super) fn age(&self, seen: &Seen) -> Option<u64> {
        Some(seen.time?.saturating_sub(self.first()?.time?))
    }

    /// Whether the request comes right behind the last one, or all are sent again after a while.
    pub(super) fn goes_on_with(&self, seen: &Seen) -> bool {
        let Some((last, span)) = self.requests.last() else { return false };
        let waited = last.time.zip(seen.time).map(|(then, now)| now.saturating_sub(then));
        seen.psn == last.psn.add(*span)
            || (seen.psn == self.start && waited.is_some_and(|waited| waited >= PAUSE))
    }

    pub(super) fn holds(&self, psn: Psn) -> bool {
        !psn.is_before(self.start) && psn.is_before(self.next)
    }

    /// Whether it is the beginning of a life that this is an answer to, and no part of the one
    /// before, whose requests are `old` and are answered this way; `None` where it may be either.
    pub(super) fn is_begun_by(
        &self,
        answer: &Seen,
        (old, back): (&Direction, &Direction),
    ) -> Option<bool> {
        if !self.holds(answer.psn) {
            return Some(false);
        }
        let is_ack = !matches!(answer.answer, Some(AckKind::Nak(_) | AckKind::RnrNak(_)));
        if !is_ack && answer.psn.is_before(old.answered) {
            // Nobody asks for what he has executed.
            return Some(true);
        }
        // A responder counts the messages of a life, from its beginning.
        let is_counted = |msn: u32| {
            (msn > 0 || back.has(flag::COUNTS))
                && msn < old.answered_messages()
                && self.completed_by(answer.psn, is_ack).contains(&msn)
        };
        if !answer.msn.is_some_and(|msn| is_counted(msn.get())) {
            return Some(false);
        }
        (answer.kind != Kind::AtomicAck || !self.may_be_kept(old)).then_some(true)
    }

    /// Whether their answers may be some that the responder has kept: those to atomics it may send
    /// again as they were, with the number of messages of then.
    fn may_be_kept(&self, old: &Direction) -> bool {
        let (port, ports) = (self.first().and_then(|first| first.src_port), old.src_ports);
        let is_same_port = port.is_none_or(|port| ports.has_more() || ports.contains(&port));
        self.start == old.start
            && old.atomics() > 0
            && old.all_messages() <= MAX_KEPT
            && is_same_port
            && !old.waited_for_answers(self.after)
    }

    /// Whether they may be what this answers, on a flow that never answered the requests before.
    pub(super) fn is_asked(&self, answer: &Seen) -> bool {
        let completed =
            || answer.msn.map(|msn| self.completed_by(answer.psn, true).contains(&msn.get()));
        self.holds(answer.psn) && (!self.is_near || completed() == Some(true))
    }

    /// How many messages may be completed where `psn` is answered, or only what is before it.
    fn completed_by(&self, psn: Psn, is_ack: bool) -> RangeInclusive<u32> {
        let (mut next, mut done, mut begun) = (self.start, 0u32, 0u32);
        for (seen, span) in &self.requests {
            if seen.psn != next {
                // It is sent again.
                continue;
            }
            if psn.is_before(seen.psn) || (psn == seen.psn && !is_ack) {
                break;
            }
            next = seen.psn.add(*span);
            begun = begun.saturating_add(u32::from(seen.place.begins()));
            let end = seen.psn.add(span.saturating_sub(u32::from(is_ack)));
            let is_done = seen.place.ends() && !psn.is_before(end);
            done = done.saturating_add(u32::from(is_done));
        }
        done..=begun
    }
}

impl Direction {
    /// Whether the requester has sent each message, or nearly, when the one before was answered, until
    /// the `last`: then it has the answers.
    fn waited_for_answers(&self, last: Option<u64>) -> bool {
        let ([sends, writes], (_, most)) = (self.message_bytes, self.in_flight);
        let atomics = u64::from(self.atomics()).saturating_mul(8);
        let all = sends.saturating_add(writes).saturating_add(atomics);
        let took = last.zip(self.first_time.get());
        let took = took.map_or(0, |(last, first)| last.saturating_sub(first));
        let pauses = u64::from(self.all_messages().saturating_sub(1));
        u64::from(most).saturating_mul(2) <= all && took >= pauses.saturating_mul(SLOW)
    }
}
