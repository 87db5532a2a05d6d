//! One connection: both ends, the way between them, and what happens on it.

use std::collections::VecDeque;
use std::sync::Arc;

use roce_wire::RnrTimer;
use roce_wire::{AckKind, Ecn, NakCode, Opcode, Psn, Syndrome};

use super::batch::{Batch, Entry, Turn};
use super::channel::Channel;
use super::cm::{CmResult, Script};
use super::encode::{Head, Pattern, encode};
use super::identity::Identity;
use super::requester::{End, Requester};
use super::responder::{Refuse, Responder, Taken};
use super::rules::Attempts;
use super::tx::{Body, CmBody, Fate, Tx, wire_psn};
use crate::plan::{Both, ConnectionPlan, Dir, EventKind, IcrcFault, Malformed, OpKind, Service};
use crate::rng::Rng;
use crate::truth::{Captured, DetailKind, Details, Recorder};

/// A connection that is played.
#[derive(Debug)]
pub(crate) struct Connection {
    pub plan: Arc<ConnectionPlan>,
    pub identity: Identity,
    pub recorder: Recorder,
    pub name: Option<Arc<str>>,
    heads: Both<Head>,
    ends: Both<EndState>,
    channels: Both<Channel>,
    script: Option<Script>,
    is_torn_down: bool,
    rng: Rng,
    now: u64,
    pub batch: Batch,
    /// Frames that the capture misses: who sent them, and when among their like.
    missed: VecDeque<(Dir, u64)>,
}

/// Missed frames that are remembered until they have arrived.
const MOST_MISSED: usize = 4096;

