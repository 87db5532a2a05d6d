//! Frames of files for several threads, batch by batch.
//!
//! A thread takes the reader, fills a batch with what one read brings, and gives the reader back.
//! Reading costs a quarter of looking at what was read, so a few threads are all it takes.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;
use roce_capture::{Chunk, FileReader};

use crate::cli::SourceArgs;
use crate::drive::{Times, Trace, add_time, clock_limit};
use crate::progress::Progress;
use crate::source::Input;
use crate::stop::Stop;

/// More threads would wait for the reader.
const MAX_THREADS: usize = 4;

/// Where frames are longer than this on average, reading them is most of the work, and one thread is
/// fastest: in bytes.
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
        let result = self.try_fill(batch);
        if self.stop.is_wanted() && !self.is_over {
            self.trace.is_interrupted = !self.is_stream;
            self.leave();
        }
        self.is_over |= result.is_err();
        if self.is_over {
            self.progress.clear();
        }
        result?;
        batch.number = self.batches;
        self.batches = self.batches.saturating_add(1);
        Ok(!batch.chunk.is_empty())
    }

    fn try_fill(&mut self, batch: &mut Batch) -> Result<()> {
        batch.chunk.truncate(0);
        while !self.is_over && batch.chunk.is_empty() {
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
            let (is_there, end) = match reader.fill_chunk(&mut batch.chunk) {
                Ok(is_there) => (is_there, Ok(())),
                Err(error) => (false, Err(error.into())),
            };
            let limit = self.limit.filter(|_| is_there);
            let beyond = limit.and_then(|limit| first_past(&batch.chunk, limit, &mut self.clock));
            // The frame beyond still says that the file goes on until then.
            batch.chunk.truncate(beyond.map_or(usize::MAX, |beyond| beyond.saturating_add(1)));
            add_times(&mut self.times, &batch.chunk);
            self.progress.update(reader.bytes_read(), reader.total_bytes(), reader.last_number());
            if !is_there {
                self.next_number = reader.last_number().saturating_add(1);
                self.trace.add_file(reader, self.times, end, self.stop.is_wanted())?;
                self.is_over |= self.trace.failure.is_some();
                self.reader = None;
            } else if let Some(beyond) = beyond {
                batch.chunk.truncate(beyond);
                self.leave();
            }
        }
        Ok(())
    }

    /// Ends the reading before the file does. What the reader knows of the rest is not told.
    fn leave(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.trace.add_times(reader.name(), self.times);
        }
        self.is_over = true;
    }
}

/// Takes the times of frames that follow those before: only the first and the last count.
fn add_times(times: &mut Times, chunk: &Chunk) {
    let time_of = |at| chunk.frame(at).and_then(|frame| frame.time_ns);
    add_time(times, (0..chunk.len()).find_map(time_of));
    add_time(times, (0..chunk.len()).rev().find_map(time_of));
}

/// The place of the first frame beyond the time that is to be looked at, in nanoseconds. `clock` is
/// the time of the trace's first frame.
fn first_past(chunk: &Chunk, limit: u64, clock: &mut Option<u64>) -> Option<usize> {
    chunk.frames().position(|frame| {
        frame.time_ns.is_some_and(|now| now.saturating_sub(*clock.get_or_insert(now)) >= limit)
    })
}

/// Frames of a file, and their place in the order of the capture.
#[derive(Default)]
pub(crate) struct Batch {
    number: u64,
    pub(crate) chunk: Chunk,
}

impl Batch {
    /// Its place in the order of the capture, from 0.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }
}
