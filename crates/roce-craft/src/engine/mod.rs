//! Plays a scenario: all connections side by side, frame by frame, in the order of the capture.

mod batch;
mod channel;
mod cm;
mod connection;
mod encode;
mod flow_control;
mod group;
mod identity;
mod messages;
mod mirror;
mod receive;
mod record;
mod requester;
mod responder;
mod rules;
mod send;
mod summary;
mod tx;

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

pub(crate) use crate::plan::OpKind;
pub(crate) use tx::{Again, Body, Cause, Place, Tx};

use crate::plan::{CapturePlan, Malformed, Plan};
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::truth::{Details, Truth};
use connection::{Connection, Kind};
use encode::Encoder;
use flow_control::PauseStream;
use group::{Group, MEMBERS, Stage, Turn};
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
    groups: Vec<Group>,
    pauses: Vec<PauseStream>,
    /// When each stream has its next frame; groups of connections first, then flow control.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    mirror: Mirror,
    encoder: Encoder,
    rng: Rng,
    details: Details,
    buffer: Vec<u8>,
    /// The frame of the first stream in the queue had its turn; its next one is to be found.
    is_first_taken: bool,
    /// Frames that passed the capture point while it captured.
    passed: u64,
    frames: u64,
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

/// A frame that was just made.
#[derive(Clone, Copy, Debug)]
struct Made {
    number: u64,
    time: u64,
    source: Source,
}

/// Where the bytes of a frame are.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// In the buffer.
    Own,
    /// Among what the group has played ahead.
    Ahead(usize, Turn),
}

