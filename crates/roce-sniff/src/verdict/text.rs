//! The verdict for a person: the answer first, then who, then the counts, then what to know.

use std::collections::HashSet;
use std::fmt::Display;
use std::io::{self, Write};

use anstyle::Style;
use anyhow::Result;
use roce_analyze::verdict::{Answer, CARRIERS, Direction, Pair, Verdict};
use roce_wire::mad::cm::CmAttribute;
use roce_wire::{Addr, Carrier, Reject, Tunnels, Version};

use super::Report;
use crate::text::layout::Columns;
use crate::text::number::{Bytes, Grouped, plural};
use crate::text::style::{ANSWER, BAD, DIM, GOOD, WARN};
use crate::text::wrap::wrapped;

/// How many pairs are listed; the machine-readable form has all.
const LISTED: usize = 16;

pub(super) fn write(out: &mut impl Write, report: &Report<'_>, width: usize) -> Result<()> {
    let verdict = report.verdict;
    paragraph(out, ANSWER, "", &headline(report), width)?;
    pairs(out, verdict, width)?;
    counts(out, report, width)?;
    host(out, report)?;
    notes(out, report, width)?;
    Ok(())
}

/// The answer in one sentence.
pub(super) fn headline(report: &Report<'_>) -> String {
    let verdict = report.verdict;
    let infiniband = verdict.carrier(Carrier::InfiniBand).packets;
    let what = match verdict.answer() {
        Answer::None if infiniband > 0 => {
            format!("No RoCE but native InfiniBand: {}", packets(infiniband))
        }
        Answer::None => return nothing(report),
        Answer::V1 => format!("RoCE v1: {}", packets(verdict.roce_packets())),
        Answer::V2 => {
            format!("RoCE v2 over {}: {}", families(verdict), packets(verdict.roce_packets()))
        }
        Answer::Mixed => format!(
            "Mixed: RoCE v1, {}, and v2 over {}, {},",
            packets(verdict.version(Version::V1).packets),
            families(verdict),
            packets(verdict.version(Version::V2).packets)
        ),
    };
    format!("{what} between {}, {}.", hosts(verdict), agreement(verdict))
}

fn nothing(report: &Report<'_>) -> String {
    let frames = report.verdict.all.packets;
    let place = if report.is_live { "on" } else { "in" };
    let rejected = match report.verdict.rejected_total() {
        0 => String::new(),
        count => format!(", {} of them with its port or Ethertype", Grouped(count)),
    };
    // Live, the kernel hands over only what may be RoCE; the interface's own count tells of the rest.
    let frames = report.trace.passed.map_or(frames, |passed| passed.max(frames));
    format!("No RoCE {place} {}: {}{rejected}.", report.name, plural(frames, "frame", "frames"))
}

fn packets(count: u64) -> String {
    plural(count, "packet", "packets")
}

fn families(verdict: &Verdict) -> &'static str {
    let has = |carrier| verdict.carrier(carrier).packets > 0;
    match (has(Carrier::V2Ipv4), has(Carrier::V2Ipv6)) {
        (true, true) => "IPv4 and IPv6",
        (false, true) => "IPv6",
        _ => "IPv4",
    }
}

fn hosts(verdict: &Verdict) -> String {
    let pairs = &verdict.pairs;
    let ends: HashSet<Addr> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
    let groups = ends.iter().filter(|end| end.is_multicast()).count();
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let hosts = plural(count(ends.len().saturating_sub(groups)), "host", "hosts");
    let more = if verdict.pairs.unlisted() > 0 { "more than " } else { "" };
    match groups {
        0 => format!("{more}{hosts}"),
        _ => format!("{more}{hosts} and {}", plural(count(groups), "group", "groups")),
    }
}

