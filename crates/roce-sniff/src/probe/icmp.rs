//! ICMP errors that quote a datagram of ours.

use std::fmt;
use std::net::IpAddr;

use roce_wire::{Content, Frame, Header, Ipv4, Ipv6, Layer, Udp};

/// Who says that a datagram did not get there, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unreachable {
    /// Who says so: the host itself or a router on the way.
    pub(crate) from: IpAddr,
    /// The code, which says what cannot be reached; its meaning depends on the IP version.
    pub(crate) code: u8,
    /// Whether the code means that nothing listens on the port.
    pub(crate) is_port: bool,
}

/// A datagram of ours, as an error quotes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quoted {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// "Destination unreachable" of both versions (RFC 792, RFC 4443).
const UNREACHABLE: u8 = 3;
const UNREACHABLE_V6: u8 = 1;
const PORT: u8 = 3;
const PORT_V6: u8 = 4;
/// Type, code, checksum and an unused word stand before what is quoted.
const HEADER: usize = 8;

/// The error in the frame, if it is one, and what it quotes.
pub(crate) fn unreachable(frame: &Frame<'_>) -> Option<(Unreachable, Quoted)> {
    let Content::Other(other) = frame.content else { return None };
    let protocol = other.protocol.filter(|protocol| matches!(*protocol, ICMP | ICMPV6))?;
    let mut from = None;
    let mut end = None;
    for (at, layer) in frame.layers() {
        match layer {
            Layer::Ipv4(ip) => from = Some(IpAddr::V4(ip.src())),
            Layer::Ipv6(ip) => from = Some(IpAddr::V6(ip.src())),
            Layer::Raw(..) => {}
            _ => continue,
        }
        end = at.checked_add(layer.bytes().len());
    }
    let icmp = frame.bytes().get(end?..)?;
    let (kind, code) = (*icmp.first()?, *icmp.get(1)?);
    let quoted = icmp.get(HEADER..)?;
    let (src, dst, udp, is_port) = match (protocol, kind) {
        (ICMP, UNREACHABLE) => {
            let (ip, _) = Ipv4::parse(quoted).ok()?;
            let udp = quoted.get(usize::from(ip.header_len())..)?;
            (IpAddr::V4(ip.src()), IpAddr::V4(ip.dst()), udp, code == PORT)
        }
        (ICMPV6, UNREACHABLE_V6) => {
            let (ip, udp) = Ipv6::parse(quoted).ok()?;
            (IpAddr::V6(ip.src()), IpAddr::V6(ip.dst()), udp, code == PORT_V6)
        }
        _ => return None,
    };
    let (udp, _) = Udp::parse(udp).ok()?;
    let quoted = Quoted { src, dst, src_port: udp.src_port(), dst_port: udp.dst_port() };
    Some((Unreachable { from: from?, code, is_port }, quoted))
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.from, self.code) {
            _ if self.is_port => "port unreachable",
            (IpAddr::V4(_), 0) | (IpAddr::V6(_), 0) => "no route",
            (IpAddr::V4(_), 1) | (IpAddr::V6(_), 3) => "host unreachable",
            (IpAddr::V4(_), 9 | 10 | 13) | (IpAddr::V6(_), 1) => "forbidden by a filter",
            (_, code) => return write!(f, "ICMP unreachable, code {code}, from {}", self.from),
        };
        write!(f, "ICMP {what} from {}", self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use roce_wire::{Link, Ports};

    /// Ethernet, IPv4, ICMP port unreachable, and the IPv4 and UDP headers that it quotes.
    const V4: &str = "020000770003 020000770002 0800 45c00038abcd00004001ba430a4d00020a4d0003
        0303 0000 00000000 4500013400004000401100000a4d00030a4d0002 c12312b701200000";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
    }

    fn of(bytes: &[u8]) -> Option<(Unreachable, Quoted)> {
        let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
        unreachable(&frame)
    }

    #[test]
    fn port_unreachable_names_our_datagram() {
        let (error, quoted) = of(&bytes(V4)).unwrap();
        assert!(error.is_port);
        assert_eq!(error.to_string(), "ICMP port unreachable from 10.77.0.2");
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let (src, dst) = (ip("10.77.0.3"), ip("10.77.0.2"));
        assert_eq!(quoted, Quoted { src, dst, src_port: 0xc123, dst_port: 4791 });
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(at in 0usize..70, value: u8, cut in 0usize..71) {
            let mut bytes = bytes(V4);
            bytes[at] = value;
            bytes.truncate(cut);
            let _ = of(&bytes);
        }
    }
}
