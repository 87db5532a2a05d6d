//! `roce-sniff check`: what is wrong on this wire, with the frames that prove it, and what to do.

mod comments;
mod compatible;
mod copy;
mod json;
mod live;
mod policy;
mod text;

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use roce_analyze::connections::{Report, Totals};
use roce_analyze::findings::{self, CaptureFacts, Finding, RULES, Rule, Severity};

use crate::Outcome;
use crate::cli::{Format, OutputArgs, SourceArgs, parse_bit_rate};
use crate::connections::{config, say_evicted, track};
use crate::drive::Trace;
use crate::printer;
use crate::source::Source;
use crate::text::layout::csv as cell;
use comments::Comments;
use copy::Copy;

#[derive(Args, Debug)]
#[command(mut_arg("write", |write| write.help(WRITE_HELP)))]
#[command(after_help = "\
Examples:
  roce-sniff check trace.pcapng                     what is wrong here?
  roce-sniff check -w told.pcapng trace.pcapng      the same as comments for Wireshark
  roce-sniff check eth2                             findings as they arise
  roce-sniff check --fail-on warning trace.pcap     for scripts: exit code 1
  roce-sniff check --list                           every rule, and when it speaks")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// The least severity that makes the exit code 1
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
    /// How traffic is to be marked, and from when on something is too much: a TOML file (see --help)
    #[arg(long, value_name = "FILE", long_help = policy::HELP)]
    policy: Option<PathBuf>,
    /// Speed of the link in bits a second, such as 100G; turns pause quanta into time
    #[arg(long, value_name = "RATE", value_parser = parse_bit_rate)]
    link_speed: Option<u64>,
    /// How many connections to keep track of
    #[arg(long, value_name = "N", default_value = "1000000")]
    max_connections: NonZeroUsize,
    /// List every rule
    #[arg(long)]
    list: bool,
}

const WRITE_HELP: &str = "Also write the RoCE, InfiniBand and MAC control frames to a file \
    (.pcapng), with a comment on each that takes part in a finding: in Wireshark frame.comment";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

impl FailOn {
    fn fails(self, severity: Severity) -> bool {
        // The worst severity is the least.
        match self {
            Self::Error => severity <= Severity::Error,
            Self::Warning => severity <= Severity::Warning,
            Self::Info => severity <= Severity::Info,
            Self::Never => false,
        }
    }
}

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    if args.list {
        return list(args);
    }
    let policy = policy::read(args)?;
    let source = Source::resolve(&args.source)?;
    let mut source_args = args.source.clone();
    let (source, copy) = match source_args.write.take() {
        Some(path) => {
            let (source, copy) = Copy::prepare(source, path)?;
            source_args.write = copy.live_frames();
            (source, Some(copy))
        }
        None => (source, None),
    };
    let config = config(&args.source, args.max_connections)
        .with_all_proofs(copy.is_some())
        .with_link_speed(policy.link_speed);
    let (seen, trace) = match &source {
        Source::Live(_) => live::check(&source, &source_args, args, &policy, config)?,
        Source::Files(_) => track(&source, &source_args, args.output.quiet, config)?,
    };
    let mut findings = match &copy {
        Some(_) => findings::evaluate_all_frames(&seen, &policy, &facts(&trace)),
        None => findings::evaluate_capture(&seen, &policy, &facts(&trace)),
    };
    compatible::explain(&mut findings);
    // Whoever reads the report may have enough of it sooner: the copy is made nevertheless.
    let told = report(args, &findings, &seen);
    if let Some(copy) = copy {
        copy.write(args, &Comments::of(&findings, &seen), seen.totals.last_frame)?;
    }
    told?;
    say_evicted(&seen);
    trace.say_disorder();
    trace.settle(false)?;
    let fails = findings.iter().any(|finding| args.fail_on.fails(finding.severity));
    Ok(if fails { Outcome::Disagrees } else { Outcome::Done })
}

/// What the source of the frames says of itself.
fn facts(trace: &Trace) -> CaptureFacts {
    let dropped = trace.stats.map(|stats| stats.dropped.saturating_add(stats.if_dropped));
    CaptureFacts { dropped, damaged: trace.damaged.clone() }
}

/// Whether there was anything that a rule looks at.
fn has_matter(totals: &Totals) -> bool {
    totals.roce_packets() > 0 || totals.pfc > 0 || totals.pause > 0
}

fn report(args: &CheckArgs, findings: &[Finding], seen: &Report) -> Result<()> {
    if args.output.quiet {
        return Ok(());
    }
    let mut out = printer::open(args.output.color);
    match args.output.format {
        Format::Text => {
            text::write(&mut out, findings, has_matter(&seen.totals), printer::width())?;
        }
        Format::Json => json::write(&mut out, findings, seen)?,
        Format::Csv => csv(&mut out, findings)?,
    }
    out.flush()?;
    Ok(())
}

fn csv(out: &mut impl io::Write, findings: &[Finding]) -> io::Result<()> {
    writeln!(out, "severity,id,subject,count,first_frame")?;
    for finding in findings {
        let first = finding.frames.first().map_or(String::new(), u64::to_string);
        let Finding { id, subject, count, .. } = finding;
        writeln!(out, "{},{id},\"{subject}\",{count},{first}", text::severity(finding.severity))?;
    }
    Ok(())
}

fn rules_csv(out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "severity,id,title,when,meaning,advice")?;
    for Rule { severity, id, title, when, meaning, advice, .. } in RULES {
        let words = [title, when, meaning, advice].map(|words| cell(words)).join(",");
        writeln!(out, "{},{id},{words}", text::severity(*severity))?;
    }
    Ok(())
}

fn list(args: &CheckArgs) -> Result<Outcome> {
    let mut out = printer::open(args.output.color);
    match args.output.format {
        Format::Text => {
            for rule in RULES {
                text::rule(&mut out, rule, printer::width())?;
            }
        }
        Format::Json => json::rules(&mut out)?,
        Format::Csv => rules_csv(&mut out)?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}
