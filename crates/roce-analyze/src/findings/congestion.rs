//! Congestion: marks, notifications, and pauses.

use super::collect::{Collector, ways};
use crate::connections::{DirectionReport, Event, Report};

pub(super) fn judge(report: &Report, found: &mut Collector) {
    let is_congested = is_congested(report);
    for connection in &report.connections {
        let [(there, a_to_b), (back, b_to_a)] = ways(connection);
        for (way, data, answers) in [(there, a_to_b, b_to_a), (back, b_to_a, a_to_b)] {
            notifications(&way, data, answers, found);
            marks(&way, data, is_congested, found);
        }
    }
}

/// Whether anything in the capture proves congestion. Loss alone does not: it has other causes.
fn is_congested(report: &Report) -> bool {
    let totals = &report.totals;
    let [_, _, _, ce] = totals.data_ecn;
    let notified =
        report.connections.iter().any(|c| c.directions().into_iter().any(|d| d.cnps > 0));
    ce > 0 || totals.flow_control.has_pfc() || notified
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
