//! From what was recorded to the truth.

use core::net::IpAddr;
use std::collections::HashSet;

use super::Craft;
use super::connection::Connection;
use super::group::Stage;
use crate::plan::{Carrier, CmAnswer, Dir, Service};
use crate::scenario::has_udp;
use crate::truth::{
    self, Detail, Direction, End, FlowControlCount, Rejected, Retransmissions, Truth,
};

impl Craft {
    /// The truth about the frames so far.
    #[must_use]
    pub fn finish(mut self) -> Truth {
        let mut stage = Stage::new(&self.plan, &mut self.encoder, &mut self.details);
        for group in &mut self.groups {
            group.finish(&mut stage);
        }
        self.details.list.sort_by_key(|detail| (detail.time, detail.frame));
        let mut congestion = FlowControlCount::default();
        for (frames, is_priority) in self.pauses.iter().map(super::PauseStream::captured) {
            let count = if is_priority { &mut congestion.pfc } else { &mut congestion.pause };
            *count = count.saturating_add(frames);
        }
        let mut rejected = Rejected::default();
        let mut icmp_unreachable = 0u64;
        let all = self.groups.iter().flat_map(|group| &group.members);
        for connection in all.clone() {
            let of = connection.recorder.rejected;
            rejected.unknown_opcode = rejected.unknown_opcode.saturating_add(of.unknown_opcode);
            rejected.bad_tver = rejected.bad_tver.saturating_add(of.bad_tver);
            rejected.too_short = rejected.too_short.saturating_add(of.too_short);
            icmp_unreachable = icmp_unreachable.saturating_add(connection.recorder.icmp);
        }
        let (connections, ids) = number(all);
        let known = |detail: Detail| {
            let index = usize::try_from(detail.connection).ok()?;
            let id = ids.get(index).copied().flatten()?;
            Some(Detail { connection: id, ..detail })
        };
        Truth {
            schema: "roce-sniff/truth/1",
            question: self.plan.question,
            answer: self.plan.answer,
            seed: self.plan.seed,
            frames: self.frames,
            bytes: self.bytes,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            congestion,
            rejected,
            icmp_unreachable,
            connections,
            details: self.details.list.into_iter().filter_map(known).collect(),
            details_omitted: self.details.omitted,
        }
    }
}

/// The connections that the capture shows, in the order of their first frames, and the number of
/// each by its place in the run.
fn number<'c>(
    all: impl Iterator<Item = &'c Connection> + Clone,
) -> (Vec<truth::Connection>, Vec<Option<u64>>) {
    let mut shown: Vec<(usize, &Connection)> = all
        .clone()
        .enumerate()
        .filter(|(_, connection)| connection.recorder.first_ns > 0)
        .collect();
    shown.sort_by_key(|(index, connection)| (connection.recorder.first_ns, *index));
    let mut ids = vec![None; all.count()];
    let mut connections = Vec::with_capacity(shown.len());
    for (id, (index, connection)) in (1..).zip(shown) {
        if let Some(slot) = ids.get_mut(index) {
            *slot = Some(id);
        }
        connections.push(describe(connection, id));
    }
    unheard(&mut connections);
    (connections, ids)
}

/// Where the capture has nothing that the other host sent, it does not tell why anything was sent
/// again.
fn unheard(connections: &mut [truth::Connection]) {
    if connections.iter().all(|c| c.a_to_b.packets > 0 && c.b_to_a.packets > 0) {
        return;
    }
    let mut heard = HashSet::new();
    for c in connections.iter() {
        let managed = |way| {
            c.cm.as_ref().is_some_and(|cm| cm.messages.iter().any(|one| one.direction == way))
        };
        let ways = [
            (&c.a, &c.b, c.a_to_b.packets > 0 || managed("a_to_b")),
            (&c.b, &c.a, c.b_to_a.packets > 0 || managed("b_to_a")),
        ];
        let sent = ways.into_iter().filter(|(.., is_heard)| *is_heard);
        heard.extend(sent.map(|(from, to, _)| (from.addr.clone(), to.addr.clone())));
    }
    for c in connections.iter_mut().filter(|c| matches!(c.service, "RC" | "XRC")) {
        let ways = [(&c.b, &c.a, &mut c.a_to_b), (&c.a, &c.b, &mut c.b_to_a)];
        for (from, to, asked) in ways {
            if heard.contains(&(from.addr.clone(), to.addr.clone())) || asked.packets == 0 {
                continue;
            }
            let Retransmissions { nak_driven, timeout_driven, rnr_driven, gap_driven, .. } =
                asked.retransmissions;
            let unknown = [nak_driven, timeout_driven, rnr_driven, gap_driven];
            let unknown = unknown.into_iter().fold(0, u64::saturating_add);
            asked.retransmissions = Retransmissions { unknown, ..Retransmissions::default() };
            if c.outcome == "retry_exceeded" {
                c.outcome = "unanswered";
            }
        }
    }
}