fn agreement(verdict: &Verdict) -> String {
    // Nobody answers for a group.
    let is_between_hosts = |pair: &&Pair| !pair.a.is_multicast() && !pair.b.is_multicast();
    let pairs: Vec<&Pair> = verdict.pairs.iter().filter(is_between_hosts).collect();
    let disagree = pairs.iter().filter(|pair| pair.disagrees()).count();
    // What a host sends to itself goes both ways at once.
    let is_both =
        |pair: &&&Pair| pair.a == pair.b || pair.a_to_b.total() > 0 && pair.b_to_a.total() > 0;
    let both = pairs.iter().filter(is_both).count();
    match (pairs.len(), both, disagree) {
        (0, ..) if verdict.pairs.is_empty() => "addresses not captured".to_owned(),
        (0, ..) => "multicast only".to_owned(),
        (1, ..) if pairs.iter().any(|pair| pair.a == pair.b) => "to itself".to_owned(),
        (1, 1, 0) => "both directions agree".to_owned(),
        (1, 1, _) => "the two directions disagree".to_owned(),
        (1, ..) => "one direction only".to_owned(),
        (_, 0, _) => "each in one direction only".to_owned(),
        (_, _, 0) if verdict.pairs.unlisted() > 0 => "and all pairs listed agree".to_owned(),
        (all, both, 0) if both == all => "all pairs agree in both directions".to_owned(),
        (all, both, 0) => {
            format!("{both} of {all} pairs in both directions, and they agree")
        }
        (all, _, 1) => format!("1 of {all} pairs disagrees"),
        (all, _, disagree) => format!("{disagree} of {all} pairs disagree"),
    }
}

/// One line of the table.
struct Row {
    who: String,
    kind: &'static str,
    packets: String,
    first: String,
}

fn pairs(out: &mut impl Write, verdict: &Verdict, width: usize) -> io::Result<()> {
    let mut pairs: Vec<&Pair> = verdict.pairs.iter().collect();
    if pairs.is_empty() {
        return Ok(());
    }
    pairs.sort_by_key(|pair| {
        let total = pair.a_to_b.total().saturating_add(pair.b_to_a.total());
        (!pair.disagrees(), std::cmp::Reverse(total), pair.first_frame())
    });
    let listed = pairs.get(..LISTED).unwrap_or(&pairs);
    let mut rows = Vec::new();
    for pair in listed {
        direction(&mut rows, pair.a, pair.b, &pair.a_to_b);
        direction(&mut rows, pair.b, pair.a, &pair.b_to_a);
    }
    writeln!(out)?;
    table(out, &rows, width)?;
    match pairs.len().saturating_sub(listed.len()) {
        0 => Ok(()),
        more => writeln!(out, "  {DIM}and {more} more pairs; --format json lists all{DIM:#}"),
    }
}

fn direction(rows: &mut Vec<Row>, src: Addr, dst: Addr, way: &Direction) {
    let names = CARRIERS.map(kind_name);
    for ((kind, packets), first) in names.into_iter().zip(way.packets).zip(way.first_frame) {
        if packets > 0 {
            rows.push(Row {
                who: format!("{src} → {dst}"),
                kind,
                packets: Grouped(packets).to_string(),
                first: Grouped(first).to_string(),
            });
        }
    }
}

const fn kind_name(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::V1 => "v1",
        Carrier::V2Ipv4 => "v2/IPv4",
        Carrier::V2Ipv6 => "v2/IPv6",
        Carrier::InfiniBand => "InfiniBand",
    }
}

