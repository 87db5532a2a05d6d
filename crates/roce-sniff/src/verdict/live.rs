//! The verdict while it is being found: in place on a terminal, a line per interval on a pipe.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use roce_analyze::verdict::{Answer, Verdict};
use roce_capture::Stats;

use crate::cli::Color;
use crate::printer;
use crate::text::number::{BitRate, Grouped};
use crate::text::style::{ANSWER, BAD};

/// Goes to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[2K";

pub(super) struct Live {
    interval: Duration,
    color: Color,
    in_place: bool,
    start: Instant,
    shown: Instant,
    before: Before,
}

/// The counts when the last line was shown.
#[derive(Clone, Copy, Default)]
struct Before {
    packets: u64,
    bytes: u64,
}

impl Live {
    pub(super) fn new(interval: Duration, color: Color) -> Self {
        let now = Instant::now();
        Self {
            interval,
            color,
            in_place: printer::is_terminal(),
            start: now,
            shown: now,
            before: Before::default(),
        }
    }

    pub(super) fn begin(&mut self, name: &str) -> Result<()> {
        if self.in_place {
            let mut out = io::stdout().lock();
            write!(out, "Looking for RoCE on {name}; Ctrl-C ends it.")?;
            out.flush()?;
        }
        Ok(())
    }

    /// Shows a line when it is time.
    pub(super) fn tick(
        &mut self,
        verdict: &Verdict,
        stats: &mut dyn FnMut() -> Option<Stats>,
    ) -> Result<()> {
        let now = Instant::now();
        let elapsed = now.duration_since(self.shown);
        if elapsed < self.interval {
            return Ok(());
        }
        self.shown = now;
        let mut out = printer::open(self.color);
        if self.in_place {
            write!(out, "{CLEAR_LINE}")?;
        }
        self.line(&mut out, verdict, elapsed, stats())?;
        if !self.in_place {
            writeln!(out)?;
        }
        out.flush()?;
        Ok(())
    }

    fn line(
        &mut self,
        out: &mut impl Write,
        verdict: &Verdict,
        elapsed: Duration,
        stats: Option<Stats>,
    ) -> io::Result<()> {
        let now = Before { packets: verdict.roce_packets(), bytes: roce_bytes(verdict) };
        let per_second = |count: u64, before: u64| {
            let scaled = u128::from(count.saturating_sub(before)).saturating_mul(1_000_000_000);
            let rate = scaled.checked_div(elapsed.as_nanos()).unwrap_or(0);
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        let packets = per_second(now.packets, self.before.packets);
        let bits = per_second(now.bytes, self.before.bytes).saturating_mul(8);
        self.before = now;
        let answer = match verdict.answer() {
            Answer::None => "no RoCE yet",
            Answer::V1 => "RoCE v1",
            Answer::V2 => "RoCE v2",
            Answer::Mixed => "RoCE v1 and v2",
        };
        let seconds = self.start.elapsed().as_secs();
        write!(
            out,
            "{seconds:>4} s  {ANSWER}{answer}{ANSWER:#}  {} packets",
            Grouped(now.packets)
        )?;
        write!(out, "  {}/s  {}", Grouped(packets), BitRate(bits))?;
        let dropped = stats.map_or(0, |stats| stats.dropped.saturating_add(stats.if_dropped));
        for (what, count) in
            [("ICRC wrong", verdict.icrc_bad), ("CNP", verdict.cnp), ("dropped", dropped)]
        {
            if count > 0 {
                write!(out, "  {BAD}{what} {}{BAD:#}", Grouped(count))?;
            }
        }
        Ok(())
    }

    /// Takes the line away, so that the verdict stands alone.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.in_place {
            let mut out = io::stdout().lock();
            write!(out, "{CLEAR_LINE}")?;
            out.flush()?;
        }
        Ok(())
    }
}

fn roce_bytes(verdict: &Verdict) -> u64 {
    verdict.carriers.iter().take(3).fold(0, |sum, count| sum.saturating_add(count.bytes))
}
