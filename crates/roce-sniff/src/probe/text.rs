//! The answers of a host for a person: which RoCE it speaks first, then how it said so.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;
use roce_host::RoceMode;
use roce_wire::mad::cm::{RejReason, Rep};
use roce_wire::{IcrcState, Version};

use super::compatible::{rows, server};
use super::exchange::{Answer, Outcome};
use super::{Asked, Report, vendor};
use crate::text::number::plural;
use crate::text::style::{ANSWER, BAD, DIM, GOOD, WARN};
use crate::text::wrap::paragraph;

pub(super) fn write(out: &mut impl Write, report: &Report, width: usize) -> Result<()> {
    paragraph(out, ANSWER, "", &headline(report), width)?;
    writeln!(out)?;
    for asked in &report.asked {
        self::asked(out, report, asked, width)?;
    }
    from(out, report, width)?;
    compatibility(out, report, width)?;
    if let Some(advice) = advice(report) {
        writeln!(out)?;
        paragraph(out, WARN, " - ", &advice, width)?;
    }
    Ok(())
}

fn headline(report: &Report) -> String {
    let (ip, port) = (report.way.ip, report.port);
    if report.dst_mac.is_none() {
        let (hop, by) = (report.way.next_hop(), &report.way.interface);
        return format!("{ip} was not asked: nobody answers for {hop} on {by}.");
    }
    let spoken: Vec<&Asked> =
        report.asked.iter().filter(|asked| asked.outcome.is_answered()).collect();
    let names: Vec<&str> = spoken.iter().map(|asked| version_name(asked.version)).collect();
    let Some(first) = spoken.first() else {
        let tried: Vec<&str> =
            report.asked.iter().map(|asked| version_name(asked.version)).collect();
        let by_icmp =
            report.asked.iter().any(|asked| matches!(asked.outcome.answer, Answer::Unreachable(_)));
        let how = if by_icmp { "ICMP says that it cannot be reached" } else { "silence" };
        return format!("{ip} does not answer over RoCE {}: {how}.", tried.join(" or "));
    };
    let what = match &first.outcome.answer {
        Answer::Rep(_) => format!("a server on port {port} accepts"),
        Answer::Rej(rej) if rej.reason == RejReason::INVALID_SERVICE_ID => {
            format!("nothing listens on port {port}")
        }
        Answer::Rej(rej) => format!("port {port} refuses, {}", rej.reason),
        _ => format!("a server on port {port} takes its time"),
    };
    format!("{ip} speaks RoCE {}; {what}.", names.join(" and "))
}

const fn version_name(version: Version) -> &'static str {
    match version {
        Version::V1 => "v1",
        Version::V2 => "v2",
    }
}

/// One labelled line, broken where it gets too long.
fn line(out: &mut impl Write, label: &str, text: &str, width: usize) -> io::Result<()> {
    paragraph(out, anstyle::Style::new(), &format!("  {label:<10} "), text, width)
}

fn asked(out: &mut impl Write, report: &Report, asked: &Asked, width: usize) -> io::Result<()> {
    let label = match (asked.version, report.way.ip.is_ipv4()) {
        (Version::V1, _) => "v1",
        (Version::V2, true) => "v2/IPv4",
        (Version::V2, false) => "v2/IPv6",
    };
    let style = if asked.outcome.is_answered() { GOOD } else { BAD };
    let text = answer(&asked.outcome);
    paragraph(out, style, &format!("  {label:<10} "), &text, width)?;
    if let Answer::Rep(rep) = &asked.outcome.answer {
        offers(out, asked, rep, width)?;
        line(out, "then", &ending(report, &asked.outcome), width)?;
    }
    if let Some(carried) = asked.carried {
        let mut facts = vec![format!("GID {}", carried.gid)];
        facts.extend(carried.src_mac.map(|mac| format!("from MAC {mac}")));
        facts.extend(carried.hop_limit.map(|hops| format!("hop limit {hops}")));
        facts.extend(carried.traffic_class.map(|class| format!("DSCP {}", class >> 2)));
        facts.extend(carried.udp_src_port.map(|port| format!("UDP source port {port}")));
        line(out, "answer", &facts.join(", "), width)?;
        if carried.icrc == Some(IcrcState::Bad) {
            paragraph(out, BAD, "             ", "its ICRC is wrong", width)?;
        }
    }
    Ok(())
}

fn answer(outcome: &Outcome) -> String {
    let requests = plural(outcome.requests.into(), "request", "requests");
    let after = outcome.after.map_or_else(String::new, |time| format!(" after {}", millis(time)));
    let what = match &outcome.answer {
        Answer::Rep(_) => format!("REP (accepted){after}"),
        Answer::Rej(rej) => format!("REJ ({}){after}", rej.reason),
        Answer::Mra => format!("MRA (wait){after}, and no decision"),
        Answer::Unreachable(error) => format!("{error}{after}"),
        Answer::Silence => "silence".to_owned(),
    };
    let waited = match outcome.mra {
        Some((time, after)) if matches!(outcome.answer, Answer::Rep(_) | Answer::Rej(_)) => {
            format!(", after it had asked for {time} (MRA) within {}", millis(after))
        }
        Some((time, _)) => format!(", though it asked for {time}"),
        None => String::new(),
    };
    format!("{what}, {requests}{waited}")
}

