//! The walk's steps through the network layer, and the packet at its end.

use super::layers::{Kind, Record};
use super::walk::{Next, Walk};
use super::{Carrier, Content, Net, NoBth, Oddities, Reject};
use crate::header::Header;
use crate::net::{ExtensionHeaders, Grh, Ipv4, Ipv6, Lnh, Lrh, Udp};
use crate::tunnel::{Geneve, Gre, Vxlan};
use crate::{Bth, Packet};

/// IP protocol numbers.
const IPV4_IN_IP: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_IN_IP: u8 = 41;
const MPLS_IN_IP: u8 = 137;

/// An IP header and what stands between it and what it carries.
#[derive(Clone, Copy)]
pub(super) enum Ip<'a> {
    V4(&'a Ipv4, &'a [u8]),
    V6(&'a Ipv6, &'a [u8]),
}

impl<'a, R: Record> Walk<'a, R> {
    #[inline]
    pub(super) fn ip(&mut self) -> Next {
        let step = match self.rest().first().map(|first| first >> 4) {
            Some(4) => self.ipv4(),
            Some(6) => self.ipv6(),
            _ => None,
        };
        step.unwrap_or_else(|| self.other())
    }

    #[inline]
    fn ipv4(&mut self) -> Option<Next> {
        let start = self.at;
        let ip = self.take::<Ipv4>(Kind::Ipv4)?;
        self.other.protocol = Some(ip.protocol);
        let options = match usize::from(ip.header_len()).checked_sub(Ipv4::LEN)? {
            0 => &[],
            len => {
                self.oddities.insert(Oddities::IP_OPTIONS);
                self.take_raw(Kind::Ipv4Options, len)?
            }
        };
        match ip.total_len() {
            // Segmentation offload hands frames to the capture before their length is known.
            0 => self.oddities.insert(Oddities::NO_IP_LENGTH),
            len => self.ends_at(start.saturating_add(usize::from(len))),
        }
        if ip.is_fragment() {
            return Some(self.fragment(ip.protocol, ip.fragment_offset()));
        }
        Some(self.protocol(ip.protocol, Ip::V4(ip, options)))
    }

    #[inline]
    fn ipv6(&mut self) -> Option<Next> {
        let ip = self.take::<Ipv6>(Kind::Ipv6)?;
        self.other.protocol = Some(ip.next_header);
        self.ends_at(self.at.saturating_add(usize::from(ip.payload_len())));
        if ip.next_header == UDP {
            return Some(self.udp(Ip::V6(ip, &[])));
        }
        let chain = ExtensionHeaders::walk(ip.next_header, self.rest());
        let extensions = self.take_raw(Kind::Ipv6Extensions, chain.len)?;
        self.other.protocol = Some(chain.next_header);
        if chain.is_cut {
            return None;
        }
        if chain.is_fragment {
            return Some(self.fragment(chain.next_header, chain.fragment_offset));
        }
        Some(self.protocol(chain.next_header, Ip::V6(ip, extensions)))
    }

    /// A fragment is not a packet: RoCE v2 is never fragmented. The first one shows its port.
    fn fragment(&mut self, protocol: u8, offset: u16) -> Next {
        match Udp::parse(self.rest()) {
            Ok((udp, _)) if protocol == UDP && offset == 0 => {
                self.other.ports = Some((udp.src_port(), udp.dst_port()));
                if self.ports.contains(udp.dst_port()) {
                    return self.done(Content::Rejected(Reject::Fragment));
                }
                self.other()
            }
            _ => self.other(),
        }
    }

    #[inline]
    fn protocol(&mut self, protocol: u8, ip: Ip<'a>) -> Next {
        match protocol {
            UDP => self.udp(ip),
            TCP => {
                if let Some(&[a, b, c, d]) = self.rest().first_chunk::<4>() {
                    let (src, dst) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                    self.other.ports = Some((src, dst));
                }
                self.other()
            }
            Gre::PROTOCOL => self.gre(),
            IPV4_IN_IP | IPV6_IN_IP => {
                self.tunnels.insert(super::Tunnels::IPIP);
                Next::Ip
            }
            MPLS_IN_IP => self.mpls(),
            _ => self.other(),
        }
    }

