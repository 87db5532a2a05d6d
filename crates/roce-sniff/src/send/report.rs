//! What was sent, what was not, and how fast.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use roce_capture::Tally;
use roce_host::LinkSent;
use serde::Serialize;

use super::addressing::Unfit;
use super::origin::Origin;
use super::transmit::Skipped;
use super::{SendArgs, rate};
use crate::Outcome;
use crate::cli::Format;
use crate::printer::remark;
use crate::text::layout::csv;
use crate::text::number::{BitRate, Bytes, Grouped, plural};

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum EndedBy {
    #[default]
    Source,
    Count,
    Duration,
    Signal,
    Failure,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) tally: Tally,
    /// Passes through the source, the last one perhaps not to its end.
    pub(super) passes: u64,
    /// Frames whose bytes were changed.
    pub(super) changed: u64,
    pub(super) skipped: Skipped,
    /// When the first frame was handed over, in nanoseconds from the start.
    pub(super) began: Option<u64>,
    /// From the first frame handed over to the last one taken.
    pub(super) span: Duration,
    pub(super) ended_by: EndedBy,
    pub(super) failure: Option<String>,
    /// What cannot be read of the source, and whether that is more than a cut end.
    pub(super) damage: Option<(String, bool)>,
    /// What the interface counted meanwhile, other senders' frames included.
    pub(super) counted: Option<LinkSent>,
}

impl EndedBy {
    const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Count => "count",
            Self::Duration => "duration",
            Self::Signal => "signal",
            Self::Failure => "failure",
        }
    }
}

impl Unfit {
    const fn name(self) -> &'static str {
        match self {
            Self::Cut => "truncated",
            Self::NoEthernet => "not_ethernet",
            Self::NoRoce => "not_roce",
            Self::OtherFamily => "other_family",
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Cut => "of which the capture holds only the beginning",
            Self::NoEthernet => "that do not begin with an Ethernet header",
            Self::NoRoce => "that are not RoCE, whose IP addresses cannot be set",
            Self::OtherFamily => "of the other IP family than the addresses to set",
        }
    }
}

impl Report {
    pub(super) fn skip_all(&mut self, skipped: &Skipped) {
        for (why, more) in skipped {
            let count = self.skipped.entry(*why).or_default();
            *count = count.saturating_add(*more);
        }
    }

    pub(super) fn count_changed(&mut self, is_changed: bool) {
        self.changed = self.changed.saturating_add(u64::from(is_changed));
    }

    /// Frames a second and bits a second, from the first frame to the last: absent where there is
    /// no time in between. The last frame ends the time and does not count.
    fn rates(&self) -> Option<(u64, u64)> {
        let nanoseconds = self.span.as_nanos();
        let gaps = self.tally.frames.checked_sub(1).filter(|gaps| *gaps > 0)?;
        let per_second = |count: u128| {
            // To the nearest.
            let scaled = count.checked_mul(1_000_000_000)?.checked_add(nanoseconds / 2)?;
            u64::try_from(scaled.checked_div(nanoseconds)?).ok()
        };
        let bits = u128::from(self.tally.bytes).checked_mul(8)?;
        let bits = bits.checked_mul(gaps.into())?.checked_div(self.tally.frames.into())?;
        Some((per_second(gaps.into())?, per_second(bits)?))
    }

    /// What is left to say when the report is out.
    pub(super) fn settle(&self, source: &str, interface: &str) -> Result<Outcome> {
        if let Some(failure) = &self.failure {
            bail!("{failure}");
        }
        if let Some(refused) = &self.tally.first_failure {
            bail!(
                "{interface}: {} not sent; frame {}, {} bytes: {}",
                plural(self.tally.failed, "frame was", "frames were"),
                refused.number,
                refused.len,
                refused.reason
            );
        }
        match &self.damage {
            Some((damage, true)) => bail!("{damage}; everything before it was sent"),
            Some((damage, false)) => remark(&format!("{damage}; everything before it was sent")),
            None => {}
        }
        if self.tally.tried() == 0 && self.ended_by == EndedBy::Source {
            let why = self.skipped.iter().max_by_key(|(_, count)| **count);
            let why =
                why.map_or_else(String::new, |(why, _)| format!(": left out {}", why.describe()));
            bail!("{source}: there was no frame to send{why}");
        }
        Ok(Outcome::Done)
    }
}

pub(super) fn write(
    out: &mut impl Write,
    report: &Report,
    args: &SendArgs,
    origin: &Origin,
) -> Result<()> {
    match args.output.format {
        Format::Text => write_text(out, report, args),
        Format::Json => write_json(out, report, args, origin),
        Format::Csv => write_csv(out, report, args, origin),
    }
}

