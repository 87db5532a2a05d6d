//! A second opinion on layers 2 to 4: what etherparse says of the same bytes.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

use std::net::IpAddr;

use etherparse::{LinkExtSlice, NetSlice, SlicedPacket, TransportSlice, UdpSlice};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use roce_wire::{Content, Frame, Layer, Link, Ports};

/// What both have to agree on; offsets count from the start of the frame.
#[derive(Debug, PartialEq, Default)]
struct Found {
    vlans: Vec<(u8, bool, u16)>,
    ip_at: usize,
    addrs: Option<(IpAddr, IpAddr)>,
    udp_at: usize,
    ports: (u16, u16),
}

/// Up to the first UDP header; `None` when there is none.
fn ours(frame: &Frame<'_>) -> Option<Found> {
    let mut found = Found::default();
    for (at, layer) in frame.layers() {
        match layer {
            Layer::Vlans(tags) if found.addrs.is_none() => {
                found.vlans.extend(tags.iter().map(|tag| (tag.pcp(), tag.dei(), tag.vlan())));
            }
            Layer::Ipv4(ip) => {
                (found.ip_at, found.addrs) = (at, Some((ip.src().into(), ip.dst().into())));
            }
            Layer::Ipv6(ip) => {
                (found.ip_at, found.addrs) = (at, Some((ip.src().into(), ip.dst().into())));
            }
            Layer::Udp(udp) => {
                found.udp_at = at;
                found.ports = (udp.src_port(), udp.dst_port());
                return Some(found);
            }
            Layer::Ethernet(_) | Layer::Raw(..) => {}
            _ => return None,
        }
    }
    None
}

fn offset(bytes: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - bytes.as_ptr() as usize
}

fn theirs<'a>(bytes: &'a [u8], packet: &SlicedPacket<'a>) -> Option<(Found, UdpSlice<'a>)> {
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { return None };
    let mut found = Found::default();
    for extension in &packet.link_exts {
        match extension {
            LinkExtSlice::Vlan(tag) => found.vlans.push((
                tag.priority_code_point().value(),
                tag.drop_eligible_indicator(),
                tag.vlan_identifier().value(),
            )),
            // What MACsec protects is another's business; the walk stops there.
            LinkExtSlice::Macsec(_) => return None,
        }
    }
    match packet.net.as_ref()? {
        NetSlice::Ipv4(ip) => {
            // Nobody authenticates RoCE v2 that way, and the walk does not look behind it.
            if ip.extensions().auth.is_some() {
                return None;
            }
            let header = ip.header();
            found.ip_at = offset(bytes, header.slice());
            found.addrs = Some((header.source_addr().into(), header.destination_addr().into()));
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            found.ip_at = offset(bytes, header.slice());
            found.addrs = Some((header.source_addr().into(), header.destination_addr().into()));
        }
        NetSlice::Arp(_) => return None,
    }
    found.udp_at = offset(bytes, udp.slice());
    found.ports = (udp.source_port(), udp.destination_port());
    Some((found, udp.clone()))
}

/// Compares the two where etherparse accepts the frame. Says whether there was UDP to compare.
fn compare(bytes: &[u8]) -> bool {
    let Ok(packet) = SlicedPacket::from_ethernet(bytes) else { return false };
    let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
    let Some((want, udp)) = theirs(bytes, &packet) else {
        let goes_on = packet.link_exts.len() == SlicedPacket::LINK_EXTS_CAP
            || matches!(&packet.net, None | Some(NetSlice::Arp(_)))
            || packet.is_ip_payload_fragmented()
            || packet.ip_payload().is_some_and(|payload| UNKNOWN.contains(&payload.ip_number.0));
        let found = ours(&frame).filter(|_| !goes_on);
        assert!(found.is_none() || auth(&packet), "only we see {found:?}");
        return false;
    };
    // A length of 0 means an unknown one to etherparse: jumbograms, segmentation offload.
    if udp.length() == 0 || ip_length(&packet) == 0 {
        return false;
    }
    let got = ours(&frame).unwrap_or_else(|| panic!("only etherparse sees {want:?}: {frame:?}"));
    assert_eq!(got, want);
    if let Content::Packet(net, packet) = &frame.content
        && net.udp().is_some()
    {
        let ours = frame.content_offset()..frame.content_offset() + packet.wire_len();
        let start = offset(bytes, udp.payload());
        if frame.tunnels.is_empty() {
            assert_eq!(ours, start..start + udp.payload().len());
        }
    }
    true
}

/// Extension headers that etherparse takes for a payload: mobility, HIP, Shim6.
const UNKNOWN: [u8; 3] = [135, 139, 140];

fn auth(packet: &SlicedPacket<'_>) -> bool {
    matches!(&packet.net, Some(NetSlice::Ipv4(ip)) if ip.extensions().auth.is_some())
}

