//! Congestion: marks on data, notifications of them, and data that cannot be marked.
//!
//! Adapters limit how many notifications they send to one host, whatever connections are marked:
//! so marks and notifications are compared host by host, not connection by connection.

use std::collections::{BTreeMap, HashSet};

use roce_wire::{Addr, Carrier};

use super::Finding;
use super::collect::{Collector, way};
use crate::Thousandths;
use crate::connections::{Connection, DirectionReport, Event, Report};

/// Packets with data from which on all of them being marked means something.
const ALL_MARKED: u64 = 20;
/// Marks from which on no notification at all means something.
const MARKS: u64 = 3;
/// The same where the receiver sends notifications to others: its limit may be for all of them.
const MARKS_BESIDE_OTHERS: u64 = 20;
/// How long a notification may take, in microseconds: adapters send one each 50 µs at the slowest
/// of the usual settings, and the first at once.
const NOTIFICATION_US: u64 = 50;

pub(super) fn judge(report: &Report, found: &mut Collector) {
    let ways = ways(report);
    let notifying: HashSet<Addr> =
        ways.iter().filter(|(_, way)| way.cnps() > 0).map(|((_, to), _)| *to).collect();
    for ((from, to), found_way) in &ways {
        let subject = way(*from, *to);
        let needed = if notifying.contains(to) { MARKS_BESIDE_OTHERS } else { MARKS };
        found_way.judge(&subject, needed, found);
    }
    let congested = |((_, to), way): (&(Addr, Addr), &Way<'_>)| (way.queued() > 0).then_some(*to);
    let marked: HashSet<Addr> = ways.iter().filter_map(congested).collect();
    let why = Why { marked, notifying, paused: paused(report) };
    for connection in &report.connections {
        for (from, to, data, _) in both(connection) {
            why.not_marked(connection, (from, to), data, found);
        }
    }
}

/// Both directions of a connection: from whom, to whom, what went there and what came back.
fn both(connection: &Connection) -> [(Addr, Addr, &DirectionReport, &DirectionReport); 2] {
    let Connection { a, b, a_to_b, b_to_a, .. } = connection;
    [(a.addr, b.addr, a_to_b, b_to_a), (b.addr, a.addr, b_to_a, a_to_b)]
}

/// What goes from one host to another where marks or notifications were seen, in the order of the
/// hosts.
fn ways(report: &Report) -> BTreeMap<(Addr, Addr), Way<'_>> {
    let mut ways: BTreeMap<(Addr, Addr), Way<'_>> = BTreeMap::new();
    let all = || report.connections.iter().flat_map(both);
    for (from, to, data, answers) in all() {
        if ce(data) > 0 || answers.cnps > 0 {
            ways.entry((from, to)).or_default();
        }
    }
    if !ways.is_empty() {
        for (from, to, data, answers) in all() {
            if let Some(way) = ways.get_mut(&(from, to)) {
                way.parts.push((data, answers));
            }
        }
    }
    ways
}

fn ce(direction: &DirectionReport) -> u64 {
    let [_, _, _, ce] = direction.ecn.data;
    ce
}

fn data(direction: &DirectionReport) -> u64 {
    direction.ecn.data.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Whether nearly everything is marked, which no queue does.
fn is_marked_at_source(direction: &DirectionReport) -> bool {
    let (all, ce) = (data(direction), ce(direction));
    all >= ALL_MARKED && ce.saturating_mul(100) >= all.saturating_mul(95)
}

/// What goes from one host to another, and what comes back: each of a connection.
#[derive(Default)]
struct Way<'r> {
    parts: Vec<(&'r DirectionReport, &'r DirectionReport)>,
}

impl<'r> Way<'r> {
    fn sum(&self, of: impl Fn(&DirectionReport, &DirectionReport) -> u64) -> u64 {
        self.parts.iter().fold(0, |sum, (data, answers)| sum.saturating_add(of(data, answers)))
    }

    fn ce(&self) -> u64 {
        self.sum(|data, _| ce(data))
    }

    fn cnps(&self) -> u64 {
        self.sum(|_, answers| answers.cnps)
    }

    /// Marks that a queue has made.
    fn queued(&self) -> u64 {
        self.sum(|data, _| if is_marked_at_source(data) { 0 } else { ce(data) })
    }

