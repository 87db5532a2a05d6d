//! The end that answers requests: what it takes, what it refuses, and what it says.

use std::collections::VecDeque;

use roce_wire::{NakCode, RnrTimer, Syndrome};

use super::tx::{Again, Body, Cause, Place, Request, Tx};
use crate::plan::{ConnectionPlan, Dir, OpKind, Retransmit};
use crate::queue::drop_first;

/// What is still to be said.
#[derive(Clone, Copy, Debug)]
enum Reply {
    Ack {
        upsn: u64,
        is_unasked: bool,
    },
    Refusal {
        upsn: u64,
        syndrome: u8,
    },
    /// Responses to a READ, or the empty one to FLUSH and ATOMIC WRITE.
    Data {
        next: u64,
        first: u64,
        end: u64,
        length: u32,
        base: u64,
        message: u64,
        msn: u32,
        replay: bool,
    },
    Atomic {
        upsn: u64,
        base: u64,
        message: u64,
        msn: u32,
        replay: bool,
    },
}

/// The answering half of a queue pair.
#[derive(Debug)]
pub(crate) struct Responder {
    dir: Dir,
    /// The next PSN expected, counted from the start.
    expected: u64,
    msn: u32,
    /// Whether the last request that was executed asks for an acknowledgement.
    is_last_asking: bool,
    /// It has said what it misses and waits for it in silence.
    nak_sent: bool,
    /// Requests that came early, when it keeps them.
    early: Vec<Tx>,
    replies: VecDeque<(u64, Reply)>,
    free_at: u64,
    is_silent: bool,
    acks: u64,
    round: u32,
}

/// What a responder made of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// In order, executed.
    Executed,
    /// Executed before.
    Duplicate,
    /// Too early, or the responder does not listen.
    Ignored,
}

/// A refusal that a rule asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refuse {
    Rnr(u8),
    Fatal(u8),
    Silence,
}

/// Requests that came early and are kept, at most.
const MAX_EARLY: usize = 4096;

impl Responder {
    pub(crate) const fn new(dir: Dir) -> Self {
        Self {
            dir,
            expected: 0,
            msn: 0,
            is_last_asking: true,
            nak_sent: false,
            early: Vec::new(),
            replies: VecDeque::new(),
            free_at: 0,
            is_silent: false,
            acks: 0,
            round: 0,
        }
    }

    /// Whether it will never answer again.
    pub(crate) const fn is_silent(&self) -> bool {
        self.is_silent
    }

    pub(crate) fn next_time(&self) -> Option<u64> {
        self.replies.front().map(|(ready, _)| self.free_at.max(*ready))
    }

    pub(crate) const fn occupy(&mut self, until: u64) {
        self.free_at = until;
    }

    /// Whether the request would be taken now: it is the next one, and someone is there.
    pub(crate) const fn expects(&self, tx: &Tx) -> bool {
        tx.upsn == self.expected && !self.is_silent
    }

    /// Takes a request of a reliable service.
    pub(crate) fn take(
        &mut self,
        plan: &ConnectionPlan,
        tx: &Tx,
        refuse: Option<Refuse>,
        now: u64,
    ) -> Taken {
        if self.is_silent {
            return Taken::Ignored;
        }
        if tx.upsn < self.expected {
            self.answer_again(plan, tx, now);
            return Taken::Duplicate;
        }
        if tx.upsn > self.expected {
            self.miss(plan, tx, now);
            return Taken::Ignored;
        }
        match refuse {
            Some(Refuse::Silence) => {
                self.is_silent = true;
                self.replies.clear();
                return Taken::Ignored;
            }
            Some(Refuse::Rnr(timer)) => {
                let syndrome = Syndrome::rnr_nak(RnrTimer(timer)).0;
                self.say(plan, now, Reply::Refusal { upsn: tx.upsn, syndrome });
                // What follows is of the refused message, and is dropped in silence.
                self.nak_sent = true;
                return Taken::Ignored;
            }
            Some(Refuse::Fatal(code)) => {
                let syndrome = Syndrome::nak(NakCode(code)).0;
                self.say(plan, now, Reply::Refusal { upsn: tx.upsn, syndrome });
                self.is_silent = true;
                return Taken::Ignored;
            }
            None => {}
        }
        self.nak_sent = false;
        self.execute(plan, tx, now);
        self.catch_up(plan, now);
        Taken::Executed
    }

    fn execute(&mut self, plan: &ConnectionPlan, tx: &Tx, now: u64) {
        let Some(request) = tx.request() else { return };
        self.expected = tx.upsn.saturating_add(u64::from(tx.span));
        self.is_last_asking = request.ack_req;
        if request.place.ends() {
            self.msn = self.msn.wrapping_add(1);
        }
        self.answer(plan, tx, request, false, now);
    }

    /// Takes what came early and is next now; says what is missing next.
    fn catch_up(&mut self, plan: &ConnectionPlan, now: u64) {
        while let Some(at) = self.early.iter().position(|early| early.upsn == self.expected) {
            let early = self.early.swap_remove(at);
            self.execute(plan, &early, now);
        }
        self.early.retain(|early| early.upsn > self.expected);
        if !self.early.is_empty() {
            let syndrome = Syndrome::nak(NakCode::PSN_SEQUENCE_ERROR).0;
            self.say(plan, now, Reply::Refusal { upsn: self.expected, syndrome });
            self.nak_sent = true;
        }
    }

