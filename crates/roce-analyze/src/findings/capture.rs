//! The capture itself, and packets that belong to no connection.

use std::collections::HashMap;

use roce_wire::{Addr, IcrcFault, Reject};

use super::collect::{Collector, way, ways};
use super::policy::CaptureFacts;
use super::rewritten;
use crate::connections::{Connection, Event, Oddity, Report, Strange};

/// Frames of one capture may be out of order by so much, in nanoseconds: a kernel hands over what
/// several processors have received in blocks.
pub const JITTER: u64 = 10_000_000;

pub(super) fn judge(report: &Report, facts: &CaptureFacts, found: &mut Collector) {
    let totals = &report.totals;
    let hosts = (!totals.bad_icrc.is_empty()).then(|| rewritten::Hosts::of(report));
    let others = if hosts.is_some() { not_wrong(report) } else { HashMap::new() };
    for bad in &totals.bad_icrc {
        let frames = bad.frames.iter().copied();
        let subject = format!("sender {}", bad.host);
        let is_flush = bad.faults.iter().all(|(fault, _)| *fault == IcrcFault::SoftRoceFlush);
        let id = if is_flush { "icrc-flush" } else { "bad-icrc" };
        if let Some(finding) = found.add(id, subject, bad.count, frames) {
            let told = hosts.as_ref().and_then(|hosts| rewritten::told(bad, hosts));
            for (fault, count) in &bad.faults {
                finding.list(
                    "faults",
                    match (fault, &told) {
                        (IcrcFault::Unknown, Some(_)) => format!("changed on the way: {count}"),
                        _ => format!("{fault}: {count}"),
                    },
                );
            }
            // Whether it is all of them or some tells a sender's mistake from a damaged link.
            finding.sum("other_packets_of_sender", others.get(&bad.host).copied().unwrap_or(0));
            if let Some(told) = told {
                finding.say("rewritten", told.text);
                finding.sum("packets_that_fit", told.explained);
                finding.sum("packets_looked_at", u64::try_from(bad.samples.len()).unwrap_or(0));
                if let Some(otherwise) = told.otherwise {
                    finding.say("less_likely", otherwise);
                }
            }
        }
    }
    for strange in &totals.strange {
        odd(strange, found);
    }
    if totals.cut_frames > 0
        && let Some(finding) = found.add(
            "capture-truncated",
            "capture",
            totals.cut_frames,
            totals.cut_frame_numbers.iter().copied(),
        )
    {
        finding.sum("frames", totals.frames);
    }
    disorder(report, found);
    if let Some(dropped) = facts.dropped.filter(|dropped| *dropped > 0) {
        found.add("capture-drops", "capture", dropped, []);
    }
    if let Some(damage) = &facts.damaged
        && let Some(finding) = found.add("capture-damaged", "capture", 1, [])
    {
        finding.say("damage", damage.clone());
    }
}

/// Frames behind later ones by their times, and requests behind the answers to them.
fn disorder(report: &Report, found: &mut Collector) {
    let totals = &report.totals;
    let disorder = totals.disorder;
    if disorder.most_ns > JITTER
        && let Some(finding) =
            found.add("capture-disorder", "capture", disorder.frames, [disorder.first_frame])
    {
        finding.sum("frames", totals.frames);
        finding.sum("late_by_at_most_ns", disorder.most_ns);
    }
    for connection in &report.connections {
        for (way, direction) in ways(connection) {
            let behind = u64::from(direction.requests_behind_answers);
            let frames = direction.frames(Event::AheadOfRequest);
            if behind > 0
                && let Some(finding) = found.add("capture-disorder", "capture", behind, frames)
            {
                finding.number("frames", totals.frames);
                finding.sum("requests_behind_answers", behind);
                finding.list("requests", way);
            }
        }
    }
}

/// How many packets each host sent on its connections whose ICRC is not wrong.
fn not_wrong(report: &Report) -> HashMap<Addr, u64> {
    let mut sent: HashMap<Addr, u64> = HashMap::new();
    for connection in &report.connections {
        let Connection { a, b, a_to_b, b_to_a, .. } = connection;
        for (host, direction) in [(a.addr, a_to_b), (b.addr, b_to_a)] {
            let packets = sent.entry(host).or_default();
            let others = direction.packets.saturating_sub(direction.icrc_bad);
            *packets = packets.saturating_add(others);
        }
    }
    sent
}

fn odd(strange: &Strange, found: &mut Collector) {
    let id = match strange.oddity {
        Oddity::Rejected(Reject::UnknownOpcode) if strange.missed == 0 => "reserved-opcode",
        Oddity::Rejected(_) => "malformed-packet",
        Oddity::GsiQKey => "q-key-mismatch",
    };
    let subject = strange.ends.map_or_else(|| "others".to_owned(), |(src, dst)| way(src, dst));
    let frames = strange.frames.iter().copied();
    let Some(finding) = found.add(id, subject, strange.count, frames) else { return };
    for qp in &strange.dest_qps {
        finding.list("dest_qps", format!("{qp:#x}"));
    }
    match strange.oddity {
        Oddity::Rejected(reject) => {
            finding.list("reasons", format!("{reject}: {}", strange.count));
            for opcode in &strange.values {
                finding.list("opcodes", format!("{opcode:#04x}"));
            }
        }
        _ => strange.values.iter().for_each(|key| finding.list("q_keys", format!("{key:#010x}"))),
    }
    if strange.missed > 0 {
        finding.sum("missing_for_that", strange.missed);
    }
}
