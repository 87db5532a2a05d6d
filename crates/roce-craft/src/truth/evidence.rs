//! What the capture tells of losses.
//!
//! A loss shows by what the ends do about it, and by what is missing between packets that are sent
//! in order. These rules speak of such acts alone, and look at what really happened only to find
//! out which act is whose:
//!
//! - **Missing, and sent again.** Requests are sent in the order of their PSNs, for the first time
//!   and in each retransmission, which goes on up to the last that was sent if it has more than
//!   one; answers are sent in order, too. What is missing although a later one of its order
//!   was captured, was lost before the capture point if it is sent once more, or asked for when the
//!   capture ends. Of a READ that was begun to be answered the rest is missing as well.
//! - **Missing, and never sent again.** What is acknowledged all the same was not captured; so was
//!   a response that nobody asks for again. Of other gaps it is not known where they come from.
//! - **Captured, and asked for.** A captured request was lost behind the capture point when a
//!   captured NAK asks for it, a captured response when a retransmission begins with its PSN.
//! - **Captured, and waited for.** A captured answer was lost behind the capture point when the
//!   request is repeated after a timeout nevertheless. Where the capture has no answer to a
//!   captured request that calls for one, the request or its answer was lost beyond the capture
//!   point: one lost request, as nobody can tell them apart; none at all if nothing is ever heard
//!   from the peer again, which may as well have fallen silent, or if an acknowledgement tells
//!   that the request had come before. A NAK is an answer, and what it asks for is counted
//!   already.
//!
//! What was lost behind another loss and is sent again together with it does not show, nor does an
//! acknowledgement that a later one makes good for.

use std::collections::{BTreeSet, VecDeque};

use super::Loss;
use crate::engine::{Again, Body, Cause, OpKind, Tx};
use crate::queue::drop_first;

/// A transmission that is not in the capture, or is of no use there.
#[derive(Clone, Copy, Debug)]
struct Gone {
    upsn: u64,
    message: u64,
    order: u64,
    /// Of a request: 0 for the first transmission.
    round: u32,
    is_first: bool,
    /// Whether a later one of its order is in the capture.
    is_passed: bool,
    /// Whether a NAK asks for it.
    is_asked: bool,
}

/// What the capture tells of the losses of one end.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    shown: Loss,
    requests: Vec<Gone>,
    responses: Vec<Gone>,
    /// Captured requests that were lost later, by their PSNs.
    requests_after: BTreeSet<u64>,
    /// Captured answers that were lost later: their PSNs, and whether they are more than
    /// acknowledgements.
    answers_after: BTreeSet<(u64, bool)>,
    /// Captured requests that call for an answer: the last PSN of each, in order.
    due: VecDeque<u64>,
    /// The last of those that waited at the last timeout, when that was counted as a loss.
    doubt: Option<u64>,
    /// What the last captured NAK or RNR NAK asks for that no retransmission followed.
    asked: Option<(u64, Cause)>,
    /// Whether the retransmission that begins shows that a captured NAK was lost later.
    is_nak_unheard: bool,
    /// What the last captured NAK asks for, until that is captured once more.
    wanted: Option<u64>,
    /// The retransmission that goes on, or 0, and how many packets of it are in the capture.
    round: (u32, u64),
    /// The message whose response was captured last.
    begun: u64,
    /// Responses at the end of a READ that are missing though it was begun to be answered.
    ends: u64,
    /// The PSNs of those of them that nothing behind them has come of yet.
    open_ends: Vec<u64>,
    /// Losses that only a timeout shows, since the peer was last heard.
    unproven: u64,
}

/// Transmissions of one kind that are remembered; the oldest give way.
const MOST: usize = 4096;

fn add(count: &mut u64, more: usize) {
    *count = count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
}

/// Whether the answer to the request is more than an acknowledgement.
fn wants_data(tx: &Tx) -> bool {
    tx.request().is_some_and(|request| !matches!(request.kind, OpKind::Send | OpKind::Write))
}

/// Takes out what `is_it` says; returns it.
fn take(list: &mut Vec<Gone>, is_it: impl Fn(&Gone) -> bool) -> Vec<Gone> {
    if list.is_empty() {
        return Vec::new();
    }
    let (taken, left) = list.iter().copied().partition(is_it);
    *list = left;
    taken
}

impl Evidence {
    /// A request or response is not in the capture, or not in good order.
    pub(super) fn miss(&mut self, tx: &Tx) {
        let list = match tx.body {
            Body::Request(_) => &mut self.requests,
            Body::Response { .. } | Body::AtomicAck { .. } => &mut self.responses,
            _ => return,
        };
        if list.len() >= MOST {
            list.remove(0);
        }
        list.push(Gone {
            upsn: tx.upsn,
            message: tx.message,
            order: tx.order,
            round: tx.again.map_or(0, |again| again.round),
            is_first: tx.again.is_none(),
            is_passed: false,
            is_asked: false,
        });
    }

