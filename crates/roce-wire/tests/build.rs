//! Frames that were built: read back as asked for, right where they should be, wrong where asked.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

use core::net::{Ipv4Addr, Ipv6Addr};
use roce_wire::{
    Aeth, AtomicAckEth, AtomicEth, Carrier, Content, Deth, ExtHeaders, Feth, Frame, FrameBuilder,
    Gid, Icrc, IcrcFill, IcrcState, Lid, Link, MacAddr, Msn, NakCode, OPCODES, OpcodeInfo, Packet,
    PacketBuilder, Ports, Psn, QKey, Qpn, RKey, Rdeth, Ready, Reject, Reth, Syndrome, Tunnels,
    VirtAddr, XrcEth,
};

const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xa]);
const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xb]);
const A4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// A way to carry a packet, what the capture begins with, and what the walk is to say of it.
struct Way {
    head: FrameBuilder<Ready>,
    link: Link,
    carrier: Carrier,
    tunnels: Tunnels,
    vlans: usize,
}

fn ways() -> Vec<Way> {
    let ethernet = || FrameBuilder::ethernet(B, A);
    let (ga, gb) = (Gid::from_ipv4(A4), Gid::from(B6));
    let way =
        |head, carrier, tunnels, vlans| Way { head, link: Link::Ethernet, carrier, tunnels, vlans };
    let none = Tunnels::default();
    let v4 = Carrier::V2Ipv4;
    let v6 = Carrier::V2Ipv6;
    vec![
        way(ethernet().ipv4(A4, B4).udp(0xc123), v4, none, 0),
        way(ethernet().vlan(3, 100).ipv4(A4, B4).ip_id(7).udp(0xc123), v4, none, 1),
        way(ethernet().ipv6(A6, B6).flow_label(0x12345).udp(0xd00d), v6, none, 0),
        way(ethernet().service_vlan(1, 9).vlan(3, 100).ipv6(A6, B6).udp(1), v6, none, 2),
        way(ethernet().grh(ga, gb).traffic_class(0x68), Carrier::V1, none, 0),
        way(ethernet().vlan(5, 4095).grh(ga, gb), Carrier::V1, none, 1),
        way(ethernet().mpls(77, 3).ipv4(A4, B4).udp(5), v4, Tunnels::MPLS, 0),
        way(ethernet().ipv4(A4, B4).gre().ipv6(A6, B6).udp(6), v6, Tunnels::GRE, 0),
        way(
            ethernet().ipv6(A6, B6).vxlan(50_000, 42, A, B).vlan(3, 7).ipv4(B4, A4).udp(7),
            v4,
            Tunnels::VXLAN,
            1,
        ),
        way(
            ethernet().vlan(1, 1).ipv4(A4, B4).geneve(50_000, 42, A, B).grh(ga, gb),
            Carrier::V1,
            Tunnels::GENEVE,
            0,
        ),
        way(ethernet().ipv4(A4, B4).erspan(9, A, B).ipv4(B4, A4).udp(8), v4, Tunnels::ERSPAN, 0),
        Way {
            head: FrameBuilder::raw_ipv4(A4, B4).udp(9),
            link: Link::RawIp,
            carrier: v4,
            tunnels: none,
            vlans: 0,
        },
        Way {
            head: FrameBuilder::raw_ipv6(A6, B6).udp(10),
            link: Link::RawIp,
            carrier: v6,
            tunnels: none,
            vlans: 0,
        },
        Way {
            head: FrameBuilder::infiniband(Lid::new(1), Lid::new(2)),
            link: Link::InfiniBand,
            carrier: Carrier::InfiniBand,
            tunnels: none,
            vlans: 0,
        },
        Way {
            head: FrameBuilder::infiniband_global(Lid::new(1), Lid::new(2), ga, gb),
            link: Link::InfiniBand,
            carrier: Carrier::InfiniBand,
            tunnels: none,
            vlans: 0,
        },
    ]
}

