//! One header in front of a packet, and how its automatic fields are filled.

use bytes::BufMut;
use zerocopy::IntoBytes;

use super::checksum;
use crate::header::{TooShort, put};
use crate::icrc::Cover;
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

    /// The length in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    /// The header with its automatic fields filled; `after` bytes follow it up to the ICRC.
    pub(super) fn filled(&self, after: usize) -> Self {
        let whole = u16_or_max(after.saturating_add(self.len()));
        match *self {
            Self::Ipv4(mut ip, auto) => {
                if auto.length {
                    ip = ip.with_total_len(whole);
                }
                if auto.checksum {
                    ip = ip.with_checksum(0);
                    ip = ip.with_checksum(checksum::finish(checksum::sum(0, ip.as_bytes())));
                }
                Self::Ipv4(ip, auto)
            }
            Self::Ipv6(ip, auto) if auto.length => {
                Self::Ipv6(ip.with_payload_len(u16_or_max(after)), auto)
            }
            Self::Udp(udp, auto) if auto.length => Self::Udp(udp.with_length(whole), auto),
            Self::Grh(grh, auto) if auto.length => {
                Self::Grh(grh.with_pay_len(u16_or_max(after)), auto)
            }
            Self::Lrh(lrh, auto) if auto.length => Self::Lrh(lrh.with_pkt_len(whole / 4), auto),
            part => part,
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

    pub(super) fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        put("header", self.bytes(), out)
    }
}

/// The innermost network headers as they were emitted: what the ICRC covers.
#[derive(Clone, Copy, Default)]
pub(super) struct Innermost {
    net: Option<Part>,
    udp: Option<Udp>,
}

impl Innermost {
    pub(super) fn note(&mut self, part: &Part) {
        match part {
            Part::Ipv4(..) | Part::Ipv6(..) => *self = Self { net: Some(*part), udp: None },
            Part::Udp(udp, _) => self.udp = Some(*udp),
            // An LRH is covered unless a GRH follows.
            Part::Lrh(..) | Part::Grh(..) => *self = Self { net: Some(*part), udp: None },
            _ => {}
        }
    }

    pub(super) fn cover(&self) -> Option<Cover<'_>> {
        Some(match (self.net.as_ref()?, self.udp.as_ref()) {
            (Part::Ipv4(ip, _), Some(udp)) => Cover::V2Ipv4(ip, &[], udp),
            (Part::Ipv6(ip, _), Some(udp)) => Cover::V2Ipv6(ip, &[], udp),
            (Part::Grh(grh, _), _) => Cover::Global(grh),
            (Part::Lrh(lrh, _), _) => Cover::Local(lrh),
            _ => return None,
        })
    }
}

/// What does not fit a length field is too long for the wire anyway; the field shows its most.
pub(super) fn u16_or_max(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}