    /// A request of this end is in the capture. `peer` is the evidence of the other end,
    /// `answered` where the answers are that the capture has, and `begins` whether a round begins.
    pub(super) fn request(&mut self, tx: &Tx, peer: &mut Self, answered: u64, begins: bool) {
        let round = tx.again.map_or(0, |again| again.round);
        let (last, packets) = &mut self.round;
        // After more than one packet of a retransmission came, it is one of all that was sent.
        let ends = if round == 0 && *packets > 1 { *last } else { round };
        for gone in &mut self.requests {
            let is_of_order = gone.round == round || gone.round == ends;
            gone.is_passed |= is_of_order && gone.upsn < tx.upsn;
        }
        if round != *last {
            (*last, *packets) = (round, 0);
        }
        *packets = packets.saturating_add(1);
        let again = take(&mut self.requests, |gone| gone.upsn == tx.upsn);
        add(&mut self.shown.before_capture, again.iter().filter(|gone| gone.is_passed).count());
        // What the responder is known to wait for was not in the capture since.
        let is_missing = self.wanted.take_if(|wanted| *wanted == tx.upsn).is_some();
        if let (Some(again), true) = (tx.again, begins) {
            match again.cause {
                Cause::Timeout if is_missing => {}
                Cause::Timeout => self.timeout(tx, peer, answered),
                Cause::Gap => {
                    let is_lost = peer.answers_after.remove(&(tx.upsn, true));
                    add(&mut peer.shown.after_capture, usize::from(is_lost));
                }
                Cause::Nak | Cause::Rnr | Cause::Replay => {}
            }
        }
        let Some(request) = tx.request() else { return };
        let end = tx.upsn.saturating_add(u64::from(tx.span));
        if tx.again.is_some() {
            peer.ask_again(tx.upsn, end);
        }
        if request.ack_req || !matches!(tx.span, 1) {
            let last = end.saturating_sub(1);
            if self.due.back().is_none_or(|latest| *latest < last) {
                self.due.push_back(last);
            } else if let Err(at) = self.due.binary_search(&last) {
                self.due.insert(at, last);
            }
            if self.due.len() > MOST {
                self.due.pop_front();
            }
        }
        if tx.fate.lost_after {
            self.requests_after.insert(tx.upsn);
            if self.requests_after.len() > MOST {
                self.requests_after.pop_first();
            }
        }
    }

    /// A retransmission begins because nothing was heard.
    fn timeout(&mut self, tx: &Tx, peer: &mut Self, answered: u64) {
        let wants_data = wants_data(tx);
        let is_answer = |(upsn, is_data): &(u64, bool)| {
            if wants_data { *is_data && *upsn == tx.upsn } else { *upsn >= tx.upsn }
        };
        if peer.answers_after.iter().any(is_answer) {
            peer.answers_after.retain(|answer| !is_answer(answer));
            add(&mut peer.shown.after_capture, 1);
        } else if self.is_nak_unheard {
            add(&mut peer.shown.after_capture, 1);
        } else if wants_data && peer.begun == tx.message {
            // The request has arrived: what is missing are responses.
        } else if let Some(waits) = self.due.back().copied().filter(|due| *due >= tx.upsn)
            && answered <= tx.upsn
        {
            self.doubt = Some(waits);
            add(&mut self.shown.after_capture, 1);
            self.unproven = self.unproven.saturating_add(1);
            // As long as no other is captured, it is the same that waits.
            self.due.clear();
            if let Some(first) = self.requests_after.range(tx.upsn..).next().copied() {
                self.requests_after.remove(&first);
            }
        }
    }

    /// The requester asks for the responses from `start` to `end` again.
    fn ask_again(&mut self, start: u64, end: u64) {
        let begun = self.begun;
        let asked = self.responses.iter_mut().filter(|gone| (start..end).contains(&gone.upsn));
        for gone in asked {
            gone.is_asked = true;
            if gone.message == begun && !gone.is_passed {
                gone.is_passed = true;
                self.open_ends.extend(Some(gone.upsn).filter(|_| gone.is_first));
            }
        }
        self.settle_responses();
    }

    /// Responses that were passed and are asked for were lost.
    fn settle_responses(&mut self) {
        if !self.responses.is_empty() {
            let lost = take(&mut self.responses, |gone| gone.is_passed && gone.is_asked);
            add(&mut self.shown.before_capture, lost.len());
        }
    }

    /// A response is in the capture. What comes before it was no end but a gap, which is counted as
    /// one.
    fn settle_ends(&mut self, upsn: u64) {
        let ends = self.open_ends.iter().filter(|end| **end == upsn).count();
        add(&mut self.ends, ends);
        self.open_ends.retain(|end| *end > upsn);
    }