/// A packet of the opcode with something in every field.
fn packet<'p>(info: &OpcodeInfo, payload: &'p [u8]) -> PacketBuilder<'p> {
    let has = |set| info.headers.has(set);
    let mut made = PacketBuilder::new(info.opcode, Qpn::new(0x12_3456), Psn::new(0xff_fffe))
        .edit_bth(|bth| bth.with_solicited(true).with_mig_req(true).with_fecn(true))
        .payload(payload);
    if info.opcode.0 & 1 == 1 {
        made = made.ack_req();
    }
    if has(ExtHeaders::RDETH) {
        made = made.rdeth(Rdeth::new(0xab_cdef));
    }
    if has(ExtHeaders::DETH) {
        made = made.deth(Deth::new(QKey::new(0x1122_3344), Qpn::new(0x77)));
    }
    if has(ExtHeaders::XRCETH) {
        made = made.xrceth(XrcEth::new(0x55_5555));
    }
    if has(ExtHeaders::FETH) {
        made = made.feth(Feth::new(Feth::REGION, Feth::GLOBAL));
    }
    if has(ExtHeaders::RETH) {
        made = made.reth(Reth::new(VirtAddr::new(0x1000_2000_3000), RKey::new(0x99), 12_345));
    }
    if has(ExtHeaders::ATOMIC_ETH) {
        made = made.atomic_eth(AtomicEth::new(VirtAddr::new(8), RKey::new(9), 10, 11));
    }
    if has(ExtHeaders::AETH) {
        made = made.aeth(Aeth::new(Syndrome::nak(NakCode::INVALID_REQUEST), Msn::new(5)));
    }
    if has(ExtHeaders::ATOMIC_ACK_ETH) {
        made = made.atomic_ack_eth(AtomicAckEth::new(0x0102_0304_0506_0708));
    }
    if has(ExtHeaders::IMM_DT) {
        made = made.imm_dt([1, 2, 3, 4]);
    }
    if has(ExtHeaders::IETH) {
        made = made.ieth(RKey::new(0xdead_beef));
    }
    made
}

/// Holds what was read against what was asked for, field by field.
fn assert_as_asked(info: &OpcodeInfo, read: &Packet<'_>, payload: &[u8]) {
    let has = |set| info.headers.has(set);
    let bth = read.bth;
    assert_eq!((bth.opcode, bth.dest_qp().get()), (info.opcode, 0x12_3456));
    assert_eq!((bth.psn().get(), bth.tver(), bth.p_key.get()), (0xff_fffe, 0, 0xffff));
    assert!(bth.solicited() && bth.mig_req() && bth.fecn() && !bth.becn());
    assert_eq!(bth.ack_req(), info.opcode.0 & 1 == 1);
    assert_eq!(read.payload, payload);
    assert_eq!(usize::from(bth.pad_count()), read.pad.len());
    assert!((payload.len() + read.pad.len()).is_multiple_of(4) && read.pad.len() < 4);
    assert!(read.pad.iter().all(|&byte| byte == 0));
    assert_eq!(read.rdeth.map(Rdeth::eec), has(ExtHeaders::RDETH).then_some(0xab_cdef));
    let deth = read.deth.map(|deth| (deth.q_key.get(), deth.src_qp().get()));
    assert_eq!(deth, has(ExtHeaders::DETH).then_some((0x1122_3344, 0x77)));
    assert_eq!(read.xrceth.map(XrcEth::srqn), has(ExtHeaders::XRCETH).then_some(0x55_5555));
    let feth = read.feth.map(|feth| (feth.selectivity(), feth.placement()));
    assert_eq!(feth, has(ExtHeaders::FETH).then_some((1, 1)));
    let reth = read.reth.map(|reth| (reth.va.get(), reth.r_key.get(), reth.dma_len()));
    assert_eq!(reth, has(ExtHeaders::RETH).then_some((0x1000_2000_3000, 0x99, 12_345)));
    let atomic = read.atomic_eth.map(|eth| (eth.va.get(), eth.swap_add(), eth.compare()));
    assert_eq!(atomic, has(ExtHeaders::ATOMIC_ETH).then_some((8, 10, 11)));
    let aeth = read.aeth.map(|aeth| (aeth.syndrome().0, aeth.msn().get()));
    assert_eq!(aeth, has(ExtHeaders::AETH).then_some((0x61, 5)));
    let original = read.atomic_ack_eth.map(AtomicAckEth::original);
    assert_eq!(original, has(ExtHeaders::ATOMIC_ACK_ETH).then_some(0x0102_0304_0506_0708));
    assert_eq!(read.imm_dt.map(|imm| imm.data), has(ExtHeaders::IMM_DT).then_some([1, 2, 3, 4]));
    let ieth = read.ieth.map(|ieth| ieth.r_key.get());
    assert_eq!(ieth, has(ExtHeaders::IETH).then_some(0xdead_beef));
}

