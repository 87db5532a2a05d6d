//! Connections as a table: one line for each direction, as wide as the terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;
use roce_analyze::connections::{Connection, DirectionReport, End, Outcome, Owner, Report};
use roce_wire::Carrier;

use crate::text::escape::printable;
use crate::text::number::{Bytes, Grouped, plural};
use crate::text::style::{ANSWER, BAD, DIM, GOOD, WARN};
use crate::text::wrap::{Line, wrapped};

pub(super) fn write(out: &mut impl Write, report: &Report, width: usize) -> io::Result<()> {
    let connections = &report.connections;
    write!(out, "{ANSWER}")?;
    wrapped(out, &headline(connections), 0, 0, width)?;
    write!(out, "{ANSWER:#}")?;
    for connection in connections {
        writeln!(out)?;
        title(out, connection, width)?;
        direction(out, "→", &connection.a_to_b, width)?;
        direction(out, "←", &connection.b_to_a, width)?;
    }
    Ok(())
}

fn headline(connections: &[Connection]) -> String {
    if connections.is_empty() {
        return "No connections.".to_owned();
    }
    let mut text = plural(count(connections.iter()), "connection", "connections");
    let mut between = ": ";
    for outcome in [
        Outcome::Open,
        Outcome::Closed,
        Outcome::Rejected,
        Outcome::Unanswered,
        Outcome::RetryExceeded,
        Outcome::Stalled,
        Outcome::Unknown,
    ] {
        let of_it = count(connections.iter().filter(|one| one.outcome == outcome));
        if of_it > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{between}{} {}", Grouped(of_it), outcome_text(outcome));
            between = ", ";
        }
    }
    text.push('.');
    text
}

fn count<'c>(connections: impl Iterator<Item = &'c Connection>) -> u64 {
    u64::try_from(connections.count()).unwrap_or(u64::MAX)
}

const fn outcome_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Open => "open",
        Outcome::Closed => "closed",
        Outcome::Rejected => "rejected",
        Outcome::Unanswered => "unanswered",
        Outcome::RetryExceeded => "given up after retries",
        Outcome::Stalled => "stalled",
        _ => "unknown",
    }
}

fn title(out: &mut impl Write, connection: &Connection, width: usize) -> io::Result<()> {
    let style = match connection.outcome {
        Outcome::Open | Outcome::Closed => GOOD,
        Outcome::Rejected | Outcome::Unanswered | Outcome::RetryExceeded | Outcome::Stalled => BAD,
        _ => DIM,
    };
    let Connection { id, a, b, service, .. } = connection;
    let head = format!("{id:>3}  {} {service}", version(connection.carrier));
    let mut line = Line { out, column: 0, indent: 5, width };
    line.put("", Style::new(), &head)?;
    line.put("  ", Style::new(), &end(a))?;
    line.put(" ", Style::new(), &format!("↔ {}", end(b)))?;
    line.put("  ", style, outcome_text(connection.outcome))?;
    if let Some(pmtu) = connection.pmtu {
        line.put("  ", DIM, &format!("pmtu {pmtu}"))?;
    }
    if let Some([a, b]) = owners(connection) {
        line.put("  ", DIM, &a)?;
        line.put(" ", DIM, &format!("↔ {b}"))?;
    }
    line.end()
}

pub(super) const fn version(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::V1 => "v1",
        Carrier::V2Ipv4 | Carrier::V2Ipv6 => "v2",
        Carrier::InfiniBand => "IB",
    }
}

pub(super) fn end(end: &End) -> String {
    match end.qpn {
        Some(qpn) => format!("{} qp {qpn:#x}", end.addr),
        None => format!("{} qp ?", end.addr),
    }
}

/// Who A and B are, as far as the hosts have said.
fn owners(connection: &Connection) -> Option<[String; 2]> {
    match connection.owners.each_ref().map(Option::as_deref) {
        [None, None] => None,
        ends => Some(ends.map(|end| end.map_or_else(|| "?".to_owned(), owner))),
    }
}

