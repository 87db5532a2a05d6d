//! What stood in a header when its ICRC was made, if one field alone was rewritten since.

use core::net::{IpAddr, Ipv4Addr};

use super::linear;
use crate::icrc::Cover;
use crate::{Bth, Frame, Header, Qpn, Udp};

/// For each field of a RoCE v2 packet that an ICRC covers and that devices rewrite: the value it must
/// have had for the ICRC to be right, were it the only one that changed.
///
/// An IPv4 address is as long as the ICRC: there is always such an address, so one packet proves
/// nothing, and many packets with the same do. The other fields are shorter: by chance alone a
/// value is found for one in 65,536 (of the queue pair: one in 256) of the packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origins {
    /// Where the packet came from. IPv4 alone.
    pub src: Option<Ipv4Addr>,
    /// Where it went to. IPv4 alone.
    pub dst: Option<Ipv4Addr>,
    /// Identification of IPv4.
    pub ip_id: Option<u16>,
    /// Flags and fragment offset of IPv4.
    pub ip_fragment: Option<u16>,
    /// UDP source port.
    pub src_port: Option<u16>,
    /// UDP destination port.
    pub dst_port: Option<u16>,
    /// Partition key.
    pub p_key: Option<u16>,
    /// Destination queue pair.
    pub dest_qp: Option<Qpn>,
    /// By how much the CRC is off at the end of the destination address.
    off_by: u32,
    /// The addresses of the packet.
    addrs: [IpAddr; 2],
}

impl Origins {
    /// Those of a packet with a wrong ICRC, over UDP without IP options; slow, for a sample only.
    #[must_use]
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        let (net, packet) = frame.packet()?;
        let (ipv4, udp, addrs) = match net.cover() {
            Cover::V2Ipv4(ip, [], udp) => (Some(ip), udp, [ip.src().into(), ip.dst().into()]),
            Cover::V2Ipv6(ip, [], udp) => (None, udp, [ip.src().into(), ip.dst().into()]),
            _ => return None,
        };
        let off = packet.icrc?.get() ^ frame.right_icrc()?.get();
        let behind = packet.after_bth().len().saturating_add(Udp::LEN).saturating_add(Bth::LEN);
        let off_by = linear::before(off, behind);
        // Places are counted from the end of the addresses, where UDP begins.
        let ahead = |by: usize| linear::after(off_by, by);
        let back = |by: usize| linear::before(off_by, by);
        let word = |was: u32, off: u32| Ipv4Addr::from_bits(was ^ off.swap_bytes());
        let bth = packet.bth;
        Some(Self {
            src: ipv4.map(|ip| word(ip.src().to_bits(), back(8))),
            dst: ipv4.map(|ip| word(ip.dst().to_bits(), back(4))),
            ip_id: ipv4.and_then(|ip| half(ip.id(), back(16))),
            ip_fragment: ipv4.and_then(|ip| half(ip.fragment_word(), back(14))),
            src_port: half(udp.src_port(), ahead(0)),
            dst_port: half(udp.dst_port(), ahead(2)),
            p_key: half(bth.p_key.get(), ahead(Udp::LEN + 2)),
            dest_qp: three_bytes(bth.dest_qp(), ahead(Udp::LEN + 5)),
            off_by,
            addrs,
        })
    }

    /// Whether the ICRC is right with that source address.
    #[must_use]
    pub fn is_from(&self, src: IpAddr) -> bool {
        let [is, dst] = self.addrs;
        let behind = if dst.is_ipv4() { 4 } else { 16 };
        change(is, src).is_some_and(|off| linear::after(off, behind) == self.off_by)
    }

    /// Whether the ICRC is right with that destination address.
    #[must_use]
    pub fn is_to(&self, dst: IpAddr) -> bool {
        let [_, is] = self.addrs;
        change(is, dst) == Some(self.off_by)
    }

    /// What the CRC is off by where the addresses end: the same for all packets of a flow whose
    /// headers are changed in the same way.
    #[must_use]
    pub const fn mark(&self) -> u32 {
        self.off_by
    }
}

/// The halves of a word that differ by `off`, first byte lowest; `None` where more differs.
fn half(is: u16, off: u32) -> Option<u16> {
    u16::try_from(off).ok().map(|off| is ^ off.swap_bytes())
}

fn three_bytes(is: Qpn, off: u32) -> Option<Qpn> {
    (off >> 24 == 0).then(|| Qpn::new(is.get() ^ off.swap_bytes() >> 8))
}

/// What the CRC is off by behind an address that was changed.
fn change(is: IpAddr, was: IpAddr) -> Option<u32> {
    match (is, was) {
        (IpAddr::V4(is), IpAddr::V4(was)) => Some(behind(&is.octets(), &was.octets())),
        (IpAddr::V6(is), IpAddr::V6(was)) => Some(behind(&is.octets(), &was.octets())),
        _ => None,
    }
}

fn behind(is: &[u8], was: &[u8]) -> u32 {
    is.iter().zip(was).fold(0, |off, (is, was)| linear::after(off ^ u32::from(is ^ was), 1))
}
