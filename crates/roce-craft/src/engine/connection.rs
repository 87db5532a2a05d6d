//! One connection: both ends, the way between them, and what happens on it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::{Batch, Entry, What};
use super::channel::Channel;
use super::cm::{CmResult, Script};
use super::identity::Identity;
use super::requester::{End, Requester};
use super::responder::Responder;
use super::rules::Attempts;
use crate::plan::{Both, ConnectionPlan, Dir, Service};
use crate::rng::Rng;
use crate::truth::Recorder;

/// A connection that is played.
#[derive(Debug)]
pub(crate) struct Connection {
    pub plan: Arc<ConnectionPlan>,
    pub identity: Identity,
    pub recorder: Recorder,
    pub name: Option<Arc<str>>,
    /// Which of the scenario's plans it follows.
    pub(super) kind: usize,
    /// Bytes in front of every packet.
    pub(super) head_len: u32,
    pub(super) ends: Both<EndState>,
    pub(super) channels: Both<Channel>,
    pub(super) script: Option<Script>,
    pub(super) is_torn_down: bool,
    pub(super) rng: Rng,
    pub(super) now: u64,
    pub batch: Batch,
    /// Frames that the capture misses: who sent them, and when among their like.
    pub(super) missed: VecDeque<(Dir, u64)>,
}

/// One end.
#[derive(Debug)]
pub(super) struct EndState {
    pub(super) requester: Requester,
    pub(super) responder: Responder,
    pub(super) attempts: Attempts,
    /// Everything that was sent.
    pub(super) order: u64,
    /// Identification of the last IPv4 packet.
    pub(super) ip_id: u16,
    /// Packets of connection management that were sent.
    pub(super) gsi_packets: u32,
    /// When it last told its peer of congestion.
    pub(super) last_cnp: Option<u64>,
    /// Refusals so far of the message that is refused: its number, how many.
    pub(super) refused: (u64, u32),
}

/// What happens next on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Arrive(Dir),
    Timeout(Dir),
    Reply(Dir),
    Request(Dir),
    Manage,
    TearDown,
    /// A packet reaches the capture point.
    Capture(Dir),
}

/// What connections that are alike have in common.
pub(super) struct Kind<'p> {
    /// Its place among the plans.
    pub(super) at: usize,
    pub(super) plan: &'p Arc<ConnectionPlan>,
    pub(super) name: Option<Arc<str>>,
}

impl Connection {
    pub(super) fn new(
        Kind { at, plan, name }: Kind<'_>,
        head_len: u32,
        (index, total): (u32, u64),
        seed: u64,
    ) -> Self {
        let mut rng = Rng::fork(seed, u64::from(index));
        let identity = Identity::new(plan, index, &mut rng);
        let script = plan.cm.as_ref().map(|cm| Script::set_up(plan, cm));
        let (forth, back) = match script.as_ref().map(|script| script.result) {
            None => (Some(plan.start), Some(plan.start)),
            Some(CmResult::Connected(active, passive)) => (Some(active), Some(passive)),
            Some(CmResult::Rejected | CmResult::Unanswered) => (None, None),
        };
        let tracks = plan.has_rules(Dir::Forth) || plan.has_rules(Dir::Back);
        Self {
            kind: at,
            head_len,
            ends: Both::new(
                EndState::new(plan, Dir::Forth, forth, identity.ip_id.forth),
                EndState::new(plan, Dir::Back, back, identity.ip_id.back),
            ),
            channels: Both::default(),
            recorder: Recorder::new(index, total, if tracks { plan.memory() } else { 0 }),
            plan: Arc::clone(plan),
            name,
            identity,
            script,
            is_torn_down: false,
            rng,
            now: 0,
            batch: Batch::default(),
            missed: VecDeque::new(),
        }
    }

    /// Plays on until enough frames have passed the capture point, or nothing more happens.
    ///
    /// Frames before `from` and behind `until` are not captured.
    pub(crate) fn play_ahead(&mut self, from: u64, until: Option<u64>) {
        while !self.batch.is_full() {
            let Some((time, next)) = self.next() else { return };
            if until.is_some_and(|until| time > until) {
                return;
            }
            self.now = time;
            match next {
                Next::Capture(dir) => self.pass(dir, time >= from),
                next => self.play(next),
            }
        }
    }

    /// A packet passes the capture point.
    fn pass(&mut self, dir: Dir, is_on: bool) {
        let Channel { before, after, last_arrival, .. } = self.channels.of_mut(dir);
        let Some((time, tx)) = before.first_mut() else { return };
        if !is_on {
            tx.fate.missed = true;
        }
        if is_on {
            self.batch.push(Entry::new(time, What::Frame, *tx));
        }
        if !tx.fate.lost_after {
            let rest = self.plan.latency.saturating_sub(*self.plan.leg.of(dir));
            let mut arrival = time.saturating_add(rest).saturating_add(tx.fate.late);
            if tx.fate.late == 0 {
                arrival = arrival.max(*last_arrival);
                *last_arrival = arrival;
            }
            after.push(arrival, tx);
        }
        before.drop_first();
    }

