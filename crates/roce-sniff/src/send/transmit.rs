//! The loop: frames from the source, addressed, each at its time, in batches to the interface.

use std::collections::BTreeMap;
use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use roce_capture::{Batch, FrameSender, Pace, Rate, Tally};

use super::addressing::{Addressed, Addressing, Unfit};
use super::kept::Kept;
use super::origin::{Frames, Origin};
use super::report::{EndedBy, Report};
use crate::drive::Filter;
use crate::stop::Stop;

/// How late the schedule may be before it is moved, in nanoseconds: a run that was held up does
/// not make up for it with a flood.
const MOST_LATE: u64 = 100_000_000;
/// The system wakes a sleeper up some 60 µs late; that much before its time is spent awake.
const AWAKE: u64 = 120_000;
/// The longest sleep between looks at the signals.
const NAP: u64 = 50_000_000;

/// When to stop, beside the end of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) count: Option<u64>,
    pub(super) passes: u64,
    pub(super) duration: Option<Duration>,
}

pub(super) struct Transmit<'s> {
    rate: Rate,
    pace: Pace,
    /// Absent when nothing is to be sent.
    sender: Option<FrameSender>,
    stop: &'s Stop,
    limits: Limits,
    addressing: Addressing,
    batch: Batch,
    tally: Tally,
    /// The source as it is sent, for the next passes; absent when it is too long to keep.
    kept: Option<Kept>,
    clock: Clock,
    /// The end of the schedule by `--duration`, in nanoseconds from the start.
    until: u64,
    /// Whether every frame goes out as soon as it has come.
    is_stream: bool,
    ended_by: Option<EndedBy>,
    report: Report,
}

/// The time since the start, looked at no more often than needed.
struct Clock {
    start: Option<Instant>,
    /// The last look, in nanoseconds.
    now: u64,
    /// By how much the schedule was moved, in nanoseconds.
    moved: u64,
}

impl Clock {
    fn look(&mut self) -> u64 {
        let start = *self.start.get_or_insert_with(Instant::now);
        self.now = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.now
    }
}

