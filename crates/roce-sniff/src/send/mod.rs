//! `roce-sniff send`: puts the frames of a capture or a scenario on an interface.

mod addressing;
mod confirm;
mod kept;
mod link;
mod origin;
mod rate;
mod report;
mod transmit;

use std::io::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use roce_capture::{FrameSender, Rate};
use roce_wire::{MacAddr, Ports};

use crate::Outcome;
use crate::cli::{OutputArgs, parse_duration};
use crate::printer;
use crate::stop::Stop;
use addressing::{Addressing, Set};
use link::Link;
use origin::Origin;
use transmit::{Limits, Transmit};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff send trace.pcap -i veth0                  the file once, with its own gaps
  roce-sniff send trace.pcap -i veth0 --rate 10kpps --loop 100
  roce-sniff send trace.pcap -i eth2 --rate 1Gbps --loop forever --duration 10s --yes
  roce-sniff send trace.pcap -i eth2 -f 'dst host 10.0.0.2' --src-mac auto --src-ip auto \\
      --dst-ip 192.168.7.2 --dst-mac auto              to another host than was captured
  roce-sniff send congestion-cnp -i veth0              a scenario that comes with roce-sniff
  roce-sniff send trace.pcap -i eth2 --dry-run         only say what would be sent

ICRC and checksums follow the addresses; an ICRC that was wrong stays wrong. Addresses inside of
connection management messages stay as they are.

Exit codes:
  0  every frame was handed to the interface, or Ctrl-C, --count or --duration ended it
  2  something could not be sent, or nothing was; the report says how much was")]
pub(crate) struct SendArgs {
    /// A capture file, `-` for standard input, a scenario file (.toml) or the name of a scenario
    #[arg(value_name = "FILE|SCENARIO")]
    source: String,
    /// The interface to send by
    #[arg(short = 'i', long, value_name = "IFACE")]
    interface: String,
    /// How fast: such as 10kpps, 1Gbps (bits of frames, without check sequence and preamble),
    /// `original` for the gaps of the source, or `max`
    #[arg(long, default_value = "original", value_parser = rate::parse)]
    rate: Rate,
    /// Stop after this many frames
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Send the source this many times; `forever` only with --count or --duration
    #[arg(long = "loop", value_name = "N", default_value = "1", value_parser = parse_passes)]
    passes: u64,
    /// Stop after this time, such as 10s, 500ms or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Send only frames that match a BPF expression, as tcpdump takes it
    #[arg(short = 'f', long, value_name = "EXPR")]
    filter: Option<String>,
    /// Set the source MAC; `auto`: that of the interface
    #[arg(long, value_name = "MAC|auto")]
    src_mac: Option<Set<MacAddr>>,
    /// Set the destination MAC; `auto`: that of the next hop to the destination IP address
    #[arg(long, value_name = "MAC|auto")]
    dst_mac: Option<Set<MacAddr>>,
    /// Set the source IP address, or GID of RoCE v1; `auto`: this host's on the way to the
    /// destination
    #[arg(long, value_name = "IP|auto")]
    src_ip: Option<Set<IpAddr>>,
    /// Set the destination IP address, or GID of RoCE v1
    #[arg(long, value_name = "IP")]
    dst_ip: Option<IpAddr>,
    /// Take another UDP destination port for RoCE v2 as well, to mend ICRCs; repeatable
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Vec<u16>,
    /// Do not ask before frames go to a network
    #[arg(short = 'y', long)]
    yes: bool,
    /// Say what would be sent and how long it would take; send nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &SendArgs) -> Result<Outcome> {
    let origin = Origin::named(&args.source)?;
    check_bounds(args, &origin)?;
    let mut link = Link::open(&args.interface)?;
    let ports = ports(&args.port)?;
    let addressing = Addressing::new(args, &link, ports);
    // A missing permission is told before any question is asked.
    let sender = if args.dry_run { None } else { Some(FrameSender::open(&args.interface)?) };
    if !args.dry_run {
        link.check_up()?;
        confirm::confirm(args, &origin, &link)?;
    }
    let stop = Stop::listen().context("cannot listen to signals")?;
    let limits = Limits { count: args.count, passes: args.passes, duration: args.duration };
    let before = link.sent();
    let transmit = Transmit::new(args.rate, sender, &stop, limits, addressing);
    let mut report = transmit.run(&origin, args.filter.clone())?;
    if !args.dry_run {
        report.counted = before.zip(link.sent()).map(|(before, now)| now.since(&before));
    }
    let nothing = report.tally.tried() == 0;
    if !(args.output.quiet || nothing && report.failure.is_some()) {
        let mut out = printer::open(args.output.color);
        report::write(&mut out, &report, args, &origin)?;
        out.flush()?;
    }
    report.settle(&origin.name(), &args.interface)
}

/// Nothing is sent without an end.
fn check_bounds(args: &SendArgs, origin: &Origin) -> Result<()> {
    let is_bounded = args.count.is_some() || args.duration.is_some();
    if args.passes == u64::MAX && !is_bounded {
        bail!("--loop forever: say with --count or --duration when to stop");
    }
    if origin.is_stream() {
        if !is_bounded {
            bail!("-: a stream may never end; say with --count or --duration when to stop");
        }
        if args.passes != 1 {
            bail!("-: standard input can be read only once, without --loop");
        }
    }
    Ok(())
}

fn parse_passes(text: &str) -> Result<u64, String> {
    match text {
        "forever" => Ok(u64::MAX),
        number => match number.parse() {
            Ok(passes) if passes > 0 => Ok(passes),
            _ => Err("expected a number from 1, or `forever`".to_owned()),
        },
    }
}

fn ports(more: &[u16]) -> Result<Ports> {
    let mut ports = Ports::default();
    if let Some(port) = more.iter().find(|port| !ports.add(**port)) {
        bail!("--port {port}: at most {} ports beside 4791", Ports::MAX.saturating_sub(1));
    }
    Ok(ports)
}
