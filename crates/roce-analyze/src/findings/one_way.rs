//! Flows without another direction: not captured, or not to be told apart.

use std::collections::HashMap;

use roce_wire::{Addr, Carrier, Service};

use super::collect::{Collector, ways};
use super::versions::Strangers;
use crate::connections::{Connection, Outcome, Report};

/// Packets one way from which on the other way is missed.
const ONE_WAY: u64 = 8;

/// The longest that a message may be on its way before any of it is answered, in nanoseconds: 2 GiB
/// at 100 Gbit/s.
const MESSAGE: u64 = 200_000_000;

/// Whether an answer should have been there.
fn is_long(connection: &Connection) -> bool {
    let times = connection.first_ns.zip(connection.last_ns);
    let is_long =
        times.is_none_or(|(first, last)| last == first || last.saturating_sub(first) >= MESSAGE);
    connection.packets() >= ONE_WAY && is_long
}

/// Two hosts, the lower first, and the way between them.
type Hosts = (Addr, Addr, Carrier, Option<u16>, Option<u32>);

/// What is between two hosts that belongs to no pair.
#[derive(Default)]
struct Unpaired {
    /// From the lower host, from the higher one.
    flows: [u64; 2],
    packets: u64,
    /// Whether one of them has more than a few packets.
    has_many: bool,
    frames: Vec<u64>,
}

fn hosts(connection: &Connection) -> Hosts {
    let (a, b) = (connection.a.addr, connection.b.addr);
    (a.min(b), a.max(b), connection.carrier, connection.vlan, connection.tunnel_id)
}

/// Whether one direction of a service that answers has no packets.
fn is_single(connection: &Connection, strangers: &Strangers) -> bool {
    // Who repeats a request in vain, and who talks to a stranger, has no answer: that is said.
    let is_told = matches!(connection.outcome, Outcome::RetryExceeded | Outcome::Unanswered)
        || strangers.include(connection);
    matches!(connection.service, Service::Rc | Service::Xrc)
        && !is_told
        && connection.packets() > 0
        && !connection.is_two_way()
}

/// What is between each two hosts that belongs to no pair.
fn unpaired(report: &Report, strangers: &Strangers) -> HashMap<Hosts, Unpaired> {
    let mut unpaired: HashMap<Hosts, Unpaired> = HashMap::new();
    let single = report.connections.iter().filter(|c| is_single(c, strangers));
    for connection in single.filter(|connection| connection.learned_from.is_none()) {
        let between = unpaired.entry(hosts(connection)).or_default();
        let is_from_low =
            (connection.a.addr <= connection.b.addr) == (connection.a_to_b.packets > 0);
        let [low, high] = &mut between.flows;
        let count = if is_from_low { low } else { high };
        *count = count.saturating_add(1);
        between.packets = between.packets.saturating_add(connection.packets());
        between.has_many |= connection.packets() >= ONE_WAY;
        between.frames.push(connection.first_frame);
    }
    unpaired
}

/// Flows without another direction. Where there are some both ways they may be each other's.
pub(super) fn judge(report: &Report, strangers: &Strangers, found: &mut Collector) {
    let unpaired = unpaired(report, strangers);
    let single = report.connections.iter().filter(|c| is_single(c, strangers));
    for connection in single.filter(|connection| is_long(connection)) {
        if connection.learned_from.is_none()
            && unpaired.get(&hosts(connection)).is_some_and(Unpaired::is_both_ways)
        {
            continue;
        }
        for (way, direction) in ways(connection).into_iter().filter(|(_, d)| d.packets > 0) {
            let frames = [connection.first_frame, connection.last_frame];
            if let Some(finding) = found.add("one-way", way, 1, frames) {
                finding.sum("packets", direction.packets);
                finding.sum("retransmitted_packets", direction.retransmitted_packets);
            }
        }
    }
    let is_told = |unpaired: &Unpaired| unpaired.is_both_ways() && unpaired.has_many;
    let mut both_ways: Vec<_> =
        unpaired.into_iter().filter(|(_, unpaired)| is_told(unpaired)).collect();
    both_ways.sort_unstable_by_key(|(_, unpaired)| unpaired.frames.first().copied());
    for ((low, high, ..), Unpaired { flows: [from_low, from_high], packets, frames, .. }) in
        both_ways
    {
        let count = from_low.saturating_add(from_high);
        let subject = format!("{low} - {high}");
        if let Some(finding) = found.add("unpaired-flows", subject, count, frames) {
            finding.sum("flows_there", from_low);
            finding.sum("flows_back", from_high);
            finding.sum("packets", packets);
        }
    }
}

impl Unpaired {
    const fn is_both_ways(&self) -> bool {
        let [low, high] = self.flows;
        low > 0 && high > 0
    }
}
