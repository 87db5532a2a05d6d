//! `roce-sniff connections`: a row per connection, both directions, and one as a ladder.

mod csv;
mod flow_control;
mod ladder;
mod looked;
mod owners;
mod parallel;
mod rates;
mod table;

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use roce_analyze::connections::{
    Config, Connection, Disorder, Report, Sighting, Tracker, WireRate, json,
};
use roce_analyze::findings::JITTER;
use roce_capture::{Frame as Captured, Stats};
use roce_host::Host;
use roce_wire::{Frame, IcrcState, Ports};

use self::owners::Owners;
use crate::Outcome;
use crate::batches::threads;
use crate::cli::{Format, OutputArgs, SourceArgs, parse_bit_rate};
use crate::drive::{Sink, Took, Trace, drive, is_flow_control, link, parse, wire_len};
use crate::printer::{self, long_remark, remark};
use crate::sorted::Sorted;
use crate::source::{self, Source};
use crate::text::number::plural;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff connections trace.pcapng                a row per connection
  roce-sniff connections --sort retransmitted x.pcap the worst ones first
  roce-sniff connections --only 10.0.0.7 x.pcap      those of one host
  roce-sniff connections --id 3 x.pcap               one of them, packet by packet
  roce-sniff connections --format json x.pcap        everything that is known
  roce-sniff connections --link-speed 100G x.pcap    how long ports pause one another, too
  roce-sniff connections eth2                        live, with the processes of this host")]
pub(crate) struct ConnectionsArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// What to sort by; the most comes first
    #[arg(long, value_name = "BY", value_enum, default_value_t = Sort::First)]
    sort: Sort,
    /// Only connections whose addresses, queue pairs, version, outcome or processes have this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Show one connection as a ladder, packet by packet
    #[arg(long, value_name = "N")]
    id: Option<u64>,
    /// The file was captured on this host just now: name the processes that have its queue pairs.
    /// Live captures do so by themselves
    #[arg(long)]
    live: bool,
    /// Speed of the link in bits a second, such as 100G; turns pause quanta into time
    #[arg(long, value_name = "RATE", value_parser = parse_bit_rate)]
    link_speed: Option<u64>,
    /// How many connections to keep track of
    #[arg(long, value_name = "N", default_value = "1000000")]
    max_connections: NonZeroUsize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Sort {
    /// The time of the first frame
    First,
    /// Packets
    Packets,
    /// Bytes on the wire
    Bytes,
    /// Packets that were sent again
    Retransmitted,
    /// Packets that are missing
    Missing,
    /// NAKs of all kinds
    Naks,
    /// Packets marked CE
    Ce,
    /// How long messages took, 99th percentile
    Completion,
}

pub(crate) fn run(args: &ConnectionsArgs) -> Result<Outcome> {
    let source = Source::resolve(&args.source)?;
    if args.id.is_some() && !source.can_be_read_twice() {
        bail!("--id reads its source twice: name files, not a stream or interface");
    }
    // A ladder explains every packet, not only the first few of each kind.
    let config = config(&args.source, args.max_connections)
        .with_all_proofs(args.id.is_some())
        .with_link_speed(args.link_speed);
    let mut watch = Watch::new(config);
    watch.owners = owners(&source, args.live);
    let (mut report, trace) = watch.follow(&source, &args.source, args.output.quiet)?;
    if let Some(id) = args.id {
        let Some(connection) = report.connections.iter().find(|one| one.id == id) else {
            let count = u64::try_from(report.connections.len()).unwrap_or(u64::MAX);
            let are = if count == 1 { "is" } else { "are" };
            bail!("--id {id}: there {are} {}", plural(count, "connection", "connections"));
        };
        let format = args.output.format;
        let is_drawn = !args.output.quiet && format == Format::Text;
        let is_counted = !args.output.quiet && format == Format::Json;
        // The frames of one connection are known in the second reading only.
        if is_drawn || is_counted || args.source.write.is_some() {
            let (again, milliseconds) = ladder::show(&source, args, connection, is_drawn)?;
            if is_drawn || args.source.write.is_some() {
                again.settle(false)?;
            }
            if !again.is_interrupted && again.failure.is_none() {
                report.milliseconds = Some(Box::new(milliseconds));
            }
        }
        if is_drawn {
            trace.settle(false)?;
            return Ok(Outcome::Done);
        }
        report.connections.retain(|one| one.id == id);
    }
    arrange(&mut report.connections, args);
    if !args.output.quiet {
        let mut out = printer::open(args.output.color);
        match args.output.format {
            Format::Text => {
                table::write(&mut out, &report, printer::width())?;
                flow_control::write(&mut out, &report.totals, printer::width())?;
            }
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, &json::Document(&report))
                    .map_err(io::Error::from)?;
                writeln!(out)?;
            }
            Format::Csv => csv::write(&mut out, &report)?,
        }
        out.flush()?;
    }
    say_evicted(&report);
    trace.say_disorder();
    trace.settle(false)?;
    // The process ends here, and its memory with it: to give back a million pieces takes time.
    core::mem::forget(report);
    Ok(Outcome::Done)
}

