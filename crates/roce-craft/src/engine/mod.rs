//! Plays a scenario: all connections side by side, frame by frame, in the order of the capture.

mod channel;
mod cm;
mod connection;
mod encode;
mod flow_control;
mod identity;
mod messages;
mod mirror;
mod requester;
mod responder;
mod rules;
mod summary;
mod tx;

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use roce_wire::Ecn;

pub(crate) use crate::plan::OpKind;
pub(crate) use tx::{Again, Body, Cause, Tx};

use crate::plan::{CapturePlan, Dir, Malformed, Plan};
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::truth::{Captured, DetailKind, Details, Truth};
use connection::Connection;
use encode::Pattern;
use flow_control::PauseStream;
use mirror::{Copy, Mirror};

/// One frame of a scenario.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CraftedFrame<'a> {
    /// From 1, in the order of the capture.
    pub number: u64,
    /// Nanoseconds since the epoch.
    pub time_ns: u64,
    /// What the capture holds of it, without FCS.
    pub bytes: &'a [u8],
    /// How long it was on the wire, in bytes, without FCS.
    pub wire_len: usize,
}

/// A scenario that is being played.
///
/// ```
/// use roce_craft::{Craft, Scenario};
///
/// let scenario = Scenario::parse(r#"
///     [[connection]]
///     from = "client"
///     to = "server"
///     [[connection.op]]
///     kind = "write"
///     size = 3000
/// "#)?;
/// let mut craft = Craft::new(&scenario);
/// let mut frames = 0;
/// while let Some(frame) = craft.next_frame() {
///     assert_eq!(frame.bytes.len(), frame.wire_len);
///     frames += 1;
/// }
/// // First, Middle, Last, and the acknowledgement.
/// assert_eq!(frames, 4);
/// let truth = craft.finish();
/// assert_eq!(truth.connections[0].a_to_b.messages.write, 1);
/// assert_eq!(truth.connections[0].b_to_a.acks, 1);
/// # Ok::<(), roce_craft::ScenarioError>(())
/// ```
#[derive(Debug)]
pub struct Craft {
    plan: Plan,
    connections: Vec<Connection>,
    pauses: Vec<PauseStream>,
    /// When each stream has its next frame; connections first, then flow control.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    mirror: Mirror,
    pattern: Pattern,
    rng: Rng,
    details: Details,
    buffer: Vec<u8>,
    /// Frames that passed the capture point while it captured.
    passed: u64,
    frames: u64,
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    is_over: bool,
}

/// A frame that was just made: its number, its time, how much of it is kept.
type Made = (u64, u64, usize);

