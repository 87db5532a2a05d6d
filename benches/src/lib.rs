//! Traffic to measure on: RDMA WRITEs of several queue pairs between several hosts, every ICRC right.

use std::net::Ipv4Addr;

use roce_wire::{
    FrameBuilder, MacAddr, Opcode, PacketBuilder, Psn, Qpn, RKey, Reth, TooShort, VirtAddr,
};

/// A frame of the traffic: packet `n` of `flows` flows, with `payload` in it.
///
/// # Errors
/// Never: a vector takes every byte.
pub fn frame(n: u32, flows: u32, payload: &[u8]) -> Result<Vec<u8>, TooShort> {
    let flow = n.checked_rem(flows).unwrap_or(0);
    let psn = n.checked_div(flows).unwrap_or(0);
    let low = flow.to_be_bytes();
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, low[3] & 7), Ipv4Addr::new(10, 0, 1, low[3] >> 3));
    let macs = (MacAddr([2, 0, 0, 0, 0, 2]), MacAddr([2, 0, 0, 0, 0, 1]));
    let port = 0xc000 | u16::from_be_bytes([low[2], low[3]]) & 0x3fff;
    let head = FrameBuilder::ethernet(macs.0, macs.1).ipv4(src, dst).traffic_class(0x6a).udp(port);
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let packet =
        PacketBuilder::new(Opcode::RC_RDMA_WRITE_ONLY, Qpn::new(0x10_0000 | flow), Psn::new(psn))
            .reth(Reth::new(VirtAddr::new(0x7f00_0000_0000), RKey::new(0x1234), length))
            .payload(payload);
    let mut bytes = Vec::new();
    head.emit(&packet, &mut bytes)?;
    Ok(bytes)
}
