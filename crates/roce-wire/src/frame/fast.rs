//! The short way for the frames that make up nearly all RoCE traffic.
//!
//! Ethernet, at most one VLAN tag, IPv4 without options or IPv6 without extension headers, UDP to a
//! RoCE port, lengths that agree: anything else is left to the walk. Both ways must give the same
//! answer; the tests hold them to each other.

use super::{Content, Frame, Link, Net, Oddities, Ports, Tunnels};
use crate::Packet;
use crate::header::Header;
use crate::link::{EtherType, Ethernet, VlanTag};
use crate::net::{Ipv4, Ipv6, Udp};

const UDP: u8 = 17;

/// The frame, if it is a plain one.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "a call would copy the whole frame, which costs as much as parsing it"
)]
pub(super) fn plain<'a>(bytes: &'a [u8], wire_len: usize, ports: &Ports) -> Option<Frame<'a>> {
    let (ethernet, mut rest) = Ethernet::parse(bytes).ok()?;
    let mut ethertype = ethernet.ethertype();
    let mut vlans: &[VlanTag] = &[];
    if ethertype == EtherType::VLAN {
        let (tag, behind) = VlanTag::parse(rest).ok()?;
        (vlans, ethertype, rest) = (core::slice::from_ref(tag), tag.ethertype(), behind);
    }
    let (net, rest, ip_payload) = match ethertype {
        EtherType::IPV4 => ipv4(rest)?,
        EtherType::IPV6 => ipv6(rest)?,
        _ => return None,
    };
    let udp = net.udp()?;
    let content_at = bytes.len().checked_sub(rest.len())?;
    let packet_len = ip_payload.checked_sub(Udp::LEN)?;
    let plain = ports.contains(udp.dst_port())
        && usize::from(udp.length()) == ip_payload
        && content_at.checked_add(packet_len)? <= wire_len;
    if !plain {
        return None;
    }
    let packet = Packet::parse(rest, packet_len).ok()?;
    Some(Frame {
        bytes,
        wire_len,
        link: Link::Ethernet,
        ports: *ports,
        content_at,
        content: Content::Packet(net, packet),
        vlans,
        tunnels: Tunnels::default(),
        oddities: Oddities::default(),
    })
}

/// Network headers, what follows them, and the length of the IP payload by the IP header.
type Headers<'a> = (Net<'a>, &'a [u8], usize);

#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would pass the headers through memory")]
fn ipv4(bytes: &[u8]) -> Option<Headers<'_>> {
    let (ip, rest) = Ipv4::parse(bytes).ok()?;
    let (udp, rest) = Udp::parse(rest).ok()?;
    let plain = ip.has_plain_length() && !ip.is_fragment() && ip.protocol == UDP;
    let payload = usize::from(ip.total_len()).checked_sub(Ipv4::LEN)?;
    plain.then_some((Net::V2Ipv4(ip, &[], udp), rest, payload))
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would pass the headers through memory")]
fn ipv6(bytes: &[u8]) -> Option<Headers<'_>> {
    let (ip, rest) = Ipv6::parse(bytes).ok()?;
    let (udp, rest) = Udp::parse(rest).ok()?;
    let plain = ip.version() == 6 && ip.next_header == UDP;
    plain.then_some((Net::V2Ipv6(ip, &[], udp), rest, usize::from(ip.payload_len())))
}
