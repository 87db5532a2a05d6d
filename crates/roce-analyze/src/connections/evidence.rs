//! Whether two flows are one connection, by all packets that are kept of both.
//!
//! That an answer has the PSN of a request may be an accident: queue pairs that begin alike have the
//! same PSNs. But a responder counts the messages that it has completed, and answers a READ with as
//! many responses as it takes. Answers to the requests of another flow get that wrong before long.

use roce_wire::{AckKind, IcrcState, Msn, Psn};

use super::log::{Log, Logged};
use super::pmtu::{SIZES, longest_span};
use super::requests::WINDOW;
use super::seen::{Kind, Place, Seen};
use super::verdict::is_answer;

/// So many answers must agree for each that does not: a capture may lack a frame.
const AGREE_FOR_EACH: u32 = 8;

/// How many answers agree with the requests before them, and how many cannot be answers to them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Evidence {
    pub agree: u32,
    pub contradict: u32,
    /// Of these, those that count messages, or have data, as no answer to their request does: that
    /// neither a missing frame explains nor one that stands at another place.
    pub misfit: u32,
    /// Whether requests were sent again, captured twice, or late: then answers may be to either.
    pub has_repeats: bool,
    /// Whether a request came after it was answered.
    pub is_absurd: bool,
}

/// So many misfits are no accident.
const MISFITS: u32 = 3;

impl Evidence {
    /// What two flows say that are not paired.
    pub(super) fn of_flows(there: &Log, back: &Log) -> Self {
        // Of a flow whose ICRC is always wrong all packets tell, of others the right ones.
        let are_faulty = [there, back].map(Log::is_faulty);
        let mut both = Streams { are_faulty, ..Streams::default() };
        let (mut there, mut back) = (there.packets(), back.packets());
        loop {
            let (from, packet) = match (there.split_first(), back.split_first()) {
                (Some((a, rest)), b) if b.is_none_or(|(b, _)| a.seen.frame < b.seen.frame) => {
                    there = rest;
                    (0, a)
                }
                (_, Some((b, rest))) => {
                    back = rest;
                    (1, b)
                }
                (_, None) => return both.evidence(),
            };
            both.take(from, &packet.seen);
        }
    }

    /// What the packets of a pair say, and one that is not kept yet.
    pub(super) fn of_pair(log: &Log, newest: Option<(usize, &Seen)>) -> Self {
        let mut both = Streams::default();
        let kept = log.packets().iter().map(|Logged { dir, seen, .. }| (*dir, seen));
        for (dir, seen) in kept.chain(newest) {
            both.take(dir, seen);
        }
        both.evidence()
    }

    /// Whether the flows are none of one connection, by what is known.
    pub(super) const fn is_against(self) -> bool {
        self.is_absurd || self.contradict.saturating_mul(AGREE_FOR_EACH) > self.agree
    }

    /// The same of the only two flows between two hosts: whatever else speaks against them speaks
    /// against the capture.
    pub(super) const fn is_against_all_doubt(self) -> bool {
        self.misfit >= MISFITS && self.misfit.saturating_mul(2) > self.agree && !self.has_repeats
    }
}

/// The requests of both directions, and what the answers have said so far.
#[derive(Default)]
struct Streams {
    are_faulty: [bool; 2],
    asked: [Requests; 2],
    evidence: Evidence,
}

impl Streams {
    fn evidence(&self) -> Evidence {
        let has_few = self.evidence.agree < AGREE_FOR_EACH;
        let is_absurd = self.asked.iter().any(|requests| requests.is_absurd(has_few));
        let has_repeats = self.asked.iter().any(|requests| requests.has_repeats);
        let contradict = self
            .asked
            .iter()
            .fold(self.evidence.contradict, |sum, requests| sum.saturating_add(requests.too_early));
        Evidence { contradict, is_absurd, has_repeats, ..self.evidence }
    }

    fn take(&mut self, dir: usize, seen: &Seen) {
        let Self { are_faulty: [there, back], asked: [a, b], evidence } = self;
        let (this, other) = if dir == 0 { (a, b) } else { (b, a) };
        let is_faulty = if dir == 0 { *there } else { *back };
        if seen.icrc == IcrcState::Bad && !seen.is_known_fault && !is_faulty {
            return;
        }
        if seen.kind.is_request() {
            let missed = this.sent(seen);
            evidence.contradict = evidence.contradict.saturating_sub(missed);
            return;
        }
        if !is_answer(seen) {
            // The PSN of a notification is none of a stream.
            return;
        }
        evidence.contradict = evidence.contradict.saturating_add(other.pass(seen));
        match other.answered(seen) {
            Said::Agrees => evidence.agree = evidence.agree.saturating_add(1),
            Said::Ahead => evidence.contradict = evidence.contradict.saturating_add(1),
            Said::Misfits => {
                evidence.contradict = evidence.contradict.saturating_add(1);
                evidence.misfit = evidence.misfit.saturating_add(1);
            }
            Said::Nothing => {}
        }
    }
}

