//! `roce-sniff rewrite`: from capture to capture, edited.
//!
//! A frame is edited in two steps. First what keeps its place and length: names, marks, payloads.
//! Then what does not: tunnels, tags, the way RoCE is carried. Checksums and ICRC are mended after
//! each. Memory: names by a seed are permutations and need none; maps are what was typed. What is
//! remembered of a capture is bounded: 131071 IPv6 addresses that become IPv4, 131072 flows whose
//! ports are made of queue pairs, 4096 connections being selected, 131072 names beside maps.

mod args;
mod cm;
mod convert;
mod family;
mod frame;
mod headers;
mod hidden;
mod icrc;
mod keyed;
mod layers;
mod maps;
mod merged;
mod names;
mod other;
mod output;
mod select;
mod shape;
mod src_ports;
mod sums;
#[cfg(test)]
mod tests;
mod transport;
mod vxlan;
mod wrap;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use roce_capture::{FileReader, Frame as Captured, Part, same_file};
use roce_wire::Ports;

pub(crate) use args::RewriteArgs;

use crate::Outcome;
use crate::drive::{Trace, parse};
use crate::printer::{long_remark, remark};
use crate::progress::Progress;
use crate::source::Input;
use crate::stop::Stop;
use crate::text::number::{Grouped, plural};
use args::{EcnMark, Way};
use family::{Family, Given};
use frame::Rewriter;
use headers::Marks;
use names::Names;
use output::Output;
use select::Selection;
use src_ports::Learner;
use transport::Payload;

pub(crate) fn run(args: &RewriteArgs) -> Result<Outcome> {
    let stop = Stop::listen().context("cannot listen to signals")?;
    let mut selection = Selection::new(&args.select)?;
    let mut rewriter = rewriter(args)?;
    let input = input(&args.input);
    if let Input::File(path) = &input
        && same_file(path, &args.output)
    {
        bail!("-o {}: is the file that is being read", args.output.display());
    }
    let mut reader = input.open(&stop, 1)?;
    let is_nameless = args.maps.anonymize.is_some();
    if let Input::File(path) = &input
        && is_nameless
        && path.is_file()
    {
        learn(&mut input.open(&stop, 1)?, &mut rewriter, &stop)?;
    }
    let mut output = Output::create(&args.output, &reader, is_nameless)?;
    let mut progress = Progress::new(args.quiet);
    let end = copy(&mut reader, &mut output, &mut selection, &mut rewriter, &stop, &mut progress);
    progress.clear();
    let (end, done) = match end {
        Ok(done) => (Ok(()), done),
        Err(error) if error.downcast_ref::<roce_capture::Error>().is_some_and(is_of_input) => {
            (Err(error), Done::default())
        }
        Err(error) => return Err(output.explain(error)),
    };
    let is_stream = matches!(input, Input::Stdin);
    if stop.is_wanted() && !is_stream {
        bail!("stopped: {} is not written", args.output.display());
    }
    if end.is_ok() && done.is_idle() && (args.maps.is_any() || args.change.is_any()) {
        bail!("{}: nothing in it is RoCE, so there is nothing to change", input.name());
    }
    let name = output.name();
    let written = output.finish()?;
    if !args.quiet {
        report(&name, written, done.changed, &rewriter);
    }
    let mut trace = Trace::default();
    trace.add_file(&reader, None, end, stop.is_wanted())?;
    trace.settle(false)?;
    Ok(Outcome::Done)
}

/// Whether it was reading that failed: what was read until then is still worth keeping.
const fn is_of_input(error: &roce_capture::Error) -> bool {
    matches!(error, roce_capture::Error::Read { .. })
}

/// What was done to a capture, in frames.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// That carry RoCE.
    roce: u64,
    /// That are others now.
    changed: u64,
}

impl Done {
    /// Whether there was nothing to do.
    const fn is_idle(&self) -> bool {
        self.roce == 0 && self.changed == 0
    }
}