/// Says that the report lacks connections, and how many.
pub(crate) fn say_evicted(report: &Report) {
    let evicted = report.evicted;
    if evicted.connections > 0 {
        long_remark(&format!(
            "connections had to give way to newer ones {}, with {}; see --max-connections",
            // One that comes back and has to go again counts again.
            plural(evicted.connections, "time", "times"),
            plural(evicted.packets, "packet", "packets")
        ));
    }
}

fn say_order(disorder: Disorder) {
    let frames = plural(disorder.frames, "frame stands", "frames stand");
    let most = Duration::from_nanos(disorder.most_ns);
    long_remark(&format!(
        "{frames} up to {most:?} behind later ones: followed in the order of time"
    ));
}

/// Follows every connection of the source.
pub(crate) fn track(
    source: &Source,
    args: &SourceArgs,
    quiet: bool,
    config: Config,
) -> Result<(Report, Trace)> {
    Watch::new(config).follow(source, args, quiet)
}

/// How connections are followed.
pub(crate) fn config(args: &SourceArgs, max_connections: NonZeroUsize) -> Config {
    Config::default().with_max_connections(max_connections.get()).with_check_icrc(!args.no_icrc)
}

/// Who can say which processes of this host take part.
fn owners(source: &Source, is_forced: bool) -> Option<Owners> {
    if !is_forced && !matches!(source, Source::Live(_)) {
        return None;
    }
    match Owners::of(Host::local()) {
        Ok(owners) => Some(owners),
        Err(why) => {
            // A capture does not fail for that; only who asked for it wants to know.
            if is_forced {
                remark(&format!("--live: no process is named: {why}"));
            }
            None
        }
    }
}

struct Watch {
    config: Config,
    tracker: Tracker,
    wire: WireRate,
    /// Of what happens on this host only.
    owners: Option<Owners>,
}

impl Watch {
    fn new(config: Config) -> Self {
        let (tracker, wire) = (Tracker::new(config), WireRate::default());
        Self { config, tracker, wire, owners: None }
    }

    /// Follows the source; once more in the order of time where frames of files do not quite stand in
    /// it.
    fn follow(
        mut self,
        source: &Source,
        args: &SourceArgs,
        quiet: bool,
    ) -> Result<(Report, Trace)> {
        let (owners, config) = (self.owners.take_if(|_| source.can_be_read_twice()), self.config);
        let (mut report, mut trace) = self.follow_as_it_stands(source, args, quiet)?;
        let disorder = report.totals.disorder;
        if disorder.frames > 0 && source.can_be_read_twice() && !trace.is_interrupted {
            let (in_order, again) = Self::new(config).follow_in_order(source, args, quiet)?;
            trace.is_interrupted = again.is_interrupted;
            trace.failure = trace.failure.or(again.failure);
            // Where it is more than the kernel's blocks, times may be what is wrong.
            let is_better =
                |new: &Report| disorder.most_ns <= JITTER || new.oddity() < report.oddity();
            if let Some(mut in_order) = in_order.filter(is_better) {
                in_order.totals.last_frame = report.totals.last_frame;
                if disorder.most_ns > JITTER {
                    in_order.totals.disorder = disorder;
                }
                report = in_order;
                if !quiet {
                    say_order(disorder);
                }
            }
        }
        if let Some(owners) = owners {
            owners.name(&mut report);
        }
        Ok((report, trace))
    }

