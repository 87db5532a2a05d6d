//! Senders' mistakes with the ICRC, and headers rewritten behind them.
//!
//! The wrong ICRCs are made here, by a CRC of eight lines over bytes that are masked by hand.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

use std::net::{Ipv4Addr, Ipv6Addr};

use roce_wire::{
    Frame, FrameBuilder, Gid, IcrcFault, IcrcState, Link, MacAddr, OnLink, Opcode, Origins,
    PacketBuilder, Ports, Psn, Qpn, Unmasked,
};

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

/// A field of the headers behind Ethernet: its name, its first byte, and its bits.
type Place = (Unmasked, usize, u32);

const IPV4: [Place; 5] = [
    (Unmasked::TRAFFIC_CLASS, 0, 0x00ff_0000),
    (Unmasked::HOP_LIMIT, 8, 0xff00_0000),
    (Unmasked::IPV4_CHECKSUM, 8, 0x0000_ffff),
    (Unmasked::UDP_CHECKSUM, 24, 0x0000_ffff),
    (Unmasked::RESV8A, 32, 0xff00_0000),
];
const IPV6: [Place; 5] = [
    (Unmasked::TRAFFIC_CLASS, 0, 0x0ff0_0000),
    (Unmasked::FLOW_LABEL, 0, 0x000f_ffff),
    (Unmasked::HOP_LIMIT, 4, 0x0000_00ff),
    (Unmasked::UDP_CHECKSUM, 44, 0x0000_ffff),
    (Unmasked::RESV8A, 52, 0xff00_0000),
];
const GRH: [Place; 4] = [
    (Unmasked::TRAFFIC_CLASS, 0, 0x0ff0_0000),
    (Unmasked::FLOW_LABEL, 0, 0x000f_ffff),
    (Unmasked::HOP_LIMIT, 4, 0x0000_00ff),
    (Unmasked::RESV8A, 44, 0xff00_0000),
];
const ETHERNET: usize = 14;

/// The ICRC of a frame, made with only some of the places masked.
fn icrc(frame: &[u8], places: &[Place], is_masked: impl Fn(Unmasked) -> bool) -> u32 {
    let mut bytes = frame[ETHERNET..frame.len() - 4].to_vec();
    for (_, at, bits) in places.iter().filter(|(field, ..)| is_masked(*field)) {
        for (byte, bits) in bytes[*at..].iter_mut().zip(bits.to_be_bytes()) {
            *byte |= bits;
        }
    }
    crc(&[&[0xff; 8], &bytes[..]].concat())
}

fn parse(frame: &[u8]) -> Frame<'_> {
    Frame::parse(Link::Ethernet, frame, frame.len(), &Ports::default())
}

fn fault(frame: &[u8]) -> Option<IcrcFault> {
    IcrcFault::of(&parse(frame))
}

fn put_icrc(frame: &mut [u8], icrc: u32) {
    let at = frame.len() - 4;
    frame[at..].copy_from_slice(&icrc.to_le_bytes());
}

const A: Ipv4Addr = Ipv4Addr::new(10, 1, 2, 3);
const B: Ipv4Addr = Ipv4Addr::new(10, 1, 2, 4);

fn v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)
}

fn packet(payload: &[u8]) -> PacketBuilder<'_> {
    PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x1234), Psn::new(7)).payload(payload)
}

fn ethernet() -> FrameBuilder<OnLink> {
    FrameBuilder::ethernet(MacAddr([2, 0, 0, 0, 0, 2]), MacAddr([2, 0, 0, 0, 0, 1]))
}

fn over_ipv4(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = ethernet().ipv4(A, B).udp(0xc123).traffic_class(0x6a).hop_limit(61);
    head.emit(&packet(payload), &mut out).unwrap();
    out
}

fn over_ipv6(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = ethernet().ipv6(v6(1), v6(2)).udp(0xc123).traffic_class(0x68).flow_label(0x1_2345);
    head.emit(&packet(payload), &mut out).unwrap();
    out
}

fn v1(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let gid = |ip: Ipv4Addr| Gid::from(ip.to_ipv6_mapped());
    let head = ethernet().grh(gid(A), gid(B)).traffic_class(0x68).flow_label(0x0_beef);
    head.emit(&packet(payload), &mut out).unwrap();
    out
}

#[test]
fn what_was_not_masked_is_told_alone_and_together() {
    for payload in [&b"abc"[..], &[0x5a; 4096], b""] {
        let kinds: [(Vec<u8>, &[Place]); 3] =
            [(over_ipv4(payload), &IPV4), (over_ipv6(payload), &IPV6), (v1(payload), &GRH)];
        for (mut frame, places) in kinds {
            let right = icrc(&frame, places, |_| true);
            put_icrc(&mut frame, right);
            assert_eq!(parse(&frame).icrc_state(), Some(IcrcState::Ok));
            for set in 1u32..1 << places.len() {
                let fields: Vec<_> =
                    places.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).collect();
                let fields: Vec<Unmasked> = fields.iter().map(|(_, (field, ..))| *field).collect();
                let wrong = icrc(&frame, places, |field| !fields.contains(&field));
                put_icrc(&mut frame, wrong);
                let wanted = fields.iter().copied().reduce(Unmasked::with).unwrap();
                let told = fault(&frame);
                assert_eq!(told, Some(IcrcFault::NotMasked(wanted)), "{fields:?}");
                let again = told.unwrap().icrc(&parse(&frame)).unwrap();
                assert_eq!(again.get(), wrong, "made again");
            }
        }
    }
}

