//! New names and marks in the headers in front of the packet, in place.

use std::net::IpAddr;

use roce_wire::{Content, Frame, Gid, Grh, Layer, MacAddr, Net, VlanTag};

use super::layers::Layers;
use super::names::Names;
use super::shape::put;

/// What RoCE packets are marked with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) dscp: Option<u8>,
    /// Two bits.
    pub(super) ecn: Option<u8>,
    pub(super) pcp: Option<u8>,
}

impl Marks {
    fn class(self, old: u8) -> u8 {
        let dscp = self.dscp.unwrap_or(old >> 2);
        dscp << 2 | self.ecn.unwrap_or(old & 3)
    }
}

/// Edits the headers; `is_roce` says that the last of them carry RoCE.
pub(super) fn edit(
    names: &Names,
    marks: Marks,
    frame: &Frame<'_>,
    layers: &Layers<'_>,
    is_roce: bool,
    bytes: &mut [u8],
) {
    for (index, (at, layer)) in layers.iter().enumerate() {
        let behind = |len: usize| at.saturating_add(len);
        match layer {
            Layer::Ethernet(ethernet) => {
                put(bytes, *at, &group_mac(names, ethernet.dst, layers, index).0);
                put(bytes, behind(6), &names.mac(ethernet.src).0);
            }
            Layer::Vlans(tags) => edit_tags(names, marks, tags, *at, bytes),
            // Of Ethernet, whose addresses have six bytes.
            Layer::Sll(sll) if layer.bytes().get(4..6) == Some(&[0, 6]) => {
                edit_cooked(names, sll.addr, behind(6), bytes);
            }
            Layer::Sll2(sll) if sll.addr_len == 6 => {
                edit_cooked(names, sll.addr, behind(12), bytes);
            }
            Layer::Ipv4(ip) => {
                put(bytes, behind(12), &names.ipv4(ip.src()).octets());
                put(bytes, behind(16), &names.ipv4(ip.dst()).octets());
            }
            Layer::Ipv6(ip) => {
                put(bytes, behind(8), &names.gid(Gid::from(ip.src())).0);
                put(bytes, behind(24), &names.gid(Gid::from(ip.dst())).0);
            }
            Layer::Grh(grh) if grh.next_header == Grh::IBA => {
                put(bytes, behind(8), &names.gid(grh.sgid).0);
                put(bytes, behind(24), &names.gid(grh.dgid).0);
            }
            Layer::Lrh(lrh) => {
                put(bytes, behind(2), &names.lid(lrh.dlid).get().to_be_bytes());
                put(bytes, behind(6), &names.lid(lrh.slid).get().to_be_bytes());
            }
            _ if names.hidden.is_some() => blank(layers, index, bytes),
            _ => {}
        }
    }
    if is_roce {
        edit_innermost(names, marks, frame, layers, bytes);
    }
}

/// The marks of the packet's own network header, and its ports.
fn edit_innermost(
    names: &Names,
    marks: Marks,
    frame: &Frame<'_>,
    layers: &Layers<'_>,
    bytes: &mut [u8],
) {
    let slice = layers.as_slice();
    let is_v2 = match &frame.content {
        Content::Packet(net, _) => net.udp().is_some(),
        Content::NoBth(no_bth) => no_bth.net.as_ref().and_then(Net::udp).is_some(),
        _ => false,
    };
    if let Some((at, Layer::Udp(udp))) = slice.last().filter(|_| is_v2) {
        put(bytes, *at, &names.src_port(frame.packet(), udp.src_port()).to_be_bytes());
        put(bytes, at.saturating_add(2), &names.dst_port(udp.dst_port()).to_be_bytes());
    }
    let Some((at, layer)) = layers.innermost_net().and_then(|index| slice.get(index)) else {
        return;
    };
    match layer {
        Layer::Ipv4(ip) => put(bytes, at.saturating_add(1), &[marks.class(ip.tos())]),
        Layer::Ipv6(ip) => {
            put_class(layer.bytes(), marks.class(ip.traffic_class()), *at, bytes);
        }
        Layer::Grh(grh) => {
            put_class(layer.bytes(), marks.class(grh.traffic_class()), *at, bytes);
        }
        _ => {}
    }
}