const SIZES: [usize; 13] = [0, 1, 2, 3, 4, 5, 64, 100, 127, 256, 1023, 1024, 4096];

#[test]
fn every_opcode_on_every_way_reads_back_as_asked() {
    let bytes: Vec<u8> = (0..4096u32).map(|n| (n * 7) as u8).collect();
    for way in ways() {
        for info in &OPCODES {
            for size in SIZES {
                let payload = &bytes[..size];
                let made = packet(info, payload);
                let mut out = Vec::new();
                way.head.emit(&made, &mut out).unwrap();
                assert_eq!(out.len(), way.head.len(&made));
                let frame = Frame::parse(way.link, &out, out.len(), &Ports::default());
                let (net, read) = frame.packet().unwrap();
                assert_eq!(net.carrier(), way.carrier);
                assert_eq!(frame.tunnels, way.tunnels);
                assert_eq!(frame.vlans.len(), way.vlans);
                assert!(frame.trailer().is_empty() && frame.oddities.is_empty());
                assert_eq!(frame.icrc_state(), Some(IcrcState::Ok), "{} {size}", info.name);
                assert_as_asked(info, read, payload);
                // A packet that is read can be made again from what was read.
                let mut again = Vec::new();
                way.head.emit(&PacketBuilder::from(read), &mut again).unwrap();
                assert_eq!(again, out);
            }
        }
    }
}

#[test]
fn layers_two_to_four_read_in_etherparse_as_asked() {
    let made = packet(&OPCODES[4], b"hello");
    for way in ways().into_iter().filter(|way| way.link == Link::Ethernet) {
        let mut out = Vec::new();
        way.head.emit(&made, &mut out).unwrap();
        let sliced = etherparse::SlicedPacket::from_ethernet(&out).unwrap();
        if let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(
                usize::from(header.total_len)
                    + (ip.header().slice().as_ptr() as usize - out.as_ptr() as usize),
                out.len()
            );
        }
    }
}

#[test]
fn a_slice_is_filled_to_the_byte_and_one_less_is_an_error() {
    let made = packet(&OPCODES[8], &[9; 5]);
    for way in ways() {
        let len = way.head.len(&made);
        let mut room = vec![0u8; len];
        let mut rest = &mut room[..];
        way.head.emit(&made, &mut rest).unwrap();
        assert!(rest.is_empty());
        let mut short = vec![0u8; len - 1];
        let mut rest = &mut short[..];
        let error = way.head.emit(&made, &mut rest).unwrap_err();
        assert_eq!((error.header, error.needed, error.had), ("frame", len, len - 1));
        assert!(short.iter().all(|&byte| byte == 0));
    }
}

fn emitted(head: FrameBuilder<Ready>, packet: &PacketBuilder<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    head.emit(packet, &mut out).unwrap();
    out
}

fn read(bytes: &[u8]) -> Frame<'_> {
    Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default())
}

