//! Traffic to measure on: RDMA WRITEs of several queue pairs between several hosts, every ICRC right.

use std::net::Ipv4Addr;

use roce_wire::{
    Aeth, FrameBuilder, MacAddr, Msn, Opcode, PacketBuilder, Psn, Qpn, RKey, Reth, Syndrome,
    TooShort, VirtAddr,
};

/// A frame of the traffic: packet `n` of `flows` flows, with `payload` in it.
///
/// # Errors
/// Never: a vector takes every byte.
pub fn frame(n: u32, flows: u32, payload: &[u8]) -> Result<Vec<u8>, TooShort> {
    let flow = Flow::of(n, flows);
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let packet =
        PacketBuilder::new(Opcode::RC_RDMA_WRITE_ONLY, Qpn::new(0x10_0000 | flow.number), flow.psn)
            .reth(Reth::new(VirtAddr::new(0x7f00_0000_0000), RKey::new(0x1234), length))
            .payload(payload);
    let [requester, responder] = flow.ends();
    flow.emit(requester, responder, &packet)
}

/// The acknowledgement of [`frame`] `n`.
///
/// # Errors
/// As [`frame`].
pub fn answer(n: u32, flows: u32) -> Result<Vec<u8>, TooShort> {
    let flow = Flow::of(n, flows);
    let msn = Msn::new(flow.psn.get().saturating_add(1));
    let packet =
        PacketBuilder::new(Opcode::RC_ACKNOWLEDGE, Qpn::new(0x20_0000 | flow.number), flow.psn)
            .aeth(Aeth::new(Syndrome::ACK_UNLIMITED, msn));
    let [requester, responder] = flow.ends();
    flow.emit(responder, requester, &packet)
}

/// Which flow packet `n` is of, and the how manieth there.
struct Flow {
    number: u32,
    psn: Psn,
}

impl Flow {
    fn of(n: u32, flows: u32) -> Self {
        let number = n.checked_rem(flows).unwrap_or(0);
        // As real ones do, each begins with a PSN of its own.
        let start = number.wrapping_mul(0x9e_3779);
        let psn = start.wrapping_add(n.checked_div(flows).unwrap_or(0));
        Self { number, psn: Psn::new(psn) }
    }

    fn ends(&self) -> [(MacAddr, Ipv4Addr); 2] {
        let [.., low] = self.number.to_be_bytes();
        let end =
            |last, net, host| (MacAddr([2, 0, 0, 0, 0, last]), Ipv4Addr::new(10, 0, net, host));
        [end(2, 0, low & 7), end(1, 1, low >> 3)]
    }

    fn emit(
        &self,
        (src_mac, src): (MacAddr, Ipv4Addr),
        (dst_mac, dst): (MacAddr, Ipv4Addr),
        packet: &PacketBuilder<'_>,
    ) -> Result<Vec<u8>, TooShort> {
        let [high, low, ..] = self.number.wrapping_mul(0x9e37_79b1).to_be_bytes();
        let port = 0xc000 | u16::from_be_bytes([high, low]) & 0x3fff;
        let mut bytes = Vec::new();
        FrameBuilder::ethernet(src_mac, dst_mac)
            .ipv4(src, dst)
            .traffic_class(0x6a)
            .udp(port)
            .emit(packet, &mut bytes)?;
        Ok(bytes)
    }
}
