//! Puts frames into VXLAN.

use std::net::IpAddr;
use std::str::FromStr;

use roce_wire::{EtherType, Ethernet, Header as _, Ipv4, Ipv6, Layer, Link, Udp, Vxlan};

use super::layers::Layers;
use super::shape::Shape;
use super::sums;

const UDP: u8 = 17;

/// The network of a tunnel and its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outer {
    vni: u32,
    from: IpAddr,
    to: IpAddr,
}

impl FromStr for Outer {
    type Err = String;

    /// `VNI:FROM-TO`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected such as 100:192.0.2.1-192.0.2.2".to_owned();
        let (vni, ends) = text.split_once(':').ok_or_else(wrong)?;
        let (from, to) = ends.split_once('-').ok_or_else(wrong)?;
        let vni = vni.parse().ok().filter(|vni| *vni < 1 << 24).ok_or_else(wrong)?;
        let (from, to): (IpAddr, IpAddr) =
            (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
        if from.is_ipv4() != to.is_ipv4() {
            return Err("both ends must be of one IP family".to_owned());
        }
        Ok(Self { vni, from, to })
    }
}

/// Puts the frame into a tunnel; false when it is no Ethernet frame, too long for one, or a frame
/// of MAC control, which never leaves its link.
pub(super) fn add(shape: &mut Shape, outer: Outer) -> bool {
    if shape.link != Link::Ethernet {
        return false;
    }
    let frame = shape.parse();
    let layers = Layers::of(&frame);
    let Some(Layer::Ethernet(ethernet)) = layers.first() else { return false };
    if ethernet.ethertype() == EtherType::MAC_CONTROL {
        return false;
    }
    let class = layers.iter().find_map(|(_, layer)| match layer {
        Layer::Ipv4(ip) => Some(ip.tos()),
        Layer::Ipv6(ip) => Some(ip.traffic_class()),
        Layer::Grh(grh) => Some(grh.traffic_class()),
        _ => None,
    });
    // Frames of one flow take one path: the port is made of what names the flow.
    let flow = layers.iter().fold(0_u32, |sum, (_, layer)| match layer {
        Layer::Udp(udp) => sum.rotate_left(5) ^ u32::from(udp.src_port()),
        Layer::Ipv4(ip) => sum.rotate_left(5) ^ ip.src().to_bits() ^ ip.dst().to_bits(),
        _ => sum,
    });
    let port = u16::try_from(0xc000 | (flow ^ flow >> 14) & 0x3fff).unwrap_or(0xc000);
    let head = head(outer, **ethernet, class.unwrap_or(0), port, shape.wire_len);
    match head {
        Some(head) => {
            shape.splice(0..0, &head);
            true
        }
        None => false,
    }
}

/// The headers of the tunnel around a frame of this length.
fn head(outer: Outer, inner: Ethernet, class: u8, port: u16, len: usize) -> Option<Vec<u8>> {
    let udp_len = u16::try_from(len.checked_add(16)?).ok()?;
    let mut out = Vec::with_capacity(70);
    let ethertype = if outer.from.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
    Ethernet::new(inner.dst, inner.src, ethertype).emit(&mut out).ok()?;
    let ip_at = out.len();
    match (outer.from, outer.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let ip = Ipv4::new(from, to, UDP, udp_len.checked_add(20)?);
            ip.with_tos(class).emit(&mut out).ok()?;
            sums::set_ipv4(out.get_mut(ip_at..)?);
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Ipv6::new(from, to, UDP, udp_len).with_traffic_class(class).emit(&mut out).ok()?;
        }
        _ => return None,
    }
    Udp::new(port, Vxlan::PORT, udp_len).emit(&mut out).ok()?;
    Vxlan::new(outer.vni).emit(&mut out).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_has_a_number_and_two_ends() {
        assert!("100:192.0.2.1-192.0.2.2".parse::<Outer>().is_ok());
        assert!("0:2001:db8::1-2001:db8::2".parse::<Outer>().is_ok());
        for wrong in ["", "100", "16777216:192.0.2.1-192.0.2.2", "1:192.0.2.1-2001:db8::1", "1:a-b"]
        {
            assert!(wrong.parse::<Outer>().is_err(), "{wrong}");
        }
    }
}
