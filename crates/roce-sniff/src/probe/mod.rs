//! `roce-sniff probe`: asks a host whether its RDMA connection manager answers, and in which RoCE.

mod compatible;
pub(crate) mod exchange;
mod icmp;
mod json;
pub(crate) mod offer;
pub(crate) mod target;
mod text;
mod vendor;
pub(crate) mod wire;

use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use roce_host::Host;
use roce_wire::{MacAddr, Version};

use crate::Outcome;
use crate::cli::{Format, OutputArgs, parse_duration};
use crate::printer;
use crate::stop::Stop;
use crate::text::layout::csv;
use compatible::Client;
use exchange::{Answer, Exchange, Manner};
use offer::{Ends, Offer};
use target::{HostArg, Way};
use wire::{Carried, Wire};

/// How long at most to wait for a server that asked for time.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
#[command(after_help = "\
Needs no RDMA device on this host, only root or CAP_NET_RAW. A REJ shows as well as a REP that the
host speaks RoCE; a connection that is accepted is refused or ended, so nothing is left open there.
A server that serves one connection and ends, such as `rping -s`, may take the probe for it.

Examples:
  roce-sniff probe 10.0.0.2                  does 10.0.0.2 speak RoCE v2?
  roce-sniff probe --v1 10.0.0.2             and RoCE v1? It has to be a neighbour
  roce-sniff probe 10.0.0.2 --port 20049     is there an NFS server over RDMA?
  roce-sniff probe fe80::1 -i eth2 --expect v2

Exit codes:
  0  answered; with --expect, as expected
  1  not answered; with --expect, not as expected
  2  wrong usage, no route, missing permission")]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) whom: WhomArgs,
    /// Ask over RoCE v1, too; it reaches neighbours only
    #[arg(long)]
    pub(crate) v1: bool,
    /// Bring an accepted connection about and end it, instead of refusing it
    #[arg(long)]
    pub(crate) complete: bool,
    /// Exit with 1 unless the host answers like this: over v1 only, over v2 only, over both, not
    /// at all, by accepting (rep) or by refusing (rej)
    #[arg(long, value_name = "ANSWER")]
    pub(crate) expect: Option<Expect>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Whom to ask and how patiently.
#[derive(Args, Debug)]
pub(crate) struct WhomArgs {
    /// An IPv4 or IPv6 address; names are not resolved
    #[arg(value_name = "HOST")]
    pub(crate) host: HostArg,
    /// The RDMA_CM port to ask for
    #[arg(long, value_name = "N", default_value_t = 7471)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The Ethernet address to send to, instead of what the kernel knows
    #[arg(long, value_name = "MAC", value_parser = parse_mac)]
    pub(crate) mac: Option<MacAddr>,
    /// The interface to send by, instead of the routing table's choice
    #[arg(short = 'i', long, value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// How often to ask before giving up
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) tries: u32,
    /// How long to wait for an answer each time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Expect {
    V1,
    V2,
    Both,
    None,
    Rep,
    Rej,
}

/// What came of asking over one version.
struct Asked {
    version: Version,
    offer: Offer,
    outcome: exchange::Outcome,
    carried: Option<Carried>,
}

/// All there is to report.
struct Report {
    way: Way,
    port: u16,
    complete: bool,
    /// Where the frames went; `None` when nobody answered for the next hop, so nothing was asked.
    dst_mac: Option<MacAddr>,
    asked: Vec<Asked>,
    client: Option<Client>,
}

pub(crate) fn run(args: &ProbeArgs) -> Result<Outcome> {
    let stop = Stop::listen().context("cannot listen to signals")?;
    let report = ask(args, &stop)?;
    if !args.output.quiet {
        let mut out = printer::open(args.output.color);
        match args.output.format {
            Format::Text => text::write(&mut out, &report, printer::width())?,
            Format::Json => json::write(&mut out, &report)?,
            Format::Csv => write_csv(&mut out, &report)?,
        }
        out.flush()?;
    }
    let good = match args.expect {
        // Silence that was cut short proves nothing.
        Some(Expect::None) if stop.is_wanted() => false,
        Some(expect) => report.agrees(expect),
        None => report.answers(Version::V1) || report.answers(Version::V2),
    };
    Ok(if good { Outcome::Done } else { Outcome::Disagrees })
}