#[test]
fn what_is_asked_to_be_wrong_is_wrong() {
    let head = FrameBuilder::ethernet(B, A).ipv4(A4, B4).udp(0xc123);
    let send = PacketBuilder::new(OPCODES[4].opcode, Qpn::new(5), Psn::new(6)).payload(b"abc");

    let bytes = emitted(head, &send.icrc(IcrcFill::Flipped(1)));
    assert_eq!(read(&bytes).icrc_state(), Some(IcrcState::Bad));
    let right = read(&bytes).right_icrc().unwrap();
    assert_eq!(read(&bytes).packet().unwrap().1.icrc.unwrap().get(), right.get() ^ 1);

    let bytes = emitted(head, &send.icrc(IcrcFill::Given(Icrc::new(0))));
    assert_eq!(bytes[bytes.len() - 4..], [0; 4]);

    let bytes = emitted(head, &send.icrc(IcrcFill::Absent));
    let udp_len = u16::from_be_bytes([bytes[38], bytes[39]]);
    assert_eq!((udp_len, bytes.len()), (8 + 12 + 4, 14 + 20 + 8 + 12 + 4));

    let bytes = emitted(head, &send.edit_bth(|bth| bth.with_tver(3)));
    assert_eq!(read(&bytes).rejection(), Some(Reject::BadTver));
    assert_eq!(read(&bytes).icrc_state(), Some(IcrcState::Ok));

    let bytes = emitted(head, &send.edit_bth(|bth| bth.with_reserved_6(0x3f).with_reserved_7(1)));
    let frame = read(&bytes);
    let bth = frame.packet().unwrap().1.bth;
    assert_eq!((bth.reserved_6(), bth.reserved_7()), (0x3f, 1));
    assert_eq!(frame.icrc_state(), Some(IcrcState::Ok));

    let bytes = emitted(head, &send.pad(1, &[0xff]));
    let frame = read(&bytes);
    assert_eq!(frame.packet().unwrap().1.pad, [0xff]);
    assert_eq!(frame.icrc_state(), Some(IcrcState::Ok));

    let bytes = emitted(head.udp_length(20), &send);
    assert_eq!(read(&bytes).packet().unwrap().1.wire_len(), 12);

    let bytes = emitted(FrameBuilder::ethernet(B, A).ipv4(A4, B4).ip_checksum(1).udp(2), &send);
    assert_eq!(bytes[24..26], [0, 1]);
    let bytes = emitted(FrameBuilder::ethernet(B, A).ipv4(A4, B4).net_length(21).udp(2), &send);
    assert!(matches!(read(&bytes).content, Content::Other(_)));
    let bytes = emitted(head.udp_dst_port(9741), &send);
    assert!(matches!(read(&bytes).content, Content::Other(_)));
    let fragment = FrameBuilder::ethernet(B, A).ipv4(A4, B4).fragment_word(0x2000).udp(2);
    assert_eq!(read(&emitted(fragment, &send)).rejection(), Some(Reject::Fragment));
}

#[test]
fn a_packet_may_have_headers_that_its_opcode_does_not() {
    let head = FrameBuilder::ethernet(B, A).ipv4(A4, B4).udp(0xc123);
    let ack = PacketBuilder::new(OPCODES[4].opcode, Qpn::new(5), Psn::new(6))
        .aeth(Aeth::new(Syndrome::ACK_UNLIMITED, Msn::new(1)));
    let bytes = emitted(head, &ack);
    // A SEND has no AETH, so it reads as payload.
    assert_eq!(read(&bytes).packet().unwrap().1.payload, [0x1f, 0, 0, 1]);
}

