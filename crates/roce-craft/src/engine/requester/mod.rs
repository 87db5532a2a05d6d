//! The end that makes requests: what it sends next, and what an answer lets it forget.

mod answers;

use std::collections::VecDeque;

use super::tx::{Again, Body, Cause, Fate, Place, Request, Tx};
use crate::plan::{ConnectionPlan, Dir, OpKind, OpPlan, Sizes};
use crate::rng::Rng;

/// A message that was begun and is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: u64,
    /// Index of its operation in the plan.
    op: u32,
    kind: OpKind,
    size: u32,
    first: u64,
    /// How many PSNs it takes: a READ of 2 GiB in packets of 256 bytes takes 2^23.
    psns: u32,
    /// Ordinal of its first request packet.
    ordinal: u64,
    /// Where its responses stand among all.
    response_base: u64,
    /// How many of its PSNs were answered with data, in order.
    answered: u32,
}

impl Message {
    /// Behind its last PSN.
    const fn end(&self) -> u64 {
        self.first.saturating_add(self.psns as u64)
    }

    /// Whether the answer to it is more than an acknowledgement.
    const fn wants_data(&self) -> bool {
        wants_data(self.kind)
    }

    /// The PSN of the next response.
    const fn expected(&self) -> u64 {
        self.first.saturating_add(self.answered as u64)
    }

    const fn is_answered(&self) -> bool {
        !self.wants_data() || self.expected() >= self.end()
    }
}

/// Why a requester sends no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    RetryExceeded,
    RnrRetryExceeded,
    /// A NAK that ends the queue pair.
    Fatal,
}

/// The requesting half of a queue pair.
#[derive(Debug)]
pub(crate) struct Requester {
    dir: Dir,
    messages: VecDeque<Message>,
    /// Everything before it belongs to a message that was begun.
    begun: u64,
    /// Everything before it was answered.
    unacked: u64,
    /// Everything before it was sent at least once.
    sent: u64,
    /// What is sent next.
    cursor: u64,
    /// Single packets to send again before that.
    selected: VecDeque<u64>,
    op: usize,
    op_done: u64,
    op_at: u64,
    next_message: u64,
    next_ordinal: u64,
    next_response: u64,
    waiting_reads: u32,
    free_at: u64,
    resume_at: u64,
    deadline: Option<u64>,
    retries: u8,
    rnr_retries: u8,
    again: Again,
    gap_asked: Option<u64>,
    /// By how many powers of two it sends slower than it could.
    slowdown: u32,
    slow_until: u64,
    end: Option<End>,
}

/// Congestion notifications halve the rate at most this often.
const MOST_SLOWDOWN: u32 = 4;
/// After this long without a notification the rate doubles.
const RECOVERY: u64 = 300_000;

impl Requester {
    pub(crate) fn new(dir: Dir, plan: &ConnectionPlan, open_at: u64) -> Self {
        let first_op = plan.ops.of(dir).first().map_or(0, |op| op.start);
        Self {
            dir,
            messages: VecDeque::new(),
            begun: 0,
            unacked: 0,
            sent: 0,
            cursor: 0,
            selected: VecDeque::new(),
            op: 0,
            op_done: 0,
            op_at: open_at.saturating_add(first_op),
            next_message: 1,
            next_ordinal: 1,
            next_response: 0,
            waiting_reads: 0,
            free_at: open_at,
            resume_at: 0,
            deadline: None,
            retries: plan.limits.retries,
            rnr_retries: plan.limits.rnr_retries,
            again: Again { cause: Cause::Timeout, round: 0 },
            gap_asked: None,
            slowdown: 0,
            slow_until: 0,
            end: None,
        }
    }

    /// Why it stopped, when it has.
    pub(crate) const fn end(&self) -> Option<End> {
        self.end
    }

    /// Makes no request: there is no connection.
    pub(crate) fn never(&mut self) {
        self.op = usize::MAX;
    }

