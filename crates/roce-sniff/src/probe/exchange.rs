//! One connection attempt as far as connection management goes, without socket or clock: what to
//! send when, and what an answer means. Nothing is left half-open on the other side: an accepted
//! connection is refused or ended, and one that was given up is withdrawn.

use std::collections::VecDeque;
use std::time::Duration;

use roce_wire::mad::cm::{
    CmMessage, CmTimeout, Drep, Dreq, Guid, Rej, RejReason, RejectedMessage, Rep, Req, Rtu,
};
use roce_wire::{Gmp, Management};

use super::icmp::Unreachable;

/// When something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// Since the start, by a clock that only goes forward.
    pub(crate) at: Duration,
    /// As the kernel stamped the frame, in nanoseconds since the epoch.
    pub(crate) stamp_ns: Option<u64>,
}

impl Moment {
    /// The time from this to `later`: by the kernel's stamps where both have one, since those do
    /// not count the time that this program takes to wake up.
    pub(crate) fn until(self, later: Self) -> Duration {
        let stamped = self.stamp_ns.zip(later.stamp_ns);
        stamped
            .and_then(|(from, to)| to.checked_sub(from))
            .map_or_else(|| later.at.saturating_sub(self.at), Duration::from_nanos)
    }
}

/// How patient to be, and how far to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// How often a request is sent before it is given up.
    pub(crate) tries: u32,
    /// How long to wait for an answer to each.
    pub(crate) timeout: Duration,
    /// How long at most to wait for a server that asked for time (MRA).
    pub(crate) patience: Duration,
    /// Whether to bring an accepted connection about and to end it, rather than to refuse it.
    pub(crate) complete: bool,
}

/// How long to stay for a REP that comes again because the REJ to it was lost.
pub(crate) const LINGER: Duration = Duration::from_millis(600);

/// What came of the request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Accepted.
    Rep(Box<Rep>),
    /// Refused.
    Rej(Box<Rej>),
    /// The server asked for time and did not decide.
    Mra,
    /// ICMP says that it did not get there.
    Unreachable(Unreachable),
    /// Nothing came back.
    Silence,
}

/// How an accepted connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    /// How many DREQs were sent.
    pub(crate) requests: u32,
    /// From the first DREQ to DREP; absent when none came.
    pub(crate) after: Option<Duration>,
}

/// All that is known at the end.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    /// How many requests were sent.
    pub(crate) requests: u32,
    /// From the first request to the answer; absent when there was none.
    pub(crate) after: Option<Duration>,
    /// The time that the server asked for with an MRA, and how soon it did.
    pub(crate) mra: Option<(CmTimeout, Duration)>,
    pub(crate) ending: Option<Ending>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// REQs are sent until something answers; the next is due at `next`.
    Asking {
        next: Duration,
    },
    /// The server has asked for time, until `until` and never beyond `limit`.
    Waiting {
        until: Duration,
        limit: Duration,
    },
    /// The REP was refused; it may come again.
    Lingering {
        until: Duration,
    },
    /// DREQs are sent until something answers.
    Leaving {
        next: Duration,
    },
    Over,
}

/// The exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    manner: Manner,
    req: Req,
    transaction: u64,
    state: State,
    /// Answers that are due at once.
    due: VecDeque<Gmp>,
    requests: u32,
    first_request: Option<Moment>,
    after: Option<Duration>,
    mra: Option<(CmTimeout, Duration)>,
    answer: Option<Answer>,
    leaving: u32,
    first_dreq: Option<Moment>,
    left_after: Option<Duration>,
}

impl Exchange {
    /// An exchange that will begin with `req`.
    pub(crate) const fn new(manner: Manner, req: Req, transaction: u64) -> Self {
        Self {
            manner,
            req,
            transaction,
            state: State::Asking { next: Duration::ZERO },
            due: VecDeque::new(),
            requests: 0,
            first_request: None,
            after: None,
            mra: None,
            answer: None,
            leaving: 0,
            first_dreq: None,
            left_after: None,
        }
    }

