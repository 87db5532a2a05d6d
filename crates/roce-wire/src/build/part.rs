//! One header in front of a packet, and how its automatic fields are filled.

use bytes::BufMut;
use zerocopy::IntoBytes;

use super::checksum;
use crate::header::{Header as _, TooShort, put};
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

    /// Appends the header with its automatic fields filled, and notes it for the ICRC; `after` bytes
    /// follow it up to the ICRC.
    pub(super) fn emit(
        &self,
        after: usize,
        innermost: &mut Innermost,
        out: &mut impl BufMut,
    ) -> Result<(), TooShort> {
        let whole = |len: usize| u16_or_max(after.saturating_add(len));
        match *self {
            Self::Ethernet(h) => put("Ethernet", h.as_bytes(), out),
            Self::Ipv4(mut ip, auto) => {
                if auto.length {
                    ip = ip.with_total_len(whole(Ipv4::LEN));
                }
                if auto.checksum {
                    ip = ip.with_checksum(0);
                    ip = ip.with_checksum(checksum::finish(checksum::sum(0, ip.as_bytes())));
                }
                *innermost = Innermost { net: Net::Ipv4(ip), udp: None };
                put("IPv4", ip.as_bytes(), out)
            }
            Self::Ipv6(mut ip, auto) => {
                if auto.length {
                    ip = ip.with_payload_len(u16_or_max(after));
                }
                *innermost = Innermost { net: Net::Ipv6(ip), udp: None };
                put("IPv6", ip.as_bytes(), out)
            }
            Self::Udp(mut udp, auto) => {
                if auto.length {
                    udp = udp.with_length(whole(Udp::LEN));
                }
                innermost.udp = Some(udp);
                put("UDP", udp.as_bytes(), out)
            }
            Self::Grh(mut grh, auto) => {
                if auto.length {
                    grh = grh.with_pay_len(u16_or_max(after));
                }
                *innermost = Innermost { net: Net::Grh(grh), udp: None };
                put("GRH", grh.as_bytes(), out)
            }
            Self::Lrh(mut lrh, auto) => {
                if auto.length {
                    lrh = lrh.with_pkt_len(whole(Lrh::LEN) / 4);
                }
                // An LRH is covered unless a GRH follows.
                *innermost = Innermost { net: Net::Lrh(lrh), udp: None };
                put("LRH", lrh.as_bytes(), out)
            }
            ref plain => put("header", plain.bytes(), out),
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

/// The innermost network headers as they were emitted: what the ICRC covers.
#[derive(Clone, Copy, Default)]
pub(super) struct Innermost {
    net: Net,
    udp: Option<Udp>,
}

#[derive(Clone, Copy, Default)]
enum Net {
    #[default]
    None,
    Ipv4(Ipv4),
    Ipv6(Ipv6),
    Grh(Grh),
    Lrh(Lrh),
}

impl Innermost {
    pub(super) fn cover(&self) -> Option<Cover<'_>> {
        Some(match (&self.net, &self.udp) {
            (Net::Ipv4(ip), Some(udp)) => Cover::V2Ipv4(ip, &[], udp),
            (Net::Ipv6(ip), Some(udp)) => Cover::V2Ipv6(ip, &[], udp),
            (Net::Grh(grh), _) => Cover::Global(grh),
            (Net::Lrh(lrh), _) => Cover::Local(lrh),
            _ => return None,
        })
    }
}

/// What does not fit a length field is too long for the wire anyway; the field shows its most.
pub(super) fn u16_or_max(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}
