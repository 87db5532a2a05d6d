//! `roce-sniff ping`: how long an RDMA_CM server takes to connect and to disconnect, again and
//! again.

mod stats;

use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use roce_wire::Version;
use serde::Serialize;

use crate::Outcome;
use crate::cli::{Format, OutputArgs, parse_duration};
use crate::printer;
use crate::probe::exchange::{self, Answer, Exchange};
use crate::probe::offer::Offer;
use crate::probe::target::Way;
use crate::probe::wire::{Wire, wait};
use crate::probe::{WhomArgs, dst_mac, ends, manner};
use crate::stop::Stop;
use crate::text::number::plural;
use crate::text::style::{ANSWER, BAD};
use stats::Spread;

#[derive(Args, Debug)]
#[command(after_help = "\
Each round connects over RoCE v2 as far as connection management goes (REQ, REP, RTU) and ends the
connection at once (DREQ, DREP). The server sees a client that comes and goes: `rping -s -P` will do.

Examples:
  roce-sniff ping 10.0.0.2                   five rounds, a second apart
  roce-sniff ping 10.0.0.2 -c 100 --interval 10ms --port 7174

Exit codes:
  0  at least one connection came about
  1  none did
  2  wrong usage, no route, missing permission")]
pub(crate) struct PingArgs {
    #[command(flatten)]
    whom: WhomArgs,
    /// How many rounds
    #[arg(short = 'c', long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// The time from the start of one round to that of the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    interval: Duration,
    #[command(flatten)]
    output: OutputArgs,
}

/// What came of one round.
#[derive(Serialize)]
struct Round {
    seq: u32,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    requests: u32,
    /// From the first REQ to REP.
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ns: Option<u64>,
    /// From the first DREQ to DREP.
    #[serde(skip_serializing_if = "Option::is_none")]
    disconnect_ns: Option<u64>,
}

#[derive(Serialize)]
struct Document<'d> {
    schema: &'static str,
    host: String,
    port: u16,
    interface: &'d str,
    source: String,
    rounds: &'d [Round],
    connected: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ns: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disconnect_ns: Option<Spread>,
}

pub(crate) fn run(args: &PingArgs) -> Result<Outcome> {
    let stop = Stop::listen().context("cannot listen to signals")?;
    let whom = &args.whom;
    let way = Way::to(&whom.host, whom.interface.as_deref())?;
    let mut wire = Wire::open(&way.interface, way.ip)?;
    let Some(dst_mac) = dst_mac(whom, &way)? else {
        bail!("nobody answers for {} on {}; is {} up?", way.next_hop(), way.interface, way.ip);
    };
    let _hush = way.hush();
    let ends = ends(whom, &way, dst_mac);
    let mut out = printer::open(args.output.color);
    let shows = !args.output.quiet && args.output.format == Format::Text;
    if shows {
        let (ip, port, by) = (way.ip, whom.port, &way.interface);
        writeln!(out, "RoCE v2 to {ip}, RDMA_CM port {port}, from {} by {by}", way.src)?;
        out.flush()?;
    }
    let mut rounds = Vec::new();
    for seq in 1..=args.count {
        let start = std::time::Instant::now();
        let offer = Offer::new(&ends);
        let mut exchange = Exchange::new(manner(whom, true), offer.req, offer.transaction);
        wire.run(Version::V2, &ends, offer.udp_src_port, &mut exchange, &stop)?;
        if stop.is_wanted() {
            break;
        }
        let round = round(seq, &exchange.outcome());
        if shows {
            write_round(&mut out, &round)?;
            out.flush()?;
        }
        rounds.push(round);
        if seq < args.count {
            wait(args.interval.saturating_sub(start.elapsed()), &stop);
        }
    }
    let document = document(&way, whom.port, &rounds);
    if !args.output.quiet {
        write(&mut out, args.output.format, &document)?;
    }
    out.flush()?;
    Ok(if document.connected > 0 { Outcome::Done } else { Outcome::Disagrees })
}

fn round(seq: u32, outcome: &exchange::Outcome) -> Round {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let (answer, reason) = match &outcome.answer {
        Answer::Rep(_) => ("rep", None),
        Answer::Rej(rej) => ("rej", Some(rej.reason.to_string())),
        Answer::Mra => ("mra", None),
        Answer::Unreachable(error) => ("icmp_unreachable", Some(error.to_string())),
        Answer::Silence => ("silence", None),
    };
    Round {
        seq,
        answer,
        reason,
        requests: outcome.requests,
        connect_ns: outcome.after.filter(|_| answer == "rep").map(nanos),
        disconnect_ns: outcome.ending.and_then(|ending| ending.after).map(nanos),
    }
}

fn document<'d>(way: &'d Way, port: u16, rounds: &'d [Round]) -> Document<'d> {
    let connects: Vec<u64> = rounds.iter().filter_map(|round| round.connect_ns).collect();
    let disconnects: Vec<u64> = rounds.iter().filter_map(|round| round.disconnect_ns).collect();
    Document {
        schema: "roce-sniff/ping/1",
        host: way.ip.to_string(),
        port,
        interface: &way.interface,
        source: way.src.to_string(),
        connected: connects.len(),
        connect_ns: Spread::of(&connects),
        disconnect_ns: Spread::of(&disconnects),
        rounds,
    }
}

fn write_round(out: &mut impl Write, round: &Round) -> Result<()> {
    let millis = |nanos: u64| stats::millis(u128::from(nanos));
    let seq = round.seq;
    match round.connect_ns {
        Some(connect) => {
            let gone = match round.disconnect_ns {
                Some(disconnect) => format!("DREQ-DREP {} ms", millis(disconnect)),
                None => "no DREP".to_owned(),
            };
            write!(out, "seq={seq} REQ-REP {} ms  {gone}", millis(connect))?;
        }
        None => {
            let reason = round.reason.as_deref().map_or_else(String::new, |r| format!(" ({r})"));
            let name = round.answer.to_uppercase().replace('_', " ");
            write!(out, "seq={seq} {BAD}{name}{reason}{BAD:#}")?;
        }
    }
    let again = round.requests.saturating_sub(1);
    if again > 0 {
        write!(out, "  {}", plural(again.into(), "REQ repeated", "REQs repeated"))?;
    }
    Ok(writeln!(out)?)
}

fn write(out: &mut impl Write, format: Format, document: &Document<'_>) -> Result<()> {
    match format {
        Format::Text => {
            let asked = u64::try_from(document.rounds.len()).unwrap_or(u64::MAX);
            let asked = plural(asked, "round", "rounds");
            writeln!(out, "\n{ANSWER}{asked}, {} connected{ANSWER:#}", document.connected)?;
            for (name, spread) in
                [("REQ-REP", &document.connect_ns), ("DREQ-DREP", &document.disconnect_ns)]
            {
                if let Some(spread) = spread {
                    writeln!(out, "{name:<9} min/avg/max/mdev = {spread} ms")?;
                }
            }
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, document).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Csv => {
            writeln!(out, "seq,answer,requests,connect_ns,disconnect_ns")?;
            for round in document.rounds {
                let cell = |time: Option<u64>| time.map_or_else(String::new, |ns| ns.to_string());
                let (connect, gone) = (cell(round.connect_ns), cell(round.disconnect_ns));
                let Round { seq, answer, requests, .. } = round;
                writeln!(out, "{seq},{answer},{requests},{connect},{gone}")?;
            }
        }
    }
    Ok(())
}
