//! Ethernet II header, 14 bytes, and the Ethertypes that matter here.
//!
//! ```text
//!      0               1               2               3
//!  0  | destination (6 bytes)                                         |
//!  6  | source (6 bytes)                                              |
//! 12  | Ethertype                     |
//! ```

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, MacAddr};

/// Ethernet II header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ethernet {
    /// Destination.
    pub dst: MacAddr,
    /// Source.
    pub src: MacAddr,
    ethertype: U16,
}

const _: () = assert!(size_of::<Ethernet>() == 14);

impl Ethernet {
    /// From its three fields.
    #[must_use]
    pub const fn new(dst: MacAddr, src: MacAddr, ethertype: EtherType) -> Self {
        Self { dst, src, ethertype: U16::new(ethertype.0) }
    }

    /// What follows.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        EtherType(self.ethertype.get())
    }
}

impl Header for Ethernet {
    const NAME: &'static str = "Ethernet";

    fn fields(&self, f: &mut Fields<'_>) {
        f.mac("dst", self.dst);
        f.mac("src", self.src);
        f.named("ethertype", 16, self.ethertype().0, &self.ethertype());
    }
}

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} {}", self.src, self.dst, self.ethertype())
    }
}

/// What a frame carries (IEEE 802 numbers).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// Transparent Ethernet bridging: a whole Ethernet frame, in GRE and Geneve.
    pub const ETHERNET: Self = Self(0x6558);
    /// ERSPAN type III, in GRE.
    pub const ERSPAN_III: Self = Self(0x22eb);
    /// 802.1Q tag.
    pub const VLAN: Self = Self(0x8100);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// MAC control: PAUSE and PFC.
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// MPLS, unicast.
    pub const MPLS: Self = Self(0x8847);
    /// MPLS, multicast or upstream-assigned.
    pub const MPLS_MULTICAST: Self = Self(0x8848);
    /// 802.1ad service tag.
    pub const SERVICE_VLAN: Self = Self(0x88a8);
    /// ERSPAN types I and II, in GRE.
    pub const ERSPAN: Self = Self(0x88be);
    /// LLDP.
    pub const LLDP: Self = Self(0x88cc);
    /// RoCE v1.
    pub const ROCE_V1: Self = Self(0x8915);
    /// 802.1ad stacking before it was a standard.
    pub const OLD_QINQ: Self = Self(0x9100);

    /// Whether a VLAN tag follows.
    #[must_use]
    pub const fn is_vlan(self) -> bool {
        matches!(self, Self::VLAN | Self::SERVICE_VLAN | Self::OLD_QINQ)
    }

    /// The usual name; `None` for one that is not listed here.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::IPV4 => "IPv4",
            Self::ARP => "ARP",
            Self::ETHERNET => "Ethernet",
            Self::ERSPAN_III => "ERSPAN III",
            Self::VLAN => "802.1Q",
            Self::IPV6 => "IPv6",
            Self::MAC_CONTROL => "MAC control",
            Self::MPLS => "MPLS",
            Self::MPLS_MULTICAST => "MPLS multicast",
            Self::SERVICE_VLAN => "802.1ad",
            Self::ERSPAN => "ERSPAN",
            Self::LLDP => "LLDP",
            Self::ROCE_V1 => "RoCE v1",
            Self::OLD_QINQ => "QinQ",
            _ => return None,
        })
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}
