//! What is kept of one end of a connection.

use std::collections::{BTreeMap, VecDeque};

use super::Direction;
use super::evidence::Evidence;
use super::samples::Samples;
use super::stream::Stream;
use crate::engine::{OpKind, Tx};
use crate::plan::Both;
use crate::queue::drop_first;

/// What one end sent.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub counts: Direction,
    pub(super) evidence: Evidence,
    pub(super) requests: Stream,
    pub(super) responses: Stream,
    pub(super) last_order: Option<u64>,
    pub(super) last_round: u32,
    pub(super) open: VecDeque<Open>,
    pub(super) ack_latency: Samples,
    pub(super) completion: Samples,
    /// What the capture shows to be answered ends before this PSN.
    pub(super) answered: u64,
    /// Requests that the responder had executed before without the capture telling it so far.
    pub(super) doubtful: VecDeque<u64>,
    /// The first request in the capture, or asked for in it: counted from the start, and its PSN.
    pub first: Option<(u64, u32)>,
    /// Whether a packet shows how long the longest payload is.
    pub shows_pmtu: bool,
    /// The frames of requests and responses by their numbers.
    pub(super) frames: Both<BTreeMap<u64, u64>>,
    /// The last NAK and RNR NAK that this end sent.
    pub(super) last_nak: Option<u64>,
}

/// A message that was requested and is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Behind its last PSN.
    pub(super) end: u64,
    pub(super) first_time: u64,
    pub(super) last_time: u64,
    pub(super) is_whole: bool,
    pub(super) is_repeated: bool,
    pub(super) wants_data: bool,
}

/// Messages whose times are followed.
pub(super) const MOST_OPEN: usize = 256;

impl Side {
    /// A request packet that was seen for the first time: the times of its message.
    pub(super) fn follow(&mut self, tx: &Tx, begins: bool, is_whole: bool, time: u64) {
        let end = tx.upsn.saturating_add(u64::from(tx.span));
        if begins {
            if self.open.len() >= MOST_OPEN {
                self.open.pop_front();
            }
            let wants_data = tx
                .request()
                .is_some_and(|request| !matches!(request.kind, OpKind::Send | OpKind::Write));
            self.open.push_back(Open {
                end,
                first_time: time,
                last_time: time,
                is_whole,
                is_repeated: tx.again.is_some(),
                wants_data,
            });
        } else if let Some(open) = self.open.iter_mut().rev().find(|open| open.end == tx.upsn) {
            open.end = end;
            open.last_time = time;
            open.is_whole |= is_whole;
            open.is_repeated |= tx.again.is_some();
        }
    }

    /// The request with this PSN was sent for the first time, or is missing.
    pub(super) fn began_with(&mut self, upsn: u64, psn: u32) {
        if self.first.is_none_or(|(first, _)| upsn < first) {
            self.first = Some((upsn, psn));
        }
    }

    /// An acknowledgement that nothing in the capture asks for, or that says what another has
    /// said: up to its PSN every request had been executed before it was sent again.
    pub(super) fn resolve(&mut self, upsn: u64) {
        let before = self.doubtful.len();
        self.doubtful.retain(|doubtful| *doubtful > upsn);
        let told = u64::try_from(before.saturating_sub(self.doubtful.len())).unwrap_or(0);
        self.counts.duplicate_requests = self.counts.duplicate_requests.saturating_add(told);
        if told > 0 {
            self.evidence.acquit(upsn);
        }
    }

    /// Everything before `behind` is answered.
    pub(super) fn answered(&mut self, behind: u64, time: u64) {
        if self.answered < behind {
            // A second acknowledgement may still come of what is answered now.
            let before = self.answered;
            self.doubtful.retain(|doubtful| *doubtful >= before);
            self.answered = behind;
        }
        self.evidence.answered(behind);
        while let Some(open) = self.open.front() {
            let is_answered = |open: &Open| open.end <= behind;
            let is_passed = self.open.get(1).is_some_and(is_answered);
            if !is_answered(open) || !(open.is_whole || is_passed) {
                return;
            }
            let open = *open;
            drop_first(&mut self.open);
            if !open.is_whole {
                continue;
            }
            self.completion.record(time.saturating_sub(open.first_time));
            // Of what was sent twice nobody knows which is answered.
            if !open.is_repeated && !open.wants_data {
                self.ack_latency.record(time.saturating_sub(open.last_time));
            }
        }
    }
}