/// What an answer says of the requests before it.
enum Said {
    Agrees,
    /// It is to one that was not captured yet.
    Ahead,
    Misfits,
    Nothing,
}

impl From<Option<bool>> for Said {
    fn from(fits: Option<bool>) -> Self {
        match fits {
            Some(true) => Self::Agrees,
            Some(false) => Self::Misfits,
            None => Self::Nothing,
        }
    }
}

/// A request that was not sent before.
#[derive(Clone, Copy, Debug)]
struct Request {
    psn: Psn,
    kind: Kind,
    /// How many PSNs it takes at most.
    span: u32,
    /// How many bytes it asks for, of a READ.
    len: Option<u32>,
    /// Messages that ended with it or before it, since `part` began.
    messages: u32,
    /// How many gaps there were before it.
    part: u32,
    /// Whether it calls for an answer with data, and there was none.
    wants_data: bool,
}

/// The requests of one direction, and the newest acknowledgement of them.
#[derive(Default)]
struct Requests {
    list: Vec<Request>,
    /// How many of them later ones were answered than.
    passed: usize,
    /// The answers before the first of them, until it comes.
    before_all: Vec<Psn>,
    /// How many of these are to requests that came behind them.
    too_early: u32,
    acked: Option<Acked>,
    /// Whether the responder counts messages at all.
    counts: bool,
    /// The highest PSN that was answered and not sent before, if no request behind it shows yet that
    /// the capture lacks it.
    ahead: Option<Psn>,
    /// How many answers were to what was not sent before then.
    answers_ahead: u32,
    is_absurd: bool,
    has_repeats: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy)]
struct Acked {
    msn: Msn,
    /// Messages that ended before it, in this part.
    messages: u32,
    part: u32,
}

impl Requests {
    /// Whether something was answered that was sent later, or never, as far as is known. Where
    /// answers were right so far, other than a `few`, the capture may lack what was answered.
    fn is_absurd(&self, has_few: bool) -> bool {
        self.is_absurd || (has_few && self.ahead.is_some())
    }

    /// Takes a request; returns how many answers were to some before it that the capture lacks.
    fn sent(&mut self, seen: &Seen) -> u32 {
        let ends = u32::from(seen.place.ends());
        let span = match seen.kind {
            Kind::Read => longest_span(seen.dma_len.unwrap_or(0), u32::MAX),
            _ => 1,
        };
        let (psn, kind, len) = (seen.psn, seen.kind, seen.dma_len);
        let wants_data = matches!(kind, Kind::Read | Kind::Atomic);
        let Some(last) = self.list.last().copied() else {
            let may_be_to_it = |answer: &Psn| (0..WINDOW).contains(&answer.distance_from(psn));
            let too_early = self.before_all.drain(..).filter(may_be_to_it).count();
            self.too_early = u32::try_from(too_early).unwrap_or(u32::MAX);
            self.list.push(Request { psn, kind, span, len, messages: ends, part: 0, wants_data });
            return 0;
        };
        let ahead = psn.distance_from(last.psn);
        if ahead.unsigned_abs() > WINDOW.unsigned_abs() {
            // Another life of the queue pair.
            *self = Self::default();
            return self.sent(seen);
        }
        if ahead <= 0 {
            self.has_repeats = true;
            return 0;
        }
        self.has_repeats |= last.has_rest(seen, ahead.unsigned_abs());
        let mut missed = core::mem::take(&mut self.answers_ahead);
        if let Some(answered) = self.ahead.take()
            && !answered.is_before(psn)
        {
            self.is_absurd = true;
            missed = 0;
        }
        let is_gap = ahead.unsigned_abs() > last.span;
        let (part, before) =
            if is_gap { (last.part.wrapping_add(1), 0) } else { (last.part, last.messages) };
        let messages = before.wrapping_add(ends);
        self.list.push(Request { psn, kind, span, len, messages, part, wants_data });
        missed
    }

