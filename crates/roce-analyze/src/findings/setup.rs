//! Connections that did not come up, and versions that do not go together.

use roce_wire::{Addr, Carrier, Version};
use std::collections::{HashMap, HashSet};

use super::collect::{Collector, name, way};
use crate::connections::{Connection, Exchange, Outcome, Report};

pub(super) fn judge(report: &Report, found: &mut Collector) {
    let speakers = Speakers::of(report);
    for connection in &report.connections {
        let Some(cm) = &connection.cm else { continue };
        match connection.outcome {
            Outcome::Unanswered => unanswered(connection, cm, &speakers, report, found),
            Outcome::Rejected => rejected(connection, cm, found),
            _ => {}
        }
    }
    mixed_versions(report, found);
}

/// Which hosts were seen to send v1.
struct Speakers {
    v1: HashMap<Addr, u64>,
}

impl Speakers {
    fn of(report: &Report) -> Self {
        let mut v1 = HashMap::new();
        for connection in report.connections.iter().filter(|c| c.carrier == Carrier::V1) {
            let sent =
                [(connection.a.addr, &connection.a_to_b), (connection.b.addr, &connection.b_to_a)];
            for (host, _) in sent.iter().filter(|(_, direction)| direction.packets > 0) {
                v1.entry(*host).or_insert(connection.first_frame);
            }
        }
        Self { v1 }
    }
}

fn unanswered(
    connection: &Connection,
    cm: &Exchange,
    speakers: &Speakers,
    report: &Report,
    found: &mut Collector,
) {
    let server = connection.b.addr;
    let is_v2 = connection.carrier.version() == Some(Version::V2);
    let refused = cm.unreachable.or_else(|| {
        let said = report.totals.unreachable.iter().find(|(host, _)| *host == server);
        said.map(|(_, frame)| *frame)
    });
    let v1_frame = speakers.v1.get(&server).copied();
    let id = if is_v2 && (refused.is_some() || v1_frame.is_some()) {
        "version-mismatch"
    } else {
        "request-unanswered"
    };
    let proofs = cm.frames.iter().copied().chain(refused).chain(v1_frame);
    let Some(finding) = found.add(id, way(connection.a.addr, server), 1, proofs) else { return };
    finding.sum("requests", u64::from(cm.reqs));
    finding.say("version", connection.carrier.key());
    if let Some(port) = cm.port {
        finding.list("ports", port.to_string());
    }
    if let Some((first, last)) = cm.req_times.filter(|(first, last)| first < last) {
        finding.say("waited_ms", (last.saturating_sub(first) / 1_000_000).to_string());
    }
    if refused.is_some() {
        finding.say("icmp", "port 4791 unreachable");
    }
}

fn rejected(connection: &Connection, cm: &Exchange, found: &mut Collector) {
    let subject = way(connection.a.addr, connection.b.addr);
    let Some(finding) = found.add("connection-rejected", subject, 1, cm.frames.iter().copied())
    else {
        return;
    };
    match (&cm.rejected, cm.sidr_status) {
        (Some(rejection), _) => {
            finding.list("reason", rejection.reason.to_string());
            if rejection.by_requester {
                finding.list("by", "requester");
            }
        }
        (None, Some(status)) => finding.list("sidr_status", status.to_string()),
        (None, None) => {}
    }
    if let Some(port) = cm.port {
        finding.list("ports", port.to_string());
    }
    if let Some(upper) = cm.upper {
        finding.list("application", upper.name());
    }
}

/// The first connection of each version.
type ByVersion<'r> = [Option<&'r Connection>; 2];

fn mixed_versions(report: &Report, found: &mut Collector) {
    let mut pairs: HashMap<(Addr, Addr), ByVersion<'_>> = HashMap::new();
    let mut hosts: HashMap<Addr, ByVersion<'_>> = HashMap::new();
    // A v2 request to a v1 host has its own finding.
    for connection in report.connections.iter().filter(|c| c.outcome != Outcome::Unanswered) {
        let (a, b) = (connection.a.addr, connection.b.addr);
        note(pairs.entry((a.min(b), a.max(b))).or_default(), connection);
        for host in [a, b] {
            note(hosts.entry(host).or_default(), connection);
        }
    }
    let mut told = HashSet::new();
    for ((a, b), v1, v2) in both(pairs) {
        told.extend([a, b]);
        say(format!("{a} - {b}"), v1, v2, found);
    }
    for (host, v1, v2) in both(hosts).into_iter().filter(|(host, ..)| !told.contains(host)) {
        say(host.to_string(), v1, v2, found);
    }
}

fn note<'r>(by_version: &mut ByVersion<'r>, connection: &'r Connection) {
    let [v1, v2] = by_version;
    let slot = match connection.carrier.version() {
        Some(Version::V1) => v1,
        Some(Version::V2) => v2,
        None => return,
    };
    slot.get_or_insert(connection);
}

/// Those with both versions, in the order of the frames.
fn both<'r, K>(map: HashMap<K, ByVersion<'r>>) -> Vec<(K, &'r Connection, &'r Connection)> {
    let mut mixed: Vec<_> =
        map.into_iter().filter_map(|(key, [v1, v2])| Some((key, v1?, v2?))).collect();
    mixed.sort_by_key(|(_, v1, v2)| (v1.id, v2.id));
    mixed
}

fn say(subject: String, v1: &Connection, v2: &Connection, found: &mut Collector) {
    let frames = [v1.first_frame, v2.first_frame];
    if let Some(finding) = found.add("mixed-versions", subject, 1, frames) {
        finding.say("v1", name(v1));
        finding.say("v2", name(v2));
    }
}
