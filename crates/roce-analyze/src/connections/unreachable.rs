//! ICMP errors that quote a datagram to the RoCE port: nobody listens there.

use roce_wire::{Addr, Content, Frame, Header, Ipv4, Ipv6, Layer, Udp};
use std::net::IpAddr;

/// Who says that the port is unreachable, to whom, and for which host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unreachable {
    /// The source of the datagram that is quoted.
    pub src: Addr,
    /// Its destination.
    pub dst: Addr,
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Type and code: destination, port unreachable.
const PORT_UNREACHABLE: [u8; 2] = [3, 3];
const PORT_UNREACHABLE_V6: [u8; 2] = [1, 4];
/// Type, code, checksum and an unused word stand before what is quoted.
const HEADER: usize = 8;

/// The error in the frame, if it is one.
pub(super) fn of(frame: &Frame<'_>) -> Option<Unreachable> {
    let Content::Other(other) = frame.content else { return None };
    let protocol = other.protocol.filter(|protocol| matches!(*protocol, ICMP | ICMPV6))?;
    let end = frame.layers().last().and_then(|(at, layer)| match layer {
        Layer::Ipv4(_) | Layer::Ipv6(_) | Layer::Raw(..) => at.checked_add(layer.bytes().len()),
        _ => None,
    })?;
    let icmp = frame.bytes().get(end..)?;
    let quoted = icmp.get(HEADER..)?;
    let (src, dst, udp) = match protocol {
        ICMP if icmp.starts_with(&PORT_UNREACHABLE) => {
            let (ip, _) = Ipv4::parse(quoted).ok()?;
            let udp = quoted.get(usize::from(ip.header_len())..)?;
            (IpAddr::V4(ip.src()), IpAddr::V4(ip.dst()), udp)
        }
        ICMPV6 if icmp.starts_with(&PORT_UNREACHABLE_V6) => {
            let (ip, udp) = Ipv6::parse(quoted).ok()?;
            (IpAddr::V6(ip.src()), IpAddr::V6(ip.dst()), udp)
        }
        _ => return None,
    };
    let (udp, _) = Udp::parse(udp).ok()?;
    (udp.dst_port() == Udp::ROCE_V2)
        .then_some(Unreachable { src: Addr::Ip(src), dst: Addr::Ip(dst) })
}