impl Craft {
    /// Ready to play.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let plan = scenario.plan.clone();
        let mut craft = Self {
            groups: Vec::new(),
            pauses: plan.pauses.iter().map(PauseStream::new).collect(),
            queue: BinaryHeap::new(),
            is_first_taken: false,
            mirror: Mirror::default(),
            encoder: Encoder::new(&plan),
            rng: Rng::fork(plan.seed, u64::MAX - 1),
            details: Details::default(),
            buffer: Vec::new(),
            passed: 0,
            frames: 0,
            bytes: 0,
            first_ns: None,
            last_ns: None,
            plan,
        };
        craft.connect();
        craft
    }

    /// Sets up every connection and finds its first frame.
    fn connect(&mut self) {
        let total: u64 = self.plan.connections.iter().map(|plan| u64::from(plan.repeat)).sum();
        let seed = self.plan.seed;
        let plans = self.plan.connections.iter().enumerate();
        let kinds = plans.flat_map(|(at, plan)| {
            let name: Option<Arc<str>> = plan.name.as_deref().map(Arc::from);
            (0..plan.repeat).map(move |_| Kind { at, plan, name: name.clone() })
        });
        for (index, kind) in (0u32..).zip(kinds) {
            if self.groups.last().is_none_or(|group| group.members.len() >= MEMBERS) {
                self.groups.push(Group::default());
            }
            if let Some(group) = self.groups.last_mut() {
                let head_len = self.encoder.head_len(kind.at);
                group.members.push(Connection::new(kind, head_len, (index, total), seed));
            }
        }
        let mut stage = Stage::new(&self.plan, &mut self.encoder, &mut self.details);
        for group in &mut self.groups {
            group.start(&mut stage);
        }
        for stream in 0..self.groups.len().saturating_add(self.pauses.len()) {
            if let Some(time) = self.next_time(stream) {
                self.queue.push(Reverse((time, stream)));
            }
        }
    }

    /// The first stream in the queue has another next frame now, or none any more.
    fn requeue(&mut self) {
        let Some(stream) = self.queue.peek().map(|Reverse((_, stream))| *stream) else { return };
        let time = self.next_time(stream);
        let Some(mut first) = self.queue.peek_mut() else { return };
        match time {
            Some(time) => *first = Reverse((time, stream)),
            None => {
                PeekMut::pop(first);
            }
        }
    }

    /// When a stream has its next frame.
    fn next_time(&mut self, stream: usize) -> Option<u64> {
        match stream.checked_sub(self.groups.len()) {
            Some(pause) => self.pauses.get(pause).and_then(PauseStream::next_time),
            None => {
                let mut stage = Stage::new(&self.plan, &mut self.encoder, &mut self.details);
                self.groups.get_mut(stream)?.next_time(&mut stage)
            }
        }
    }

    /// The next frame in the order of the capture; `None` at the end.
    pub fn next_frame(&mut self) -> Option<CraftedFrame<'_>> {
        let Made { number, time, source } = self.make_next()?;
        let bytes = match source {
            Source::Own => &self.buffer,
            Source::Ahead(group, turn) => self.groups.get(group)?.bytes_of(&turn),
        };
        let wire_len = bytes.len();
        let kept = self.plan.capture.snaplen.unwrap_or(usize::MAX).min(wire_len);
        let bytes = bytes.get(..kept).unwrap_or(bytes);
        Some(CraftedFrame { number, time_ns: time, bytes, wire_len })
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
        // The bytes of the last frame were in use until now.
        if core::mem::take(&mut self.is_first_taken) {
            self.requeue();
        }
        loop {
            if self.plan.max_frames.is_some_and(|most| self.frames >= most) {
                return None;
            }
            let next = self.queue.peek().map(|Reverse(next)| *next);
            if let Some(copy) = self.mirror.take_before(next.map(|(time, _)| time)) {
                return Some(self.mirrored(copy));
            }
            let (time, stream) = next?;
            let made = match stream.checked_sub(self.groups.len()) {
                None => self.packet(stream),
                Some(pause) => self.pause(pause, time),
            };
            if made.is_some() {
                self.is_first_taken = true;
                return made;
            }
            self.requeue();
        }
    }

    /// The next packet of a group has its turn; `None` when the capture misses it.
    fn packet(&mut self, stream: usize) -> Option<Made> {
        let is_missed = self.misses();
        let number = if is_missed { 0 } else { self.frames.saturating_add(1) };
        let group = self.groups.get_mut(stream)?;
        let turn = group.take(number)?;
        if is_missed {
            return None;
        }
        if let Some(delay) = self.plan.capture.mirror_delay {
            let bytes = group.bytes_of(&turn).to_vec();
            let (member, tx) = group.last_taken()?;
            self.mirror.add(Copy { group: stream, member, tx, turn, bytes }, delay);
        }
        let len = u64::from(turn.len);
        Some(self.written(turn.time, len, Source::Ahead(stream, turn)))
    }

    fn pause(&mut self, pause: usize, time: u64) -> Option<Made> {
        let CapturePlan { start, stop, .. } = self.plan.capture;
        let is_on = time >= start && stop.is_none_or(|stop| time <= stop);
        let stream = self.pauses.get_mut(pause)?;
        stream.make(&mut self.buffer);
        stream.count(is_on);
        is_on.then(|| self.written_own(time))
    }

    /// A frame is part of the capture.
    fn written(&mut self, time: u64, len: u64, source: Source) -> Made {
        let time = self.plan.epoch.saturating_add(time);
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(len);
        self.first_ns.get_or_insert(time);
        self.last_ns = Some(time);
        Made { number: self.frames, time, source }
    }

    /// The frame in the buffer is part of the capture.
    fn written_own(&mut self, time: u64) -> Made {
        let len = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.written(time, len, Source::Own)
    }

    /// Whether the capture misses the frame that passes now.
    fn misses(&mut self) -> bool {
        self.passed = self.passed.saturating_add(1);
        let CapturePlan { miss, miss_chance, .. } = &self.plan.capture;
        miss.binary_search(&self.passed).is_ok()
            || !miss_chance.is_never() && self.rng.happens(*miss_chance)
    }

    /// A frame is captured once more.
    fn mirrored(&mut self, (time, copy): (u64, Copy)) -> Made {
        let Copy { group, member, tx, turn, bytes } = copy;
        self.buffer = bytes;
        let made = self.written_own(time);
        let again = Turn { time, number: made.number, ..turn };
        let group = self.groups.get_mut(group);
        if let Some(connection) = group.and_then(|group| group.members.get_mut(member)) {
            let snaplen = self.plan.capture.snaplen.unwrap_or(usize::MAX);
            let captured = connection.captured(&tx, &again, self.plan.epoch, snaplen);
            connection.recorder.duplicate(&tx, &captured, turn.number, &mut self.details);
        }
        made
    }
}

/// Whether no receiver takes a packet that is malformed like this.
pub(crate) const fn is_fatal(malformed: Malformed) -> bool {
    !matches!(malformed, Malformed::Pad | Malformed::Reserved)
}
