//! Frames whose every bit is known from elsewhere: hardware, and programs that are not this one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

use roce_wire::{
    AckKind, Carrier, Content, Ecn, Frame, IcrcState, Link, NakCode, Opcode, Ports, Psn, Qpn,
};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn parse(frame: &[u8]) -> Frame<'_> {
    Frame::parse(Link::Ethernet, frame, frame.len(), &Ports::default())
}

/// CNP captured on a ConnectX-4 Lx (scapy `test/contrib/roce.uts`).
const CONNECTX_CNP: &str = "e41d2dab2bc2 7cfe90643b32 0800 45c2003c718c4000401191610a0011010a001201
    0000 12b7 0028 0000 8100ffff40000118 00000000 00000000000000000000000000000000 82fd002a";

/// UC SEND Only between two ports of one host (scapy `test/contrib/roce.uts`).
const UC_SEND: &str = "248a07a8fa22 248a07a8fa22 0800 45010040047840004011b4d5c0a80007c0a80007
    c000 12b7 002c aca2 2460ffff000000d3 00cf1710
    4630818be28935d90e9a95505401be885e500000 78f353f3";

/// v2/IPv4 WRITE Only, 5 bytes and 3 of pad, FECN, CE; cross-checked with scapy.
const WRITE_ONLY: &str = "7cfe90753cd87cfe90753cd90800456b0044000140004011263b0a0000010a000002c123
    12b7003000000a70ffff80000011800000080000000000001000000012340000000568656c6c6f0000003e7965ac";

/// v2/IPv6 ACK with a NAK, flow label 0x12345; cross-checked with scapy.
const NAK_V6: &str =
    "7cfe90753cd87cfe90753cd986dd66a12345001c114020010db800000000000000000000000120
    010db8000000000000000000000002d00d12b7001c00001140ffff00000012000000086000000779ce1cb0";

/// v1 SEND Only, 3 bytes and 1 of pad, traffic class 0x68; computed with zlib.
const V1_SEND: &str = "7cfe90753cd87cfe90753cd98915668abcde00141b40fe800000000000007efe90fffe753cd9
    fe800000000000007efe90fffe753cd80450ffff00000011000000096162630096e2fd1c";

/// v2/IPv4 CNP with BECN; computed with zlib, cross-checked with scapy.
const CNP: &str = "7cfe90753cd87cfe90753cd9080045c2003c00014000401125ec0a0000010a000002c12312b70028
    00008100ffff400000d20000000000000000000000000000000000000000a12ee2d0";

/// v1 RDMA WRITE Only between two ports of a ConnectX (scapy `test/contrib/roce.uts`).
const V1_WRITE: &str = "7cfe90753cd87cfe90753cd8 8915 60200000 0028 1b 40
    00000000000000000000ffff0f000002 00000000000000000000ffff0f000002
    0a70ffff0000010a80a788bc 000055d4c0726000 000047b3 00000005 0000000001 000000 e3d856bb";

/// v1 Acknowledge of the same (scapy `test/contrib/roce.uts`).
const V1_ACK: &str = "7cfe90753cd87cfe90753cd8 8915 60200000 0014 1b 40
    00000000000000000000ffff0f000002 00000000000000000000ffff0f000002
    1140ffff0000010900a788c0 00000005 25f0c038";

const ALL: [&str; 8] = [CONNECTX_CNP, UC_SEND, WRITE_ONLY, NAK_V6, V1_SEND, V1_WRITE, V1_ACK, CNP];

#[test]
fn every_vector_has_a_right_icrc_and_comes_back_byte_for_byte() {
    for hex in ALL {
        let wire = bytes(hex);
        let frame = parse(&wire);
        assert_eq!(frame.icrc_state(), Some(IcrcState::Ok), "{hex}");
        assert_eq!(frame.rejection(), None);
        assert!(frame.trailer().is_empty());
        let mut out = Vec::new();
        frame.emit(&mut out).unwrap();
        assert_eq!(out, wire);
    }
}

#[test]
fn the_end_comes_from_the_lengths_and_not_from_the_frame() {
    for hex in ALL {
        let mut wire = bytes(hex);
        let len = wire.len();
        wire.extend_from_slice(&[0xa5; 29]);
        let frame = parse(&wire);
        assert_eq!(frame.icrc_state(), Some(IcrcState::Ok), "{hex}");
        assert_eq!(frame.trailer(), &wire[len..]);
    }
}