fn report(name: &str, written: u64, changed: u64, rewriter: &Rewriter) {
    let frames = plural(written, "frame", "frames");
    remark(&format!("{name}: {frames}, {} of them changed", Grouped(changed)));
    if rewriter.unconverted > 0 {
        let packets = plural(rewriter.unconverted, "RoCE packet", "RoCE packets");
        long_remark(&format!("{packets} could not be carried another way and stayed as they were"));
    }
    for merged in rewriter.names.remarks() {
        long_remark(&merged);
    }
}

/// Copies the capture, edited.
fn copy(
    reader: &mut FileReader,
    output: &mut Output,
    selection: &mut Selection,
    rewriter: &mut Rewriter,
    stop: &Stop,
    progress: &mut Progress,
) -> Result<Done> {
    let mut done = Done::default();
    loop {
        let (bytes_read, total) = (reader.bytes_read(), reader.total_bytes());
        match reader.next_part()? {
            None => return Ok(done),
            Some(Part::Block(block)) => output.block(&block)?,
            Some(Part::Frame(captured, envelope)) => {
                let frame = parse(&captured, &rewriter.ports);
                if selection.wants(&captured, &frame)? {
                    let is_roce = frame.is_roce();
                    let wire_len = rewriter.rewrite(&captured, &frame);
                    let is_changed =
                        rewriter.bytes != captured.data || wire_len != captured.wire_len;
                    done.roce = done.roce.saturating_add(u64::from(is_roce));
                    done.changed = done.changed.saturating_add(u64::from(is_changed));
                    let new = Captured { data: &rewriter.bytes, wire_len, ..captured };
                    output.frame(&new, &envelope)?;
                }
                let number = captured.number;
                if selection.is_over(number) {
                    return Ok(done);
                }
                // The clock and the signals are looked at now and then, not for every frame.
                if number.is_multiple_of(4096) {
                    progress.update(bytes_read, total, number);
                    if stop.is_wanted() {
                        return Ok(done);
                    }
                }
            }
        }
    }
}

/// Looks a file through for what has to be known of all of it.
fn learn(reader: &mut FileReader, rewriter: &mut Rewriter, stop: &Stop) -> Result<()> {
    let mut learner = Learner::default();
    while let Some(captured) = reader.next_frame()? {
        learner.observe(&parse(&captured, &rewriter.ports));
        if captured.number.is_multiple_of(4096) && stop.is_wanted() {
            break;
        }
    }
    rewriter.names.learn(learner);
    Ok(())
}

fn input(path: &Path) -> Input {
    if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path.to_owned()) }
}

/// What was typed as what is done.
fn rewriter(args: &RewriteArgs) -> Result<Rewriter> {
    let mut ports = Ports::default();
    for port in &args.port {
        if !ports.add(*port) {
            bail!("--port: at most {} ports beside 4791", Ports::MAX.saturating_sub(1));
        }
    }
    let change = &args.change;
    let family = match change.convert {
        Some(Way::V2Ipv4) => Some(Family::Ipv4(Given::default())),
        Some(Way::V2Ipv6) => Some(Family::Ipv6),
        _ => None,
    };
    let names = Names::new(&args.maps, family, &ports);
    let Some(new_ports) = names.new_ports() else {
        bail!("--map-udp-port: more than {} ports would be RoCE v2's", Ports::MAX);
    };
    let ecn = change.ecn.map(|mark| match mark {
        EcnMark::NotEct => 0,
        EcnMark::Ect1 => 1,
        EcnMark::Ect0 => 2,
        EcnMark::Ce => 3,
    });
    Ok(Rewriter {
        payload: Payload::new(change.payload, names.hidden.clone()),
        names,
        marks: Marks { dscp: change.dscp, ecn, pcp: change.pcp },
        fix_icrc: change.fix_icrc,
        strip_tunnel: change.strip_tunnel,
        strip_vlan: change.strip_vlan,
        convert: change.convert,
        add_vlan: change.add_vlan,
        add_vxlan: change.add_vxlan,
        headers_only: change.headers_only,
        ports,
        new_ports,
        bytes: Vec::new(),
        unconverted: 0,
    })
}
