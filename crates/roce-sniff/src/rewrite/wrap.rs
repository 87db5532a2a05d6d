//! VLAN tags and tunnels taken off, a tag put on, payloads cut off.

use roce_wire::{Content, EtherType, Header as _, Layer, Link, Qpn, VlanTag};

use super::layers::Layers;
use super::other::headers_end;
use super::shape::{Shape, ethertype_at};

/// Removes the tags of the outermost Ethernet header.
pub(super) fn strip_vlan(shape: &mut Shape<'_>) -> bool {
    let frame = shape.parse();
    let layers = Layers::of(&frame);
    let [(_, Layer::Ethernet(_)), (at, Layer::Vlans(tags)), ..] = layers.as_slice() else {
        return false;
    };
    let Some(last) = tags.last() else { return false };
    let (ethertype, range) = (last.ethertype(), *at..at.saturating_add(size_of_val(*tags)));
    shape.patch(&[(12, ethertype.0)]);
    shape.splice(range, &[]);
    true
}

/// Puts a tag behind the outermost Ethernet header; MAC control never leaves its link.
pub(super) fn add_vlan(shape: &mut Shape<'_>, (id, pcp): (u16, u8)) -> bool {
    let frame = shape.parse();
    let layers = Layers::of(&frame);
    let Some(Layer::Ethernet(ethernet)) = layers.first() else { return false };
    let ethertype = ethernet.ethertype();
    if shape.link != Link::Ethernet || ethertype == EtherType::MAC_CONTROL {
        return false;
    }
    let mut tag = Vec::with_capacity(VlanTag::LEN);
    if VlanTag::new(pcp, id, ethertype).emit(&mut tag).is_err() {
        return false;
    }
    shape.patch(&[(12, EtherType::VLAN.0)]);
    shape.splice(14..14, &tag);
    true
}

/// Takes the innermost frame or datagram out of its tunnels.
pub(super) fn strip_tunnel(shape: &mut Shape<'_>) -> bool {
    let frame = shape.parse();
    if frame.tunnels.is_empty()
        || !matches!(shape.link, Link::Ethernet | Link::RawIp | Link::Sll | Link::Sll2)
    {
        return false;
    }
    let layers = Layers::of(&frame);
    let slice = layers.as_slice();
    // A whole frame inside is all that is left.
    let inner = slice.iter().skip(1).rev().find(|(_, layer)| matches!(layer, Layer::Ethernet(_)));
    if let Some((at, _)) = inner {
        let at = *at;
        let is_last = !slice.iter().any(|(place, layer)| {
            *place > at && matches!(layer, Layer::Gre(_) | Layer::Mpls(_) | Layer::Vxlan(_))
        });
        if shape.link == Link::Ethernet && is_last {
            shape.splice(0..at, &[]);
            return true;
        }
        return false;
    }
    // A datagram keeps the link layer in front of the tunnel.
    let Some(index) = layers.innermost_net() else { return false };
    let Some((start, layer)) = slice.get(index) else { return false };
    let ethertype = match layer {
        Layer::Ipv4(_) => EtherType::IPV4,
        Layer::Ipv6(_) => EtherType::IPV6,
        Layer::Grh(_) => EtherType::ROCE_V1,
        _ => return false,
    };
    let is_link = |layer: &Layer<'_>| {
        matches!(layer, Layer::Ethernet(_) | Layer::Vlans(_) | Layer::Sll(_) | Layer::Sll2(_))
    };
    let links = slice.iter().take_while(|(_, layer)| is_link(layer)).count();
    let Some((outer, _)) = slice.get(links).filter(|_| links < index) else { return false };
    let range = *outer..*start;
    match links.checked_sub(1).and_then(|last| slice.get(last)) {
        Some(last) => {
            let Some(at) = ethertype_at(last) else { return false };
            shape.patch(&[(at, ethertype.0)]);
        }
        None if ethertype == EtherType::ROCE_V1 => return false,
        None => {}
    }
    shape.splice(range, &[]);
    true
}

/// Cuts the frame behind its headers, as the capture could have done.
pub(super) fn cut(shape: &mut Shape<'_>) {
    let frame = shape.parse();
    let is_whole = match &frame.content {
        // What is no RoCE by its length or its ICRC would look like RoCE that was cut.
        Content::Packet(..) if !frame.is_roce() => true,
        Content::Packet(_, packet) => {
            packet.deth.is_some() && matches!(packet.bth.dest_qp(), Qpn::SMI | Qpn::GSI)
        }
        _ => false,
    };
    let end = headers_end(&frame);
    if is_whole || end >= shape.bytes.len() {
        return;
    }
    let is_record = shape.link == Link::Erf;
    shape.bytes.truncate(end);
    // An ERF record is as long as what is left of it.
    if let (true, Ok(len)) = (is_record, u16::try_from(end)) {
        shape.patch(&[(10, len)]);
    }
}
