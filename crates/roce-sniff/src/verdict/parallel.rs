//! The verdict on files by several threads.
//!
//! A thread takes the reader, fills a batch of whole frames, gives the reader back and looks
//! through its batch. Reading costs a quarter of the looking, so a few threads are all it takes,
//! and the parts of a verdict can be put together in any order.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use roce_analyze::verdict::{Config, Verdict};
use roce_capture::{FileReader, Frame as Captured, LinkType};

use super::Watch;
use crate::cli::SourceArgs;
use crate::drive::{Filter, Run, Trace, clock_limit};
use crate::progress::Progress;
use crate::source::{self, Input};
use crate::stop::Stop;

/// More threads would wait for the reader.
const MAX_THREADS: usize = 4;
/// When a batch is full, in bytes and in frames.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_FRAMES: usize = 8192;

/// Frames longer than this on average are cheaper to look at than to copy into a batch, in bytes.
const LARGE: usize = 1024;
/// How many frames tell how long they are.
const SAMPLE: usize = 64;

/// How many threads to use for this work; 1 where the order of the frames matters, and where they
/// are large.
pub(super) fn threads(args: &SourceArgs, inputs: &[Input]) -> usize {
    if args.write.is_some() || args.count.is_some() || inputs.first().is_some_and(are_large) {
        return 1;
    }
    thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

/// Whether the first frames of a file are large. What cannot be opened is told by who reads it.
fn are_large(input: &Input) -> bool {
    let Input::File(path) = input else { return false };
    if input.is_stream() {
        return false;
    }
    let Ok(mut reader) = FileReader::open(path) else { return false };
    let (mut frames, mut bytes) = (0usize, 0usize);
    while frames < SAMPLE
        && let Ok(Some(captured)) = reader.next_frame()
    {
        frames = frames.saturating_add(1);
        bytes = bytes.saturating_add(captured.data.len());
    }
    bytes > frames.saturating_mul(LARGE)
}

/// Looks through all inputs as one trace.
pub(super) fn verdict(
    inputs: &[Input],
    args: &SourceArgs,
    config: Config,
    quiet: bool,
    threads: usize,
) -> Result<(Verdict, Trace)> {
    let ports = source::ports(args)?;
    let stop = Stop::listen().context("cannot listen to signals")?;
    let feeder = Mutex::new(Feeder {
        inputs: inputs.iter(),
        reader: None,
        is_stream: false,
        next_number: 1,
        clock: None,
        limit: clock_limit(args.duration),
        stop: &stop,
        progress: Progress::new(quiet),
        trace: Trace::default(),
        is_over: false,
    });
    let work = || -> Result<Verdict> {
        let mut watch = Watch { verdict: Verdict::new(config), live: None, beside: None };
        let mut filter = Filter::new(args.filter.clone())?;
        let mut run = Run::new(&mut watch, &stop, &ports);
        let mut batch = Batch::default();
        while lock(&feeder).fill(&mut batch)? {
            for captured in batch.frames() {
                if filter.matches(&captured)? {
                    run.frame(&captured)?;
                }
            }
        }
        Ok(watch.verdict)
    };
    let parts: Vec<Result<Verdict>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results = handles.into_iter().map(thread::ScopedJoinHandle::join);
        results.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut whole = Verdict::new(config);
    for part in parts {
        whole.merge(part?);
    }
    whole.settle();
    let feeder = feeder.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((whole, feeder.trace))
}

fn lock<'m, 'f>(feeder: &'m Mutex<Feeder<'f>>) -> MutexGuard<'m, Feeder<'f>> {
    feeder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one file after the other.
struct Feeder<'f> {
    inputs: std::slice::Iter<'f, Input>,
    reader: Option<FileReader>,
    is_stream: bool,
    next_number: u64,
    /// The time of the first frame of the trace.
    clock: Option<u64>,
    limit: Option<u64>,
    stop: &'f Stop,
    progress: Progress,
    trace: Trace,
    is_over: bool,
}

impl Feeder<'_> {
    /// Fills the batch; `false` when there is no more. An error ends it for all threads.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        let result = self.try_fill(batch);
        if self.stop.is_wanted() && !self.is_over {
            self.is_over = true;
            self.trace.is_interrupted = !self.is_stream;
        }
        self.is_over |= result.is_err();
        if self.is_over {
            self.progress.clear();
        }
        result?;
        Ok(!batch.records.is_empty())
    }

    fn try_fill(&mut self, batch: &mut Batch) -> Result<()> {
        while !self.is_over && batch.records.is_empty() {
            let Some(reader) = &mut self.reader else {
                match self.inputs.next() {
                    Some(input) => match input.open(self.stop, self.next_number) {
                        Ok(reader) => {
                            self.is_stream = input.is_stream();
                            self.reader = Some(reader);
                        }
                        // What was seen in the files before is still worth reporting.
                        Err(error) if self.next_number > 1 => {
                            self.trace.failure = Some(error.to_string());
                            self.is_over = true;
                        }
                        Err(error) => return Err(error),
                    },
                    None => self.is_over = true,
                }
                continue;
            };
            let mut end = Ok(());
            let is_full = loop {
                if batch.is_full() {
                    break true;
                }
                match reader.next_frame() {
                    Ok(Some(captured)) => {
                        if past(self.limit, &mut self.clock, captured.time_ns) {
                            self.is_over = true;
                            break true;
                        }
                        batch.push(&captured);
                    }
                    Ok(None) => break false,
                    Err(error) => {
                        end = Err(error.into());
                        break false;
                    }
                }
            };
            self.progress.update(reader.bytes_read(), reader.total_bytes(), reader.last_number());
            if !is_full {
                self.next_number = reader.last_number().saturating_add(1);
                self.trace.add_file(reader, end, self.stop.is_wanted())?;
                self.is_over |= self.trace.failure.is_some();
                self.reader = None;
            }
        }
        Ok(())
    }
}

/// Whether a frame lies beyond the time that is to be looked at.
fn past(limit: Option<u64>, clock: &mut Option<u64>, time_ns: Option<u64>) -> bool {
    match (limit, time_ns) {
        (Some(limit), Some(now)) => now.saturating_sub(*clock.get_or_insert(now)) >= limit,
        _ => false,
    }
}

/// Frames of a file, copied out of its reader.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

struct Record {
    number: u64,
    time_ns: Option<u64>,
    link_type: LinkType,
    interface: u32,
    wire_len: u32,
    /// Where the frame ends in the batch; it begins where the one before ends.
    end: usize,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    const fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES || self.records.len() >= BATCH_FRAMES
    }

    #[inline]
    fn push(&mut self, captured: &Captured<'_>) {
        self.bytes.extend_from_slice(captured.data);
        self.records.push(Record {
            number: captured.number,
            time_ns: captured.time_ns,
            link_type: captured.link_type,
            interface: captured.interface,
            wire_len: captured.wire_len,
            end: self.bytes.len(),
        });
    }

    fn frames(&self) -> impl Iterator<Item = Captured<'_>> {
        let mut start = 0;
        self.records.iter().map(move |record| {
            let data = self.bytes.get(start..record.end).unwrap_or_default();
            start = record.end;
            Captured {
                number: record.number,
                time_ns: record.time_ns,
                link_type: record.link_type,
                wire_len: record.wire_len,
                data,
                interface: record.interface,
            }
        })
    }
}