/// The traffic class of IPv6 and GRH stands across two bytes.
fn put_class(old: &[u8], class: u8, at: usize, bytes: &mut [u8]) {
    if let [first, second, ..] = old {
        put(bytes, at, &[first & 0xf0 | class >> 4, class << 4 | second & 0x0f]);
    }
}

fn edit_tags(names: &Names, marks: Marks, tags: &[VlanTag], at: usize, bytes: &mut [u8]) {
    let mut at = at;
    for tag in tags {
        let pcp = marks.pcp.unwrap_or_else(|| tag.pcp());
        let dei = if tag.dei() { 0x1000 } else { 0 };
        let tci = u16::from(pcp) << 13 | dei | names.vlan(tag.vlan());
        put(bytes, at, &tci.to_be_bytes());
        at = at.saturating_add(size_of::<VlanTag>());
    }
}

fn edit_cooked(names: &Names, addr: [u8; 8], at: usize, bytes: &mut [u8]) {
    if let Some(mac) = addr.first_chunk() {
        put(bytes, at, &names.mac(MacAddr(*mac)).0);
    }
}

/// The destination of an Ethernet frame: that of an IP group follows the group.
fn group_mac(names: &Names, mac: MacAddr, layers: &Layers<'_>, index: usize) -> MacAddr {
    let next = layers.iter().skip(index.saturating_add(1)).find_map(|(_, layer)| match layer {
        Layer::Ipv4(ip) => Some(Some(IpAddr::V4(ip.dst()))),
        Layer::Ipv6(ip) => Some(Some(IpAddr::V6(ip.dst()))),
        Layer::Grh(grh) => Some(Some(IpAddr::V6(grh.dgid.ipv6()))),
        Layer::Vlans(_) | Layer::Mpls(_) => None,
        _ => Some(None),
    });
    let Some(group) = next.flatten().filter(|_| mac.is_multicast()) else { return names.mac(mac) };
    match form_of(mac, group) {
        Some(form) => form(names.ip(group)),
        None => names.mac(mac),
    }
}

/// How the MAC address was made of this group, if it was.
fn form_of(mac: MacAddr, group: IpAddr) -> Option<fn(IpAddr) -> MacAddr> {
    let forms: [fn(IpAddr) -> MacAddr; 2] = [ipv4_group_mac, ipv6_group_mac];
    forms.into_iter().find(|form| form(group) == mac)
}

/// The last four bytes of an address.
fn low_octets(ip: IpAddr) -> [u8; 4] {
    match ip {
        IpAddr::V4(ip) => ip.octets(),
        IpAddr::V6(ip) => ip.octets().last_chunk().copied().unwrap_or_default(),
    }
}

/// RFC 1112; of a GID as well that has an IPv4 group in it.
pub(super) fn ipv4_group_mac(ip: IpAddr) -> MacAddr {
    let [_, b, c, d] = low_octets(ip);
    MacAddr([0x01, 0x00, 0x5e, b & 0x7f, c, d])
}

/// RFC 2464.
pub(super) fn ipv6_group_mac(ip: IpAddr) -> MacAddr {
    let [a, b, c, d] = low_octets(ip);
    MacAddr([0x33, 0x33, a, b, c, d])
}