    /// Whether nothing more is to be sent or waited for.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over) && self.due.is_empty()
    }

    /// The next datagram to send, if one is due; to be called until there is none.
    pub(crate) fn poll(&mut self, now: Duration) -> Option<Gmp> {
        if let Some(gmp) = self.due.pop_front() {
            return Some(gmp);
        }
        match self.state {
            State::Asking { next } if now >= next => self.ask(now),
            State::Waiting { until, .. } if now >= until => {
                self.answer.get_or_insert(Answer::Mra);
                self.withdraw()
            }
            State::Lingering { until } if now >= until => {
                self.state = State::Over;
                None
            }
            State::Leaving { next } if now >= next => self.leave(now),
            _ => None,
        }
    }

    fn ask(&mut self, now: Duration) -> Option<Gmp> {
        if self.requests >= self.manner.tries {
            return self.withdraw();
        }
        self.requests = self.requests.saturating_add(1);
        self.first_request.get_or_insert(Moment { at: now, stamp_ns: None });
        self.state = State::Asking { next: now.saturating_add(self.manner.timeout) };
        Some(self.gmp(CmMessage::Req(&self.req)))
    }

    fn leave(&mut self, now: Duration) -> Option<Gmp> {
        if self.leaving >= self.manner.tries {
            self.state = State::Over;
            return None;
        }
        self.leaving = self.leaving.saturating_add(1);
        self.first_dreq.get_or_insert(Moment { at: now, stamp_ns: None });
        self.state = State::Leaving { next: now.saturating_add(self.manner.timeout) };
        let rep = self.rep()?;
        let dreq = Dreq::new(self.req.local_comm_id, rep.local_comm_id, rep.local_qpn());
        Some(self.gmp(CmMessage::Dreq(&dreq)))
    }

    /// Gives up, and says so as Linux does: a REJ for the reason of timeout, which names the
    /// sender's adapter, so that a server whose answer was lost does not keep the connection.
    fn withdraw(&mut self) -> Option<Gmp> {
        self.state = State::Over;
        let (none, reason) = (RejectedMessage::NONE, RejReason::TIMEOUT);
        let nobody = roce_wire::CommId::new(0);
        let mut rej = Rej::new(self.req.local_comm_id, nobody, none, reason);
        let guid = self.req.local_ca_guid.get().to_be_bytes();
        if let Some((info, _)) = rej.info.split_first_chunk_mut::<8>() {
            *info = guid;
        }
        Some(self.gmp(CmMessage::Rej(&rej.with_info_len(8))))
    }

    /// The user wants to stop: what was begun is undone, and nothing is waited for.
    pub(crate) fn abandon(&mut self, now: Duration) {
        let last = match self.state {
            State::Asking { .. } | State::Waiting { .. } if self.requests > 0 => self.withdraw(),
            State::Leaving { .. } if self.leaving == 0 => self.leave(now),
            _ => None,
        };
        self.due.extend(last);
        self.state = State::Over;
    }

    /// A datagram of this side was seen on the wire: its time is better known now.
    pub(crate) fn seen(&mut self, management: &Management<'_>, moment: Moment) {
        let sent = match management.message {
            Some(CmMessage::Req(req)) if req.local_comm_id == self.req.local_comm_id => {
                &mut self.first_request
            }
            Some(CmMessage::Dreq(dreq)) if dreq.local_comm_id == self.req.local_comm_id => {
                &mut self.first_dreq
            }
            _ => return,
        };
        if let Some(sent) = sent.as_mut().filter(|sent| sent.stamp_ns.is_none()) {
            sent.stamp_ns = moment.stamp_ns;
        }
    }

    /// A datagram came from the other side. Says whether it belongs to this exchange.
    pub(crate) fn receive(&mut self, management: &Management<'_>, moment: Moment) -> bool {
        let is_ours = |id: roce_wire::CommId| id == self.req.local_comm_id;
        let answers = management.mad.transaction_id() == self.transaction;
        match management.message {
            Some(CmMessage::Mra(mra)) if answers && is_ours(mra.remote_comm_id) => {
                self.take_mra(mra.service_timeout(), moment);
            }
            Some(CmMessage::Rep(rep)) if answers && is_ours(rep.remote_comm_id) => {
                self.take_rep(rep, moment);
            }
            Some(CmMessage::Rej(rej)) if answers && is_ours(rej.remote_comm_id) => {
                self.take_rej(rej, moment);
            }
            Some(CmMessage::Drep(drep)) if answers && is_ours(drep.remote_comm_id) => {
                self.take_drep(moment);
            }
            // The other side's own transaction: it ends what we have only just begun to end.
            Some(CmMessage::Dreq(dreq)) if is_ours(dreq.remote_comm_id) => {
                self.take_dreq(dreq, management.mad.transaction_id());
            }
            _ => return false,
        }
        true
    }

    fn take_mra(&mut self, timeout: CmTimeout, moment: Moment) {
        let limit = match self.state {
            State::Asking { .. } => moment.at.saturating_add(self.manner.patience),
            State::Waiting { limit, .. } => limit,
            _ => return,
        };
        let after = self.since_request(moment);
        self.mra.get_or_insert((timeout, after));
        let until = moment.at.saturating_add(timeout.duration()).min(limit);
        self.state = State::Waiting { until, limit };
    }

    fn take_rep(&mut self, rep: &Rep, moment: Moment) {
        match self.state {
            State::Asking { .. } | State::Waiting { .. } => {
                self.after = Some(self.since_request(moment));
                self.answer = Some(Answer::Rep(Box::new(*rep)));
                self.state = if self.manner.complete {
                    State::Leaving { next: moment.at }
                } else {
                    State::Lingering { until: moment.at.saturating_add(LINGER) }
                };
            }
            // It came again: our word was lost.
            State::Lingering { .. } | State::Leaving { .. } => {}
            State::Over => return,
        }
        let (local, remote) = (self.req.local_comm_id, rep.local_comm_id);
        let reply = if self.manner.complete {
            self.gmp(CmMessage::Rtu(&Rtu::new(local, remote)))
        } else {
            let reason = RejReason::CONSUMER_DEFINED;
            let rej = Rej::new(local, remote, RejectedMessage::REP, reason);
            self.gmp(CmMessage::Rej(&rej))
        };
        self.due.push_back(reply);
    }

    fn take_rej(&mut self, rej: &Rej, moment: Moment) {
        if matches!(self.state, State::Asking { .. } | State::Waiting { .. }) {
            self.after = Some(self.since_request(moment));
            self.answer = Some(Answer::Rej(Box::new(*rej)));
        }
        // After a REP it means that the server has given up by itself.
        self.state = State::Over;
    }

    fn take_drep(&mut self, moment: Moment) {
        if let State::Leaving { .. } = self.state {
            self.left_after = self.first_dreq.map(|sent| sent.until(moment));
            self.state = State::Over;
        }
    }

    fn take_dreq(&mut self, dreq: &Dreq, transaction: u64) {
        if self.rep().is_none() {
            return;
        }
        let drep = Drep::new(self.req.local_comm_id, dreq.local_comm_id);
        self.due.push_back(Gmp::cm(transaction, CmMessage::Drep(&drep)));
        if self.leaving == 0 {
            self.state = State::Over;
        }
    }

    /// ICMP answered a request. Where nobody listens on the RoCE port the matter is settled; other
    /// troubles may pass, so the remaining tries are still made.
    pub(crate) fn take_icmp(&mut self, unreachable: Unreachable, moment: Moment) {
        if let State::Asking { .. } = self.state {
            self.after = Some(self.since_request(moment));
            self.answer = Some(Answer::Unreachable(unreachable));
            if unreachable.is_port {
                self.state = State::Over;
            }
        }
    }

    fn since_request(&self, moment: Moment) -> Duration {
        self.first_request.map_or(Duration::ZERO, |sent| sent.until(moment))
    }

    fn rep(&self) -> Option<&Rep> {
        match &self.answer {
            Some(Answer::Rep(rep)) => Some(rep),
            _ => None,
        }
    }

    fn gmp(&self, message: CmMessage<'_>) -> Gmp {
        Gmp::cm(self.transaction, message)
    }

    /// All that is known so far.
    pub(crate) fn outcome(&self) -> Outcome {
        let ending =
            (self.leaving > 0).then_some(Ending { requests: self.leaving, after: self.left_after });
        Outcome {
            answer: self.answer.clone().unwrap_or(Answer::Silence),
            requests: self.requests,
            after: self.after.or(self.mra.map(|(_, after)| after)),
            mra: self.mra,
            ending,
        }
    }
}

impl Outcome {
    /// Whether the other side's connection manager spoke.
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.answer, Answer::Rep(_) | Answer::Rej(_) | Answer::Mra)
    }

    /// The adapter of the other side, where the answer names it.
    pub(crate) fn ca_guid(&self) -> Option<Guid> {
        match &self.answer {
            Answer::Rep(rep) => Some(rep.local_ca_guid).filter(|guid| guid.get() != 0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