    #[inline]
    fn udp(&mut self, ip: Ip<'a>) -> Next {
        let start = self.at;
        if self.end.saturating_sub(start) < Udp::LEN {
            return self.short_udp();
        }
        let Some(udp) = self.take::<Udp>(Kind::Udp) else {
            return self.cut_udp(ip);
        };
        let ports = (udp.src_port(), udp.dst_port());
        self.other.ports = Some(ports);
        if self.ports.contains(ports.1) {
            return self.v2(start, ip, udp);
        }
        match ports.1 {
            Vxlan::PORT => self.vxlan(),
            Geneve::PORT => self.geneve(),
            _ if self.ports.contains(ports.0) => self.done(Content::Rejected(Reject::FromPort)),
            _ => self.other(),
        }
    }

    /// The IP datagram ends inside its UDP header; the destination port may still be there.
    fn short_udp(&mut self) -> Next {
        let left = self.end.saturating_sub(self.at);
        if left >= 4 && self.shows_port() {
            return self.done(Content::Rejected(Reject::TooShort));
        }
        self.other()
    }

    /// The capture ends inside the UDP header, and so does what is known of the packet.
    fn cut_udp(&mut self, ip: Ip<'a>) -> Next {
        if !self.shows_port() || !self.is_cut() {
            return self.other();
        }
        let carrier = match ip {
            Ip::V4(..) => Carrier::V2Ipv4,
            Ip::V6(..) => Carrier::V2Ipv6,
        };
        self.done(Content::NoBth(NoBth { carrier, net: None, captured: self.rest().len() }))
    }

    /// Whether the bytes here show a RoCE destination port in a UDP header that is not whole.
    fn shows_port(&self) -> bool {
        let port = self.rest().first_chunk::<4>();
        port.is_some_and(|&[_, _, hi, lo]| self.ports.contains(u16::from_be_bytes([hi, lo])))
    }

    #[inline]
    fn v2(&mut self, udp_at: usize, ip: Ip<'a>, udp: &'a Udp) -> Next {
        let length = usize::from(udp.length());
        if length < Udp::LEN {
            return self.done(Content::Rejected(Reject::BadLength));
        }
        let end = udp_at.saturating_add(length);
        if end < self.end && self.end != usize::MAX {
            self.oddities.insert(Oddities::UDP_SHORTER_THAN_IP);
        }
        self.ends_at(end);
        self.packet(match ip {
            Ip::V4(ip, options) => Net::V2Ipv4(ip, options, udp),
            Ip::V6(ip, extensions) => Net::V2Ipv6(ip, extensions, udp),
        })
    }

    pub(super) fn lrh(&mut self) -> Next {
        let start = self.at;
        let Some(lrh) = self.take::<Lrh>(Kind::Lrh) else { return self.other() };
        self.ends_at(start.saturating_add(lrh.byte_len()));
        let grh = match lrh.lnh() {
            Lnh::Local => None,
            Lnh::Global => match self.take::<Grh>(Kind::Grh) {
                Some(grh) if grh.next_header == Grh::IBA => {
                    self.ends_at(self.at.saturating_add(usize::from(grh.pay_len())));
                    Some(grh)
                }
                _ => return self.other(),
            },
            Lnh::Raw | Lnh::Ip => return self.other(),
        };
        self.packet(Net::InfiniBand(lrh, grh))
    }

    /// The packet between here and the end that the headers agree on.
    #[inline]
    pub(super) fn packet(&mut self, net: Net<'a>) -> Next {
        let wire_len = self.end.saturating_sub(self.at);
        let content = match Packet::parse(self.rest(), wire_len) {
            Ok(packet) => Content::Packet(net, packet),
            Err(_) if wire_len < Bth::LEN => Content::Rejected(Reject::TooShort),
            // The frame was shorter on the wire than its headers say.
            Err(_) if !self.is_cut() => Content::Rejected(Reject::BadLength),
            Err(error) => Content::NoBth(NoBth {
                carrier: net.carrier(),
                net: Some(net),
                captured: error.had,
            }),
        };
        self.done(content)
    }
}