/// What a server's REP says of the connection it would make.
fn offers(out: &mut impl Write, asked: &Asked, rep: &Rep, width: usize) -> io::Result<()> {
    if let Some(guid) = asked.outcome.ca_guid() {
        let maker = vendor::of(guid).map_or_else(String::new, |maker| format!(" ({maker})"));
        line(out, "adapter", &format!("CA GUID {guid}{maker}"), width)?;
    }
    let rnr = match rep.rnr_retry_count() {
        7 => "without end".to_owned(),
        count => count.to_string(),
    };
    let facts = [
        format!("QP {}", rep.local_qpn()),
        format!("first PSN {}", rep.starting_psn()),
        format!("path MTU {} as asked", asked.offer.req.path_mtu()),
        format!("RNR retries {rnr}"),
        format!("{} READs at a time", rep.responder_resources),
        (if rep.srq() { "shared receive queue" } else { "no shared receive queue" }).to_owned(),
    ];
    line(out, "offers", &facts.join(", "), width)
}

fn ending(report: &Report, outcome: &Outcome) -> String {
    match outcome.ending {
        Some(ending) => match ending.after {
            Some(time) => format!("connected (RTU), ended: DREQ, DREP after {}", millis(time)),
            None => format!(
                "connected (RTU), ended by {} without an answer",
                plural(ending.requests.into(), "DREQ", "DREQs")
            ),
        },
        None if report.complete => "connected (RTU), and ended by the server".to_owned(),
        None => "refused again (REJ), so that no connection stays".to_owned(),
    }
}

pub(crate) fn millis(time: Duration) -> String {
    let micros = time.as_micros();
    format!("{}.{:03} ms", micros / 1000, micros % 1000)
}

fn from(out: &mut impl Write, report: &Report, width: usize) -> io::Result<()> {
    let way = &report.way;
    let mut text = format!("from {} by {}", way.src, way.interface);
    if let Some(mac) = report.dst_mac {
        text.push_str(&format!(" to MAC {mac}"));
    }
    if let Some(gateway) = way.gateway {
        text.push_str(&format!(" of the router {gateway}"));
    }
    line(out, "asked", &text, width)
}

/// The documented outcome between this host's mode and that server.
fn compatibility(out: &mut impl Write, report: &Report, width: usize) -> io::Result<()> {
    let server = server(report.answers(Version::V1), report.answers(Version::V2));
    let rows = rows(report.client.as_ref(), server);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let here = match &report.client {
        None => "This host has no RDMA device there. Of RDMA_CM clients:".to_owned(),
        Some(client) => {
            let mode = client.mode.map_or_else(|| "an unknown mode".to_owned(), |m| m.to_string());
            let why = if client.is_default { " (the kernel's default)" } else { "" };
            format!("This host's {} opens connections with {mode}{why}:", client.port)
        }
    };
    paragraph(out, DIM, "", &here, width)?;
    for row in rows {
        let (style, word) = match (row.connects, row.supported) {
            (true, true) => (GOOD, "connects"),
            (true, false) => (WARN, "connects, not supported"),
            (false, _) => (BAD, "does not connect"),
        };
        let names = [row.client, row.server].map(RoceMode::short);
        let mark = format!("  {} to {}  ", names[0], names[1]);
        let text = format!("{word}: {}; {}", row.reason, row.advice);
        paragraph(out, style, &mark, &text, width)?;
    }
    let sources: &str = "Red Hat: RHEL 7 Networking Guide 13.2; RHEL 8 to 10, Configuring RoCE.";
    paragraph(out, DIM, "  ", sources, width)
}

/// What to do when nothing answered.
fn advice(report: &Report) -> Option<String> {
    if report.dst_mac.is_none() {
        return Some(
            "Is the host up, and on this network? --mac gives the Ethernet address by hand."
                .to_owned(),
        );
    }
    if report.answers(Version::V2) || report.answers(Version::V1) {
        return None;
    }
    let answers = report.asked.iter().map(|asked| &asked.outcome.answer);
    let mut unanswered =
        answers.filter(|answer| matches!(answer, Answer::Silence | Answer::Unreachable(_)));
    match unanswered.next()? {
        Answer::Unreachable(error) if error.is_port => Some(
            "The host's kernel got the datagrams, so nothing there takes RoCE v2: no soft-RoCE, \
             and no adapter with RoCE v2 on that interface. An adapter with v1 alone looks like \
             this, too: `--v1` asks it."
                .to_owned(),
        ),
        Answer::Unreachable(_) => None,
        _ => Some(silence(report)),
    }
}

fn silence(report: &Report) -> String {
    let try_v1 = if report.asked.len() == 1 { " (try --v1)" } else { "" };
    let mut text = format!(
        "Silence means: no RDMA device there, one without this version{try_v1}, its port down, or \
         a firewall that drops UDP port 4791."
    );
    if report.way.ip.is_ipv6() {
        // RFC 8200, section 8.1: such datagrams are discarded.
        text.push_str(
            " A host without RoCE says nothing over IPv6, where UDP without a checksum, as RoCE \
             sends it, is dropped; over IPv4 its kernel would answer with ICMP.",
        );
    }
    text
}