impl<'s> Transmit<'s> {
    pub(super) fn new(
        rate: Rate,
        sender: Option<FrameSender>,
        stop: &'s Stop,
        limits: Limits,
        addressing: Addressing,
    ) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            rate,
            pace: Pace::new(rate),
            sender,
            stop,
            limits,
            addressing,
            batch: Batch::default(),
            tally: Tally::default(),
            kept: None,
            clock: Clock { start: None, now: 0, moved: 0 },
            until: limits.duration.map_or(u64::MAX, nanoseconds),
            is_stream: false,
            ended_by: None,
            report: Report::default(),
        }
    }

    /// Sends until an end is reached. What fails when something has been sent already is part of
    /// the report.
    pub(super) fn run(mut self, origin: &Origin, filter: Option<String>) -> Result<Report> {
        self.is_stream = origin.is_stream();
        let mut filter = Filter::new(filter)?;
        let mut frames = origin.open(self.stop)?;
        let result = self.passes(origin, &mut frames, &mut filter);
        let result = result.and_then(|()| self.flush());
        self.report.damage = frames.damage().filter(|_| !self.stop.is_wanted());
        self.report.ended_by = self.ended_by.unwrap_or(EndedBy::Source);
        if let Err(error) = result {
            self.report.ended_by = EndedBy::Failure;
            self.report.failure = Some(format!("{error:#}"));
        }
        self.report.tally = self.tally;
        Ok(self.report)
    }

    fn passes(&mut self, origin: &Origin, frames: &mut Frames, filter: &mut Filter) -> Result<()> {
        loop {
            let (before, time) = (self.taken(), self.report.span);
            match self.kept.take().filter(|_| self.report.passes > 0) {
                Some(kept) => {
                    self.pass_again(&kept)?;
                    self.kept = Some(kept);
                }
                None => {
                    if self.report.passes > 0 {
                        *frames = origin.open(self.stop)?;
                    } else if self.limits.passes > 1 {
                        self.kept = Some(Kept::default());
                    }
                    self.pass(frames, filter)?;
                }
            }
            self.report.passes = self.report.passes.saturating_add(1);
            // A source without anything to send would be read for ever.
            let is_empty = self.taken() == before;
            if self.ended_by.is_some() || is_empty || self.report.passes >= self.limits.passes {
                return Ok(());
            }
            let is_endless = self.limits.passes == u64::MAX && self.limits.count.is_none();
            if self.sender.is_none() && is_endless && self.report.span == time {
                bail!("--dry-run: how much goes in that time, only sending shows; say --count");
            }
            self.pace.next_pass();
        }
    }

    /// The source once more, from memory.
    fn pass_again(&mut self, kept: &Kept) -> Result<()> {
        for frame in kept.frames() {
            if self.is_enough() || !self.send(frame.number, frame.time_ns, frame.bytes)? {
                return Ok(());
            }
            self.report.count_changed(frame.is_changed);
        }
        self.report.skip_all(&kept.skipped);
        Ok(())
    }

    /// Whether `--count` is reached.
    fn is_enough(&mut self) -> bool {
        if self.limits.count.is_some_and(|count| self.taken() >= count) {
            self.ended_by = Some(EndedBy::Count);
        }
        self.ended_by.is_some()
    }

    /// Frames that were sent, refused, or wait in the batch.
    fn taken(&self) -> u64 {
        self.tally.tried().saturating_add(u64::try_from(self.batch.len()).unwrap_or(u64::MAX))
    }

    /// The source once.
    fn pass(&mut self, frames: &mut Frames, filter: &mut Filter) -> Result<()> {
        let mut bytes = Vec::new();
        let mut skipped = Skipped::new();
        let mut passed_over = 0_u32;
        while !self.is_enough() {
            let Some(frame) = frames.next()? else { break };
            if filter.matches(&frame)? {
                let (number, time_ns) = (frame.number, frame.time_ns);
                match self.addressing.apply(&frame, &mut bytes)? {
                    Addressed::Unfit(unfit) => {
                        let count = skipped.entry(unfit).or_default();
                        *count = count.saturating_add(1);
                    }
                    addressed => {
                        let is_changed = addressed == Addressed::Changed;
                        if self.send(number, time_ns, &bytes)? {
                            self.report.count_changed(is_changed);
                            self.keep(number, time_ns, is_changed, &bytes);
                        }
                        continue;
                    }
                }
            }
            passed_over = passed_over.wrapping_add(1);
            if passed_over.is_multiple_of(4096) && self.stop.is_wanted() {
                self.ended_by = Some(EndedBy::Signal);
            }
        }
        self.report.skip_all(&skipped);
        if let Some(kept) = &mut self.kept {
            kept.skipped = skipped;
        }
        Ok(())
    }

    /// Remembers a frame for the next pass, while there is room.
    fn keep(&mut self, number: u64, time_ns: Option<u64>, is_changed: bool, bytes: &[u8]) {
        self.kept = self
            .kept
            .take()
            .and_then(|mut kept| kept.push(number, time_ns, is_changed, bytes).then_some(kept));
    }

    /// Sends a frame when it is due. False when the run ends before that.
    fn send(&mut self, number: u64, time_ns: Option<u64>, bytes: &[u8]) -> Result<bool> {
        let due = self.pace.due(time_ns, bytes.len());
        if !self.wait(due)? {
            return Ok(false);
        }
        self.batch.push(number, bytes);
        self.flush_if_due()?;
        Ok(true)
    }

    fn flush_if_due(&mut self) -> Result<()> {
        if self.batch.is_full() || self.is_stream {
            self.flush()?;
            if self.stop.is_wanted() {
                self.ended_by = Some(EndedBy::Signal);
            }
        }
        Ok(())
    }

    /// Waits until a frame is due. False when the run ends before that.
    fn wait(&mut self, due: u64) -> Result<bool> {
        if self.sender.is_none() {
            // Nothing is sent, so the schedule alone says when.
            self.report.span = Duration::from_nanos(due);
            if due >= self.until {
                self.ended_by = Some(EndedBy::Duration);
            }
            return Ok(self.ended_by.is_none());
        }
        if self.clock.start.is_none() {
            self.clock.look();
        }
        let mut at = due.saturating_add(self.clock.moved);
        if at > self.clock.now && at > self.clock.look() {
            self.flush()?;
            self.sleep(at.min(self.until));
        }
        let late = self.clock.now.saturating_sub(at);
        if self.rate != Rate::Max && late > MOST_LATE {
            self.clock.moved = self.clock.moved.saturating_add(late);
            at = self.clock.now;
        }
        if self.stop.is_wanted() {
            self.ended_by = Some(EndedBy::Signal);
        } else if at.max(self.clock.now) >= self.until {
            self.ended_by = Some(EndedBy::Duration);
        }
        Ok(self.ended_by.is_none())
    }

    /// Until a time on the clock, or a signal.
    fn sleep(&mut self, at: u64) {
        while !self.stop.is_wanted() {
            let left = at.saturating_sub(self.clock.look());
            match left {
                0 => return,
                left if left > AWAKE => {
                    let nap = left.saturating_sub(AWAKE).min(NAP);
                    thread::sleep(Duration::from_nanos(nap));
                }
                _ => hint::spin_loop(),
            }
        }
    }

    /// Hands the batch over.
    fn flush(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let result = match &mut self.sender {
            Some(sender) => {
                let began = self.clock.look();
                self.report.began.get_or_insert(began);
                let stop = self.stop;
                sender.send(&self.batch, &mut self.tally, || !stop.is_wanted())
            }
            None => {
                self.tally.pretend(&self.batch);
                Ok(())
            }
        };
        self.batch.clear();
        if let Some(began) = self.report.began {
            self.report.span = Duration::from_nanos(self.clock.look().saturating_sub(began));
        }
        Ok(result?)
    }
}

/// Frames that were not sent, by reason.
pub(super) type Skipped = BTreeMap<Unfit, u64>;