impl Craft {
    /// Ready to play.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let plan = scenario.plan.clone();
        let mut craft = Self {
            connections: Vec::new(),
            pauses: plan.pauses.iter().map(PauseStream::new).collect(),
            queue: BinaryHeap::new(),
            mirror: Mirror::default(),
            pattern: Pattern::new(plan.seed),
            rng: Rng::fork(plan.seed, u64::MAX - 1),
            details: Details::default(),
            buffer: Vec::new(),
            passed: 0,
            frames: 0,
            bytes: 0,
            first_ns: None,
            last_ns: None,
            is_over: false,
            plan,
        };
        craft.connect();
        craft
    }

    /// Sets up every connection and finds its first frame.
    fn connect(&mut self) {
        let mut index = 0u32;
        for plan in &self.plan.connections {
            let name: Option<Arc<str>> = plan.name.as_deref().map(Arc::from);
            for _ in 0..plan.repeat {
                let connection = Connection::new(plan, name.clone(), index, self.plan.seed);
                self.connections.push(connection);
                index = index.saturating_add(1);
            }
        }
        for stream in 0..self.streams() {
            self.enqueue(stream);
        }
    }

    fn streams(&self) -> usize {
        self.connections.len().saturating_add(self.pauses.len())
    }

    /// Finds out when a stream has its next frame.
    fn enqueue(&mut self, stream: usize) {
        let time = match stream.checked_sub(self.connections.len()) {
            None => self.connections.get_mut(stream).and_then(|c| c.run(&mut self.details)),
            Some(pause) => self.pauses.get(pause).and_then(PauseStream::next_time),
        };
        if let Some(time) = time {
            self.queue.push(Reverse((time, stream)));
        }
    }

    /// The next frame in the order of the capture; `None` at the end.
    pub fn next_frame(&mut self) -> Option<CraftedFrame<'_>> {
        let (number, time_ns, kept) = self.make_next()?;
        let bytes = self.buffer.get(..kept).unwrap_or(&self.buffer);
        Some(CraftedFrame { number, time_ns, bytes, wire_len: self.buffer.len() })
    }

    /// Plays to the end and hands every frame to `sink`.
    ///
    /// # Errors
    /// Whatever `sink` returns; nothing is played after that.
    pub fn run<E>(
        mut self,
        mut sink: impl FnMut(&CraftedFrame<'_>) -> Result<(), E>,
    ) -> Result<Truth, E> {
        while let Some(frame) = self.next_frame() {
            sink(&frame)?;
        }
        Ok(self.finish())
    }

    fn make_next(&mut self) -> Option<Made> {
        loop {
            if self.is_over || self.plan.max_frames.is_some_and(|most| self.frames >= most) {
                return None;
            }
            let next = self.queue.peek().map(|Reverse((time, _))| *time);
            if let Some(copy) = self.mirror.take_before(next) {
                return Some(self.mirrored(copy));
            }
            let Reverse((time, stream)) = self.queue.pop()?;
            if self.plan.capture.stop.is_some_and(|stop| time > stop) {
                self.is_over = true;
                return None;
            }
            let is_on = time >= self.plan.capture.start;
            let made = match stream.checked_sub(self.connections.len()) {
                None => self.packet(stream, time, is_on),
                Some(pause) => self.pause(pause, time, is_on),
            };
            self.enqueue(stream);
            if made.is_some() {
                return made;
            }
        }
    }

    /// The next packet of a connection reaches the capture point.
    fn packet(&mut self, stream: usize, time: u64, is_on: bool) -> Option<Made> {
        let is_missed = is_on && self.misses();
        let connection = self.connections.get_mut(stream)?;
        let (_, tx) = connection.head_of_line()?;
        let tx = *tx;
        if !is_on || is_missed {
            // The sender counts its packets whether or not they are captured.
            connection.encode(&tx, &self.pattern, &mut self.buffer);
            if is_missed && tx.is_data_path() {
                let wire = connection.wire(&tx);
                connection.recorder.absent(&tx, wire, DetailKind::NotCaptured, &mut self.details);
            }
            connection.pass(false);
            return None;
        }
        connection.encode(&tx, &self.pattern, &mut self.buffer);
        let made = self.written(time);
        let captured = self.captured(stream, &tx, made)?;
        self.mirror(stream, &tx, time, made);
        self.record(stream, &tx, &captured);
        self.connections.get_mut(stream)?.pass(true);
        Some(made)
    }

    fn captured(&self, stream: usize, tx: &Tx, (frame, time, kept): Made) -> Option<Captured> {
        let connection = self.connections.get(stream)?;
        let (psn, opcode) = connection.wire(tx);
        let plan = &connection.plan;
        let is_whole = kept >= self.buffer.len();
        let has_fault = plan.icrc_fault.is_some() && tx.dir == Dir::Forth
            || tx.fate.corrupt
            || tx.fate.malformed == Some(Malformed::NoIcrc);
        let is_data = !matches!(tx.body, Body::Cnp | Body::Cm(_) | Body::Icmp(_));
        let class = if tx.fate.ce_before { 3 } else { plan.traffic_class };
        Some(Captured {
            frame,
            time,
            wire_len: u64::try_from(self.buffer.len()).unwrap_or(u64::MAX),
            psn,
            opcode,
            icrc_bad: is_data && has_fault && is_whole,
            ce: is_data && Ecn::from_tos(class) == Ecn::Ce,
        })
    }

    fn record(&mut self, stream: usize, tx: &Tx, captured: &Captured) {
        let Some(connection) = self.connections.get_mut(stream) else { return };
        match tx.body {
            Body::Cm(cm) => connection.recorder.cm_message(tx.dir, cm.message.name(), captured),
            Body::Icmp(_) => {
                let count = &mut connection.recorder.icmp;
                *count = count.saturating_add(1);
            }
            _ => connection.recorder.captured(tx, captured, &mut self.details),
        }
    }

    fn pause(&mut self, pause: usize, time: u64, is_on: bool) -> Option<Made> {
        let stream = self.pauses.get_mut(pause)?;
        stream.make(&mut self.buffer);
        stream.count(is_on);
        is_on.then(|| self.written(time))
    }

    /// A frame is part of the capture: its number, its time, how much of it is kept.
    fn written(&mut self, time: u64) -> Made {
        let time = self.plan.epoch.saturating_add(time);
        self.frames = self.frames.saturating_add(1);
        let len = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(len);
        self.first_ns.get_or_insert(time);
        self.last_ns = Some(time);
        let kept = self.plan.capture.snaplen.unwrap_or(usize::MAX).min(self.buffer.len());
        (self.frames, time, kept)
    }

    /// Whether the capture misses the frame that passes now.
    fn misses(&mut self) -> bool {
        self.passed = self.passed.saturating_add(1);
        let CapturePlan { miss, miss_chance, .. } = &self.plan.capture;
        miss.binary_search(&self.passed).is_ok()
            || !miss_chance.is_never() && self.rng.happens(*miss_chance)
    }

    /// Has the frame captured once more, later.
    fn mirror(&mut self, stream: usize, tx: &Tx, time: u64, (of, ..): Made) {
        if let Some(delay) = self.plan.capture.mirror_delay {
            let copy = Copy { stream, tx: *tx, of, bytes: self.buffer.clone() };
            self.mirror.add(time.saturating_add(delay), copy);
        }
    }

    fn mirrored(&mut self, (time, copy): (u64, Copy)) -> Made {
        let Copy { stream, tx, of, bytes } = copy;
        self.buffer = bytes;
        let made = self.written(time);
        if let Some(captured) = self.captured(stream, &tx, made)
            && let Some(connection) = self.connections.get_mut(stream)
        {
            connection.recorder.duplicate(&tx, &captured, of, &mut self.details);
        }
        made
    }
}

/// Whether no receiver takes a packet that is malformed like this.
pub(crate) const fn is_fatal(malformed: Malformed) -> bool {
    !matches!(malformed, Malformed::Pad | Malformed::Reserved)
}