fn ip_length(packet: &SlicedPacket<'_>) -> u16 {
    match &packet.net {
        Some(NetSlice::Ipv4(ip)) => ip.header().total_len(),
        Some(NetSlice::Ipv6(ip)) => ip.header().payload_length(),
        _ => 0,
    }
}

/// Mostly 0, sometimes a little off.
fn slip() -> impl Strategy<Value = i32> {
    prop_oneof![6 => Just(0), 1 => -12..12i32]
}

fn udp() -> impl Strategy<Value = Vec<u8>> {
    let port = prop_oneof![5 => Just(4791u16), 1 => Just(4789), 1 => Just(53), 1 => any::<u16>()];
    let payload = prop::collection::vec(any::<u8>(), 0..90);
    (any::<u16>(), port, payload, slip()).prop_map(|(src, dst, payload, slip)| {
        let length = (8 + payload.len() as i32 + slip).max(0) as u16;
        let head = [src, dst, length, 0].map(u16::to_be_bytes).concat();
        [head, payload].concat()
    })
}

fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let options = (0usize..=10).prop_map(|words| if words > 4 { 0 } else { words });
    let protocol = prop_oneof![8 => Just(17u8), 1 => any::<u8>()];
    let fragment = prop_oneof![6 => Just(0x4000u16), 1 => any::<u16>()];
    (udp(), options, protocol, fragment, slip(), any::<[u8; 8]>()).prop_map(
        |(udp, words, protocol, fragment, slip, addrs)| {
            let length = (20 + words * 4 + udp.len()) as i32 + slip;
            let mut head = vec![0x45 + words as u8, 0];
            head.extend((length as u16).to_be_bytes());
            head.extend([0, 7]);
            head.extend(fragment.to_be_bytes());
            head.extend([64, protocol, 0, 0]);
            head.extend(addrs);
            head.resize(20 + words * 4, 1);
            [head, udp].concat()
        },
    )
}

fn ipv6() -> impl Strategy<Value = Vec<u8>> {
    let kind = select(vec![0u8, 43, 44, 51, 60]);
    let extension = (kind, 0u8..3, prop_oneof![3 => Just(0u8), 1 => any::<u8>()]);
    let chain = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec(extension, 0..4),
    ];
    (udp(), chain, slip(), any::<[u8; 32]>()).prop_map(|(udp, chain, slip, addrs)| {
        let mut extensions = Vec::new();
        for (place, &(kind, units, more)) in chain.iter().enumerate() {
            let next = chain.get(place + 1).map_or(17, |&(kind, ..)| kind);
            let (units, len) = match kind {
                44 => (0, 8),
                51 => (units * 2 + 2, (usize::from(units) * 2 + 4) * 4),
                _ => (units, (usize::from(units) + 1) * 8),
            };
            let start = extensions.len();
            extensions.extend([next, units, more, more]);
            extensions.resize(start + len, 0);
        }
        let length = (extensions.len() + udp.len()) as i32 + slip;
        let mut head = vec![0x60, 0, 0, 0];
        head.extend((length.max(0) as u16).to_be_bytes());
        head.extend([chain.first().map_or(17, |&(kind, ..)| kind), 64]);
        head.extend(addrs);
        [head, extensions, udp].concat()
    })
}

/// Ethernet, up to three tags, IP, UDP, a trailer; then a few bytes overwritten.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let ip =
        prop_oneof![ipv4().prop_map(|ip| (0x0800u16, ip)), ipv6().prop_map(|ip| (0x86dd, ip)),];
    let tag = (select(vec![0x8100u16, 0x88a8, 0x9100]), any::<u16>());
    let tags = prop::collection::vec(tag, 0..=3);
    let trailer = prop::collection::vec(any::<u8>(), 0..12);
    let hits = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ];
    (any::<[u8; 12]>(), tags, ip, trailer, hits).prop_map(|(macs, tags, (kind, ip), tail, hits)| {
        let mut frame = macs.to_vec();
        for (tpid, tci) in tags {
            frame.extend(tpid.to_be_bytes());
            frame.extend(tci.to_be_bytes());
        }
        frame.extend(kind.to_be_bytes());
        frame.extend(ip);
        frame.extend(tail);
        for (at, byte) in hits {
            *at.get_mut(&mut frame) = byte;
        }
        frame
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50_000))]

    #[test]
    fn etherparse_agrees_on_frames(frame in frame()) {
        compare(&frame);
    }

    #[test]
    fn etherparse_agrees_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        compare(&bytes);
    }
}

#[test]
fn most_generated_frames_are_compared() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let compared =
        (0..1000).filter(|_| compare(&frame().new_tree(&mut runner).unwrap().current())).count();
    assert!(compared > 400, "only {compared} of 1000 frames were compared");
}