fn table(out: &mut impl Write, rows: &[Row], width: usize) -> io::Result<()> {
    let widest = |cell: fn(&Row) -> &str| {
        rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0)
    };
    let who = widest(|row| &row.who);
    let (kind, packets) = (widest(|row| row.kind), widest(|row| &row.packets));
    let first = widest(|row| &row.first);
    // Two columns of margin, two between the cells, and the words around the numbers.
    let needed = [who, kind, packets, first, 2, 2, 2, " packets  first: frame ".len()];
    let fits = needed.into_iter().fold(0, usize::saturating_add) <= width;
    for row in rows {
        let (lead, pad) = if fits { ("  ", who) } else { ("\n      ", 0) };
        if fits {
            write!(out, "  {:<pad$}", row.who)?;
        } else {
            write!(out, "  {}", row.who)?;
        }
        writeln!(
            out,
            "{lead}{:<kind$}  {:>packets$} {:<7}  {DIM}first: frame {:>first$}{DIM:#}",
            row.kind,
            row.packets,
            if row.packets == "1" { "packet" } else { "packets" },
            row.first
        )?;
    }
    Ok(())
}

fn counts(out: &mut impl Write, report: &Report<'_>, width: usize) -> io::Result<()> {
    let verdict = report.verdict;
    writeln!(out)?;
    if verdict.icrc_ok | verdict.icrc_bad | verdict.icrc_unchecked != 0 {
        icrc(out, verdict)?;
        let [not_ect, ect1, ect0, ce] = verdict.ecn;
        let ecn = [("Not-ECT", not_ect), ("ECT(0)", ect0), ("ECT(1)", ect1), ("CE", ce)];
        line(out, "ECN", &list(ecn), width)?;
        line(out, "DSCP", &indexed(&verdict.dscp), width)?;
        line(out, "VLAN", &indexed(&verdict.vlans), width)?;
        line(out, "PCP", &indexed(&verdict.pcp), width)?;
    }
    let congestion = [
        ("CNP", verdict.cnp),
        ("PFC", verdict.pfc),
        ("PAUSE", verdict.pause),
        ("FECN", verdict.fecn),
        ("BECN", verdict.becn),
    ];
    line(out, "Congestion", &list(congestion), width)?;
    line(
        out,
        "CM",
        &list(CmAttribute::ALL.map(CmAttribute::name).into_iter().zip(verdict.cm)),
        width,
    )?;
    let tunnels = Tunnels::NAMES.iter().map(|(_, name)| *name).zip(verdict.tunnels);
    line(out, "Tunnels", &list(tunnels), width)?;
    line(out, "Not RoCE", &list(Reject::ALL.into_iter().zip(verdict.rejected)), width)?;
    let shares = verdict.traffic.shares().into_iter().map(|(kind, count)| (kind.name(), count));
    line(out, "Other", &list(shares), width)?;
    line(out, "Frames", &frames(report), width)
}

/// What the adapter counted meanwhile, beside what the wire showed.
fn host(out: &mut impl Write, report: &Report<'_>) -> io::Result<()> {
    let Some(host) = report.host.as_ref().filter(|host| !host.events.is_empty()) else {
        return Ok(());
    };
    let port = host.port.as_ref().map_or_else(String::new, ToString::to_string);
    let cell = |count: Option<u64>| {
        format!("{:>9}", count.map_or_else(|| "-".to_owned(), |n| Grouped(n).to_string()))
    };
    let mut table = Columns::new(2);
    let title = format!("{port} meanwhile");
    table.styled(DIM, [title, format!("{:>9}", "wire"), format!("{:>9}", "NIC")]);
    for pair in &host.events {
        let agree = pair.wire.zip(pair.nic).is_none_or(|(wire, nic)| wire == nic);
        let style = if agree { Style::new() } else { WARN };
        table.styled(style, [pair.event.to_string(), cell(pair.wire), cell(pair.nic)]);
    }
    writeln!(out)?;
    table.write(out)
}

fn icrc(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    let states = [
        (GOOD, verdict.icrc_ok, "right"),
        (BAD, verdict.icrc_bad, "wrong"),
        (DIM, verdict.icrc_unchecked, "not checked"),
    ];
    write!(out, "  {:<11}", "ICRC")?;
    let mut between = "";
    for (style, count, what) in states {
        if count > 0 {
            write!(out, "{between}{style}{} {what}{style:#}", Grouped(count))?;
            between = ", ";
        }
    }
    writeln!(out)
}

