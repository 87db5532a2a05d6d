//! One header in front of a packet, and which of its fields are filled on emit.

use zerocopy::IntoBytes;

use crate::{
    ErspanII, EtherType, Ethernet, Geneve, Gre, Grh, Ipv4, Ipv6, Lrh, MplsLabel, Udp, VlanTag,
    Vxlan,
};

/// A header; where a flag stands beside it, what the builder fills in on its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Ethernet(Ethernet),
    Vlan(VlanTag),
    Mpls(MplsLabel),
    Ipv4(Ipv4, Auto),
    Ipv6(Ipv6, Auto),
    Udp(Udp, Auto),
    Vxlan(Vxlan),
    Geneve(Geneve),
    Gre(Gre),
    /// The sequence number that ERSPAN II wants in GRE.
    GreSequence([u8; 4]),
    ErspanII(ErspanII),
    Grh(Grh, Auto),
    Lrh(Lrh, Auto),
}

/// Which automatic fields of a header are filled on emit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Auto {
    pub(super) length: bool,
    pub(super) checksum: bool,
}

impl Auto {
    pub(super) const ALL: Self = Self { length: true, checksum: true };
}

impl Part {
    /// The header as it stands, automatic fields not filled.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Ethernet(h) => h.as_bytes(),
            Self::Vlan(h) => h.as_bytes(),
            Self::Mpls(h) => h.as_bytes(),
            Self::Ipv4(h, _) => h.as_bytes(),
            Self::Ipv6(h, _) => h.as_bytes(),
            Self::Udp(h, _) => h.as_bytes(),
            Self::Vxlan(h) => h.as_bytes(),
            Self::Geneve(h) => h.as_bytes(),
            Self::Gre(h) => h.as_bytes(),
            Self::GreSequence(h) => h,
            Self::ErspanII(h) => h.as_bytes(),
            Self::Grh(h, _) => h.as_bytes(),
            Self::Lrh(h, _) => h.as_bytes(),
        }
    }

    /// The same announcing another header behind it.
    pub(super) fn announcing(self, next: EtherType) -> Self {
        match self {
            Self::Ethernet(h) => Self::Ethernet(Ethernet::new(h.dst, h.src, next)),
            Self::Vlan(tag) => {
                Self::Vlan(VlanTag::new(tag.pcp(), tag.vlan(), next).with_dei(tag.dei()))
            }
            Self::Geneve(h) => Self::Geneve(Geneve::new(next, h.vni())),
            Self::Gre(_) => Self::Gre(Gre::new(0, next)),
            other => other,
        }
    }
}