/// One end.
#[derive(Debug)]
struct EndState {
    requester: Requester,
    responder: Responder,
    attempts: Attempts,
    /// Everything that was sent.
    order: u64,
    /// Identification of the last IPv4 packet.
    ip_id: u16,
    /// Packets of connection management that were sent.
    gsi_packets: u32,
    /// When it last told its peer of congestion.
    last_cnp: Option<u64>,
    /// Refusals so far of the message that is refused: its number, how many.
    refused: (u64, u32),
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

impl Connection {
    pub(crate) fn new(
        plan: &Arc<ConnectionPlan>,
        name: Option<Arc<str>>,
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
            heads: Both::new(
                Head::new(plan, &identity, Dir::Forth),
                Head::new(plan, &identity, Dir::Back),
            ),
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
    pub(crate) fn play_ahead(&mut self, pattern: &Pattern, from: u64, until: Option<u64>) {
        self.batch.make_room();
        while !self.batch.is_full() {
            let Some((time, next)) = self.next() else { return };
            if until.is_some_and(|until| time > until) {
                return;
            }
            self.now = time;
            match next {
                Next::Capture(dir) => self.pass(dir, pattern, time >= from),
                next => self.play(next),
            }
        }
    }

    /// A packet passes the capture point.
    fn pass(&mut self, dir: Dir, pattern: &Pattern, is_on: bool) {
        let channel = self.channels.of_mut(dir);
        let Some((time, mut tx)) = channel.before.pop() else { return };
        tx.fate.captured = is_on;
        if is_on {
            let at = self.batch.bytes_len();
            let head = self.heads.of_mut(dir);
            encode(&self.plan, &self.identity, head, pattern, &tx, self.batch.bytes_mut());
            self.batch.push(time, at, tx);
        }
        if tx.fate.lost_after {
            return;
        }
        let rest = self.plan.latency.saturating_sub(*self.plan.leg.of(dir));
        let mut arrival = time.saturating_add(rest).saturating_add(tx.fate.late);
        if tx.fate.late == 0 {
            arrival = arrival.max(channel.last_arrival);
            channel.last_arrival = arrival;
        }
        channel.after.push(arrival, tx);
    }

    /// Records what had its turn, and makes room for more.
    pub(crate) fn settle(&mut self, epoch: u64, snaplen: usize, details: &mut Details) {
        let mut batch = core::mem::take(&mut self.batch);
        for (entry, turn) in batch.settled() {
            match (entry, turn) {
                (Entry::Frame(tx), Some(turn)) if turn.number == 0 => {
                    if tx.is_data_path() {
                        let time = epoch.saturating_add(turn.time);
                        let what = (DetailKind::NotCaptured, time);
                        self.recorder.absent(tx, self.wire(tx), what, details);
                    }
                    self.missed.push_back((tx.dir, tx.order));
                    if self.missed.len() > MOST_MISSED {
                        self.missed.pop_front();
                    }
                }
                (Entry::Frame(tx), Some(turn)) => {
                    let captured = self.captured(tx, turn, epoch, snaplen);
                    self.record(tx, &captured, details);
                }
                (Entry::Absent { time, tx, kind }, _) => {
                    let what = (*kind, epoch.saturating_add(*time));
                    self.recorder.absent(tx, self.wire(tx), what, details);
                }
                (Entry::Duplicate(tx), _) => {
                    if tx.fate.captured && !self.missed.contains(&(tx.dir, tx.order)) {
                        self.recorder.duplicate_request(tx);
                    }
                }
                (Entry::Frame(_), None) => {}
            }
        }
        batch.forget_settled();
        self.batch = batch;
    }

    fn record(&mut self, tx: &Tx, captured: &Captured, details: &mut Details) {
        match tx.body {
            Body::Cm(cm) => self.recorder.cm_message(tx.dir, cm.message.name(), captured),
            Body::Icmp(_) => self.recorder.icmp = self.recorder.icmp.saturating_add(1),
            _ => self.recorder.captured(tx, captured, details),
        }
    }

    /// What the capture has of a frame.
    pub(crate) fn captured(&self, tx: &Tx, turn: &Turn, epoch: u64, snaplen: usize) -> Captured {
        let plan = &self.plan;
        let (psn, opcode) = self.wire(tx);
        let has_fault = plan.icrc_fault.is_some() && tx.dir == Dir::Forth
            || tx.fate.corrupt
            || tx.fate.malformed == Some(Malformed::NoIcrc);
        let is_data = !matches!(tx.body, Body::Cnp | Body::Cm(_) | Body::Icmp(_));
        let class = if tx.fate.ce_before { 3 } else { plan.traffic_class };
        let is_whole = usize::try_from(turn.len).is_ok_and(|len| len <= snaplen);
        let lacks_icrc = plan.icrc_fault == Some(IcrcFault::Missing) && tx.dir == Dir::Forth;
        Captured {
            frame: turn.number,
            time: epoch.saturating_add(turn.time),
            wire_len: u64::from(turn.len),
            payload: u64::from(tx.payload_told(lacks_icrc)),
            psn,
            opcode,
            icrc_bad: is_data && has_fault && is_whole,
            ce: is_data && Ecn::from_tos(class) == Ecn::Ce,
        }
    }

    /// PSN and opcode as on the wire.
    pub(crate) fn wire(&self, tx: &Tx) -> (Psn, Opcode) {
        let opcode = tx.opcode(self.plan.service);
        let psn = match tx.body {
            Body::Cnp => Psn::new(0),
            Body::Cm(cm) | Body::Icmp(cm) => Psn::new(cm.psn),
            Body::Request(_) => wire_psn(*self.identity.psn.of(tx.dir), tx.upsn),
            _ => wire_psn(*self.identity.psn.of(tx.dir.other()), tx.upsn),
        };
        (psn, opcode)
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
        let mut first: Option<(u64, Next)> = None;
        let mut offer = |time: Option<u64>, next: Next| {
            // What waited for something else happens now, not in the past.
            let time = time.map(|time| time.max(self.now));
            if let Some(time) = time
                && first.is_none_or(|(earliest, _)| time < earliest)
            {
                first = Some((time, next));
            }
        };
        for dir in [Dir::Forth, Dir::Back] {
            let (end, channel) = (self.ends.of(dir), self.channels.of(dir));
            offer(channel.after.next_time(), Next::Arrive(dir));
            offer(end.responder.next_time(), Next::Reply(dir));
            offer(end.requester.next_time(plan), Next::Request(dir));
            offer(channel.before.next_time(), Next::Capture(dir));
        }
        for dir in [Dir::Forth, Dir::Back] {
            offer(self.ends.of(dir).requester.deadline(), Next::Timeout(dir));
        }
        if let Some(script) = &self.script {
            offer(script.steps.front().map(|step| step.time), Next::Manage);
        }
        if first.is_none() && self.wants_tear_down() {
            // When all is said, after one more round trip.
            return Some((self.now.saturating_add(plan.latency.saturating_mul(2)), Next::TearDown));
        }
        first
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
                if let Some((_, tx)) = self.channels.of_mut(dir).after.pop() {
                    self.arrive(&tx);
                }
            }
            Next::Timeout(dir) => {
                let plan = Arc::clone(&self.plan);
                self.ends.of_mut(dir).requester.on_timeout(&plan, self.now);
            }
            Next::Reply(dir) => self.reply(dir),
            Next::Request(dir) => self.request(dir),
            Next::Manage => self.manage(),
            Next::TearDown => self.tear_down(),
            Next::Capture(_) => {}
        }
    }

    fn request(&mut self, dir: Dir) {
        let plan = Arc::clone(&self.plan);
        if let Some(free) = free_at(&plan, dir, self.now) {
            self.ends.of_mut(dir).requester.wait_until(free);
            return;
        }
        let Some(tx) = self.ends.of_mut(dir).requester.send(&plan, self.now, &mut self.rng) else {
            // The plan has no such operation; never look for it again.
            self.ends.of_mut(dir).requester.wait_until(u64::MAX);
            return;
        };
        let busy = plan.wire_time(self.heads.of(dir).frame_len(&plan, &tx));
        self.ends.of_mut(dir).requester.occupy(self.now, busy);
        self.put_on_wire(tx, busy);
    }