#[test]
fn published_frames_are_made_byte_for_byte() {
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    };
    // The CNP of a ConnectX-4 Lx (scapy `test/contrib/roce.uts`).
    let cnp = hex("e41d2dab2bc2 7cfe90643b32 0800 45c2003c718c4000401191610a0011010a001201
        0000 12b7 0028 0000 8100ffff40000118 00000000 00000000000000000000000000000000 82fd002a");
    let mac = |at: usize| MacAddr(cnp[at..at + 6].try_into().unwrap());
    let head = FrameBuilder::ethernet(mac(0), mac(6))
        .ipv4(Ipv4Addr::new(10, 0, 17, 1), Ipv4Addr::new(10, 0, 18, 1))
        .traffic_class(0xc2)
        .ip_id(0x718c)
        .udp(0);
    assert_eq!(emitted(head, &PacketBuilder::cnp(Qpn::new(0x118))), cnp);

    // An ACK over IPv6 that is a NAK; cross-checked with scapy.
    let nak = hex("7cfe90753cd87cfe90753cd986dd66a12345001c114020010db800000000000000000000000120
        010db8000000000000000000000002d00d12b7001c00001140ffff00000012000000086000000779ce1cb0");
    let mac = |at: usize| MacAddr(nak[at..at + 6].try_into().unwrap());
    let head = FrameBuilder::ethernet(mac(0), mac(6))
        .ipv6(A6, B6)
        .traffic_class(0x6a)
        .flow_label(0x12345)
        .udp(0xd00d);
    let packet = PacketBuilder::new(roce_wire::Opcode::RC_ACKNOWLEDGE, Qpn::new(0x12), Psn::new(8))
        .edit_bth(|bth| bth.with_mig_req(true))
        .aeth(Aeth::new(Syndrome::nak(NakCode::PSN_SEQUENCE_ERROR), Msn::new(7)));
    assert_eq!(emitted(head, &packet), nak);
}

#[test]
fn a_frame_made_in_its_place_is_the_same() {
    let bytes: Vec<u8> = (0..1000).map(|n| n as u8).collect();
    let fills = [
        IcrcFill::Right,
        IcrcFill::Flipped(0x8000_0001),
        IcrcFill::Given(Icrc::new(7)),
        IcrcFill::Absent,
    ];
    for (way, info) in ways().iter().flat_map(|way| OPCODES.iter().map(move |info| (way, info))) {
        for (len, fill) in [0, 1, 64, 1000].into_iter().flat_map(|len| fills.map(|f| (len, f))) {
            let packet = packet(info, &bytes[..len]).icrc(fill);
            let head = way.head.head();
            let mut appended = Vec::new();
            way.head.emit(&packet, &mut appended).unwrap();
            let mut placed = vec![0xee; head.len(&packet)];
            head.emit_to(&packet, &mut placed).unwrap();
            assert_eq!(placed, appended);
            placed.push(0);
            assert!(head.emit_to(&packet, &mut placed).is_err());
        }
    }
}

#[test]
fn what_is_set_in_a_head_is_in_its_ipv4_checksum() {
    /// RFC 1071: with its checksum, the words of a right header add up to ones.
    fn adds_up(header: &[u8]) -> bool {
        let words = header.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word[1]));
        let sum: u64 = words.sum();
        (sum >> 16) + (sum & 0xffff) == 0xffff
    }
    let plain = FrameBuilder::ethernet(A, B).ipv4(A4, B4).udp(1);
    let tunnel = FrameBuilder::ethernet(A, B).ipv4(A4, B4).vxlan(7, 9, A, B).ipv4(B4, A4).udp(1);
    let length_given = plain.net_length(8);
    for (builder, places) in [(plain, vec![14]), (tunnel, vec![14, 64]), (length_given, vec![14])] {
        let mut head = builder.head();
        for (class, id) in [(0, 0), (0xff, 0xffff), (3, 1), (0, 0x8000), (0xc2, 0xfffe)] {
            head.set_traffic_class(class);
            head.set_ip_id(id);
            head.set_udp_src_port(id ^ 0x55);
            for info in OPCODES {
                let packet = packet(&info, &[5; 64]);
                let mut placed = vec![0xee; head.len(&packet)];
                head.emit_to(&packet, &mut placed).unwrap();
                assert!(places.iter().all(|at| adds_up(&placed[*at..*at + 20])));
                let last = &placed[*places.last().unwrap()..];
                assert_eq!((last[0], last[1], [last[4], last[5]]), (0x45, class, id.to_be_bytes()));
            }
        }
    }
}