    fn follow_in_order(
        mut self,
        source: &Source,
        args: &SourceArgs,
        quiet: bool,
    ) -> Result<(Option<Report>, Trace)> {
        // What is to be written was written the first time.
        let args = SourceArgs { write: None, ..args.clone() };
        let mut sorted = Sorted::new(|captured: &Captured<'_>, ports: &Ports| {
            self.any(captured, ports);
        });
        let trace = drive(source, &args, quiet, &mut sorted)?;
        let numbers = sorted.finish(&source::ports(&args)?);
        let mut report = self.finish();
        report.renumber(|new| numbers.old(new));
        Ok((Some(report).filter(|_| !numbers.is_incomplete), trace))
    }

    fn follow_as_it_stands(
        mut self,
        source: &Source,
        args: &SourceArgs,
        quiet: bool,
    ) -> Result<(Report, Trace)> {
        let (watch, trace) = match source {
            Source::Files(inputs) if threads(args, inputs) > 1 => {
                parallel::follow(self, inputs, args, quiet, threads(args, inputs))?
            }
            _ => {
                let trace = drive(source, args, quiet, &mut self)?;
                (self, trace)
            }
        };
        Ok((watch.finish(), trace))
    }

    fn finish(self) -> Report {
        let mut report = self.tracker.finish();
        report.wire = self.wire.finish();
        if let Some(owners) = self.owners {
            owners.name(&mut report);
        }
        report
    }
}

impl Watch {
    /// Takes any frame; returns whether `-w` writes it.
    #[inline(never)]
    fn any(&mut self, captured: &Captured<'_>, ports: &Ports) -> bool {
        self.wire.record(captured.time_ns, captured.wire_len);
        let frame = parse(captured, ports);
        let is_roce = self.tracker.observe(&frame, captured.number, captured.time_ns);
        is_roce || is_flow_control(&frame)
    }

    /// Takes any frame, its ICRC looked at before.
    fn other(&mut self, captured: &Captured<'_>, frame: &Frame<'_>, icrc: Option<IcrcState>) {
        let Captured { number, time_ns, wire_len, .. } = *captured;
        self.wire.record(time_ns, wire_len);
        self.tracker.observe_checked(frame, number, time_ns, icrc);
    }

    /// Takes packets that were looked at.
    fn follow_all(&mut self, sightings: &[Sighting]) {
        for sighting in sightings {
            self.wire.record(sighting.time_ns(), sighting.wire_len());
        }
        self.tracker.follow_all(sightings);
    }
}

impl Sink for Watch {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would put the frame into memory")]
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took> {
        let Captured { number, time_ns, data, .. } = *captured;
        let bytes = (link(captured), data, wire_len(captured));
        let write = if self.tracker.observe_plain(bytes, ports, number, time_ns) {
            self.wire.record(time_ns, captured.wire_len);
            true
        } else {
            self.any(&{ *captured }, ports)
        };
        Ok(Took { write, count: true })
    }

    fn start(&mut self) {
        if let Some(owners) = &mut self.owners {
            owners.look();
        }
    }

    fn tick(&mut self, _: &mut dyn FnMut() -> Option<Stats>) -> Result<()> {
        if let Some(owners) = &mut self.owners {
            owners.look_again();
        }
        Ok(())
    }
}

/// Keeps what is asked for, in the order that is asked for.
fn arrange(connections: &mut Vec<Connection>, args: &ConnectionsArgs) {
    if let Some(text) = &args.only {
        connections.retain(|connection| table::haystack(connection).contains(text.as_str()));
    }
    let sum = |connection: &Connection,
               of: fn(&roce_analyze::connections::DirectionReport) -> u64| {
        connection.directions().into_iter().map(of).fold(0, u64::saturating_add)
    };
    let key = |connection: &Connection| match args.sort {
        Sort::First => 0,
        Sort::Packets => connection.packets(),
        Sort::Bytes => sum(connection, |way| way.bytes),
        Sort::Retransmitted => sum(connection, |way| way.retransmitted_packets),
        Sort::Missing => sum(connection, |way| way.missing_psns),
        Sort::Naks => sum(connection, table::naks),
        Sort::Ce => sum(connection, |way| way.ecn_ce),
        Sort::Completion => sum(connection, |way| {
            way.completion_ns.as_ref().and_then(|times| times.p99).unwrap_or(0)
        }),
    };
    connections.sort_by_key(|connection| std::cmp::Reverse(key(connection)));
}
