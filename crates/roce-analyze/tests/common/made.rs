//! Captures made by hand, packet by packet, for what no real capture shows.

use std::net::Ipv4Addr;

use roce_wire::{
    Aeth, FrameBuilder, Gid, Link, MacAddr, Msn, Opcode, PacketBuilder, Psn, Qpn, Ready, Syndrome,
};

use super::{Record, analyze};
use roce_analyze::connections::{Config, Report};
use roce_analyze::findings::{CaptureFacts, Finding, Policy, evaluate_capture};

pub(crate) const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The queue pairs of A and of B.
pub(crate) const QP_A: u32 = 0x101;
pub(crate) const QP_B: u32 = 0x202;

/// An acknowledgement that tells no credits.
pub(crate) const ACK: Syndrome = Syndrome(0x1f);

/// A capture in the making.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) records: Vec<Record>,
    pub(crate) now_ns: u64,
}

pub(crate) fn ethernet(from: Ipv4Addr, to: Ipv4Addr) -> FrameBuilder<roce_wire::OnLink> {
    let mac = |ip: Ipv4Addr| MacAddr([2, 0, 0, 0, ip.octets()[2], ip.octets()[3]]);
    FrameBuilder::ethernet(mac(to), mac(from))
}

/// RoCE v2 over IPv4.
pub(crate) fn v2(from: Ipv4Addr, to: Ipv4Addr) -> FrameBuilder<Ready> {
    ethernet(from, to).ipv4(from, to).udp(0xc123)
}

/// RoCE v1.
pub(crate) fn v1(from: Ipv4Addr, to: Ipv4Addr) -> FrameBuilder<Ready> {
    let gid = |ip: Ipv4Addr| Gid::from(ip.to_ipv6_mapped());
    ethernet(from, to).grh(gid(from), gid(to))
}

/// A request of A.
pub(crate) fn ask(opcode: Opcode, psn: u32, payload: &[u8]) -> PacketBuilder<'_> {
    PacketBuilder::new(opcode, Qpn::new(QP_B), Psn::new(psn)).payload(payload)
}

/// An answer of B.
pub(crate) fn answer(psn: u32, syndrome: Syndrome, msn: u32) -> PacketBuilder<'static> {
    let aeth = Aeth::new(syndrome, Msn::new(msn));
    PacketBuilder::new(Opcode::RC_ACKNOWLEDGE, Qpn::new(QP_A), Psn::new(psn)).aeth(aeth)
}

impl Made {
    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) -> &mut Self {
        let (link, time_ns, wire_len) = (Link::Ethernet, self.now_ns, bytes.len());
        self.records.push(Record { link, time_ns, wire_len, bytes });
        self.wait(10)
    }

    pub(crate) fn packet(&mut self, way: FrameBuilder<Ready>, p: PacketBuilder<'_>) -> &mut Self {
        let mut bytes = Vec::new();
        way.emit(&p, &mut bytes).unwrap();
        self.bytes(bytes)
    }

    /// Time passes, in microseconds.
    pub(crate) fn wait(&mut self, us: u64) -> &mut Self {
        self.now_ns += us * 1_000;
        self
    }

    pub(crate) fn ask(&mut self, packet: PacketBuilder<'_>) -> &mut Self {
        self.packet(v2(A, B), packet)
    }

    pub(crate) fn answer(&mut self, packet: PacketBuilder<'_>) -> &mut Self {
        self.packet(v2(B, A), packet)
    }

    /// Messages of one packet, each acknowledged.
    pub(crate) fn chat(&mut self, psns: std::ops::Range<u32>) -> &mut Self {
        for (msn, psn) in (1..).zip(psns) {
            self.ask(ask(Opcode::RC_SEND_ONLY, psn, &[0x5a; 64]).ack_req());
            self.answer(answer(psn, ACK, msn));
        }
        self
    }

    pub(crate) fn report(&self) -> Report {
        analyze(&self.records, Config::default())
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.findings_with(&Policy::default(), &CaptureFacts::default())
    }

    pub(crate) fn findings_with(&self, policy: &Policy, facts: &CaptureFacts) -> Vec<Finding> {
        evaluate_capture(&self.report(), policy, facts)
    }

    pub(crate) fn ids(&self) -> Vec<&'static str> {
        let mut ids: Vec<_> = self.findings().iter().map(|finding| finding.id).collect();
        ids.dedup();
        ids
    }
}
