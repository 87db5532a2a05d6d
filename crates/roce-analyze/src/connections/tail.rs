//! The end of what was sent, missing at the capture: a message whose last packets were lost before
//! the capture point has no gap.
//!
//! A requester waits for an answer only when it has sent something that calls for one. So when it
//! sends again what it waits for in vain, and nothing that was captured of it calls for an answer,
//! then what does was sent before and is missing, and so is everything up to there.

use super::direction::{Direction, flag};
use super::hindsight::SHORTEST_TIMEOUT;
use super::seen::Seen;
use super::trouble::Tail;

/// No requester sends more often in vain: the retry count has three bits.
pub(super) const MOST_TIMES: u32 = 8;

/// What is missing, if a retransmission that begins with `seen` is one after a timeout.
pub(super) fn missing_from(this: &Direction, back: &Direction, seen: &Seen) -> Option<Tail> {
    let is_open = back.key.is_some() && back.packets > 0 && !seen.psn.is_before(this.answered);
    if !is_open || !has_waited(this, seen) {
        return None;
    }
    if !this.has(flag::IN_ROUND) {
        let is_missing = !this.answered.is_before(this.due);
        return is_missing.then_some(Tail { start: this.next, times: 1 });
    }
    // What goes for the first transmission goes for the next one, of a sender that goes back.
    let trouble = this.trouble.as_ref()?;
    let head = trouble.head.filter(|head| !head.calls && head.packets > 1)?;
    let goes_back = trouble.go_back_n >= trouble.selective && !head.psn.is_before(this.answered);
    let before = head.tail.filter(|tail| tail.start == this.round).map_or(0, |tail| tail.times);
    goes_back.then_some(Tail { start: this.round, times: before.saturating_add(1) })
}

/// Whether nothing was sent for longer than any answer has taken: a NAK that the capture has missed
/// would have been heard sooner.
fn has_waited(this: &Direction, seen: &Seen) -> bool {
    let least = SHORTEST_TIMEOUT.max(this.longest_answer().saturating_mul(2).saturating_add(1));
    this.since_last(seen).is_some_and(|waited| waited >= least)
}

impl Direction {
    fn has_tail(&self) -> bool {
        let head = self.trouble.as_ref().and_then(|trouble| trouble.head);
        head.is_some_and(|head| head.tail.is_some())
    }

    /// A packet of the retransmission that goes on, or has just begun. Says how often it was sent
    /// before and was missing, as the end of what was sent.
    pub(super) fn follow_tail(&mut self, seen: &Seen) -> u32 {
        let Some(head) = self.trouble.as_mut().and_then(|trouble| trouble.head.as_mut()) else {
            return 0;
        };
        let calls = seen.ack_req || seen.kind.has_data_response();
        head.packets = head.packets.saturating_add(1);
        head.calls |= calls;
        let Some(tail) = head.tail.filter(|tail| !seen.psn.is_before(tail.start)) else { return 0 };
        if calls {
            head.tail = None;
        }
        tail.times
    }

    /// A request that was never captured goes on where a retransmission is: if it is part of that,
    /// it was lost before.
    pub(super) fn goes_on_unseen(&mut self, seen: &Seen, span: u32) -> bool {
        if self.round != seen.psn || self.next != seen.psn || !self.has_tail() {
            return false;
        }
        let times = self.follow_tail(seen);
        let trouble = self.trouble();
        for nth in 0..times.min(MOST_TIMES) {
            trouble.lose(seen.psn, nth > 0, seen.frame, false);
        }
        // What was sent behind that before, if anything, looks as if it were sent now.
        let [may_be_more, _] = &mut trouble.may_be_more;
        *may_be_more = true;
        trouble.retransmitted = trouble.retransmitted.saturating_add(1);
        self.round = seen.psn.add(span);
        true
    }
}