    /// An answer of this end is in the capture; `peer` is the evidence of the other end.
    pub(super) fn answer(&mut self, tx: &Tx, peer: &mut Self) {
        for gone in &mut self.responses {
            gone.is_passed |= gone.upsn < tx.upsn && gone.order < tx.order;
        }
        self.settle_responses();
        let is_data = !matches!(tx.body, Body::Ack { .. });
        if is_data {
            self.begun = tx.message;
            self.settle_ends(tx.upsn);
            // Sent again, because something before it was asked for.
            let again = |gone: &Gone| gone.upsn == tx.upsn && gone.order < tx.order;
            let again = take(&mut self.responses, again);
            let passed = again.iter().filter(|gone| gone.is_passed).count();
            add(&mut self.shown.before_capture, passed);
        }
        if tx.fate.lost_after {
            self.answers_after.insert((tx.upsn, is_data));
            if self.answers_after.len() > MOST {
                self.answers_after.pop_first();
            }
        }
        peer.unproven = 0;
    }

    /// The request with the reason for a round as that looks, if it begins one.
    pub(super) fn as_it_looks(&mut self, tx: &Tx, answered: u64, begins: bool) -> Option<Tx> {
        let again = tx.again.filter(|_| begins)?;
        // Whoever begins before what a NAK asks for, which stands for everything before that, has
        // not heard it.
        let (heard, unheard) = match self.asked.take() {
            Some((upsn, cause)) if upsn <= tx.upsn => (Some(cause), false),
            asked => (None, asked.is_some()),
        };
        self.is_nak_unheard = unheard;
        // A response is missing, for later ones were captured; whether those arrived does not show.
        let is_gap =
            again.cause == Cause::Timeout && wants_data(tx) && answered > tx.upsn.saturating_add(1);
        let cause = heard.unwrap_or(if is_gap { Cause::Gap } else { again.cause });
        Some(Tx { again: Some(Again { cause, ..again }), ..*tx })
    }

    /// The responder was not ready for `upsn`.
    pub(super) const fn rnr_nak(&mut self, upsn: u64) {
        self.asked = Some((upsn, Cause::Rnr));
    }

    /// The responder asks for `upsn`.
    pub(super) fn nak(&mut self, upsn: u64) {
        self.asked = Some((upsn, Cause::Nak));
        self.wanted = Some(upsn);
        // It has thrown away what came behind.
        while self.due.back().is_some_and(|due| *due >= upsn) {
            self.due.pop_back();
        }
        let was_captured = self.requests_after.remove(&upsn);
        let mut is_missing = false;
        for gone in self.requests.iter_mut().filter(|gone| gone.upsn == upsn) {
            (gone.is_asked, is_missing) = (true, true);
        }
        add(&mut self.shown.after_capture, usize::from(was_captured && !is_missing));
    }

    /// Everything before `behind` was executed, as the capture tells.
    pub(super) fn answered(&mut self, behind: u64) {
        if !self.requests.is_empty() {
            let had = take(&mut self.requests, |gone| gone.upsn < behind);
            add(&mut self.shown.not_captured, had.iter().filter(|gone| gone.is_first).count());
        }
        while self.due.front().is_some_and(|due| *due < behind) {
            drop_first(&mut self.due);
        }
        while self.requests_after.first().is_some_and(|first| *first < behind) {
            self.requests_after.pop_first();
        }
    }

    /// It turns out that requests up to `upsn` had arrived when they were sent again.
    pub(super) fn acquit(&mut self, upsn: u64) {
        if self.doubt.take_if(|waits| *waits <= upsn).is_some() {
            self.shown.after_capture = self.shown.after_capture.saturating_sub(1);
        }
    }

    /// Responses that nothing came behind, and that are missing all the same.
    pub(super) fn missing_ends(&self) -> u64 {
        self.ends.saturating_add(u64::try_from(self.open_ends.len()).unwrap_or(0))
    }

    /// Whether this end was seen to answer the message.
    pub(super) const fn has_begun(&self, message: u64) -> bool {
        self.begun == message
    }

    /// What the capture tells in the end; `is_silent` says that the peer was given up.
    pub(super) fn shown(&self, is_silent: bool) -> Loss {
        let mut shown = self.shown;
        let count = |list: &[Gone], is_it: fn(&&Gone) -> bool| list.iter().filter(is_it).count();
        add(&mut shown.before_capture, count(&self.requests, |gone| gone.is_asked));
        add(
            &mut shown.unknown,
            count(&self.requests, |gone| gone.is_passed && gone.is_first && !gone.is_asked),
        );
        add(
            &mut shown.not_captured,
            count(&self.responses, |gone| gone.is_passed && gone.is_first),
        );
        if is_silent {
            shown.after_capture = shown.after_capture.saturating_sub(self.unproven);
        }
        shown
    }
}