    /// A request came early: the one before it is missing.
    fn miss(&mut self, plan: &ConnectionPlan, tx: &Tx, now: u64) {
        if plan.limits.retransmit == Retransmit::Selective
            && self.early.len() < MAX_EARLY
            && self.early.iter().all(|early| early.upsn != tx.upsn)
        {
            self.early.push(*tx);
        }
        if !self.nak_sent {
            let syndrome = Syndrome::nak(NakCode::PSN_SEQUENCE_ERROR).0;
            self.say(plan, now, Reply::Refusal { upsn: self.expected, syndrome });
            self.nak_sent = true;
        }
    }

    /// A request that was executed before is answered from memory.
    fn answer_again(&mut self, plan: &ConnectionPlan, tx: &Tx, now: u64) {
        let Some(request) = tx.request() else { return };
        match request.kind {
            OpKind::Send | OpKind::Write => {
                let upsn = self.expected.saturating_sub(1);
                let is_unasked = !self.is_last_asking;
                self.say(plan, now, Reply::Ack { upsn, is_unasked });
            }
            _ => {
                self.round = self.round.saturating_add(1);
                self.answer(plan, tx, request, true, now);
            }
        }
    }

    fn answer(
        &mut self,
        plan: &ConnectionPlan,
        tx: &Tx,
        request: &Request,
        replay: bool,
        now: u64,
    ) {
        let (msn, message, base) = (self.msn, tx.message, request.response_base);
        match request.kind {
            OpKind::Send | OpKind::Write => {
                if request.ack_req {
                    self.say(plan, now, Reply::Ack { upsn: tx.upsn, is_unasked: false });
                }
            }
            OpKind::Read | OpKind::AtomicWrite | OpKind::Flush => {
                let length = if request.kind == OpKind::Read { request.length } else { 0 };
                let end = tx.upsn.saturating_add(u64::from(tx.span));
                let first = tx.upsn;
                let data =
                    Reply::Data { next: first, first, end, length, base, message, msn, replay };
                self.say(plan, now, data);
            }
            OpKind::CompareSwap | OpKind::FetchAdd => {
                self.say(plan, now, Reply::Atomic { upsn: tx.upsn, base, message, msn, replay });
            }
        }
    }

    /// Puts a reply behind the others; acknowledgements that wait become one.
    fn say(&mut self, plan: &ConnectionPlan, now: u64, reply: Reply) {
        if let Some((_, Reply::Ack { upsn, is_unasked })) = self.replies.back_mut()
            && let Reply::Ack { upsn: newer, is_unasked: is_newer_unasked } = reply
        {
            *is_unasked = is_newer_unasked;
            *upsn = (*upsn).max(newer);
            return;
        }
        self.replies.push_back((now.saturating_add(plan.ack_delay), reply));
    }

    /// Sends the next reply.
    pub(crate) fn send(&mut self, plan: &ConnectionPlan) -> Option<Tx> {
        let (_, reply) = self.replies.front_mut()?;
        let tx = match reply {
            Reply::Data { next, .. } => {
                let upsn = *next;
                *next = next.saturating_add(1);
                let data = *reply;
                return self.data(plan, &data, upsn);
            }
            Reply::Atomic { upsn, base, message, msn, replay } => {
                // What was there before: any number will do, the same one when asked again.
                let original = base.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let again = replay.then_some(Again { cause: Cause::Replay, round: self.round });
                Tx {
                    upsn: *upsn,
                    message: *message,
                    ordinal: base.saturating_add(1),
                    again,
                    ..Tx::aside(self.dir, Body::AtomicAck { msn: *msn, original })
                }
            }
            Reply::Ack { upsn, is_unasked } => {
                let (upsn, is_unasked) = (*upsn, *is_unasked);
                self.acknowledgement(upsn, Syndrome::ACK_UNLIMITED.0, is_unasked)
            }
            Reply::Refusal { upsn, syndrome } => {
                let (upsn, syndrome) = (*upsn, *syndrome);
                self.acknowledgement(upsn, syndrome, false)
            }
        };
        drop_first(&mut self.replies);
        Some(tx)
    }

    fn acknowledgement(&mut self, upsn: u64, syndrome: u8, is_unasked: bool) -> Tx {
        self.acks = self.acks.saturating_add(1);
        let body = Body::Ack { syndrome, msn: self.msn, is_unasked };
        Tx { upsn, ordinal: self.acks, ..Tx::aside(self.dir, body) }
    }

    /// The packet with this PSN of the answer to a READ; with the last one the reply is done.
    fn data(&mut self, plan: &ConnectionPlan, reply: &Reply, upsn: u64) -> Option<Tx> {
        let Reply::Data { first, end, length, base, message, msn, replay, .. } = *reply else {
            return None;
        };
        let index = upsn.saturating_sub(first);
        let offset = u32::try_from(index).unwrap_or(u32::MAX).saturating_mul(plan.pmtu);
        let payload = length.saturating_sub(offset).min(plan.pmtu);
        let place = Place::of(index == 0, upsn.saturating_add(1) >= end);
        if place.ends() {
            drop_first(&mut self.replies);
        }
        let again = replay.then_some(Again { cause: Cause::Replay, round: self.round });
        Some(Tx {
            upsn,
            message,
            ordinal: base.saturating_add(index).saturating_add(1),
            again,
            ..Tx::aside(self.dir, Body::Response { place, payload, msn })
        })
    }
}
