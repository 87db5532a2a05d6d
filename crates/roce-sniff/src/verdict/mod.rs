//! The main job: `roce-sniff SOURCE` says which RoCE is on the wire.

mod csv;
mod json;
mod live;
mod parallel;
mod text;

use std::io::Write as _;

use anyhow::Result;
use roce_analyze::verdict::{Answer, Config, FrameInfo, Verdict};
use roce_capture::{Frame as Captured, Stats};
use roce_wire::{Carrier, Frame, Link};

use crate::Outcome;
use crate::cli::{Expect, Format, VerdictArgs};
use crate::drive::{Sink, Took, Trace, drive};
use crate::printer;
use crate::source::Source;
use live::Live;

pub(crate) fn run(args: &VerdictArgs) -> Result<Outcome> {
    let source = Source::resolve(&args.source)?;
    let is_live = matches!(source, Source::Live(_));
    let config = Config { check_icrc: !args.source.no_icrc, ..Config::default() };
    let (verdict, trace) = match &source {
        Source::Files(inputs) if parallel::threads(&args.source) > 1 => {
            let threads = parallel::threads(&args.source);
            parallel::verdict(inputs, &args.source, config, args.output.quiet, threads)?
        }
        _ => watch(&source, args, config)?,
    };
    let report = Report { verdict: &verdict, trace: &trace, name: source.name(), is_live };
    if !args.output.quiet {
        let mut out = printer::open(args.output.color);
        match args.output.format {
            Format::Text => text::write(&mut out, &report, printer::width())?,
            Format::Json => json::write(&mut out, &report)?,
            Format::Csv => csv::write(&mut out, &report)?,
        }
        out.flush()?;
    }
    trace.settle()?;
    Ok(match args.expect {
        Some(expect) if !agrees(&verdict, expect) => Outcome::Disagrees,
        _ => Outcome::Done,
    })
}

/// Looks at one frame after the other, and shows meanwhile what a live capture sees.
fn watch(source: &Source, args: &VerdictArgs, config: Config) -> Result<(Verdict, Trace)> {
    let is_live = matches!(source, Source::Live(_));
    let shows = is_live && !args.output.quiet && args.output.format == Format::Text;
    let mut watch = Watch {
        verdict: Verdict::new(config),
        live: shows.then(|| Live::new(args.interval, args.output.color)),
    };
    if let Some(live) = &mut watch.live {
        live.begin(&source.name())?;
    }
    let trace = drive(source, &args.source, args.output.quiet, &mut watch)?;
    if let Some(live) = &mut watch.live {
        live.end()?;
    }
    Ok((watch.verdict, trace))
}

/// All there is to report.
pub(crate) struct Report<'r> {
    pub(crate) verdict: &'r Verdict,
    pub(crate) trace: &'r Trace,
    pub(crate) name: String,
    pub(crate) is_live: bool,
}

struct Watch {
    verdict: Verdict,
    live: Option<Live>,
}

impl Sink for Watch {
    #[inline]
    fn frame(&mut self, captured: &Captured<'_>, frame: &Frame<'_>, link: Link) -> Result<Took> {
        let info = FrameInfo {
            number: captured.number,
            time_ns: captured.time_ns,
            wire_len: captured.wire_len,
        };
        let write = self.verdict.observe(frame, link, &info);
        Ok(Took { write, count: true })
    }

    fn tick(&mut self, stats: &mut dyn FnMut() -> Option<Stats>) -> Result<()> {
        match &mut self.live {
            Some(live) => live.tick(&self.verdict, stats),
            None => Ok(()),
        }
    }
}

/// Whether the wire is as expected.
fn agrees(verdict: &Verdict, expect: Expect) -> bool {
    let only_v2 = verdict.answer() == Answer::V2;
    let has = |carrier| verdict.carrier(carrier).packets > 0;
    match expect {
        Expect::None => verdict.answer() == Answer::None,
        Expect::V1 => verdict.answer() == Answer::V1,
        Expect::V2 => only_v2,
        Expect::V2Ipv4 => only_v2 && !has(Carrier::V2Ipv6),
        Expect::V2Ipv6 => only_v2 && !has(Carrier::V2Ipv4),
    }
}
