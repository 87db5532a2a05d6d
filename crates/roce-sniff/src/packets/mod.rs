//! `roce-sniff packets`: a line per packet, a tree of every field, or an object a line.

mod form;

use std::io::{self, Write as _};

use anyhow::Result;
use roce_capture::{Frame as Captured, Stats};
use roce_wire::{Content, Frame, Ports, Reject};

use crate::Outcome;
use crate::cli::{Format, PacketsArgs};
use crate::drive::{Sink, Took, Trace, drive, parse};
use crate::printer::{self, long_remark, remark};
use crate::source::{Input, Source};
use crate::text::buf::Buf;
use crate::text::number::{Grouped, plural};
use form::line::Line;
use form::{Listed, csv, hex, json, tree};

pub(crate) fn run(args: &PacketsArgs) -> Result<Outcome> {
    let source = Source::resolve(&args.source)?;
    let (out, colored) = printer::open_fast(args.output.color);
    let mut lister = Lister {
        args,
        out,
        buf: Buf::default(),
        line: Line::new(colored),
        // Whoever watches a stream wants to see each packet as it comes.
        flushes: matches!(&source, Source::Files(inputs)
            if inputs.iter().any(Input::is_stream)),
        listed: 0,
        unlisted: 0,
        rejected: [0; Reject::ALL.len()],
    };
    if args.output.format == Format::Csv && !args.output.quiet {
        lister.out.write_all(csv::HEADER.as_bytes())?;
    }
    let trace = drive(&source, &args.source, args.output.quiet, &mut lister)?;
    lister.out.flush()?;
    if !args.output.quiet {
        lister.summary(&trace);
    }
    trace.settle(false)?;
    Ok(Outcome::Done)
}

struct Lister<'l> {
    args: &'l PacketsArgs,
    out: io::BufWriter<io::StdoutLock<'static>>,
    buf: Buf,
    line: Line,
    flushes: bool,
    listed: u64,
    /// MAC control frames that CSV leaves out.
    unlisted: u64,
    rejected: [u64; Reject::ALL.len()],
}

impl Sink for Lister<'_> {
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took> {
        let frame = &parse(captured, ports);
        let none = Took { write: false, count: false };
        match frame.content {
            Content::Other(_) => return Ok(none),
            // The columns of CSV have no place for what a MAC control frame says.
            Content::Pfc(_) | Content::Pause(_) if self.args.output.format == Format::Csv => {
                self.unlisted = self.unlisted.saturating_add(1);
                return Ok(Took { write: true, count: false });
            }
            _ => {}
        }
        if let Some(reject) = frame.rejection() {
            let counters = Reject::ALL.iter().zip(&mut self.rejected);
            for (_, count) in counters.filter(|(reason, _)| **reason == reject) {
                *count = count.saturating_add(1);
            }
            return Ok(none);
        }
        self.listed = self.listed.saturating_add(1);
        if !self.args.output.quiet {
            self.print(captured, frame)?;
        }
        Ok(Took { write: true, count: true })
    }

    fn tick(&mut self, _: &mut dyn FnMut() -> Option<Stats>) -> Result<()> {
        self.out.flush()?;
        Ok(())
    }
}

impl Lister<'_> {
    fn print(&mut self, captured: &Captured<'_>, frame: &Frame<'_>) -> Result<()> {
        let check = !self.args.source.no_icrc;
        let icrc = check.then(|| frame.icrc_state()).flatten();
        let listed = Listed { captured, frame, icrc };
        self.buf.clear();
        match self.args.output.format {
            Format::Text if self.args.verbose => tree::write(&mut self.buf, &mut self.line, listed),
            Format::Text => self.line.write(&mut self.buf, listed),
            Format::Json => json::write(&mut self.buf, listed),
            Format::Csv => csv::write(&mut self.buf, listed),
        }
        if self.args.hex && self.args.output.format == Format::Text {
            hex::write(&mut self.buf, captured.data);
        }
        self.out.write_all(self.buf.as_bytes())?;
        if self.flushes {
            self.out.flush()?;
        }
        Ok(())
    }

    /// What was not listed and why, on standard error as tcpdump does.
    fn summary(&self, trace: &Trace) {
        let total = self.rejected.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        if total > 0 {
            let reasons: Vec<String> = Reject::ALL
                .iter()
                .zip(self.rejected)
                .filter(|(_, count)| *count > 0)
                .map(|(reason, count)| format!("{reason} {}", Grouped(count)))
                .collect();
            let frames = plural(total, "frame", "frames");
            long_remark(&format!(
                "not RoCE though with its port or Ethertype: {frames} ({})",
                reasons.join(", ")
            ));
        }
        if self.unlisted > 0 {
            let frames = plural(self.unlisted, "PFC or PAUSE frame", "PFC and PAUSE frames");
            long_remark(&format!("CSV has no columns for {frames}; --format json lists them"));
        }
        if let Some(stats) = trace.stats {
            let dropped = stats.dropped.saturating_add(stats.if_dropped);
            let dropped = plural(dropped, "frame", "frames");
            let packets = plural(self.listed, "packet", "packets");
            remark(&format!("{packets} listed, {dropped} dropped by the kernel"));
        }
    }
}
