//! Mending: whatever was broken is as it was built again, and what is not a packet is left alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;
use roce_wire::{
    Extent, Frame, FrameBuilder, Gid, Layer, Lid, Link, MacAddr, Mend, Mended, Opcode,
    PacketBuilder, Ports, Psn, Qpn, Ready, mend,
};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const A4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

fn heads() -> Vec<(Link, FrameBuilder<Ready>)> {
    let ethernet = || FrameBuilder::ethernet(MAC, MAC);
    let gid = Gid::from_ipv4(A4);
    let (lid, other) = (Lid::new(1), Lid::new(2));
    vec![
        (Link::Ethernet, ethernet().ipv4(A4, A4).udp(0xc000)),
        (Link::Ethernet, ethernet().vlan(1, 2).ipv6(A6, A6).udp(0xc000)),
        (Link::Ethernet, ethernet().grh(gid, gid)),
        (Link::Ethernet, ethernet().ipv4(A4, A4).vxlan(1, 2, MAC, MAC).ipv6(A6, A6).udp(3)),
        (Link::Ethernet, ethernet().ipv6(A6, A6).geneve(1, 2, MAC, MAC).grh(gid, gid)),
        (Link::Ethernet, ethernet().ipv4(A4, A4).gre().ipv4(A4, A4).udp(3)),
        (
            Link::Ethernet,
            ethernet().ipv4(A4, A4).erspan(1, MAC, MAC).vlan(1, 2).ipv4(A4, A4).udp(3),
        ),
        (Link::RawIp, FrameBuilder::raw_ipv4(A4, A4).udp(4)),
        (Link::InfiniBand, FrameBuilder::infiniband(lid, other)),
        (Link::InfiniBand, FrameBuilder::infiniband_global(lid, other, gid, gid)),
    ]
}

fn built(head: &FrameBuilder<Ready>, payload: &[u8]) -> Vec<u8> {
    let packet =
        PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(9), Psn::new(8)).payload(payload);
    let mut out = Vec::new();
    head.emit(&packet, &mut out).unwrap();
    out
}

/// Where the length fields of a frame are.
fn length_fields(link: Link, bytes: &[u8]) -> Vec<usize> {
    let frame = Frame::parse(link, bytes, bytes.len(), &Ports::default());
    let at = |(at, layer)| match layer {
        Layer::Ipv4(_) => Some(at + 2),
        Layer::Ipv6(_) | Layer::Udp(_) | Layer::Grh(_) | Layer::Lrh(_) => Some(at + 4),
        _ => None,
    };
    frame.layers().filter_map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn broken_lengths_checksums_and_icrc_are_mended(
        which in 0usize..10, payload in prop::collection::vec(any::<u8>(), 0..300),
        noise in prop::collection::vec(any::<u16>(), 8), trailer in 0usize..5,
    ) {
        let (link, head) = heads()[which];
        let good = built(&head, &payload);
        let mut bad = good.clone();
        for (field, noise) in length_fields(link, &good).into_iter().zip(&noise) {
            // Of an LRH only the low 11 bits are the length.
            let noise = if link == Link::InfiniBand { noise & 0x07ff } else { *noise };
            bad[field..field + 2].copy_from_slice(&noise.to_be_bytes());
        }
        let frame = Frame::parse(link, &good, good.len(), &Ports::default());
        for (at, layer) in frame.layers() {
            if let Layer::Ipv4(_) = layer {
                bad[at + 10] ^= 0x55;
            }
        }
        let end = good.len();
        bad[end - 1] ^= 0xaa;
        bad.extend(std::iter::repeat_n(0xee, trailer));
        let extent = Extent { packet_end: end, tunnel_end: end, wire_len: end + trailer };
        let said = mend(&mut bad, link, extent, &Ports::default(), Mend::ALL);
        prop_assert_eq!(said, Mended::Whole);
        prop_assert_eq!(&bad[..end], &good[..]);
        if link != Link::InfiniBand {
            prop_assert!(bad[end..].iter().all(|&byte| byte == 0xee));
        }
    }

    #[test]
    fn a_cut_frame_has_its_lengths_mended(
        which in 0usize..10, cut in 0usize..400, noise: u16,
    ) {
        let (link, head) = heads()[which];
        let good = built(&head, &[7; 300]);
        let fields = length_fields(link, &good);
        let frame = Frame::parse(link, &good, good.len(), &Ports::default());
        let at = frame.content_offset() + cut.min(good.len() - frame.content_offset() - 1);
        let mut bad = good[..at].to_vec();
        let noise = if link == Link::InfiniBand { noise & 0x07ff } else { noise };
        for field in fields {
            bad[field..field + 2].copy_from_slice(&noise.to_be_bytes());
        }
        let said = mend(&mut bad, link, Extent::exact(good.len()), &Ports::default(), Mend::ALL);
        prop_assert_eq!(said, Mended::Cut);
        prop_assert_eq!(&bad[..], &good[..at]);
    }

    #[test]
    fn whatever_the_bytes_are_there_is_an_answer(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u32..300,
        packet_end: u16, tunnel_end: u16, wire_len: u16,
    ) {
        let extent = Extent {
            packet_end: packet_end.into(), tunnel_end: tunnel_end.into(), wire_len: wire_len.into(),
        };
        let before = bytes.clone();
        let link = Link::from_linktype(kind);
        if mend(&mut bytes, link, extent, &Ports::default(), Mend::ALL) == Mended::NoPacket {
            prop_assert_eq!(bytes, before);
        }
    }
}

