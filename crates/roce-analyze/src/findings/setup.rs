//! Connections that did not come up.

use roce_wire::mad::cm::SidrStatus;
use roce_wire::{Addr, Carrier, Version};
use std::collections::HashMap;

use super::collect::{Collector, way};
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
    // What proves that it is the version first: the requests may be many.
    let proofs = refused.into_iter().chain(v1_frame).chain(cm.frames.iter().copied());
    let Some(finding) = found.add(id, way(connection.a.addr, server), 1, proofs) else { return };
    finding.sum("requests", u64::from(cm.reqs));
    finding.say("version", connection.carrier.key());
    if let Some(port) = cm.port {
        finding.list_number("ports", u64::from(port));
    }
    if let Some((first, last)) = cm.req_times.filter(|(first, last)| first < last) {
        finding.number("waited_ms", last.saturating_sub(first) / 1_000_000);
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
        (None, Some(status)) => {
            finding.list("reason", SidrStatus(status).to_string());
            finding.list_number("sidr_status", u64::from(status));
        }
        (None, None) => {}
    }
    if let Some(port) = cm.port {
        finding.list_number("ports", u64::from(port));
    }
    if let Some(upper) = cm.upper {
        finding.list("application", upper.name());
    }
}
