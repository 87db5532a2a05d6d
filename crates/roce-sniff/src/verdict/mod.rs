//! The main job: `roce-sniff SOURCE` says which RoCE is on the wire.

mod csv;
mod json;
mod live;
mod parallel;
mod text;

use std::io::Write as _;

use anyhow::{Result, bail};
use roce_analyze::verdict::{Answer, Config, FrameInfo, Verdict};
use roce_capture::{Frame as Captured, Stats};
use roce_host::Host;
use roce_wire::{Carrier, Ports};

use crate::Outcome;
use crate::batches::threads;
use crate::beside::{Beside, HostSide};
use crate::cli::{Expect, Format, VerdictArgs};
use crate::drive::{Sink, Took, Trace, drive, link, parse};
use crate::printer;
use crate::source::Source;
use crate::text::escape::printable;
use live::Live;

pub(crate) fn run(args: &VerdictArgs) -> Result<Outcome> {
    let source = Source::resolve(&args.source)?;
    let is_live = matches!(source, Source::Live(_));
    let config = Config { check_icrc: !args.source.no_icrc, ..Config::default() };
    let (verdict, trace, host) = match &source {
        Source::Files(inputs) if threads(&args.source, inputs) > 1 => {
            let threads = threads(&args.source, inputs);
            let quiet = args.output.quiet;
            let (verdict, trace) = parallel::verdict(inputs, &args.source, config, quiet, threads)?;
            (verdict, trace, None)
        }
        _ => watch(&source, args, config)?,
    };
    let is_filtered = args.source.filter.is_some();
    let name = printable(&source.name());
    let report = Report { verdict: &verdict, trace: &trace, name, is_live, is_filtered, host };
    if !args.output.quiet {
        let mut out = printer::open(args.output.color);
        match args.output.format {
            Format::Text => text::write(&mut out, &report, printer::width())?,
            Format::Json => json::write(&mut out, &report)?,
            Format::Csv => csv::write(&mut out, &report)?,
        }
        out.flush()?;
    }
    let is_told = args.output.format == Format::Text && !args.output.quiet;
    trace.settle(is_told)?;
    if args.expect.is_some() && trace.is_interrupted {
        bail!("--expect: stopped before the end, so there is no answer");
    }
    Ok(match args.expect {
        Some(expect) if !agrees(&verdict, expect) => Outcome::Disagrees,
        _ => Outcome::Done,
    })
}

/// Looks at one frame after the other, and shows meanwhile what a live capture sees.
fn watch(
    source: &Source,
    args: &VerdictArgs,
    config: Config,
) -> Result<(Verdict, Trace, Option<HostSide>)> {
    let is_live = matches!(source, Source::Live(_));
    let beside = match source {
        Source::Live(name) => Beside::of(Host::local(), name, args.source.filter.is_none()),
        Source::Files(_) => None,
    };
    let shows = is_live && !args.output.quiet && args.output.format == Format::Text;
    let mut watch = Watch {
        verdict: Verdict::new(config),
        live: shows.then(|| Live::new(args.interval, args.output.color)),
        beside,
    };
    if let Some(live) = &mut watch.live {
        live.begin(&source.name())?;
    }
    let trace = drive(source, &args.source, args.output.quiet, &mut watch)?;
    if let Some(live) = &mut watch.live {
        live.end()?;
    }
    let host = watch.beside.map(|beside| beside.end(&watch.verdict));
    Ok((watch.verdict, trace, host))
}

/// All there is to report.
pub(crate) struct Report<'r> {
    pub(crate) verdict: &'r Verdict,
    pub(crate) trace: &'r Trace,
    pub(crate) name: String,
    pub(crate) is_live: bool,
    /// Whether the user left frames out.
    pub(crate) is_filtered: bool,
    /// What the host says of the interface; of a live capture only.
    pub(crate) host: Option<HostSide>,
}

impl Report<'_> {
    /// All remarks: name and text. What the host knows better stands instead of what is said in
    /// general.
    pub(crate) fn notes(&self) -> Vec<(&'static str, String)> {
        if self.is_filtered && !self.is_live && self.verdict.all.packets == 0 {
            return vec![("filter", "No frame matches the filter.".to_owned())];
        }
        let ours = self.host.as_ref().map_or(&[][..], |host| &host.notes);
        let is_needless = |id| ours.iter().any(|own| own.instead_of.contains(&id));
        let general = self.verdict.notes().into_iter().filter(|note| !is_needless(note.id));
        let ours = ours.iter().map(|note| (note.id, note.text.clone()));
        ours.chain(general.map(|note| (note.id.key(), note.text))).collect()
    }
}

struct Watch {
    verdict: Verdict,
    live: Option<Live>,
    beside: Option<Beside>,
}

impl Sink for Watch {
    #[inline]
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took> {
        let frame = &parse(captured, ports);
        let info = FrameInfo {
            number: captured.number,
            time_ns: captured.time_ns,
            wire_len: captured.wire_len,
        };
        let bad = self.verdict.icrc_bad;
        let write = self.verdict.observe(frame, link(captured), &info);
        if let Some(beside) = &mut self.beside {
            beside.frame(captured, frame, self.verdict.icrc_bad > bad);
        }
        Ok(Took { write, count: true })
    }

    fn start(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.start();
        }
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