#[test]
fn a_cut_capture_is_roce_and_unchecked() {
    for hex in ALL {
        let wire = bytes(hex);
        let bth_end = match parse(&wire).content {
            Content::Packet(..) => parse(&wire).content_offset() + 12,
            other => panic!("{other:?}"),
        };
        for cut in bth_end..wire.len() {
            let frame = Frame::parse(Link::Ethernet, &wire[..cut], wire.len(), &Ports::default());
            assert!(frame.is_roce(), "{cut} bytes of {hex}");
            assert_eq!(frame.icrc_state(), Some(IcrcState::Unchecked));
        }
    }
}

#[test]
fn a_flipped_bit_is_seen_unless_routers_may_change_it() {
    let wire = bytes(UC_SEND);
    // Byte and mask of what the ICRC leaves out: Ethernet, ToS, TTL, IP and UDP checksum, BTH byte 4.
    let open = |at: usize| at < 14 || matches!(at, 15 | 22 | 24 | 25 | 40 | 41 | 46);
    for at in 14..wire.len() {
        let mut flipped = wire.clone();
        flipped[at] ^= 0x10;
        let state = parse(&flipped).icrc_state();
        if open(at) {
            assert_eq!(state, Some(IcrcState::Ok), "byte {at}");
        } else {
            assert_ne!(state, Some(IcrcState::Ok), "byte {at}");
        }
    }
}

#[test]
fn the_connectx_cnp_says_what_was_published_of_it() {
    let wire = bytes(CONNECTX_CNP);
    let frame = parse(&wire);
    let (net, packet) = frame.packet().unwrap();
    assert_eq!(net.carrier(), Carrier::V2Ipv4);
    assert_eq!(
        (net.src().to_string(), net.dst().to_string()),
        ("10.0.17.1".into(), "10.0.18.1".into())
    );
    assert_eq!(net.udp().unwrap().src_port(), 0);
    let tos = net.traffic_class().unwrap();
    assert_eq!((tos >> 2, Ecn::from_tos(tos)), (48, Ecn::Ect0));
    assert_eq!(packet.bth.opcode, Opcode::CNP);
    assert!(packet.bth.becn());
    assert_eq!(packet.bth.dest_qp(), Qpn::new(0x118));
    assert_eq!(packet.payload, [0; 16]);
}

#[test]
fn the_uc_send_has_two_pad_bytes() {
    let wire = bytes(UC_SEND);
    let frame = parse(&wire);
    let (_, packet) = frame.packet().unwrap();
    assert_eq!(packet.bth.opcode, Opcode::UC_SEND_ONLY);
    assert_eq!((packet.bth.dest_qp().get(), packet.bth.psn().get()), (211, 13_571_856));
    assert_eq!((packet.payload.len(), packet.pad), (18, &[0, 0][..]));
    assert!(packet.bth.mig_req());
}

#[test]
fn the_nak_over_ipv6_reads_as_built() {
    let wire = bytes(NAK_V6);
    let frame = parse(&wire);
    let (net, packet) = frame.packet().unwrap();
    assert_eq!((net.carrier(), net.src().to_string()), (Carrier::V2Ipv6, "2001:db8::1".into()));
    let aeth = packet.aeth.unwrap();
    assert_eq!(aeth.syndrome().kind(), AckKind::Nak(NakCode::PSN_SEQUENCE_ERROR));
    assert_eq!((aeth.msn().get(), packet.bth.psn()), (7, Psn::new(8)));
}

#[test]
fn the_write_has_its_three_pad_bytes_and_its_reth() {
    let wire = bytes(WRITE_ONLY);
    let frame = parse(&wire);
    let (_, packet) = frame.packet().unwrap();
    let reth = packet.reth.unwrap();
    assert_eq!((reth.va.get(), reth.r_key.get(), reth.dma_len()), (0x1000, 0x1234, 5));
    assert_eq!((packet.payload, packet.pad), (&b"hello"[..], &[0, 0, 0][..]));
    assert!(packet.bth.fecn());
}

#[test]
fn v1_is_told_by_its_ethertype_and_its_grh() {
    let wire = bytes(V1_SEND);
    let frame = parse(&wire);
    let (net, packet) = frame.packet().unwrap();
    assert_eq!(net.carrier(), Carrier::V1);
    assert_eq!(net.dst().to_string(), "fe80::7efe:90ff:fe75:3cd8");
    assert_eq!(net.traffic_class(), Some(0x68));
    assert_eq!((packet.payload, packet.pad), (&b"abc"[..], &[0][..]));
}