#[test]
fn routers_that_count_the_ttl_down_do_not_hide_the_mistake() {
    let everything = IPV4.map(|(field, ..)| field).into_iter().reduce(Unmasked::with).unwrap();
    for (unmasked, wanted) in [
        (&[Unmasked::HOP_LIMIT][..], Unmasked::HOP_LIMIT),
        (&[Unmasked::IPV4_CHECKSUM], Unmasked::IPV4_CHECKSUM),
        (&IPV4.map(|(field, ..)| field), everything),
    ] {
        let mut frame = over_ipv4(b"hello");
        let wrong = icrc(&frame, &IPV4, |field| !unmasked.contains(&field));
        put_icrc(&mut frame, wrong);
        // Three routers on the way; the checksum grows by 0x100 with each (RFC 1624).
        let ttl = ETHERNET + 8;
        frame[ttl] -= 3;
        let sum = u32::from(u16::from_be_bytes([frame[ttl + 2], frame[ttl + 3]])) + 0x300;
        let sum = u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
        frame[ttl + 2..ttl + 4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(fault(&frame), Some(IcrcFault::NotMasked(wanted)));
    }
    let mut frame = over_ipv6(b"hello");
    let wrong = icrc(&frame, &IPV6, |field| field != Unmasked::HOP_LIMIT);
    put_icrc(&mut frame, wrong);
    frame[ETHERNET + 7] -= 1;
    assert_eq!(fault(&frame), Some(IcrcFault::NotMasked(Unmasked::HOP_LIMIT)));
}

#[test]
fn a_mark_on_the_way_does_not_hide_the_mistake() {
    let mut frame = over_ipv4(b"hello");
    let wrong = icrc(&frame, &IPV4, |field| field != Unmasked::TRAFFIC_CLASS);
    put_icrc(&mut frame, wrong);
    frame[ETHERNET + 1] |= 3;
    assert_eq!(fault(&frame), Some(IcrcFault::NotMasked(Unmasked::TRAFFIC_CLASS)));
}

#[test]
fn a_crc_begun_or_ended_wrongly_is_told() {
    for (mut frame, places) in [(over_ipv4(b"hello"), &IPV4[..]), (v1(b"hello"), &GRH)] {
        let right = icrc(&frame, places, |_| true);
        put_icrc(&mut frame, !right);
        assert_eq!(fault(&frame), Some(IcrcFault::NotInverted));
        let mut bytes = frame[ETHERNET..frame.len() - 4].to_vec();
        for (_, at, bits) in places {
            for (byte, bits) in bytes[*at..].iter_mut().zip(bits.to_be_bytes()) {
                *byte |= bits;
            }
        }
        put_icrc(&mut frame, crc(&bytes));
        assert_eq!(fault(&frame), Some(IcrcFault::LacksLrh));
        assert_eq!(IcrcFault::LacksLrh.icrc(&parse(&frame)).unwrap().get(), crc(&bytes));
    }
}

#[test]
fn damage_is_not_taken_for_a_mistake() {
    for at in [ETHERNET + 13, ETHERNET + 20, ETHERNET + 30, ETHERNET + 37, ETHERNET + 40] {
        for bit in 0..8 {
            let mut frame = over_ipv4(&[0x33; 100]);
            frame[at] ^= 1 << bit;
            assert_eq!(fault(&frame), Some(IcrcFault::Unknown), "byte {at} bit {bit}");
        }
    }
}

/// A frame with bytes replaced after its ICRC was made.
fn rewritten(mut frame: Vec<u8>, at: usize, by: &[u8]) -> Origins {
    frame[ETHERNET + at..ETHERNET + at + by.len()].copy_from_slice(by);
    assert_eq!(fault(&frame), Some(IcrcFault::Unknown));
    Origins::of(&parse(&frame)).unwrap()
}

#[test]
fn what_was_rewritten_is_found() {
    for payload in [&b"abc"[..], &[0x5a; 4096]] {
        let ipv4 = |at, by: &[u8]| rewritten(over_ipv4(payload), at, by);
        assert_eq!(ipv4(12, &[192, 0, 2, 9]).src, Some(A));
        assert_eq!(ipv4(16, &[192, 0, 2, 9]).dst, Some(B));
        assert_eq!(ipv4(4, &[0xab, 0xcd]).ip_id, Some(0));
        assert_eq!(ipv4(6, &[0, 0]).ip_fragment, Some(0x4000));
        assert_eq!(ipv4(20, &[0x80, 0x01]).src_port, Some(0xc123));
        assert_eq!(ipv4(30, &[0x80, 0x01]).p_key, Some(0xffff));
        assert_eq!(ipv4(33, &[0, 0xab, 0xcd]).dest_qp, Some(Qpn::new(0x1234)));
        let nat = ipv4(12, &[192, 0, 2, 9]);
        assert!(nat.is_from(A.into()) && !nat.is_to(B.into()) && !nat.is_from(B.into()));
        assert_eq!((nat.src_port, nat.p_key, nat.ip_id), (None, None, None));
        assert!(ipv4(16, &[192, 0, 2, 9]).is_to(B.into()));

        let nat = rewritten(over_ipv6(payload), 8, &v6(0xbad).octets());
        assert!(nat.is_from(v6(1).into()) && !nat.is_from(v6(2).into()));
        let nat = rewritten(over_ipv6(payload), 24, &v6(0xbad).octets());
        assert!(nat.is_to(v6(2).into()) && !nat.is_from(v6(1).into()));
        assert_eq!(rewritten(over_ipv6(payload), 40, &[0x80, 0x01]).src_port, Some(0xc123));
    }
}