fn describe(connection: &Connection, id: u64) -> truth::Connection {
    let recorder = &connection.recorder;
    let (plan, identity) = (&connection.plan, &connection.identity);
    let sent = |message: &str| {
        recorder.cm.as_ref().is_some_and(|cm| cm.messages.iter().any(|m| m.message == message))
    };
    let (has_req, has_rep) = (sent("REQ"), sent("REP"));
    let (a_to_b, b_to_a) = (direction(connection, Dir::Forth), direction(connection, Dir::Back));
    let is_two_way = a_to_b.packets > 0 && b_to_a.packets > 0;
    let learned_from = match plan.service {
        _ if has_req && has_rep => Some("cm"),
        Service::Rc | Service::Xrc if is_two_way => Some("psn"),
        Service::Uc if is_two_way && has_udp(plan.carrier) => Some("port"),
        Service::Ud if is_two_way => Some("deth"),
        _ => None,
    };
    let shows_pmtu = [Dir::Forth, Dir::Back].iter().any(|dir| recorder.side(*dir).shows_pmtu);
    let mut cm = recorder.cm.clone();
    if let (Some(cm), Some(of)) = (&mut cm, &plan.cm) {
        cm.port = (has_req || sent("SIDR_REQ")).then_some(of.port);
        cm.reason = (of.answer == CmAnswer::Reject).then_some(of.reason);
    }
    // Each side names its queue pair, and the PSN that the other one is to begin with.
    let end = |dir: Dir, (is_told, has_start): (bool, bool), sends: u64, hears: u64| End {
        addr: address(connection, dir).to_string(),
        // What is sent to an end names its queue pair; of datagrams the sender's is named too.
        qpn: (is_told || hears > 0 || plan.service == Service::Ud && sends > 0)
            .then(|| *identity.qpn.of(dir)),
        start_psn: if has_start {
            Some(*identity.psn.of(dir))
        } else {
            recorder.side(dir).first.map(|(_, psn)| psn)
        },
    };
    truth::Connection {
        id,
        name: connection.name.as_deref().map(str::to_owned),
        version: match plan.carrier {
            Carrier::V1 => "v1",
            Carrier::V2Ipv4 => "v2_ipv4",
            Carrier::V2Ipv6 => "v2_ipv6",
        },
        service: connection.service_name(),
        a: end(Dir::Forth, (has_req, has_rep), a_to_b.packets, b_to_a.packets),
        b: end(Dir::Back, (has_rep, has_req), b_to_a.packets, a_to_b.packets),
        learned_from,
        confidence: 1,
        pmtu: (shows_pmtu || has_req).then_some(plan.pmtu),
        first_ns: recorder.first_ns,
        last_ns: recorder.last_ns,
        outcome: connection.outcome(),
        cm,
        a_to_b,
        b_to_a,
    }
}

fn direction(connection: &Connection, dir: Dir) -> Direction {
    let can_tell = connection.plan.service != Service::Ud;
    let is_silent = matches!(connection.outcome(), "retry_exceeded" | "stalled");
    let mut counts = connection.recorder.direction(dir, can_tell, is_silent);
    // Notifications come from a port of their own.
    if has_udp(connection.plan.carrier) && counts.packets > counts.cnps {
        counts.udp_src_ports = vec![connection.identity.udp_src_port];
    }
    counts
}

fn address(connection: &Connection, dir: Dir) -> IpAddr {
    let host = connection.plan.hosts.of(dir);
    match connection.plan.carrier {
        Carrier::V1 | Carrier::V2Ipv4 => IpAddr::V4(host.ipv4),
        Carrier::V2Ipv6 => IpAddr::V6(host.ipv6),
    }
}