    /// Takes an answer; returns how many requests before the one that it is to have none with data,
    /// though they call for it.
    fn pass(&mut self, seen: &Seen) -> u32 {
        let behind = self.list.partition_point(|request| !seen.psn.is_before(request.psn));
        let Some(at) = behind.checked_sub(1) else { return 0 };
        let passed = self.list.get(self.passed..at).unwrap_or_default();
        let missing = passed.iter().filter(|request| request.wants_data).count();
        self.passed = self.passed.max(at);
        if let Some(request) = self.list.get_mut(at) {
            request.wants_data &= !matches!(seen.kind, Kind::ReadResponse | Kind::AtomicAck);
        }
        u32::try_from(missing).unwrap_or(u32::MAX)
    }

    /// Whether the answer agrees with what was sent before it.
    fn answered(&mut self, seen: &Seen) -> Said {
        let at = self.list.partition_point(|request| !seen.psn.is_before(request.psn));
        // What is before the first may have been sent before the capture began.
        let request = at.checked_sub(1).and_then(|at| self.list.get(at)).copied();
        let Some(request) = request else {
            if self.list.is_empty() {
                self.before_all.push(seen.psn);
            }
            return Said::Nothing;
        };
        let next = self.list.get(at).map(|next| next.psn);
        let behind = seen.psn.distance_from(request.psn).unsigned_abs();
        if behind >= request.span {
            // Nothing was sent with that PSN yet, or it is missing.
            if next.is_some() {
                return Said::Nothing;
            }
            self.answers_ahead = self.answers_ahead.saturating_add(1);
            if self.ahead.is_none_or(|before| before.is_before(seen.psn)) {
                self.ahead = Some(seen.psn);
            }
            return Said::Ahead;
        }
        let fits = match (seen.kind, seen.answer) {
            (Kind::AtomicAck, _) => Some(request.kind == Kind::Atomic),
            (Kind::ReadResponse, _) => request.is_answered_by(seen, behind, next),
            (Kind::Ack, Some(AckKind::Ack(_))) => {
                seen.msn.and_then(|msn| self.acknowledged(&request, msn))
            }
            _ => None,
        };
        Said::from(fits)
    }

    fn acknowledged(&mut self, request: &Request, msn: Msn) -> Option<bool> {
        if matches!(request.kind, Kind::Read | Kind::Atomic) {
            // Their answers bring data.
            return Some(false);
        }
        let (messages, part) = (request.messages, request.part);
        let before = self.acked.replace(Acked { msn, messages, part })?;
        let counted = msn.get().wrapping_sub(before.msn.get()) & 0xff_ffff;
        self.counts |= counted > 0;
        let ended = messages.wrapping_sub(before.messages) & 0xff_ffff;
        (before.part == part && self.counts).then_some(counted == ended)
    }
}

impl Request {
    /// Whether the READ, so many PSNs behind this one, asks once more for the rest of it.
    fn has_rest(&self, seen: &Seen, ahead: u32) -> bool {
        let rest = seen.dma_len.zip(self.len).and_then(|(rest, all)| all.checked_sub(rest));
        let is_rest = |size: u32| Some(ahead.saturating_mul(size)) == rest;
        self.kind == Kind::Read && seen.kind == Kind::Read && SIZES.into_iter().any(is_rest)
    }

    fn is_answered_by(&self, seen: &Seen, behind: u32, next: Option<Psn>) -> Option<bool> {
        if self.kind != Kind::Read {
            return Some(self.kind.has_data_response());
        }
        if self.len.is_some_and(|len| !may_bring(len, seen, behind)) {
            return Some(false);
        }
        let ends = next.map(|next| next == seen.psn.add(1));
        match seen.place {
            Place::Only => Some(behind == 0 && ends != Some(false)),
            Place::First => Some(behind == 0 && ends != Some(true)),
            Place::Middle => (behind == 0 || ends == Some(true)).then_some(false),
            Place::Last => {
                if behind == 0 {
                    Some(false)
                } else {
                    ends
                }
            }
        }
    }
}

/// Whether the response with so many before it is one of those that bring `len` bytes.
fn may_bring(len: u32, seen: &Seen, behind: u32) -> bool {
    let up_to_it = |size: u32| behind.saturating_mul(size).saturating_add(seen.payload);
    match seen.place {
        Place::Only => seen.payload == len,
        Place::First | Place::Middle => {
            SIZES.contains(&seen.payload) && up_to_it(seen.payload) < len
        }
        Place::Last => SIZES.into_iter().any(|size| up_to_it(size) == len),
    }
}