    fn reply(&mut self, dir: Dir) {
        let plan = Arc::clone(&self.plan);
        if let Some(free) = free_at(&plan, dir, self.now) {
            self.ends.of_mut(dir).responder.occupy(free);
            return;
        }
        let Some(tx) = self.ends.of_mut(dir).responder.send(&plan) else { return };
        let busy = plan.wire_time(self.heads.of(dir).frame_len(&plan, &tx));
        self.ends.of_mut(dir).responder.occupy(self.now.saturating_add(busy));
        self.put_on_wire(tx, busy);
    }

    /// A packet leaves its sender; what is to become of it is settled here.
    fn put_on_wire(&mut self, mut tx: Tx, pace: u64) {
        let plan = Arc::clone(&self.plan);
        let dir = tx.dir;
        let end = self.ends.of_mut(dir);
        end.order = end.order.saturating_add(1);
        tx.order = end.order;
        if !matches!(tx.body, Body::Cnp | Body::Cm(_) | Body::Icmp(_)) {
            end.ip_id = end.ip_id.wrapping_add(1);
            tx.ip_id = end.ip_id;
        }
        let mut early_delay = 0;
        let mut copies = false;
        if plan.has_rules(dir) && tx.is_data_path() {
            let before = end.attempts.count(&tx, plan.memory());
            for rule in plan.rules.of(dir).iter().filter(|rule| !rule.is_refusal()) {
                if !rule.strikes(&tx, before, &mut self.rng) {
                    continue;
                }
                // Half a packet's time more, so that it comes between two others.
                let delay = pace.saturating_mul(u64::from(rule.by)).saturating_add(pace / 2);
                match (rule.kind, rule.before_capture) {
                    (EventKind::Loss, true) => {
                        let kind = DetailKind::LostBeforeCapture;
                        let lost = Entry::Absent { time: self.now, tx, kind };
                        self.batch.note(lost);
                        return;
                    }
                    (EventKind::Loss, false) => tx.fate.lost_after = true,
                    (EventKind::Corrupt, _) => tx.fate.corrupt = true,
                    (EventKind::Malformed, _) => tx.fate.malformed = rule.malformed,
                    (EventKind::Ce, true) => tx.fate.ce_before = true,
                    (EventKind::Ce, false) => tx.fate.ce_after = true,
                    (EventKind::Reorder, true) => early_delay = delay,
                    (EventKind::Reorder, false) => tx.fate.late = delay,
                    (EventKind::Duplicate, _) => copies = true,
                    (EventKind::Rnr | EventKind::Nak | EventKind::Silence, _) => {}
                }
            }
        }
        let jitter = self.rng_jitter(plan.jitter);
        let channel = self.channels.of_mut(dir);
        let mut time = self.now.saturating_add(*plan.leg.of(dir)).saturating_add(jitter);
        if early_delay == 0 {
            time = time.max(channel.last_capture);
            channel.last_capture = time;
        }
        channel.before.push(time.saturating_add(early_delay), tx);
        if copies {
            let fate = Fate { is_copy: true, ..tx.fate };
            channel.before.push(time.saturating_add(early_delay), Tx { fate, ..tx });
        }
    }