fn ask(args: &ProbeArgs, stop: &Stop) -> Result<Report> {
    let whom = &args.whom;
    let way = Way::to(&whom.host, whom.interface.as_deref())?;
    let asks_v1 = args.v1 || matches!(args.expect, Some(Expect::V1 | Expect::Both));
    if let (true, Some(gateway)) = (asks_v1, way.gateway) {
        bail!("{} is behind the router {gateway}, which RoCE v1 does not cross", way.ip);
    }
    let mut wire = Wire::open(&way.interface, way.ip)?;
    let mut report = Report {
        dst_mac: dst_mac(whom, &way)?,
        client: Client::of(&Host::local(), &way.interface),
        port: whom.port,
        complete: args.complete,
        asked: Vec::new(),
        way,
    };
    let Some(dst_mac) = report.dst_mac else { return Ok(report) };
    let _hush = report.way.hush();
    let ends = ends(whom, &report.way, dst_mac);
    let manner = manner(whom, args.complete);
    for version in [Version::V2, Version::V1] {
        if (version == Version::V1 && !asks_v1) || stop.is_wanted() {
            continue;
        }
        let offer = Offer::new(&ends);
        let mut exchange = Exchange::new(manner, offer.req, offer.transaction);
        let carried = wire.run(version, &ends, offer.udp_src_port, &mut exchange, stop)?;
        report.asked.push(Asked { version, offer, outcome: exchange.outcome(), carried });
    }
    Ok(report)
}

/// The Ethernet address to send to: as given, or as the kernel finds it.
pub(crate) fn dst_mac(whom: &WhomArgs, way: &Way) -> Result<Option<MacAddr>> {
    match whom.mac {
        Some(mac) => Ok(Some(mac)),
        None => way.resolve(),
    }
}

pub(crate) const fn ends(whom: &WhomArgs, way: &Way, dst_mac: MacAddr) -> Ends {
    Ends { src: way.src, dst: way.ip, src_mac: way.src_mac, dst_mac, port: whom.port, mtu: way.mtu }
}

pub(crate) const fn manner(whom: &WhomArgs, complete: bool) -> Manner {
    Manner { tries: whom.tries, timeout: whom.timeout, patience: PATIENCE, complete }
}

impl Report {
    fn answers(&self, version: Version) -> bool {
        self.asked.iter().any(|asked| asked.version == version && asked.outcome.is_answered())
    }

    fn agrees(&self, expect: Expect) -> bool {
        let is = |wanted: fn(&Answer) -> bool| {
            self.asked.iter().any(|asked| wanted(&asked.outcome.answer))
        };
        let (v1, v2) = (self.answers(Version::V1), self.answers(Version::V2));
        match expect {
            Expect::V1 => v1 && !v2,
            Expect::V2 => v2 && !v1,
            Expect::Both => v1 && v2,
            Expect::None => !v1 && !v2,
            Expect::Rep => is(|answer| matches!(answer, Answer::Rep(_))),
            Expect::Rej => is(|answer| matches!(answer, Answer::Rej(_))),
        }
    }
}

impl Asked {
    /// The name of the version in machine-readable output.
    const fn key(&self, is_ipv4: bool) -> &'static str {
        match (self.version, is_ipv4) {
            (Version::V1, _) => "v1",
            (Version::V2, true) => "v2_ipv4",
            (Version::V2, false) => "v2_ipv6",
        }
    }

    const fn answer_key(&self) -> &'static str {
        match self.outcome.answer {
            Answer::Rep(_) => "rep",
            Answer::Rej(_) => "rej",
            Answer::Mra => "mra",
            Answer::Unreachable(_) => "icmp_unreachable",
            Answer::Silence => "silence",
        }
    }
}

fn write_csv(out: &mut impl Write, report: &Report) -> Result<()> {
    writeln!(out, "host,version,answer,reason,requests,after_ns")?;
    for asked in &report.asked {
        let reason = match &asked.outcome.answer {
            Answer::Rej(rej) => rej.reason.to_string(),
            Answer::Unreachable(error) => error.to_string(),
            _ => String::new(),
        };
        let after =
            asked.outcome.after.map_or_else(String::new, |time| time.as_nanos().to_string());
        let (host, requests) = (report.way.ip, asked.outcome.requests);
        let (version, answer) = (asked.key(host.is_ipv4()), asked.answer_key());
        writeln!(out, "{host},{version},{answer},{},{requests},{after}", csv(&reason))?;
    }
    Ok(())
}

fn parse_mac(text: &str) -> Result<MacAddr, String> {
    let wrong = || "expected an Ethernet address such as 02:00:00:77:00:02".to_owned();
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let is_byte =
            |part: &&str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let part = parts.next().filter(is_byte).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(MacAddr(mac)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_addresses() {
        assert_eq!(parse_mac("02:00:00:77:00:02"), Ok(MacAddr([2, 0, 0, 0x77, 0, 2])));
        assert_eq!(parse_mac("B8-CE-F6-00-00-01"), Ok(MacAddr([0xb8, 0xce, 0xf6, 0, 0, 1])));
        for bad in
            ["", "1:2:3:4:5:6", "02:00:00:77:00", "02:00:00:77:00:02:03", "+2:00:00:77:00:02"]
        {
            assert!(parse_mac(bad).is_err(), "{bad}");
        }
    }
}
