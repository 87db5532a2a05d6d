//! The loop: frames from the source, through the filter, to whoever looks at them, and to `-w`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use roce_capture::{
    FileWriter, Frame as Captured, HAS_FILTERS, LiveCapture, Next, Stats, WriterOptions,
    frames_passed,
};
use roce_wire::{Content, Frame, Link, Ports};

use crate::cli::SourceArgs;
use crate::progress::Progress;
use crate::source::{self, Source};
use crate::stop::Stop;
use crate::trace::is_of_capture;
pub(crate) use crate::trace::{Times, Trace, add_time};

/// Who looks at the frames.
pub(crate) trait Sink {
    /// Takes a frame.
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took>;

    /// Live only: called when the capture has begun.
    fn start(&mut self) {}

    /// Live only: called about ten times a second, and when nothing comes.
    fn tick(&mut self, _stats: &mut dyn FnMut() -> Option<Stats>) -> Result<()> {
        Ok(())
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// Whether `-w` is to write it.
    pub(crate) write: bool,
    /// Whether it counts for `-c`.
    pub(crate) count: bool,
}

/// Parses a frame of a capture.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would copy the frame")]
pub(crate) fn parse<'c>(captured: &Captured<'c>, ports: &Ports) -> Frame<'c> {
    Frame::parse(link(captured), captured.data, wire_len(captured), ports)
}

/// What the frame begins with.
#[inline]
pub(crate) const fn link(captured: &Captured<'_>) -> Link {
    Link::from_linktype(captured.link_type.0)
}

#[inline]
pub(crate) fn wire_len(captured: &Captured<'_>) -> usize {
    usize::try_from(captured.wire_len).unwrap_or(usize::MAX)
}

/// Whether the frame is of those that `-w` writes: RoCE, InfiniBand, and MAC control.
#[inline]
pub(crate) fn is_written(frame: &Frame<'_>) -> bool {
    frame.is_roce() || is_flow_control(frame)
}

#[inline]
pub(crate) const fn is_flow_control(frame: &Frame<'_>) -> bool {
    matches!(frame.content, Content::Pfc(_) | Content::Pause(_))
}

/// Reads the source to its end, or to the limit, or until the user wants to stop.
pub(crate) fn drive(
    source: &Source,
    args: &SourceArgs,
    quiet: bool,
    sink: &mut impl Sink,
) -> Result<Trace> {
    let ports = source::ports(args)?;
    let stop = Stop::listen().context("cannot listen to signals")?;
    let mut filter = Filter::new(args.filter.clone())?;
    let mut run = Run::new(sink, &stop, &ports);
    if let Some(path) = &args.write {
        source.allow_write(path)?;
        run.output = Output::To(path);
    }
    run.left = args.count.unwrap_or(u64::MAX);
    run.duration = args.duration;
    let mut trace = match source {
        Source::Files(inputs) => {
            let mut trace = Trace::default();
            let mut clock = None;
            let mut progress = Progress::new(quiet);
            let mut number = 1;
            for input in inputs {
                let mut reader = match input.open(&stop, number) {
                    Ok(reader) => reader,
                    // What was seen in the files before is still worth reporting.
                    Err(error) if number > 1 => {
                        trace.failure = Some(error.to_string());
                        break;
                    }
                    Err(error) => return Err(error),
                };
                let mut times = None;
                let end =
                    run.file(&mut reader, &mut filter, (&mut clock, &mut times), &mut progress);
                progress.clear();
                number = reader.last_number().saturating_add(1);
                trace.add_file(&reader, times, end, stop.is_wanted())?;
                trace.is_interrupted = stop.is_wanted() && !input.is_stream();
                if run.is_over() || trace.failure.is_some() {
                    break;
                }
            }
            trace
        }
        Source::Live(name) => {
            let capture = source::open_live(name, args, &ports)?;
            let before = frames_passed(name);
            let mut trace = run.live(capture)?;
            let after = frames_passed(name);
            trace.passed = before.zip(after).and_then(|(before, after)| after.checked_sub(before));
            trace
        }
    };
    if let Err(error) = run.output.finish() {
        trace.failure.get_or_insert_with(|| error.to_string());
    }
    Ok(trace)
}

/// Where `-w` writes to. The file is made when there is something to write or when all went well:
/// a mistake elsewhere must not cost what is in it.
#[derive(Default)]
enum Output<'r> {
    #[default]
    None,
    To(&'r Path),
    File(FileWriter),
}

impl Output<'_> {
    const fn is_wanted(&self) -> bool {
        !matches!(self, Self::None)
    }

    fn write(&mut self, captured: &Captured<'_>) -> Result<(), roce_capture::Error> {
        if let Self::To(path) = self {
            *self = Self::File(FileWriter::create(path, &WriterOptions::default())?);
        }
        match self {
            Self::File(writer) => writer.write(captured),
            Self::None | Self::To(_) => Ok(()),
        }
    }

    fn finish(self) -> Result<(), roce_capture::Error> {
        let writer = match self {
            Self::None => return Ok(()),
            Self::To(path) => FileWriter::create(path, &WriterOptions::default())?,
            Self::File(writer) => writer,
        };
        writer.finish().map(|_| ())
    }
}

