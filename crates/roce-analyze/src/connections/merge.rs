//! Datagrams and the resolution of the service that they go to.

use std::collections::HashMap;

use roce_wire::{Addr, Service};

use super::report::{Connection, Outcome};

/// A datagram service: who asks, who serves, and the queue pair that serves.
type Key = (Addr, Addr, u32);

/// Resolution of a service and the datagrams that go to what it named are one connection.
pub(super) fn datagrams(connections: &mut Vec<Connection>) {
    let mut resolved: HashMap<Key, usize> = HashMap::new();
    for (at, connection) in connections.iter().enumerate() {
        let is_sidr = connection.cm.as_ref().is_some_and(|cm| cm.is_sidr);
        if let (true, Some(qpn)) = (is_sidr && connection.packets() == 0, connection.b.qpn) {
            resolved.entry((connection.a.addr, connection.b.addr, qpn)).or_insert(at);
        }
    }
    if resolved.is_empty() {
        return;
    }
    let flows = connections
        .iter()
        .enumerate()
        .filter(|(_, connection)| connection.service == Service::Ud && connection.cm.is_none());
    let pairs: Vec<(usize, usize)> = flows
        .filter_map(|(at, flow)| {
            let key = (flow.a.addr, flow.b.addr, flow.b.qpn?);
            Some((at, resolved.remove(&key)?))
        })
        .collect();
    let mut gone = Vec::new();
    for (flow, resolution) in pairs {
        let Some(asked) = connections.get_mut(resolution) else { continue };
        let (cm, first) = (asked.cm.take(), (asked.first_frame, asked.first_ns));
        gone.push(asked.id);
        if let Some(flow) = connections.get_mut(flow) {
            flow.cm = cm;
            (flow.first_frame, flow.first_ns) = first;
        }
    }
    gone.sort_unstable();
    connections.retain(|connection| gone.binary_search(&connection.id).is_err());
}

/// Who sends datagrams to a host after asking it for a service was answered: where the answer was
/// not captured, nothing says that there was none.
pub(super) fn answered_unseen(connections: &mut [Connection]) {
    let mut sent: HashMap<(Addr, Addr), u64> = HashMap::new();
    for flow in connections.iter().filter(|c| c.service == Service::Ud && c.cm.is_none()) {
        let ways =
            [(flow.a.addr, flow.b.addr, &flow.a_to_b), (flow.b.addr, flow.a.addr, &flow.b_to_a)];
        for (from, to, way) in ways {
            if way.packets > 0 {
                let last = sent.entry((from, to)).or_default();
                *last = (*last).max(flow.last_frame);
            }
        }
    }
    if sent.is_empty() {
        return;
    }
    for asked in connections.iter_mut().filter(|c| c.outcome == Outcome::Unanswered) {
        let is_sidr = asked.cm.as_ref().is_some_and(|cm| cm.is_sidr);
        let last = sent.get(&(asked.a.addr, asked.b.addr));
        if is_sidr && last.is_some_and(|last| *last > asked.first_frame) {
            asked.outcome = Outcome::Unknown;
        }
    }
}
