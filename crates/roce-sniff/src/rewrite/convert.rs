//! RoCE v1 as v2 and v2 as v1, over IPv4 or IPv6.
//!
//! The flow label of v1 becomes the UDP source port by Linux's rule, and in IPv6 stays as well; the
//! other way, a port that Linux can have made becomes a label that makes it. So v1 as v2 as v1 is
//! what it was, over IPv4 if its labels are below 2^14.

use std::net::IpAddr;

use roce_analyze::connections::port::of_flow_label;
use roce_wire::{
    Content, EtherType, Frame, Gid, Grh, Header as _, Ipv4, Ipv6, Layer, Link, Net, Udp,
};

use super::args::Way;
use super::family::Family;
use super::headers::{ipv4_group_mac, ipv6_group_mac};
use super::layers::Layers;
use super::shape::{Patches, Shape, ethertype_at, grown, put};

const UDP: u8 = 17;
const IPV4_IN_IP: u16 = 4;
const IPV6_IN_IP: u16 = 41;

/// What a packet's network headers say, whatever they are.
struct Head {
    src: IpAddr,
    dst: IpAddr,
    class: u8,
    flow_label: u32,
    hop_limit: u8,
    ports: (u16, u16),
    /// From BTH to ICRC, in bytes.
    packet_len: usize,
}

/// Carries the RoCE packet of a frame another way; false when it cannot be.
pub(super) fn convert(shape: &mut Shape<'_>, way: Way, family: &mut Option<Family>) -> bool {
    let frame = shape.parse();
    match plan(&frame, shape, way, family) {
        Some(Plan::Done) => true,
        Some(Plan::Change { range, head, patches, group }) => {
            shape.patch(&patches);
            if let Some((at, mac)) = group {
                put(shape.bytes, at, &mac);
            }
            shape.splice(range, &head);
            true
        }
        None => false,
    }
}

enum Plan {
    /// It is carried so already.
    Done,
    Change {
        range: std::ops::Range<usize>,
        head: Vec<u8>,
        patches: Patches,
        /// The MAC address of the group, and where it goes.
        group: Option<(usize, [u8; 6])>,
    },
}

fn plan(
    frame: &Frame<'_>,
    shape: &Shape<'_>,
    way: Way,
    family: &mut Option<Family>,
) -> Option<Plan> {
    let (net, packet_len) = match &frame.content {
        Content::Packet(net, packet) => (*net, packet.wire_len()),
        Content::NoBth(no_bth) => {
            let net = no_bth.net?;
            (net, announced(&net)?)
        }
        _ => return None,
    };
    let mut head = Head::of(&net, packet_len)?;
    match (way, &net) {
        (Way::V1, Net::V1(_)) => return Some(Plan::Done),
        (Way::V2, Net::V2Ipv4(..) | Net::V2Ipv6(..)) => return Some(Plan::Done),
        (Way::V2Ipv4, Net::V2Ipv4(..)) | (Way::V2Ipv6, Net::V2Ipv6(..)) => return Some(Plan::Done),
        _ => {}
    }
    if let Some(family) = family {
        head.src = family.address(head.src)?;
        head.dst = family.address(head.dst)?;
    }
    let layers = Layers::of(frame);
    let index = layers.innermost_net()?;
    let (start, _) = *layers.as_slice().get(index)?;
    let (bytes, ethertype) = if way == Way::V1 { head.grh()? } else { head.datagram()? };
    let range = start..frame.content_offset();
    let by = isize::try_from(bytes.len()).ok()?.checked_sub(isize::try_from(range.len()).ok()?)?;
    let before = layers.as_slice().get(..index)?;
    let mut patches = grown(before, by)?;
    patches.extend(announce(before, shape, ethertype)?);
    let group = group_mac(before, head.dst);
    Some(Plan::Change { range, head: bytes, patches, group })
}

/// How long a packet is whose BTH the capture lacks.
fn announced(net: &Net<'_>) -> Option<usize> {
    match net {
        Net::V1(grh) => Some(grh.pay_len().into()),
        Net::V2Ipv4(_, _, udp) | Net::V2Ipv6(_, _, udp) => {
            usize::from(udp.length()).checked_sub(Udp::LEN)
        }
        Net::InfiniBand(..) => None,
    }
}

impl Head {
    /// `None` for native InfiniBand, which has no Ethernet around it.
    fn of(net: &Net<'_>, packet_len: usize) -> Option<Self> {
        let ports = |udp: &Udp| (udp.src_port(), udp.dst_port());
        Some(match net {
            Net::V1(grh) => Self {
                src: of_gid(grh.sgid),
                dst: of_gid(grh.dgid),
                class: grh.traffic_class(),
                flow_label: grh.flow_label(),
                hop_limit: grh.hop_limit,
                ports: (of_flow_label(grh.flow_label()), Udp::ROCE_V2),
                packet_len,
            },
            Net::V2Ipv4(ip, _, udp) => Self {
                src: IpAddr::V4(ip.src()),
                dst: IpAddr::V4(ip.dst()),
                class: ip.tos(),
                flow_label: u32::from(udp.src_port()) & 0x3fff,
                hop_limit: ip.ttl,
                ports: ports(udp),
                packet_len,
            },
            Net::V2Ipv6(ip, _, udp) => Self {
                src: IpAddr::V6(ip.src()),
                dst: IpAddr::V6(ip.dst()),
                class: ip.traffic_class(),
                flow_label: match ip.flow_label() {
                    0 => u32::from(udp.src_port()) & 0x3fff,
                    label => label,
                },
                hop_limit: ip.hop_limit,
                ports: ports(udp),
                packet_len,
            },
            Net::InfiniBand(..) => return None,
        })
    }

