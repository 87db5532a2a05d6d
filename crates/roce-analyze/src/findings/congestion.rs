//! Congestion: marks, notifications, and pauses.

use super::collect::{Collector, ways};
use super::policy::Policy;
use crate::connections::{DirectionReport, Event, Report};

pub(super) fn judge(report: &Report, policy: &Policy, found: &mut Collector) {
    let is_congested = is_congested(report);
    for connection in &report.connections {
        let [(there, a_to_b), (back, b_to_a)] = ways(connection);
        for (way, data, answers) in [(there, a_to_b, b_to_a), (back, b_to_a, a_to_b)] {
            notifications(&way, data, answers, found);
            marks(&way, data, is_congested, found);
        }
    }
    flow_control(report, policy, found);
}

/// Whether anything in the capture proves congestion. Loss alone does not: it has other causes.
fn is_congested(report: &Report) -> bool {
    let totals = &report.totals;
    let [_, _, _, ce] = totals.data_ecn;
    let paused = totals.pfc_priorities.iter().any(|priority| priority.pauses > 0);
    let notified =
        report.connections.iter().any(|c| c.directions().into_iter().any(|d| d.cnps > 0));
    ce > 0 || paused || notified
}

fn ce_of(direction: &DirectionReport) -> u64 {
    let [_, _, _, ce] = direction.ecn.data;
    ce
}

fn notifications(
    way: &str,
    data: &DirectionReport,
    answers: &DirectionReport,
    found: &mut Collector,
) {
    let (ce, cnps) = (ce_of(data), answers.cnps);
    if ce > 0 && cnps == 0 && answers.packets > 0 {
        if let Some(finding) = found.add("ce-without-cnp", way, ce, data.frames(Event::Ce)) {
            finding.sum("connections", 1);
        }
    } else if cnps > 0
        && ce == 0
        && data.ecn.data != [0; 4]
        && let Some(finding) = found.add("cnp-without-ce", way, cnps, answers.frames(Event::Cnp))
    {
        finding.sum("data_packets", data.ecn.data.iter().sum());
    }
}

/// Packets with data from which on all of them being marked means something.
const ALL_MARKED: u64 = 20;

fn marks(way: &str, data: &DirectionReport, is_congested: bool, found: &mut Collector) {
    let [not_ect, .., ce] = data.ecn.data;
    let all: u64 = data.ecn.data.iter().fold(0, |sum, count| sum.saturating_add(*count));
    if all >= ALL_MARKED
        && ce.saturating_mul(100) >= all.saturating_mul(95)
        && let Some(finding) = found.add("ce-at-source", way, ce, data.frames(Event::Ce))
    {
        finding.sum("data_packets", all);
    }
    if is_congested
        && not_ect > 0
        && let Some(finding) = found.add("ecn-not-enabled", way, not_ect, [])
    {
        finding.sum("data_packets", all);
    }
}

fn flow_control(report: &Report, policy: &Policy, found: &mut Collector) {
    let totals = &report.totals;
    if totals.pause > 0 {
        found.add("pause-in-use", "capture", totals.pause, totals.pause_frames.iter().copied());
    }
    for (number, priority) in totals.pfc_priorities.iter().enumerate() {
        let is_long = priority.longest_ns >= policy.pfc_storm_ns;
        if !is_long && priority.peak_per_second < policy.pfc_storm_per_second {
            continue;
        }
        let frames = priority.frames.iter().copied();
        let subject = format!("priority {number}");
        if let Some(finding) = found.add("pfc-storm", subject, priority.pauses, frames) {
            finding.sum("peak_per_second", priority.peak_per_second);
            finding.sum("quanta", priority.quanta);
            finding.sum("longest_ns", priority.longest_ns);
            if let Some(nanos) = policy.link_speed.and_then(|speed| paused(priority.quanta, speed))
            {
                finding.sum("asked_ns", nanos);
            }
        }
    }
}

/// How long so many quanta of 512 bit times are, in nanoseconds.
fn paused(quanta: u64, bits_per_second: u64) -> Option<u64> {
    let bits = u128::from(quanta).checked_mul(512)?;
    let nanos = bits.checked_mul(1_000_000_000)?.checked_div(u128::from(bits_per_second))?;
    u64::try_from(nanos).ok()
}