/// How much there was, over how long, and what was lost of it.
fn frames(report: &Report<'_>) -> Vec<String> {
    let verdict = report.verdict;
    let mut parts =
        vec![Grouped(verdict.all.packets).to_string(), Bytes(verdict.all.bytes).to_string()];
    if let (Some(first), Some(last)) = (verdict.first_ns, verdict.last_ns) {
        parts.push(seconds(last.saturating_sub(first)));
    }
    if let Some(passed) = report.trace.passed {
        parts.push(format!("of {} on the interface", Grouped(passed)));
    }
    if let Some(stats) = report.trace.stats {
        let dropped = stats.dropped.saturating_add(stats.if_dropped);
        parts.push(format!("{} dropped by the kernel", Grouped(dropped)));
    }
    parts
}

pub(super) fn seconds(ns: u64) -> String {
    let millis = ns / 1_000_000;
    match millis {
        0 => format!("{}.{:03} ms", ns / 1_000_000, ns / 1000 % 1000),
        _ => format!("{}.{:03} s", Grouped(millis / 1000), millis % 1000),
    }
}

/// `name count` for each that is not zero.
fn list(items: impl IntoIterator<Item = (impl Display, u64)>) -> Vec<String> {
    let items = items.into_iter().filter(|(_, count)| *count > 0);
    items.map(|(name, count)| format!("{name} {}", Grouped(count))).collect()
}

/// `index: count` for each that is not zero, most frequent first, when any but index 0 is there.
fn indexed(counts: &[u64]) -> Vec<String> {
    let mut seen: Vec<(usize, u64)> =
        counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
    seen.sort_by_key(|(index, count)| (std::cmp::Reverse(*count), *index));
    let more = seen.len().saturating_sub(12);
    let mut items: Vec<String> = seen
        .iter()
        .take(12)
        .map(|(index, count)| format!("{index}: {}", Grouped(*count)))
        .collect();
    if more > 0 {
        items.push(format!("and {more} more"));
    }
    items
}

/// A labelled line, broken between items where it gets too long; nothing for no items.
fn line(out: &mut impl Write, label: &str, items: &[String], width: usize) -> io::Result<()> {
    const INDENT: usize = 13;
    if items.is_empty() {
        return Ok(());
    }
    write!(out, "  {label:<11}")?;
    let mut column = INDENT;
    for (at, item) in items.iter().enumerate() {
        let len = item.chars().count();
        if at > 0 {
            write!(out, ",")?;
            let end = column.saturating_add(len).saturating_add(3);
            if end > width {
                write!(out, "\n{:INDENT$}", "")?;
                column = INDENT;
            } else {
                write!(out, " ")?;
            }
        }
        write!(out, "{item}")?;
        column = column.saturating_add(len).saturating_add(2);
    }
    writeln!(out)
}

fn notes(out: &mut impl Write, report: &Report<'_>, width: usize) -> io::Result<()> {
    let mut first = true;
    let mut say = |out: &mut dyn Write, style: Style, text: &str| {
        if std::mem::take(&mut first) {
            writeln!(out)?;
        }
        paragraph(out, style, " - ", text, width)
    };
    if report.trace.is_interrupted {
        say(out, WARN, "Stopped before the end: the rest was not read.")?;
    }
    if let Some(damaged) = &report.trace.damaged {
        say(out, WARN, &format!("The file is damaged: {damaged}."))?;
    }
    for (_, text) in report.notes() {
        say(out, Style::new(), &text)?;
    }
    Ok(())
}

/// Text broken between words, with `mark` in front of the first line.
fn paragraph(
    out: &mut dyn Write,
    style: Style,
    mark: &str,
    text: &str,
    width: usize,
) -> io::Result<()> {
    write!(out, "{style}{mark}")?;
    wrapped(out, text, mark.len(), mark.len(), width)?;
    write!(out, "{style:#}")
}