/// Blanks out what may name somebody and has no place among the names.
fn blank(layers: &Layers<'_>, index: usize, bytes: &mut [u8]) {
    let Some((at, layer)) = layers.as_slice().get(index) else { return };
    let len = layer.bytes().len();
    let Some(room) = bytes.get_mut(*at..).and_then(|rest| rest.get_mut(..len)) else { return };
    match layer {
        // Text, or whatever it is that is no GRH: only what says so stays.
        Layer::Grh(_) => {
            let [version, next] = [0, 6].map(|at| room.get(at).copied().unwrap_or(0));
            room.fill(0);
            put(room, 0, &[version & 0xf0]);
            put(room, 6, &[next]);
        }
        // No operation (RFC 791).
        Layer::Raw("IPv4 options", _) => room.fill(1),
        Layer::Raw("IPv6 extension headers", _) => {
            let first = layers.iter().take(index).rev().find_map(|(_, layer)| match layer {
                Layer::Ipv6(ip) => Some(ip.next_header),
                _ => None,
            });
            blank_extensions(first.unwrap_or(0), room);
        }
        // The first byte of each word says what kind it is and whether another follows.
        Layer::Raw("ERF extension headers", _) => {
            room.chunks_mut(8).for_each(|word| word.iter_mut().skip(1).for_each(|byte| *byte = 0));
        }
        Layer::Raw("Geneve options", _) => blank_geneve(room),
        _ => {}
    }
}

/// Options become padding, routes forget their hops; what says how long they are stays.
fn blank_extensions(first: u8, room: &mut [u8]) {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const DESTINATION: u8 = 60;
    const AUTHENTICATION: u8 = 51;
    const FRAGMENT: u8 = 44;
    let mut kind = first;
    let mut rest = room;
    while let [next, len, ..] = rest {
        let (next, words) = (*next, usize::from(*len));
        let len = match kind {
            AUTHENTICATION => words.saturating_add(2).saturating_mul(4),
            FRAGMENT => 8,
            _ => words.saturating_add(1).saturating_mul(8),
        };
        let keep = match kind {
            HOP_BY_HOP | DESTINATION => 2,
            ROUTING => 4,
            _ => len,
        };
        let whole = std::mem::take(&mut rest);
        let len = len.min(whole.len());
        let (header, behind) = whole.split_at_mut_checked(len).unwrap_or_default();
        header.get_mut(keep..).unwrap_or_default().fill(0);
        (kind, rest) = (next, behind);
    }
}

/// Each option: class 2, type 1, length in words 1, data.
fn blank_geneve(room: &mut [u8]) {
    let mut rest = room;
    while let [_, _, _, words, ..] = rest {
        let len = usize::from(*words & 0x1f).saturating_mul(4).saturating_add(4);
        let whole = std::mem::take(&mut rest);
        let len = len.min(whole.len());
        let (option, behind) = whole.split_at_mut_checked(len).unwrap_or_default();
        option.get_mut(4..).unwrap_or_default().fill(0);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_mac_addresses() {
        // RFC 1112 and RFC 2464.
        let group = ipv4_group_mac("239.129.2.3".parse().unwrap());
        assert_eq!(group.0, [1, 0, 0x5e, 1, 2, 3]);
        let group = ipv6_group_mac("ff02::1:ff28:9c5a".parse().unwrap());
        assert_eq!(group.0, [0x33, 0x33, 0xff, 0x28, 0x9c, 0x5a]);
        assert!(form_of(group, "ff02::1:ff28:9c5a".parse().unwrap()).is_some());
        assert!(form_of(group, "ff02::1".parse().unwrap()).is_none());
    }

    #[test]
    fn extension_headers_keep_their_lengths_only() {
        // Hop-by-hop with a router alert, routing with one address, destination options.
        let mut room = vec![43, 0, 5, 2, 0, 0, 1, 0, 60, 2, 0, 1, 9, 9, 9, 9];
        room.extend([0xaa; 16]);
        room.extend([17, 0, 1, 4, 7, 7, 7, 7]);
        blank_extensions(0, &mut room);
        let mut expected = vec![43, 0, 0, 0, 0, 0, 0, 0, 60, 2, 0, 1, 0, 0, 0, 0];
        expected.extend([0; 16]);
        expected.extend([17, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(room, expected);
    }
}
