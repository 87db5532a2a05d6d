//! Frames made for a test: connections between two hosts, at given times.

use std::net::Ipv4Addr;

use roce_wire::{
    Aeth, AtomicAckEth, AtomicEth, FrameBuilder, IcrcFill, Link, MacAddr, Msn, Opcode,
    PacketBuilder, Psn, Qpn, RKey, Reth, Syndrome, VirtAddr,
};

use super::Record;

/// A queue pair of host A and one of host B, with the UDP source ports of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) qpns: [u32; 2],
    pub(crate) ports: [u16; 2],
}

/// The bytes of the messages.
static PAYLOAD: [u8; 1024] = [7; 1024];

impl Pair {
    /// A packet from host A (0) or B (1), at a time in nanoseconds.
    fn packet(self, from: usize, time_ns: u64, packet: &PacketBuilder<'_>) -> Record {
        let hosts = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let macs = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
        let to = 1 - from;
        let head = FrameBuilder::ethernet(macs[to], macs[from])
            .ipv4(hosts[from], hosts[to])
            .udp(self.ports[from])
            .ip_id(0);
        let mut bytes = Vec::new();
        head.emit(packet, &mut bytes).unwrap();
        Record { link: Link::Ethernet, time_ns, wire_len: bytes.len(), bytes }
    }

    fn to(self, from: usize, opcode: Opcode, psn: u32) -> PacketBuilder<'static> {
        PacketBuilder::new(opcode, Qpn::new(self.qpns[1 - from]), Psn::new(psn))
    }

    /// A SEND of one packet that asks for an answer.
    pub(crate) fn send(self, from: usize, time_ns: u64, psn: u32) -> Record {
        self.send_with(from, time_ns, psn, IcrcFill::Right)
    }

    /// The same with this ICRC.
    pub(crate) fn send_with(self, from: usize, time_ns: u64, psn: u32, icrc: IcrcFill) -> Record {
        let packet = self.to(from, Opcode::RC_SEND_ONLY, psn).payload(&PAYLOAD[..64]).ack_req();
        self.packet(from, time_ns, &packet.icrc(icrc))
    }

    /// An RDMA WRITE of four packets, the last of which asks for an answer.
    pub(crate) fn write(self, from: usize, time_ns: u64, psn: u32) -> Vec<Record> {
        let reth = Reth::new(VirtAddr::new(0x1000), RKey::new(7), 4096);
        let first = self.to(from, Opcode::RC_RDMA_WRITE_FIRST, psn).reth(reth);
        let middle = |nth| self.to(from, Opcode::RC_RDMA_WRITE_MIDDLE, psn + nth);
        let last = self.to(from, Opcode::RC_RDMA_WRITE_LAST, psn + 3).ack_req();
        let packets = [first, middle(1), middle(2), last];
        (0..)
            .zip(packets)
            .map(|(nth, packet)| self.packet(from, time_ns + nth * 300, &packet.payload(&PAYLOAD)))
            .collect()
    }

    /// A SEND of so many packets, the last of which asks for an answer.
    pub(crate) fn long_send(self, from: usize, time_ns: u64, psn: u32, count: u32) -> Vec<Record> {
        let opcode = |nth| match (nth == 0, nth + 1 == count) {
            (true, true) => Opcode::RC_SEND_ONLY,
            (true, false) => Opcode::RC_SEND_FIRST,
            (false, false) => Opcode::RC_SEND_MIDDLE,
            (false, true) => Opcode::RC_SEND_LAST,
        };
        let packet = |nth| {
            let packet = self.to(from, opcode(nth), psn + nth).payload(&PAYLOAD);
            if nth + 1 == count { packet.ack_req() } else { packet }
        };
        (0..count)
            .map(|nth| self.packet(from, time_ns + u64::from(nth) * 200, &packet(nth)))
            .collect()
    }

    /// An acknowledgement, of the messages up to the one that ends with this PSN.
    pub(crate) fn ack(self, from: usize, time_ns: u64, psn: u32, msn: u32) -> Record {
        self.ack_with(from, time_ns, psn, msn, IcrcFill::Right)
    }

    /// The same with this ICRC.
    pub(crate) fn ack_with(
        self,
        from: usize,
        time_ns: u64,
        psn: u32,
        msn: u32,
        icrc: IcrcFill,
    ) -> Record {
        let aeth = Aeth::new(Syndrome(0x1f), Msn::new(msn));
        let packet = self.to(from, Opcode::RC_ACKNOWLEDGE, psn).aeth(aeth);
        self.packet(from, time_ns, &packet.icrc(icrc))
    }

    /// A congestion notification, with PSN 0 as all of them have.
    pub(crate) fn cnp(self, from: usize, time_ns: u64) -> Record {
        let packet = self.to(from, Opcode::CNP, 0).payload(&[0; 16]);
        self.packet(from, time_ns, &packet)
    }

    /// A READ of so many bytes.
    pub(crate) fn read(self, from: usize, time_ns: u64, psn: u32, len: u32) -> Record {
        let reth = Reth::new(VirtAddr::new(0x1000), RKey::new(7), len);
        self.packet(from, time_ns, &self.to(from, Opcode::RC_RDMA_READ_REQUEST, psn).reth(reth))
    }

    /// The only response to a READ.
    pub(crate) fn read_response(self, from: usize, time_ns: u64, psn: u32, msn: u32) -> Record {
        self.read_response_of(1024, from, time_ns, psn, msn)
    }

    /// The same of so many bytes, up to 1024.
    pub(crate) fn read_response_of(
        self,
        len: usize,
        from: usize,
        time_ns: u64,
        psn: u32,
        msn: u32,
    ) -> Record {
        let aeth = Aeth::new(Syndrome(0x1f), Msn::new(msn));
        let packet = self.to(from, Opcode::RC_RDMA_READ_RESPONSE_ONLY, psn).aeth(aeth);
        self.packet(from, time_ns, &packet.payload(&PAYLOAD[..len]))
    }

    /// A FetchAdd.
    pub(crate) fn fetch_add(self, from: usize, time_ns: u64, psn: u32) -> Record {
        let add = AtomicEth::new(VirtAddr::new(0x1000), RKey::new(7), 1, 0);
        self.packet(from, time_ns, &self.to(from, Opcode::RC_FETCH_ADD, psn).atomic_eth(add))
    }

    /// The answer to it.
    pub(crate) fn atomic_ack(self, from: usize, time_ns: u64, psn: u32, msn: u32) -> Record {
        let aeth = Aeth::new(Syndrome(0x1f), Msn::new(msn));
        let packet = self.to(from, Opcode::RC_ATOMIC_ACKNOWLEDGE, psn).aeth(aeth);
        self.packet(from, time_ns, &packet.atomic_ack_eth(AtomicAckEth::new(5)))
    }

    /// A NAK that asks for this PSN.
    pub(crate) fn nak(self, from: usize, time_ns: u64, psn: u32, msn: u32) -> Record {
        let aeth = Aeth::new(Syndrome(0x60), Msn::new(msn));
        let packet = self.to(from, Opcode::RC_ACKNOWLEDGE, psn).aeth(aeth);
        self.packet(from, time_ns, &packet)
    }
}

/// Records in the order of their times.
pub(crate) fn in_order(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| record.time_ns);
    records
}

/// The same numbers every time, spread over the range.
#[derive(Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}
