//! Frames of files for several threads, batch by batch.
//!
//! A thread takes the reader, fills a batch of whole frames, and gives the reader back. Reading
//! costs a quarter of looking at what was read, so a few threads are all it takes.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;
use roce_capture::{FileReader, Frame as Captured, LinkType};

use crate::cli::SourceArgs;
use crate::drive::{Times, Trace, add_time, clock_limit};
use crate::progress::Progress;
use crate::source::Input;
use crate::stop::Stop;

/// More threads would wait for the reader.
const MAX_THREADS: usize = 4;
/// How many bytes of a batch a frame takes at least: what is shorter counts as long.
const FRAME: usize = 128;

/// Frames longer than this on average are cheaper to look at than to copy into a batch, in bytes.
const LARGE: usize = 1024;
/// How many frames tell how long they are.
const SAMPLE: usize = 64;

/// How many threads to use for this work; 1 where the order of the frames matters, and where they
/// are large.
pub(crate) fn threads(args: &SourceArgs, inputs: &[Input]) -> usize {
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

/// What is behind a lock, whatever became of who held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one file after the other.
pub(crate) struct Feeder<'f> {
    inputs: std::slice::Iter<'f, Input>,
    reader: Option<FileReader>,
    times: Times,
    is_stream: bool,
    next_number: u64,
    /// The time of the first frame of the trace.
    clock: Option<u64>,
    limit: Option<u64>,
    stop: &'f Stop,
    progress: Progress,
    trace: Trace,
    is_over: bool,
    batches: u64,
}

impl<'f> Feeder<'f> {
    /// Reads these inputs as one trace.
    pub(crate) fn new(inputs: &'f [Input], args: &SourceArgs, stop: &'f Stop, quiet: bool) -> Self {
        Self {
            inputs: inputs.iter(),
            reader: None,
            times: None,
            is_stream: false,
            next_number: 1,
            clock: None,
            limit: clock_limit(args.duration),
            stop,
            progress: Progress::new(quiet),
            trace: Trace::default(),
            is_over: false,
            batches: 0,
        }
    }

    /// What is known of the inputs when all is read.
    pub(crate) fn into_trace(self) -> Trace {
        self.trace
    }

    /// Fills the batch; `false` when there is no more. An error ends it for all threads.
    pub(crate) fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
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
        batch.number = self.batches;
        self.batches = self.batches.saturating_add(1);
        Ok(!batch.records.is_empty())
    }

    fn try_fill(&mut self, batch: &mut Batch) -> Result<()> {
        while !self.is_over && batch.records.is_empty() {
            let Some(reader) = &mut self.reader else {
                match self.inputs.next() {
                    Some(input) => match input.open(self.stop, self.next_number) {
                        Ok(reader) => {
                            self.is_stream = input.is_stream();
                            (self.reader, self.times) = (Some(reader), None);
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
            for record in [batch.records.first(), batch.records.last()].into_iter().flatten() {
                add_time(&mut self.times, record.time_ns);
            }
            self.progress.update(reader.bytes_read(), reader.total_bytes(), reader.last_number());
            if !is_full {
                self.next_number = reader.last_number().saturating_add(1);
                self.trace.add_file(reader, self.times, end, self.stop.is_wanted())?;
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
pub(crate) struct Batch {
    /// When it is full, in bytes.
    size: usize,
    number: u64,
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
    /// An empty one, that is full with so many bytes of frames.
    pub(crate) const fn new(size: usize) -> Self {
        Self { size, number: 0, bytes: Vec::new(), records: Vec::new() }
    }

    /// Its place in the order of the capture, from 0.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    const fn is_full(&self) -> bool {
        self.bytes.len() >= self.size || self.records.len() >= self.size / FRAME
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

    /// In the order of the capture.
    pub(crate) fn frames(&self) -> impl Iterator<Item = Captured<'_>> {
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