/// The way of a frame through the filter's other side: to whoever looks at it, and to the file.
pub(crate) struct Run<'r, S> {
    sink: &'r mut S,
    stop: &'r Stop,
    ports: &'r Ports,
    output: Output<'r>,
    /// How many frames may still be counted.
    left: u64,
    duration: Option<Duration>,
}

/// How much of a trace's time is to be read, in nanoseconds.
pub(crate) fn clock_limit(duration: Option<Duration>) -> Option<u64> {
    duration.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

impl<'r, S: Sink> Run<'r, S> {
    pub(crate) const fn new(sink: &'r mut S, stop: &'r Stop, ports: &'r Ports) -> Self {
        Self { sink, stop, ports, output: Output::None, left: u64::MAX, duration: None }
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.stop.is_wanted()
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory twice")]
    pub(crate) fn frame(&mut self, captured: &Captured<'_>) -> Result<()> {
        let took = self.sink.frame(captured, self.ports)?;
        if took.write && self.output.is_wanted() {
            // A copy, so that frames which nobody writes need not be in memory.
            self.output.write(&{ *captured })?;
        }
        self.left = self.left.saturating_sub(u64::from(took.count));
        Ok(())
    }

    /// Reads a file. `clock` is the time of the trace's first frame, `times` are the file's.
    fn file(
        &mut self,
        reader: &mut roce_capture::FileReader,
        filter: &mut Filter,
        (clock, times): (&mut Option<u64>, &mut Times),
        progress: &mut Progress,
    ) -> Result<()> {
        let limit = clock_limit(self.duration);
        loop {
            // The clock and the signals are looked at now and then, not for every frame.
            for _ in 0..4096 {
                let Some(captured) = reader.next_frame()? else { return Ok(()) };
                add_time(times, captured.time_ns);
                if let (Some(limit), Some(now)) = (limit, captured.time_ns)
                    && now.saturating_sub(*clock.get_or_insert(now)) >= limit
                {
                    self.left = 0;
                    return Ok(());
                }
                if filter.matches(&captured)? {
                    self.frame(&captured)?;
                    if self.left == 0 {
                        return Ok(());
                    }
                }
            }
            progress.update(reader.bytes_read(), reader.total_bytes(), reader.last_number());
            if self.stop.is_wanted() {
                return Ok(());
            }
        }
    }

    fn live(&mut self, mut capture: LiveCapture) -> Result<Trace> {
        const TICK: Duration = Duration::from_millis(100);
        let start = Instant::now();
        let end = self.duration.and_then(|time| start.checked_add(time));
        let mut ticked = start;
        let mut since_look = 0u32;
        let mut trace = Trace::default();
        self.sink.start();
        while !self.is_over() {
            let idle = match capture.next_frame() {
                Ok(Next::Frame(captured)) => match self.frame(&captured) {
                    Ok(()) => false,
                    Err(error) if is_of_capture(&error) => {
                        trace.failure = Some(error.to_string());
                        break;
                    }
                    Err(error) => return Err(error),
                },
                Ok(Next::Timeout) => true,
                Ok(Next::End) => break,
                // What was seen until then is still worth reporting.
                Err(error) => {
                    trace.failure = Some(error.to_string());
                    break;
                }
            };
            since_look = since_look.saturating_add(1);
            if idle || since_look >= 256 {
                since_look = 0;
                let now = Instant::now();
                if idle || now.duration_since(ticked) >= TICK {
                    ticked = now;
                    self.sink.tick(&mut || capture.stats())?;
                }
                if end.is_some_and(|end| now >= end) {
                    break;
                }
            }
        }
        trace.stats = capture.stats();
        Ok(trace)
    }
}

/// The user's expression, compiled for each link type that comes along.
pub(crate) struct Filter {
    expression: Option<String>,
    #[cfg(feature = "libpcap")]
    compiled: Vec<roce_capture::Filter>,
}

impl Filter {
    pub(crate) fn new(expression: Option<String>) -> Result<Self> {
        if expression.is_some() && !HAS_FILTERS {
            bail!("-f: this build has no BPF filters; build it with libpcap");
        }
        // A mistake is told before anything is read or written, whatever link types come.
        #[cfg(feature = "libpcap")]
        if let Some(expression) = &expression {
            roce_capture::Filter::new(expression, roce_capture::LinkType::ETHERNET)?;
        }
        Ok(Self {
            expression,
            #[cfg(feature = "libpcap")]
            compiled: Vec::new(),
        })
    }

    /// Whether the frame is to be looked at.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "nearly always there is no expression")]
    pub(crate) fn matches(&mut self, frame: &Captured<'_>) -> Result<bool> {
        if self.expression.is_none() {
            return Ok(true);
        }
        self.passes(&{ *frame })
    }

    #[cfg(feature = "libpcap")]
    fn passes(&mut self, frame: &Captured<'_>) -> Result<bool> {
        let known = self.compiled.iter().find(|one| one.link_type() == frame.link_type);
        if let Some(filter) = known {
            return Ok(filter.matches(frame));
        }
        let expression = self.expression.as_deref().unwrap_or_default();
        // Not a failure to read: nothing that was seen before is worth reporting.
        let filter = roce_capture::Filter::new(expression, frame.link_type)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        let passes = filter.matches(frame);
        self.compiled.push(filter);
        Ok(passes)
    }

    #[cfg(not(feature = "libpcap"))]
    fn passes(&mut self, _: &Captured<'_>) -> Result<bool> {
        Ok(false)
    }
}
