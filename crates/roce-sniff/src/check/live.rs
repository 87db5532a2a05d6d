//! Findings of a live capture, as they arise.

use std::collections::HashSet;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use roce_analyze::connections::{Config, Report, Tracker};
use roce_analyze::findings::{self, Policy};
use roce_capture::{Frame as Captured, Stats};
use roce_wire::Ports;

use super::{CheckArgs, text};
use crate::cli::{Format, SourceArgs};
use crate::drive::{Sink, Took, Trace, drive, is_written, parse};
use crate::printer;
use crate::source::Source;

/// The least time between two looks; looks never take more than a tenth of the time.
const LOOK: Duration = Duration::from_secs(1);
/// How many looks there are after the last frame: what has no answer by then has none.
const LOOKS: u32 = 10;

/// Watches until the user ends it; what is new is printed at once, everything at the end.
pub(super) fn check(
    source: &Source,
    source_args: &SourceArgs,
    args: &CheckArgs,
    policy: &Policy,
    config: Config,
) -> Result<(Report, Trace)> {
    let mut watch = Watch {
        args,
        policy,
        writes_all: config.all_proofs,
        tracker: Tracker::new(config),
        told: HashSet::new(),
        next_look: Instant::now(),
        newest: Instant::now(),
        is_changed: false,
        looks: 0,
    };
    let trace = drive(source, source_args, args.output.quiet, &mut watch)?;
    Ok((watch.tracker.finish(), trace))
}

struct Watch<'w> {
    args: &'w CheckArgs,
    policy: &'w Policy,
    /// Whether every frame is kept, whatever it is: for reading them a second time.
    writes_all: bool,
    tracker: Tracker,
    /// The findings that were printed, by rule and subject.
    told: HashSet<(&'static str, String)>,
    next_look: Instant,
    /// When a frame came last, about.
    newest: Instant,
    is_changed: bool,
    /// How many looks are due: silence may be a finding, too.
    looks: u32,
}

impl Sink for Watch<'_> {
    #[inline]
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took> {
        let frame = &parse(captured, ports);
        self.tracker.observe(frame, captured.number, captured.time_ns);
        self.is_changed = true;
        Ok(Took { write: self.writes_all || is_written(frame), count: true })
    }

    fn tick(&mut self, _: &mut dyn FnMut() -> Option<Stats>) -> Result<()> {
        let now = Instant::now();
        if std::mem::take(&mut self.is_changed) {
            (self.newest, self.looks) = (now, LOOKS);
        }
        let shows = !self.args.output.quiet && self.args.output.format == Format::Text;
        if !shows || self.looks == 0 || now < self.next_look {
            return Ok(());
        }
        self.looks = self.looks.saturating_sub(1);
        let silence = now.duration_since(self.newest).as_nanos();
        let report = self.tracker.so_far(u64::try_from(silence).unwrap_or(u64::MAX));
        let findings = findings::evaluate(&report, self.policy);
        let mut out = printer::open(self.args.output.color);
        for finding in &findings {
            if self.told.insert((finding.id, finding.subject.clone())) {
                text::one(&mut out, finding, printer::width())?;
            }
        }
        out.flush()?;
        let pause = now.elapsed().saturating_mul(10).max(LOOK);
        self.next_look = now.checked_add(pause).unwrap_or(now);
        Ok(())
    }
}