    fn rng_jitter(&mut self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.rng.below(most.saturating_add(1)) }
    }

    /// A packet reaches its receiver.
    fn arrive(&mut self, tx: &Tx) {
        let here = tx.dir.other();
        if tx.fate.corrupt || tx.fate.malformed.is_some_and(super::is_fatal) {
            return;
        }
        let plan = Arc::clone(&self.plan);
        self.notify_congestion(&plan, tx);
        let now = self.now;
        match tx.body {
            Body::Request(_) if plan.is_reliable() => self.take(&plan, tx),
            // What comes unreliably is not answered.
            Body::Request(_) => {}
            Body::Response { .. } | Body::AtomicAck { .. } => {
                self.ends.of_mut(here).requester.on_response(&plan, tx.upsn, now);
            }
            Body::Ack { syndrome, .. } => {
                let requester = &mut self.ends.of_mut(here).requester;
                match Syndrome(syndrome).kind() {
                    AckKind::Ack(_) => requester.on_ack(&plan, tx.upsn.saturating_add(1), now),
                    AckKind::Nak(NakCode::PSN_SEQUENCE_ERROR) => {
                        requester.on_sequence_nak(&plan, tx.upsn, now);
                    }
                    AckKind::RnrNak(timer) => {
                        let wait = u64::from(RnrTimer::micros(timer)).saturating_mul(1000);
                        requester.on_rnr_nak(&plan, tx.upsn, wait, now);
                    }
                    AckKind::Nak(_) | AckKind::Reserved => requester.on_fatal_nak(),
                }
            }
            Body::Cnp => self.ends.of_mut(here).requester.on_cnp(now),
            Body::Cm(_) | Body::Icmp(_) => {}
        }
    }

    /// A reliable request reaches its responder.
    fn take(&mut self, plan: &ConnectionPlan, tx: &Tx) {
        let here = tx.dir.other();
        let refuse = self.refusal(plan, tx);
        let end = self.ends.of_mut(here);
        let taken = end.responder.take(plan, tx, refuse, self.now);
        if taken == Taken::Duplicate {
            self.batch.note(Entry::Duplicate(*tx));
        }
    }

    /// Whether a rule refuses a request that would be taken otherwise.
    fn refusal(&mut self, plan: &ConnectionPlan, tx: &Tx) -> Option<Refuse> {
        let end = self.ends.of_mut(tx.dir.other());
        if !plan.has_rules(tx.dir) || !end.responder.expects(tx) {
            return None;
        }
        for rule in plan.rules.of(tx.dir).iter().filter(|rule| rule.is_refusal()) {
            let request = tx.request()?;
            let (number, before) = match rule.kind {
                EventKind::Rnr if consumes_receive(request) => {
                    let (refused, times) = end.refused;
                    (tx.message, if refused == tx.message { times } else { 0 })
                }
                EventKind::Rnr => continue,
                _ => (tx.ordinal, 0),
            };
            if !rule.strikes_number(number, before, &mut self.rng) {
                continue;
            }
            end.refused = (tx.message, before.saturating_add(1));
            return Some(match rule.kind {
                EventKind::Rnr => Refuse::Rnr(rule.timer),
                EventKind::Nak => Refuse::Fatal(rule.nak),
                _ => Refuse::Silence,
            });
        }
        None
    }

    /// The receiver of a marked packet tells its sender, but not too often.
    fn notify_congestion(&mut self, plan: &ConnectionPlan, tx: &Tx) {
        let is_marked = tx.fate.ce_before
            || tx.fate.ce_after
            || plan.traffic_class & 3 == 3 && matches!(tx.body, Body::Request(_));
        if !is_marked || !plan.cnp || !plan.is_reliable() || matches!(tx.body, Body::Cnp) {
            return;
        }
        let now = self.now;
        let end = self.ends.of_mut(tx.dir.other());
        let is_early =
            end.last_cnp.is_some_and(|last| now < last.saturating_add(plan.cnp_interval));
        if is_early || end.responder.is_silent() {
            return;
        }
        end.last_cnp = Some(now);
        let cnp = Tx {
            dir: tx.dir.other(),
            body: Body::Cnp,
            upsn: 0,
            span: 0,
            message: 0,
            ordinal: 0,
            order: 0,
            ip_id: 0,
            again: None,
            fate: Fate::default(),
        };
        self.put_on_wire(cnp, 1);
    }

    /// Sends the next message of connection management.
    fn manage(&mut self) {
        let Some(step) = self.script.as_mut().and_then(|script| script.steps.pop_front()) else {
            return;
        };
        let end = self.ends.of_mut(step.from);
        let psn = self.identity.gsi_psn.of(step.from).wrapping_add(end.gsi_packets) & 0xff_ffff;
        let cm = CmBody { message: step.message, psn };
        let body = if step.is_icmp { Body::Icmp(cm) } else { Body::Cm(cm) };
        if !step.is_icmp {
            end.gsi_packets = end.gsi_packets.wrapping_add(1);
        }
        let tx = Tx {
            dir: step.from,
            body,
            upsn: 0,
            span: 0,
            message: 0,
            ordinal: 0,
            order: 0,
            ip_id: 0,
            again: None,
            fate: Fate::default(),
        };
        self.put_on_wire(tx, 1);
    }

    fn tear_down(&mut self) {
        self.is_torn_down = true;
        let plan = Arc::clone(&self.plan);
        if let (Some(script), Some(cm)) = (&mut self.script, &plan.cm)
            && let Some(by) = cm.disconnect
        {
            script.tear_down(&plan, cm, by, self.now);
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

/// Whether the responder needs a receive request for it.
const fn consumes_receive(request: &super::tx::Request) -> bool {
    match request.kind {
        OpKind::Send => request.place.begins(),
        OpKind::Write => request.immediate,
        _ => false,
    }
}

/// When the host may send again; `None` when it may now.
fn free_at(plan: &ConnectionPlan, dir: Dir, now: u64) -> Option<u64> {
    let free = plan.stopped.of(dir).iter().map(|pause| pause.free_at(now)).max()?;
    (free > now).then_some(free)
}