fn owner(owner: &Owner) -> String {
    let mut text = printable(owner.process.as_deref().unwrap_or("?"));
    // Writing to a string cannot fail.
    if let Some(pid) = owner.pid {
        let _ = write!(text, "[{pid}]");
    }
    if let Some(port) = owner.cm_port {
        let _ = write!(text, " port {port}");
    }
    text
}

/// What one direction has, the numbers that say trouble only when they are there.
fn direction(
    out: &mut impl Write,
    arrow: &str,
    way: &DirectionReport,
    width: usize,
) -> io::Result<()> {
    if way.packets == 0 {
        return writeln!(out, "     {arrow} {DIM}nothing{DIM:#}");
    }
    let mut parts = vec![plural(way.packets, "packet", "packets"), Bytes(way.bytes).to_string()];
    let kinds = [
        ("send", way.messages.send),
        ("write", way.messages.write),
        ("read", way.messages.read),
        ("atomic", way.messages.atomic),
        ("flush", way.messages.flush),
    ];
    parts.extend(told(kinds));
    if let Some(p99) = way.completion_ns.as_ref().and_then(|times| times.p99) {
        parts.push(format!("p99 {}", micros(p99)));
    }
    line(out, arrow, &parts, width)?;
    let loss = way.loss.unwrap_or_default();
    let of =
        |is_at_least: bool, [all, least]: [&'static str; 2]| if is_at_least { least } else { all };
    let trouble: Vec<String> = told([
        ("sent again", way.retransmitted_packets),
        (
            of(loss.before_is_at_least, ["lost before capture", "lost before capture at least"]),
            loss.before_capture,
        ),
        (
            of(loss.after_is_at_least, ["lost after capture", "lost after capture at least"]),
            loss.after_capture,
        ),
        ("not captured", loss.not_captured),
        ("missing", loss.unknown),
        ("out of order", way.out_of_order_packets),
        ("NAK", naks(way)),
        ("RNR NAK", way.rnr_naks),
        ("timeouts", way.retransmissions.timeout_driven),
        ("duplicate requests", way.duplicate_requests),
        ("captured twice", way.duplicate_packets),
        ("CE", way.ecn_ce),
        ("CNP", way.cnps),
        ("ICRC wrong", way.icrc_bad),
        ("ghosts", way.ghost_packets),
    ])
    .collect();
    if trouble.is_empty() {
        return Ok(());
    }
    write!(out, "{WARN}")?;
    line(out, " ", &trouble, width)?;
    write!(out, "{WARN:#}")
}

/// `name count` of each that is not zero.
fn told<const N: usize>(counts: [(&'static str, u64); N]) -> impl Iterator<Item = String> {
    let seen = counts.into_iter().filter(|(_, count)| *count > 0);
    seen.map(|(name, count)| format!("{name} {}", Grouped(count)))
}

/// The parts with commas between them, broken where they get too long.
fn line(out: &mut impl Write, arrow: &str, parts: &[String], width: usize) -> io::Result<()> {
    write!(out, "     {arrow} ")?;
    let mut column = 7usize;
    for (at, part) in parts.iter().enumerate() {
        let len = part.chars().count();
        if at > 0 {
            write!(out, ",")?;
            if column.saturating_add(len).saturating_add(3) > width {
                write!(out, "\n       ")?;
                column = 7;
            } else {
                write!(out, " ")?;
            }
        }
        write!(out, "{part}")?;
        column = column.saturating_add(len).saturating_add(2);
    }
    writeln!(out)
}

pub(super) fn micros(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{} µs", Grouped(ns / 1000)),
        _ => format!("{} ms", Grouped(ns / 1_000_000)),
    }
}

pub(super) fn naks(way: &DirectionReport) -> u64 {
    let naks = &way.naks;
    [
        naks.psn_sequence_error,
        naks.invalid_request,
        naks.remote_access_error,
        naks.remote_operational_error,
        naks.other,
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// What `--only` looks into.
pub(super) fn haystack(connection: &Connection) -> String {
    format!(
        "{} {} {} {} {} {}",
        version(connection.carrier),
        connection.service,
        end(&connection.a),
        end(&connection.b),
        connection.outcome.key(),
        owners(connection).unwrap_or_default().join(" ↔ ")
    )
}