    fn judge(&self, subject: &str, needed: u64, found: &mut Collector) {
        for (data, _) in self.parts.iter().filter(|(data, _)| is_marked_at_source(data)) {
            let frames = data.frames(Event::Ce);
            if let Some(finding) = found.add("ce-at-source", subject, ce(data), frames) {
                finding.sum("data_packets", self::data(data));
            }
        }
        let (marks, cnps, all) = (self.ce(), self.cnps(), self.sum(|there, _| data(there)));
        if cnps == 0 && marks >= needed && self.is_unanswered() {
            let marked = self.parts.iter().filter(|(data, _)| ce(data) > 0);
            if let Some(finding) = found.add("ce-without-cnp", subject, marks, self.marked()) {
                finding.sum("connections", u64::try_from(marked.count()).unwrap_or(u64::MAX));
                finding.sum("data_packets", all);
            }
        } else if self.queued() > 0 {
            let frames = self.marked().chain(self.notifications());
            if let Some(finding) = found.add("congestion", subject, self.queued(), frames) {
                finding.sum("data_packets", all);
                if let Some(percent) = Thousandths::percent(self.queued(), all) {
                    finding.real("marked_percent", percent);
                }
                finding.sum("cnps", cnps);
                if self.sum(|_, answers| answers.packets) == 0 {
                    finding.say("way_back", "not captured, so CNPs are not known");
                }
                self.reaction(finding);
            }
        } else if cnps > 0
            && marks == 0
            && all > 0
            && let Some(finding) = found.add("cnp-without-ce", subject, cnps, self.notifications())
        {
            finding.sum("data_packets", all);
            self.reaction(finding);
        }
    }

    /// Whether a notification had the time to come, on connections whose answers are captured. The
    /// capture point is as far from the receiver as acknowledgements show.
    fn is_unanswered(&self) -> bool {
        self.parts.iter().any(|(data, answers)| {
            let latency = data.ack_latency_ns.as_ref().map_or(0, |times| times.mean / 1_000);
            let patience = NOTIFICATION_US.max(latency.saturating_mul(2));
            let past = data.unanswered_ce_us.map_or(0, |past| u64::from(past.get()));
            answers.packets > 0 && past >= patience
        })
    }

    fn marked(&self) -> impl Iterator<Item = u64> + use<'r, '_> {
        self.parts.iter().flat_map(|(data, _)| data.frames(Event::Ce))
    }

    fn notifications(&self) -> impl Iterator<Item = u64> + use<'r, '_> {
        self.parts.iter().flat_map(|(_, answers)| answers.frames(Event::Cnp))
    }

    /// How soon notifications came.
    fn reaction(&self, finding: &mut Finding) {
        let delays = || self.parts.iter().filter_map(|(data, _)| data.cnp_delay_ns.as_deref());
        if let Some(usual) = delays().max_by_key(|times| times.count) {
            finding.most("cnp_delay_p50_ns", usual.p50.unwrap_or(usual.mean));
        }
        if let Some(max) = delays().map(|times| times.max).max() {
            finding.most("cnp_delay_max_ns", max);
        }
    }
}

/// Priorities that were paused, one bit each.
fn paused(report: &Report) -> u8 {
    let of_it = report.totals.flow_control.senders.iter().flat_map(|sender| {
        (0u32..).zip(&*sender.priorities).filter(|(_, pauses)| pauses.pauses > 0)
    });
    of_it.fold(0, |set, (number, _)| set | 1u8.checked_shl(number).unwrap_or(0))
}

/// What shows that data met congestion.
struct Why {
    /// Hosts on whose way data was marked by a queue.
    marked: HashSet<Addr>,
    /// Hosts that send notifications.
    notifying: HashSet<Addr>,
    /// Priorities that were paused.
    paused: u8,
}

impl Why {
    /// Data that cannot be marked, where what goes the same way is.
    fn not_marked(
        &self,
        connection: &Connection,
        (from, to): (Addr, Addr),
        direction: &DirectionReport,
        found: &mut Collector,
    ) {
        let [not_ect, ..] = direction.ecn.data;
        // No switch marks what has no IP header.
        let has_ip = matches!(connection.carrier, Carrier::V2Ipv4 | Carrier::V2Ipv6);
        if not_ect == 0 || !has_ip {
            return;
        }
        let paused = self.paused & priorities(direction);
        let reasons = [
            (self.marked.contains(&to), "other data to the receiver is marked CE"),
            (self.notifying.contains(&to), "the receiver sends CNPs"),
            (paused != 0 && direction.pcps != 0, "PFC pauses the priority of its VLAN tags"),
            (
                paused != 0 && direction.pcps == 0,
                "PFC pauses the priority of its DSCP by the usual map",
            ),
        ];
        if reasons.iter().all(|(holds, _)| !holds) {
            return;
        }
        let frames = direction.first_not_ect_frame.map(|frame| frame.get());
        let subject = way(from, to);
        if let Some(finding) = found.add("ecn-not-enabled", subject, not_ect, frames) {
            finding.sum("data_packets", data(direction));
            finding.sum("connections", 1);
            for (_, reason) in reasons.into_iter().filter(|(holds, _)| *holds) {
                finding.list("because", reason);
            }
        }
    }
}

/// The priorities of a direction, one bit each: of its VLAN tags, else by the usual map, in which
/// eight DSCPs in a row are one priority.
fn priorities(direction: &DirectionReport) -> u8 {
    if direction.pcps != 0 {
        return direction.pcps;
    }
    let dscps = direction.data_dscps.to_le_bytes();
    (0u32..).zip(dscps).fold(0, |set, (number, dscps)| {
        if dscps == 0 { set } else { set | 1u8.checked_shl(number).unwrap_or(0) }
    })
}
