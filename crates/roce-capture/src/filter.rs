//! The BPF expression that keeps RoCE.

use std::fmt::Write;

use crate::LinkType;

/// The UDP port of RoCE v2.
const ROCE_V2: u16 = 4791;

/// The BPF expression that keeps what may be RoCE: v1, v2 to or from any of `ports` (4791 if there
/// are none) over IPv4 and IPv6, both behind up to two VLAN tags in the frame, everything behind
/// more of them, and MAC control frames; with `tunnels` also everything in VXLAN, Geneve, GRE,
/// IP-in-IP and MPLS. What comes *from* a port is not RoCE, but looks so much like it that it
/// should be seen and rejected by name.
///
/// It avoids BPF's `vlan`, which moves all offsets behind it, compiles on Ethernet only, and on a
/// live Linux capture looks for the tag where the kernel has put it, not in the frame. Tags that
/// are in the frame are met by fixed offsets instead, and a tag that the kernel has taken off
/// needs nothing. So it can stand before or behind other terms. It may keep a frame too many,
/// never one too few.
///
/// It is written for `link_type`; that for Ethernet compiles on every link type that carries IP.
/// `None` for link types that do not, as InfiniBand: there is nothing to select by.
#[must_use]
pub fn roce_filter_on(link_type: LinkType, ports: &[u16], tunnels: bool) -> Option<String> {
    let ports = if ports.is_empty() { &[ROCE_V2] } else { ports };
    let tunnel_ports: &[u16] = if tunnels { &TUNNEL_PORTS } else { &[] };
    let mut terms = vec!["ether proto 0x8915".to_owned(), "ether proto 0x8808".to_owned()];
    terms.extend(ports.iter().map(|port| format!("udp port {port}")));
    terms.extend(tunnel_ports.iter().map(|port| format!("udp dst port {port}")));
    // A UDP header behind IPv6 extension headers stands where BPF does not look.
    terms.push("(ip6 and (ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 44 or ip6[6] = 60))".to_owned());
    if tunnels {
        terms.extend(TUNNEL_PROTOCOLS.iter().flat_map(|protocol| {
            [format!("ip proto {protocol}"), format!("ip6 proto {protocol}")]
        }));
        terms.extend(MPLS.iter().map(|kind| format!("ether proto {kind:#x}")));
    }
    match link_type {
        LinkType::ETHERNET => terms.push(tagged(ports, tunnels)),
        // Where the tags of a cooked frame stand differs between kernels, so all are kept.
        LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => {
            terms.extend(TAGS.iter().map(|kind| format!("ether proto {kind:#x}")));
        }
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType::NULL | LinkType::LOOP => {}
        _ => return None,
    }
    Some(terms.join(" or "))
}

/// [`roce_filter_on`] Ethernet, which compiles on every link type that carries IP.
#[must_use]
pub fn roce_filter(ports: &[u16], tunnels: bool) -> String {
    roce_filter_on(LinkType::ETHERNET, ports, tunnels).unwrap_or_default()
}

/// VXLAN and Geneve.
const TUNNEL_PORTS: [u16; 2] = [4789, 6081];
/// IPv4, IPv6, GRE and MPLS inside of IP.
const TUNNEL_PROTOCOLS: [u8; 4] = [4, 41, 47, 137];
/// MPLS, unicast and multicast.
const MPLS: [u16; 2] = [0x8847, 0x8848];

/// VLAN tags: 802.1Q, 802.1ad, and what stood for it before. The kernel takes off none of the last.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The same behind one and two VLAN tags that are in the frame, by offsets from its start; behind
/// a third there is hardly anything but what was looked for.
fn tagged(ports: &[u16], tunnels: bool) -> String {
    let is_tag = |at: usize| any_of(&format!("ether[{at}:2]"), &TAGS);
    let [one, two] = [16, 20].map(|at| behind_tags(at, ports, tunnels));
    let [first, second, third] = [12, 16, 20].map(is_tag);
    format!("(({first}) and ({one} or (({second}) and ({two} or {third}))))")
}

/// Whether what is loaded is one of these.
fn any_of(load: &str, values: &[u16]) -> String {
    values.iter().map(|v| format!("{load} = {v:#x}")).collect::<Vec<_>>().join(" or ")
}

/// What is kept of a frame whose Ethertype stands at `at`.
fn behind_tags(at: usize, ports: &[u16], tunnels: bool) -> String {
    let ip = at.saturating_add(2);
    let field = |offset: usize| ip.saturating_add(offset);
    // The IPv4 header is as long as its low nibble says, in words.
    let v4_port =
        |offset: usize| format!("ether[{} + ((ether[{ip}] & 0xf) << 2):2]", field(offset));
    let v6_port = |offset: usize| format!("ether[{}:2]", field(offset.saturating_add(40)));
    let any_port = |load: &dyn Fn(usize) -> String| {
        let mut terms = any_of(&load(0), ports) + " or " + &any_of(&load(2), ports);
        if tunnels {
            terms = terms + " or " + &any_of(&load(2), &TUNNEL_PORTS);
        }
        terms
    };
    let (v4_proto, v6_next) = (format!("ether[{}]", field(9)), format!("ether[{}]", field(6)));
    let mut v4 = format!("({v4_proto} = 17 and ({}))", any_port(&v4_port));
    let mut v6 = format!("({v6_next} = 17 and ({}))", any_port(&v6_port));
    let _ = write!(v6, " or {}", any_of(&v6_next, &[0, 43, 44, 60]));
    let mut kinds = vec![0x8915_u16];
    if tunnels {
        let protocols = TUNNEL_PROTOCOLS.map(u16::from);
        let _ = write!(v4, " or {}", any_of(&v4_proto, &protocols));
        let _ = write!(v6, " or {}", any_of(&v6_next, &protocols));
        kinds.extend(MPLS);
    }
    let kind = format!("ether[{at}:2]");
    format!(
        "{} or ({kind} = 0x800 and ({v4})) or ({kind} = 0x86dd and ({v6}))",
        any_of(&kind, &kinds)
    )
}
