//! What tshark 4.0.17 gets wrong. Found by this test, each looked into by hand.
//!
//! Beyond these, the table of fields leaves out what tshark never shows: FECN and BECN (to it a
//! reserved byte), the name of opcode 0x81, XRCETH, FETH, the reserved bits, and the ICRC's check.

use roce_sniff_tests::Kept;
use roce_wire::{AnyHeader, Frame, Layer, Link, Packet, Service};

/// One fault of tshark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// ERSPAN III of frame type IP is taken for Ethernet.
    ErspanIp,
    /// A pseudowire is not looked into.
    Pseudowire,
    /// In BSD loopback, Linux's number for IPv6 (10) is not known.
    LoopbackFamily,
    /// A source port below 4791 that some protocol is known by goes before the destination port.
    SourcePort,
    /// Reliable datagrams are taken for ConnectX's dynamic connections, whose BTH is longer.
    RdIsDc,
    /// The extended headers of XRC are not shown.
    Xrc,
    /// The headers of FLUSH and ATOMIC WRITE are not shown.
    NewOpcode,
}

impl Fault {
    /// Whether it spoils what tshark says of this header.
    pub(crate) fn spoils(self, header: &str) -> bool {
        match self {
            Self::ErspanIp | Self::Pseudowire | Self::LoopbackFamily => true,
            Self::SourcePort => !matches!(header, "v2" | "v2_ipv4" | "v2_ipv6" | "vlan"),
            Self::RdIsDc | Self::Xrc | Self::NewOpcode => {
                header.ends_with("ETH") || header == "ImmDt"
            }
        }
    }
}

/// DNS, TFTP, NTP, GTP-U, VXLAN: those among the source ports of the fixtures.
const KNOWN_PORTS: [u16; 5] = [53, 69, 123, 2152, 4789];

/// The fault that this packet runs into.
pub(crate) fn of(kept: &Kept, frame: &Frame<'_>, packet: &Packet<'_>) -> Option<Fault> {
    let port = frame.packet().and_then(|(net, _)| Some(net.udp()?.src_port()));
    if port.is_some_and(|port| KNOWN_PORTS.contains(&port)) {
        return Some(Fault::SourcePort);
    }
    of_layers(kept, frame).or_else(|| {
        let info = packet.bth.opcode.info()?;
        match info.service {
            Service::Rd => Some(Fault::RdIsDc),
            Service::Xrc => Some(Fault::Xrc),
            Service::Rc if matches!(info.opcode.0, 0x1c | 0x1d) => Some(Fault::NewOpcode),
            _ => None,
        }
    })
}

fn of_layers(kept: &Kept, frame: &Frame<'_>) -> Option<Fault> {
    if kept.link() == Link::Null
        && let Some((_, Layer::Null(null))) = frame.layers().next()
        && null.bytes().contains(&10)
    {
        return Some(Fault::LoopbackFamily);
    }
    let mut mirrored = false;
    for (_, layer) in frame.layers() {
        match layer {
            Layer::ErspanIII(_) | Layer::Raw("ERSPAN platform words", _) => mirrored = true,
            Layer::Ipv4(_) | Layer::Ipv6(_) if mirrored => return Some(Fault::ErspanIp),
            Layer::Raw("pseudowire control word", _) => return Some(Fault::Pseudowire),
            _ => mirrored = false,
        }
    }
    None
}