#[test]
fn what_carries_no_packet_is_left_alone() {
    // TCP with a wrong length; a datagram to another port.
    let head = FrameBuilder::ethernet(MAC, MAC).ipv4(A4, A4).udp(5);
    for (at, value) in [(23, 6), (37, 0)] {
        let mut bytes = built(&head, b"hello");
        bytes[16] = 0x7f;
        bytes[at] = value;
        let before = bytes.clone();
        let extent = Extent::exact(bytes.len());
        let said = mend(&mut bytes, Link::Ethernet, extent, &Ports::default(), Mend::ALL);
        assert_eq!((said, bytes), (Mended::NoPacket, before));
    }
}

#[test]
fn what_is_not_asked_for_stays() {
    let (link, head) = heads()[0];
    let mut bytes = built(&head, b"hello");
    let end = bytes.len();
    bytes[end - 1] ^= 1;
    bytes[24] ^= 1;
    let broken = bytes.clone();
    let nothing = Mend { lengths: false, checksums: false, icrc: false };
    let extent = Extent::exact(end);
    assert_eq!(mend(&mut bytes, link, extent, &Ports::default(), nothing), Mended::Whole);
    assert_eq!(bytes, broken);
    mend(&mut bytes, link, extent, &Ports::default(), Mend::BUT_ICRC);
    assert_eq!((bytes[24], bytes[end - 1]), (broken[24] ^ 1, broken[end - 1]));
}

#[test]
fn udp_checksums_are_those_of_etherparse_and_cover_the_icrc() {
    let payloads = [&b"hello"[..], &[0xff; 77], &[0; 64]];
    for payload in payloads {
        for head in [
            FrameBuilder::ethernet(MAC, MAC).ipv4(A4, A4).udp(5).udp_checksum(1),
            FrameBuilder::ethernet(MAC, MAC).ipv6(A6, A6).udp(5).udp_checksum(1),
        ] {
            let mut bytes = built(&head, payload);
            let extent = Extent::exact(bytes.len());
            mend(&mut bytes, Link::Ethernet, extent, &Ports::default(), Mend::ALL);
            let sliced = etherparse::SlicedPacket::from_ethernet(&bytes).unwrap();
            let Some(etherparse::TransportSlice::Udp(udp)) = sliced.transport else { panic!() };
            let expected = match sliced.net {
                Some(etherparse::NetSlice::Ipv4(_)) => udp
                    .to_header()
                    .calc_checksum_ipv4_raw(A4.octets(), A4.octets(), udp.payload())
                    .unwrap(),
                _ => udp
                    .to_header()
                    .calc_checksum_ipv6_raw(A6.octets(), A6.octets(), udp.payload())
                    .unwrap(),
            };
            assert_eq!(udp.checksum(), expected);
        }
    }
}

#[test]
fn the_extent_of_a_frame_is_what_its_headers_say() {
    for (link, head) in heads() {
        let mut bytes = built(&head, b"abc");
        let end = bytes.len();
        bytes.extend([1, 2, 3]);
        let frame = Frame::parse(link, &bytes, bytes.len(), &Ports::default());
        let extent = Extent::of(&frame, bytes.len()).unwrap();
        assert_eq!((extent.packet_end, extent.tunnel_end, extent.wire_len), (end, end, end + 3));
    }
    let frame = Frame::parse(Link::Ethernet, &[0; 60], 60, &Ports::default());
    assert_eq!(Extent::of(&frame, 60), None);
}

#[test]
fn real_frames_that_are_whole_stay_as_they_are() {
    // Hardware and soft-RoCE: mending what is right changes nothing.
    let hex = "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007c00012b7002caca2\
        2460ffff000000d300cf17104630818be28935d90e9a95505401be885e50000078f353f3";
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let wire: Vec<u8> = hex.as_bytes().chunks(2).map(pair).collect();
    let mut bytes = wire.clone();
    let extent = Extent::exact(bytes.len());
    assert_eq!(
        mend(&mut bytes, Link::Ethernet, extent, &Ports::default(), Mend::ALL),
        Mended::Whole
    );
    assert_eq!(bytes, wire);
}