    /// Whether something sent is without an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.messages.is_empty()
    }

    /// When the acknowledgement timer runs out.
    pub(crate) const fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// When it sends next; `None` when it cannot.
    pub(crate) fn next_time(&self, plan: &ConnectionPlan) -> Option<u64> {
        if self.end.is_some() {
            return None;
        }
        let at = self.free_at.max(self.resume_at);
        if !self.selected.is_empty() || self.cursor < self.sent {
            return Some(at);
        }
        if plan.is_reliable() && self.sent.saturating_sub(self.unacked) >= plan.limits.window {
            return None;
        }
        if self.begun > self.sent {
            return Some(at);
        }
        let op = self.current_op(plan)?;
        if plan.is_reliable()
            && (self.messages.len() >= op.depth
                || wants_data(op.kind) && self.waiting_reads >= plan.limits.max_reads)
        {
            return None;
        }
        Some(at.max(self.op_at))
    }

    fn current_op<'p>(&self, plan: &'p ConnectionPlan) -> Option<&'p OpPlan> {
        plan.ops.of(self.dir).get(self.op).filter(|op| self.op_done < op.count)
    }

    /// Sends the next packet at `now`.
    pub(crate) fn send(&mut self, plan: &ConnectionPlan, now: u64, rng: &mut Rng) -> Option<Tx> {
        let (upsn, is_again) = match self.selected.pop_front() {
            Some(upsn) => (upsn, true),
            None => (self.cursor, self.cursor < self.sent),
        };
        if !is_again && self.begun <= self.sent {
            self.begin(plan, now, rng)?;
        }
        let tx = self.packet(plan, upsn, is_again)?;
        let behind = upsn.saturating_add(u64::from(tx.span));
        if upsn == self.cursor {
            self.cursor = behind;
        }
        self.sent = self.sent.max(behind);
        if plan.is_reliable() {
            if self.deadline.is_none() || is_again {
                self.deadline = Some(now.saturating_add(plan.limits.timeout));
            }
        } else if tx.request().is_some_and(|request| request.place.ends()) {
            self.messages.clear();
            self.unacked = self.sent;
        }
        Some(tx)
    }

    /// Keeps the line busy for as long as the frame takes, or longer when it was told to slow down.
    pub(crate) fn occupy(&mut self, now: u64, wire_time: u64) {
        if self.slowdown > 0 && now >= self.slow_until {
            self.slowdown = self.slowdown.saturating_sub(1);
            self.slow_until = now.saturating_add(RECOVERY);
        }
        let pace = wire_time.saturating_mul(1u64.wrapping_shl(self.slowdown));
        self.free_at = now.saturating_add(pace);
    }

    /// Does not send before `time`.
    pub(crate) fn wait_until(&mut self, time: u64) {
        self.free_at = self.free_at.max(time);
    }

    /// Begins the next operation.
    fn begin(&mut self, plan: &ConnectionPlan, now: u64, rng: &mut Rng) -> Option<()> {
        let op = self.current_op(plan)?;
        let size = match &op.sizes {
            Sizes::Between(low, high) => {
                let more = rng.below(u64::from(high.saturating_sub(*low)).saturating_add(1));
                low.saturating_add(u32::try_from(more).unwrap_or(0))
            }
            Sizes::InTurn(sizes) if sizes.len() == 1 => *sizes.first()?,
            Sizes::InTurn(sizes) => {
                let turn = self.op_done.checked_rem(u64::try_from(sizes.len()).ok()?)?;
                *sizes.get(usize::try_from(turn).ok()?)?
            }
        };
        let packets = size.div_ceil(plan.pmtu).max(1);
        let (psns, requests, responses) = match op.kind {
            OpKind::Send | OpKind::Write => (packets, packets, 0),
            OpKind::Read => (packets, 1, packets),
            _ => (1, 1, 1),
        };
        let first = self.begun.max(self.sent);
        self.begun = first.saturating_add(u64::from(psns));
        self.messages.push_back(Message {
            number: self.next_message,
            op: u32::try_from(self.op).unwrap_or(u32::MAX),
            kind: op.kind,
            size,
            first,
            psns,
            ordinal: self.next_ordinal,
            response_base: self.next_response,
            answered: 0,
        });
        self.next_message = self.next_message.saturating_add(1);
        self.next_ordinal = self.next_ordinal.saturating_add(u64::from(requests));
        self.next_response = self.next_response.saturating_add(u64::from(responses));
        self.waiting_reads = self.waiting_reads.saturating_add(u32::from(wants_data(op.kind)));
        self.op_done = self.op_done.saturating_add(1);
        if op.interval > 0 {
            self.op_at = now.saturating_add(op.interval);
        }
        if self.op_done >= op.count {
            self.next_op(plan, now);
        }
        Some(())
    }

    fn next_op(&mut self, plan: &ConnectionPlan, now: u64) {
        self.op = self.op.saturating_add(1);
        self.op_done = 0;
        if let Some(op) = plan.ops.of(self.dir).get(self.op) {
            // `start` of a later operation counts from the start of the connection as well.
            self.op_at = now.max(plan.start.saturating_add(op.start));
        }
    }

    fn message_at(&self, upsn: u64) -> Option<&Message> {
        if let Some(last) = self.messages.back()
            && last.first <= upsn
        {
            return (upsn < last.end()).then_some(last);
        }
        let behind = self.messages.partition_point(|message| message.first <= upsn);
        self.messages.get(behind.checked_sub(1)?).filter(|message| upsn < message.end())
    }

    /// The request packet with this PSN.
    fn packet(&self, plan: &ConnectionPlan, upsn: u64, is_again: bool) -> Option<Tx> {
        let message = self.message_at(upsn)?;
        let op = plan.ops.of(self.dir).get(usize::try_from(message.op).ok()?)?;
        let index = upsn.saturating_sub(message.first);
        let offset = u32::try_from(index).unwrap_or(u32::MAX).saturating_mul(plan.pmtu);
        let length = message.size.saturating_sub(offset);
        let carries_payload = matches!(message.kind, OpKind::Send | OpKind::Write);
        let span = if message.kind == OpKind::Read {
            u32::try_from(message.end().saturating_sub(upsn)).unwrap_or(u32::MAX)
        } else {
            1
        };
        let is_last = upsn.saturating_add(u64::from(span)) >= message.end();
        let place = if carries_payload { Place::of(index == 0, is_last) } else { Place::Only };
        let payload = match message.kind {
            OpKind::Send | OpKind::Write => length.min(plan.pmtu),
            OpKind::AtomicWrite => 8,
            _ => 0,
        };
        // Only asked where it matters: divisions are slow.
        let is_due = || index.saturating_add(1).is_multiple_of(plan.limits.ack_every);
        Some(Tx {
            dir: self.dir,
            body: Body::Request(Request {
                kind: message.kind,
                place,
                payload,
                length,
                immediate: op.immediate && is_last,
                invalidate: op.invalidate && is_last,
                solicited: op.solicited && is_last,
                ack_req: plan.is_reliable() && (is_last || is_due()),
                response_base: message.response_base.saturating_add(index),
            }),
            upsn,
            span,
            message: message.number,
            ordinal: message.ordinal.saturating_add(if carries_payload { index } else { 0 }),
            order: 0,
            ip_id: 0,
            again: is_again.then_some(self.again),
            fate: Fate::default(),
        })
    }
}

const fn wants_data(kind: OpKind) -> bool {
    !matches!(kind, OpKind::Send | OpKind::Write)
}
