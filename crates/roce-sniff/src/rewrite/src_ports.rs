//! UDP source ports that are made of both queue pairs of a connection, as Linux makes them without
//! a flow label. Where queue pairs are renamed such a port has to be made anew, so that it still
//! tells which two flows are one connection. No packet of a connection names both queue pairs:
//! the capture is looked through for pairs before it is rewritten.

use std::collections::HashMap;

use roce_analyze::connections::port::of_queue_pairs;
use roce_wire::{Addr, Frame, Net, Packet, Qpn};

/// How many flows are remembered; ports of further ones are renamed by the seed alone.
const MAX_FLOWS: usize = 1 << 17;
/// How many flows of one port between two hosts are compared with each other.
const MAX_OF_ONE_PORT: usize = 64;

/// Everything that goes to one queue pair from one host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Flow {
    src: Addr,
    dst: Addr,
    dest_qp: u32,
}

/// The port of each flow, by the packets seen so far.
#[derive(Default)]
pub(super) struct Learner {
    ports: HashMap<Flow, u16>,
}

impl Learner {
    pub(super) fn observe(&mut self, frame: &Frame<'_>) {
        let Some((net, packet)) = frame.packet().filter(|_| frame.is_roce()) else { return };
        let (Some(udp), None) = (net.udp(), packet.deth) else { return };
        let flow = Flow { src: net.src(), dst: net.dst(), dest_qp: packet.bth.dest_qp().get() };
        if self.ports.len() < MAX_FLOWS {
            self.ports.entry(flow).or_insert_with(|| udp.src_port());
        }
    }

    /// The new ports, as `rename` renames queue pairs of hosts.
    pub(super) fn finish(self, rename: impl Fn(Addr, Qpn) -> Qpn) -> SrcPorts {
        let mut groups: HashMap<(Addr, Addr, u16), Vec<Flow>> = HashMap::new();
        // In an order of their own: the same capture has the same ports every time.
        let mut ports: Vec<(Flow, u16)> = self.ports.into_iter().collect();
        ports.sort_unstable();
        for (flow, port) in ports {
            let hosts = (flow.src.min(flow.dst), flow.src.max(flow.dst), port);
            let group = groups.entry(hosts).or_default();
            if group.len() < MAX_OF_ONE_PORT {
                group.push(flow);
            }
        }
        let mut made = HashMap::new();
        for ((.., port), flows) in groups {
            for flow in &flows {
                let is_peer = |other: &&Flow| {
                    other.src == flow.dst
                        && other.dst == flow.src
                        && of_queue_pairs(other.dest_qp, flow.dest_qp) == port
                };
                if let Some(peer) = flows.iter().find(is_peer) {
                    let new = [flow, peer].map(|flow| rename(flow.dst, Qpn::new(flow.dest_qp)));
                    let [a, b] = new.map(Qpn::get);
                    made.insert(*flow, (port, of_queue_pairs(a, b)));
                }
            }
        }
        SrcPorts { made }
    }
}

/// New ports of flows whose port is made of both queue pairs.
#[derive(Default)]
pub(super) struct SrcPorts {
    /// Old and new.
    made: HashMap<Flow, (u16, u16)>,
}

impl SrcPorts {
    /// The new port of a packet, when it is made of both its queue pairs.
    pub(super) fn of(
        &self,
        (net, packet): (&Net<'_>, &Packet<'_>),
        port: u16,
        rename: impl Fn(Addr, Qpn) -> Qpn,
    ) -> Option<u16> {
        let (src, dst, dest_qp) = (net.src(), net.dst(), packet.bth.dest_qp());
        // A datagram names both.
        if let Some(deth) = packet.deth {
            let is_made = of_queue_pairs(deth.src_qp().get(), dest_qp.get()) == port;
            let (a, b) = (rename(src, deth.src_qp()), rename(dst, dest_qp));
            return is_made.then(|| of_queue_pairs(a.get(), b.get()));
        }
        let (old, new) = self.made.get(&Flow { src, dst, dest_qp: dest_qp.get() })?;
        (*old == port).then_some(*new)
    }
}
