//! The path: its MTU, its addresses, and how flows spread over paths.

use roce_wire::{Addr, Service, Version};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::Finding;
use super::collect::{Collector, name, way};
use super::policy::Policy;
use crate::connections::{Connection, Report};
use crate::spread::{self, Expected, Spread};

pub(super) fn judge(report: &Report, policy: &Policy, found: &mut Collector) {
    let mut pairs: HashMap<(Addr, Addr), Pair<'_>> = HashMap::new();
    for connection in report.connections.iter().filter(|c| c.packets() > 0) {
        agreed_mtu(connection, found);
        link_local(connection, found);
        let (a, b) = (connection.a.addr, connection.b.addr);
        pairs.entry((a.min(b), a.max(b))).or_default().add(connection);
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_unstable_by_key(|(_, pair)| pair.connections.first().map(|c| c.id));
    for ((a, b), pair) in pairs {
        pair.entropy(&format!("{a} - {b}"), policy, found);
        pair.small_mtu(found);
    }
}

fn agreed_mtu(connection: &Connection, found: &mut Collector) {
    let agreed = connection.cm.as_ref().and_then(|cm| cm.path_mtu);
    if let Some((agreed, seen)) = agreed.zip(connection.pmtu_seen)
        && agreed != seen
        && let Some(finding) =
            found.add("pmtu-mismatch", name(connection), 1, [connection.first_frame])
    {
        finding.sum("agreed", u64::from(agreed));
        finding.sum("seen", u64::from(seen));
    }
}

fn link_local(connection: &Connection, found: &mut Collector) {
    let is_link_local = |addr: Addr| match addr {
        Addr::Ip(IpAddr::V6(ip)) => ip.is_unicast_link_local(),
        _ => false,
    };
    let (a, b) = (connection.a.addr, connection.b.addr);
    if matches!(connection.service, Service::Rc | Service::Uc | Service::Xrc)
        && (is_link_local(a) || is_link_local(b))
    {
        let (low, high) = (a.min(b), a.max(b));
        let subject = format!("{low} - {high}");
        found.add("gid-link-local", subject, 1, [connection.first_frame]);
    }
}

/// What equal paths make of the flows.
fn expect(finding: &mut Finding, spread: &Spread) {
    finding.say("direction", way(spread.from, spread.to));
    finding.real("entropy_bits", spread.entropy_bits);
    finding.real("possible_bits", spread.possible_bits);
    for expected in spread.expected.iter().take(4) {
        let Expected { paths, used, sharing_bytes_percent, .. } = expected;
        let text =
            format!("{used} of {paths} paths used ({sharing_bytes_percent} % of bytes share)");
        finding.list("expected", text);
    }
}

/// The connections between two hosts.
#[derive(Default)]
struct Pair<'r> {
    connections: Vec<&'r Connection>,
    ports: HashSet<u16>,
    v2: usize,
    /// Of the flows that were not paired, how many went each way: those may be each other's.
    single: [usize; 2],
    largest_mtu: u32,
}

impl<'r> Pair<'r> {
    fn add(&mut self, connection: &'r Connection) {
        self.connections.push(connection);
        self.largest_mtu = self.largest_mtu.max(connection.pmtu_seen.unwrap_or(0));
        if connection.carrier.version() == Some(Version::V2) {
            self.count_v2(connection);
            for direction in connection.directions() {
                self.ports.extend(direction.udp_src_ports.iter().copied());
            }
        }
    }

    fn count_v2(&mut self, connection: &Connection) {
        let [one, other] = &mut self.single;
        let count = if connection.is_two_way() {
            &mut self.v2
        } else if (connection.a.addr <= connection.b.addr) == (connection.a_to_b.packets > 0) {
            one
        } else {
            other
        };
        *count = count.saturating_add(1);
    }

    /// Connections of version 2, as few as there may be.
    fn connections_v2(&self) -> usize {
        let [one, other] = self.single;
        self.v2.saturating_add(one.max(other))
    }

    fn entropy(&self, subject: &str, policy: &Policy, found: &mut Collector) {
        let connections = self.connections_v2();
        if connections < policy.entropy_connections
            || self.ports.len().saturating_mul(4) > connections
        {
            return;
        }
        let frames = self.connections.iter().map(|connection| connection.first_frame);
        if let Some(finding) = found.add("low-entropy", subject, 1, frames) {
            finding.sum("connections", u64::try_from(connections).unwrap_or(u64::MAX));
            finding.sum("source_ports", u64::try_from(self.ports.len()).unwrap_or(u64::MAX));
            if let Some(spread) = self.spread() {
                expect(finding, &spread);
            }
        }
    }

    /// Of the direction that carries more.
    fn spread(&self) -> Option<Spread> {
        let mut ways: Vec<_> = self.connections.iter().flat_map(|one| spread::ways(one)).collect();
        ways.sort_unstable_by_key(|(hosts, _)| *hosts);
        let groups = ways.chunk_by(|(one, _), (other, _)| one == other);
        groups.filter_map(Spread::of).max_by_key(|spread| spread.bytes)
    }

    fn small_mtu(&self, found: &mut Collector) {
        for connection in &self.connections {
            let Some(mtu) = connection.pmtu_seen.filter(|mtu| *mtu < self.largest_mtu) else {
                continue;
            };
            let frames = [connection.first_frame];
            if let Some(finding) = found.add("pmtu-small", name(connection), 1, frames) {
                finding.sum("pmtu", u64::from(mtu));
                finding.sum("possible", u64::from(self.largest_mtu));
            }
        }
    }
}
