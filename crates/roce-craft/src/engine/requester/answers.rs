//! What an answer, or none, lets a requester forget, and what it makes it send again.

use super::{End, MOST_SLOWDOWN, Message, RECOVERY, Requester};
use crate::engine::{Again, Cause};
use crate::plan::{ConnectionPlan, Retransmit};
use crate::queue::drop_first;

impl Requester {
    /// The responder has everything before `behind`.
    pub(crate) fn on_ack(&mut self, plan: &ConnectionPlan, behind: u64, now: u64) {
        if let Some(missing) = self.acknowledge(plan, behind, now) {
            self.on_gap(plan, missing, now);
        }
    }

    /// A packet of the answer to the request with this PSN.
    pub(crate) fn on_response(&mut self, plan: &ConnectionPlan, upsn: u64, now: u64) {
        let behind = self.messages.partition_point(|message| message.first <= upsn);
        let Some(at) = behind.checked_sub(1) else { return };
        // Responses come in order: of a later one nothing is kept.
        let open = self.messages.iter().take(at).find(|message| !message.is_answered());
        if let Some(missing) = open.map(Message::expected) {
            self.on_gap(plan, missing, now);
            return;
        }
        let Some(message) = self.messages.get_mut(at) else { return };
        let expected = message.expected();
        if upsn >= message.end() || !message.wants_data() || upsn < expected {
            return;
        }
        if upsn > expected {
            self.on_gap(plan, expected, now);
            return;
        }
        message.answered = message.answered.saturating_add(1);
        if message.is_answered() {
            self.waiting_reads = self.waiting_reads.saturating_sub(1);
        }
        self.on_ack(plan, upsn.saturating_add(1), now);
    }

    /// The responder misses what begins at `upsn`.
    pub(crate) fn on_sequence_nak(&mut self, plan: &ConnectionPlan, upsn: u64, now: u64) {
        match self.acknowledge(plan, upsn, now) {
            Some(missing) => self.on_gap(plan, missing, now),
            None => self.go_back(plan, upsn, Cause::Nak, now),
        }
    }

    /// The responder has no room for the message at `upsn` before `wait` nanoseconds have passed.
    pub(crate) fn on_rnr_nak(&mut self, plan: &ConnectionPlan, upsn: u64, wait: u64, now: u64) {
        if let Some(missing) = self.acknowledge(plan, upsn, now) {
            self.on_gap(plan, missing, now);
            return;
        }
        // 7 stands for "without end".
        if plan.limits.rnr_retries != 7 {
            let Some(left) = self.rnr_retries.checked_sub(1) else {
                self.end = Some(End::RnrRetryExceeded);
                return;
            };
            self.rnr_retries = left;
        }
        self.resume_at = now.saturating_add(wait);
        self.begin_round(Cause::Rnr);
        self.selected.clear();
        self.cursor = upsn.min(self.cursor);
        self.deadline = Some(self.resume_at.saturating_add(plan.limits.timeout));
    }

    /// The responder refused; the queue pair is in the error state.
    pub(crate) const fn on_fatal_nak(&mut self) {
        self.end = Some(End::Fatal);
        self.deadline = None;
    }

    /// The responder met congestion.
    pub(crate) fn on_cnp(&mut self, now: u64) {
        self.slowdown = self.slowdown.saturating_add(1).min(MOST_SLOWDOWN);
        self.slow_until = now.saturating_add(RECOVERY);
    }

    /// The acknowledgement timer ran out.
    pub(crate) fn on_timeout(&mut self, plan: &ConnectionPlan, now: u64) {
        self.deadline = None;
        if self.unacked >= self.sent {
            return;
        }
        let Some(left) = self.retries.checked_sub(1) else {
            self.end = Some(End::RetryExceeded);
            return;
        };
        self.retries = left;
        self.gap_asked = None;
        self.go_back(plan, self.unacked, Cause::Timeout, now);
        self.deadline = Some(now.saturating_add(plan.limits.timeout));
    }

    /// Forgets what is answered. Returns the PSN of a response that ought to have come before.
    fn acknowledge(&mut self, plan: &ConnectionPlan, behind: u64, now: u64) -> Option<u64> {
        let behind = behind.min(self.sent);
        let blocked = self
            .messages
            .iter()
            .take_while(|message| message.first < behind)
            .find(|message| message.expected() < behind && !message.is_answered())
            .map(Message::expected);
        let until = blocked.unwrap_or(behind);
        if until > self.unacked {
            self.unacked = until;
            self.retries = plan.limits.retries;
            self.rnr_retries = plan.limits.rnr_retries;
            self.gap_asked = None;
            while self.messages.front().is_some_and(|m| m.end() <= until && m.is_answered()) {
                drop_first(&mut self.messages);
            }
            self.cursor = self.cursor.max(until);
            self.selected.retain(|upsn| *upsn >= until);
            self.deadline = (until < self.sent).then(|| now.saturating_add(plan.limits.timeout));
        }
        blocked
    }

    /// A response is missing: the request for it is sent again, once until something comes.
    fn on_gap(&mut self, plan: &ConnectionPlan, missing: u64, now: u64) {
        if self.gap_asked != Some(missing) {
            self.go_back(plan, missing, Cause::Gap, now);
            self.gap_asked = Some(missing);
        }
    }

    fn go_back(&mut self, plan: &ConnectionPlan, upsn: u64, cause: Cause, now: u64) {
        if upsn >= self.sent {
            return;
        }
        self.begin_round(cause);
        match plan.limits.retransmit {
            Retransmit::GoBackN => {
                self.selected.clear();
                self.cursor = self.cursor.min(upsn);
            }
            Retransmit::Selective => {
                if !self.selected.contains(&upsn) {
                    self.selected.push_back(upsn);
                }
            }
        }
        self.wait_until(now);
    }

    const fn begin_round(&mut self, cause: Cause) {
        self.again = Again { cause, round: self.again.round.saturating_add(1) };
    }
}