    /// How it stands: as the machine-readable output calls it.
    pub(crate) fn outcome(&self) -> &'static str {
        let requesters = [&self.ends.forth.requester, &self.ends.back.requester];
        let ends = requesters.map(Requester::end);
        let disconnected = self
            .recorder
            .cm
            .as_ref()
            .is_some_and(|cm| cm.messages.iter().any(|message| message.message == "DREQ"));
        match self.script.as_ref().map(|script| script.result) {
            Some(CmResult::Rejected) => return "rejected",
            Some(CmResult::Unanswered) => return "unanswered",
            _ => {}
        }
        if ends.iter().any(|end| matches!(end, Some(End::RetryExceeded | End::RnrRetryExceeded))) {
            "retry_exceeded"
        } else if disconnected || ends.contains(&Some(End::Fatal)) {
            "closed"
        } else if requesters.iter().any(|requester| requester.is_waiting()) {
            "stalled"
        } else {
            "open"
        }
    }

    /// The earliest of everything that can happen; of two at once what stands first here.
    fn next(&self) -> Option<(u64, Next)> {
        let plan = &*self.plan;
        let mut first = Earliest { now: self.now, found: None };
        let of_end = |first: &mut Earliest, dir: Dir| {
            let (end, channel) = (self.ends.of(dir), self.channels.of(dir));
            first.offer(channel.after.next_time(), Next::Arrive(dir))
                || first.offer(end.responder.next_time(), Next::Reply(dir))
                || first.offer(end.requester.next_time(plan), Next::Request(dir))
                || first.offer(channel.before.next_time(), Next::Capture(dir))
        };
        let deadline = |first: &mut Earliest, dir: Dir| {
            first.offer(self.ends.of(dir).requester.deadline(), Next::Timeout(dir))
        };
        let step = || self.script.as_ref()?.steps.front().map(|step| step.time);
        let _ = of_end(&mut first, Dir::Forth)
            || of_end(&mut first, Dir::Back)
            || deadline(&mut first, Dir::Forth)
            || deadline(&mut first, Dir::Back)
            || first.offer(step(), Next::Manage);
        if first.found.is_none() && self.wants_tear_down() {
            // When all is said, after one more round trip.
            return Some((self.now.saturating_add(plan.latency.saturating_mul(2)), Next::TearDown));
        }
        first.found
    }

    fn wants_tear_down(&self) -> bool {
        let connected = self
            .script
            .as_ref()
            .is_some_and(|script| matches!(script.result, CmResult::Connected(..)));
        let disconnects = self.plan.cm.as_ref().is_some_and(|cm| cm.disconnect.is_some());
        connected && disconnects && !self.is_torn_down
    }

    fn play(&mut self, next: Next) {
        match next {
            Next::Arrive(dir) => {
                let after = &mut self.channels.of_mut(dir).after;
                let Some((_, tx)) = after.first() else { return };
                let tx = *tx;
                after.drop_first();
                self.arrive(&tx);
            }
            Next::Timeout(dir) => {
                self.ends.of_mut(dir).requester.on_timeout(&self.plan, self.now);
            }
            Next::Reply(dir) => self.reply(dir),
            Next::Request(dir) => self.request(dir),
            Next::Manage => self.manage(),
            Next::TearDown => self.tear_down(),
            Next::Capture(_) => {}
        }
    }

    /// The service by its usual name.
    pub(crate) fn service_name(&self) -> &'static str {
        match self.plan.service {
            Service::Rc => "RC",
            Service::Uc => "UC",
            Service::Ud => "UD",
            Service::Xrc => "XRC",
        }
    }
}

/// The earliest of what has been offered.
struct Earliest {
    now: u64,
    found: Option<(u64, Next)>,
}

impl Earliest {
    /// Takes it if it is earlier; whether it happens at once, so that nothing can be earlier.
    fn offer(&mut self, time: Option<u64>, next: Next) -> bool {
        let Some(time) = time else { return false };
        // What waited for something else happens now, not in the past.
        let time = time.max(self.now);
        if self.found.is_none_or(|(earliest, _)| time < earliest) {
            self.found = Some((time, next));
        }
        time == self.now
    }
}

impl EndState {
    fn new(plan: &ConnectionPlan, dir: Dir, open_at: Option<u64>, ip_id: u16) -> Self {
        let mut requester = Requester::new(dir, plan, open_at.unwrap_or(0));
        if open_at.is_none() {
            requester.never();
        }
        Self {
            requester,
            responder: Responder::new(dir),
            attempts: Attempts::default(),
            order: 0,
            ip_id,
            gsi_packets: 0,
            last_cnp: None,
            refused: (0, 0),
        }
    }
}