    fn grh(&self) -> Option<(Vec<u8>, EtherType)> {
        let mut grh = Grh::new(to_gid(self.src), to_gid(self.dst), self.length(0)?)
            .with_traffic_class(self.class)
            .with_flow_label(self.flow_label);
        grh.hop_limit = self.hop_limit;
        let mut out = Vec::with_capacity(Grh::LEN);
        grh.emit(&mut out).ok()?;
        Some((out, EtherType::ROCE_V1))
    }

    /// The UDP checksum is 0, as everywhere in RoCE; that of IPv4 is left to be mended.
    fn datagram(&self) -> Option<(Vec<u8>, EtherType)> {
        let mut out = Vec::with_capacity(Ipv6::LEN.saturating_add(Udp::LEN));
        let ethertype = match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let len = self.length(Ipv4::LEN.saturating_add(Udp::LEN))?;
                let mut ip = Ipv4::new(src, dst, UDP, len).with_tos(self.class);
                ip.ttl = self.hop_limit;
                ip.emit(&mut out).ok()?;
                EtherType::IPV4
            }
            (src, dst) => {
                let len = self.length(Udp::LEN)?;
                let (src, dst) = (to_gid(src).ipv6(), to_gid(dst).ipv6());
                let mut ip = Ipv6::new(src, dst, UDP, len)
                    .with_traffic_class(self.class)
                    .with_flow_label(self.flow_label);
                ip.hop_limit = self.hop_limit;
                ip.emit(&mut out).ok()?;
                EtherType::IPV6
            }
        };
        Udp::new(self.ports.0, self.ports.1, self.length(Udp::LEN)?).emit(&mut out).ok()?;
        Some((out, ethertype))
    }

    fn length(&self, headers: usize) -> Option<u16> {
        u16::try_from(self.packet_len.checked_add(headers)?).ok()
    }
}

/// The address in a GID; an IPv4 group is in it as Linux has it for v1.
fn of_gid(gid: Gid) -> IpAddr {
    let group = |[a, b, c, d]: [u8; 4]| IpAddr::from([a, b, c, d]);
    match gid.0 {
        [0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a @ 224..=239, b, c, d] => {
            group([a, b, c, d])
        }
        _ => gid.ipv4().map_or(IpAddr::V6(gid.ipv6()), IpAddr::V4),
    }
}

fn to_gid(ip: IpAddr) -> Gid {
    match ip {
        IpAddr::V4(ip) => {
            let mut gid = Gid::from_ipv4(ip);
            if ip.is_multicast() {
                put(&mut gid.0, 0, &[0xff, 0x0e]);
            }
            gid
        }
        IpAddr::V6(ip) => Gid::from(ip),
    }
}

/// What the headers in front must say of what follows now; `None` where they cannot.
fn announce(
    before: &[(usize, Layer<'_>)],
    shape: &Shape<'_>,
    ethertype: EtherType,
) -> Option<Patches> {
    let is_ip = ethertype != EtherType::ROCE_V1;
    let before = before.iter().rev().find(|(_, layer)| !matches!(layer, Layer::Raw(..)));
    let Some(last) = before else {
        // Raw IP says its family by itself, but for the link types of one family.
        let is_any = shape.link == Link::RawIp && !matches!(shape.linktype, 228 | 229);
        return (is_ip && is_any).then(Patches::new);
    };
    if let Some(at) = ethertype_at(last) {
        return Some(vec![(at, ethertype.0)]);
    }
    let protocol = if ethertype == EtherType::IPV4 { IPV4_IN_IP } else { IPV6_IN_IP };
    let (at, layer) = last;
    let old = |at: usize| layer.bytes().get(at).copied().map(u16::from);
    match layer {
        Layer::Mpls(_) | Layer::ErspanIII(_) if is_ip => Some(Patches::new()),
        // The protocol shares its word with another field.
        Layer::Ipv4(_) if is_ip => Some(vec![(at.checked_add(8)?, old(8)? << 8 | protocol)]),
        Layer::Ipv6(_) if is_ip => Some(vec![(at.checked_add(6)?, protocol << 8 | old(7)?)]),
        _ => None,
    }
}

/// The destination of the last Ethernet header, when the packet goes to a group.
fn group_mac(before: &[(usize, Layer<'_>)], dst: IpAddr) -> Option<(usize, [u8; 6])> {
    let ethernet = before.iter().rev().find_map(|(at, layer)| match layer {
        Layer::Ethernet(ethernet) => Some((*at, ethernet)),
        _ => None,
    });
    let (at, ethernet) = ethernet.filter(|_| dst.is_multicast())?;
    let has_group = ethernet.dst == ipv4_group_mac(dst) || ethernet.dst == ipv6_group_mac(dst);
    let mac = if dst.is_ipv4() { ipv4_group_mac(dst) } else { ipv6_group_mac(dst) };
    // A destination that is no group's stays, as where a switch has made copies for hosts.
    (has_group || ethernet.dst.is_multicast()).then_some((at, mac.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_group_is_in_its_gid_as_linux_has_it() {
        let group: IpAddr = "239.1.2.3".parse().unwrap();
        assert_eq!(to_gid(group).to_string(), "ff0e::ffff:ef01:203");
        assert_eq!(of_gid(to_gid(group)), group);
        let host: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(of_gid(to_gid(host)), host);
    }

    #[test]
    fn a_port_makes_a_label_that_makes_the_port() {
        for port in [0xc000, 0xc123, 0xffff] {
            assert_eq!(of_flow_label(u32::from(port) & 0x3fff), port);
        }
        // `rdma_flow_label_to_udp_sport` of Linux folds the upper six bits over the lower ones.
        assert_eq!(of_flow_label(0x1_2345), 0xe341);
    }
}