fn write_text(out: &mut impl Write, report: &Report, args: &SendArgs) -> Result<()> {
    let Tally { frames, bytes, failed, .. } = report.tally;
    let verb = if args.dry_run { "would send" } else { "sent" };
    write!(out, "{verb} {} ({})", plural(frames, "frame", "frames"), Bytes(bytes))?;
    write!(out, " by {} in {}", args.interface, seconds(report.span))?;
    match report.rates() {
        Some((frames, bits)) => writeln!(out, ": {} frames/s, {}", Grouped(frames), BitRate(bits))?,
        None => writeln!(out)?,
    }
    if report.passes > 1 {
        writeln!(out, "  the source {} times", Grouped(report.passes))?;
    }
    if report.changed > 0 {
        writeln!(out, "  {} readdressed", Grouped(report.changed))?;
    }
    if failed > 0 {
        writeln!(out, "  {} refused by the interface", Grouped(failed))?;
    }
    for (why, count) in &report.skipped {
        let frames = plural(*count, "frame", "frames");
        writeln!(out, "  {frames} left out {}", why.describe())?;
    }
    if let Some(counted) = &report.counted {
        write!(out, "  {} counted {} out", args.interface, Grouped(counted.frames))?;
        writeln!(out, ", {} dropped", Grouped(counted.dropped.saturating_add(counted.errors)))?;
    }
    match report.ended_by {
        EndedBy::Signal => writeln!(out, "  stopped before its end")?,
        EndedBy::Failure => writeln!(out, "  failed before its end")?,
        EndedBy::Source | EndedBy::Count | EndedBy::Duration => {}
    }
    Ok(())
}

/// With a millisecond's precision, or a microsecond's below one second.
fn seconds(time: Duration) -> String {
    if time.as_secs() == 0 {
        format!("{}.{:03} ms", time.as_millis(), time.subsec_micros() % 1000)
    } else {
        format!("{}.{:03} s", time.as_secs(), time.subsec_millis())
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    source: String,
    interface: String,
    dry_run: bool,
    rate: String,
    frames: u64,
    bytes: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_failure: Option<Failure>,
    changed: u64,
    skipped: BTreeMap<&'static str, u64>,
    passes: u64,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
    ended_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
}

#[derive(Serialize)]
struct Failure {
    frame: u64,
    bytes: usize,
    reason: String,
}

#[derive(Serialize)]
struct Counted {
    frames: u64,
    bytes: u64,
    errors: u64,
    dropped: u64,
}

fn write_json(
    out: &mut impl Write,
    report: &Report,
    args: &SendArgs,
    origin: &Origin,
) -> Result<()> {
    let rates = report.rates();
    let failure = report.tally.first_failure.as_ref();
    let document = Document {
        schema: "roce-sniff/send/1",
        source: origin.name(),
        interface: args.interface.clone(),
        dry_run: args.dry_run,
        rate: rate::name(args.rate),
        frames: report.tally.frames,
        bytes: report.tally.bytes,
        failed: report.tally.failed,
        first_failure: failure.map(|refused| Failure {
            frame: refused.number,
            bytes: refused.len,
            reason: refused.reason.clone(),
        }),
        changed: report.changed,
        skipped: report.skipped.iter().map(|(why, count)| (why.name(), *count)).collect(),
        passes: report.passes,
        duration_ns: u64::try_from(report.span.as_nanos()).unwrap_or(u64::MAX),
        frames_per_second: rates.map(|(frames, _)| frames),
        bits_per_second: rates.map(|(_, bits)| bits),
        counted: report.counted.map(|counted| Counted {
            frames: counted.frames,
            bytes: counted.bytes,
            errors: counted.errors,
            dropped: counted.dropped,
        }),
        ended_by: report.ended_by.name(),
        failure: report.failure.clone(),
        damaged: report.damage.as_ref().map(|(damage, _)| damage.clone()),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn write_csv(
    out: &mut impl Write,
    report: &Report,
    args: &SendArgs,
    origin: &Origin,
) -> Result<()> {
    let Tally { frames, bytes, failed, .. } = report.tally;
    let skipped: u64 = report.skipped.values().fold(0, |sum, count| sum.saturating_add(*count));
    let rates = report.rates();
    let rate = |rate: Option<u64>| rate.map_or_else(String::new, |rate| rate.to_string());
    writeln!(
        out,
        "source,interface,frames,bytes,failed,skipped,duration_ns,frames_per_second,\
         bits_per_second,ended_by"
    )?;
    writeln!(
        out,
        "{},{},{frames},{bytes},{failed},{skipped},{},{},{},{}",
        csv(&origin.name()),
        csv(&args.interface),
        report.span.as_nanos(),
        rate(rates.map(|(frames, _)| frames)),
        rate(rates.map(|(_, bits)| bits)),
        report.ended_by.name()
    )?;
    Ok(())
}
