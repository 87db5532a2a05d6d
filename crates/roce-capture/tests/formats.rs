//! Every format, from bytes that the specifications give.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use common::{Order, block, enhanced, erf_record, interface, obsolete, open, option, section};
use common::{pcap_header, pcap_record, read, simple};
use roce_capture::{Compression, Container, DamageKind, Error, LinkType, Resolution};

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;

#[test]
fn pcap_in_both_byte_orders_and_both_clocks() {
    for order in [Order::Little, Order::Big] {
        for (magic, time_ns) in [(MICRO, 5_000_007_000), (NANO, 5_000_000_007)] {
            let mut file = pcap_header(order, magic, 65535, 1);
            file.extend(pcap_record(order, (5, 7), 90, &[1, 2, 3]));
            let read = read(&file);
            assert_eq!(read.damage, None);
            let frame = &read.frames[0];
            assert_eq!((frame.number, frame.time_ns), (1, Some(time_ns)));
            assert_eq!((frame.wire_len, &frame.data[..]), (90, &[1, 2, 3][..]));
            assert_eq!(frame.link_type, LinkType::ETHERNET);
        }
    }
}

/// A header as tcpdump writes it, byte for byte.
#[test]
fn a_literal_header_is_pcap_without_packets() {
    let file = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    let reader = open(&file).unwrap();
    assert_eq!(reader.format().container, Container::Pcap);
    assert_eq!(reader.format().compression, Compression::None);
    assert_eq!(reader.format().resolution, Some(Resolution::MICROSECONDS));
    let read = read(&file);
    assert!(read.frames.is_empty() && read.damage.is_none());
}

#[test]
fn the_modified_pcap_has_longer_record_headers() {
    let mut file = pcap_header(Order::Little, 0xa1b2_cd34, 65535, 1);
    for payload in [[9, 8], [7, 6]] {
        let mut record = pcap_record(Order::Little, (1, 0), 2, &payload);
        record.splice(16..16, [0; 8]);
        file.extend(record);
    }
    let read = read(&file);
    assert_eq!(read.frames.len(), 2);
    assert_eq!(read.frames[1].data, [7, 6]);
}

#[test]
fn pcap_flags_above_the_link_type_are_left_out() {
    let file = pcap_header(Order::Little, MICRO, 0, 0x5400_0001);
    let mut file = file;
    file.extend(pcap_record(Order::Little, (0, 0), 1, &[0]));
    assert_eq!(read(&file).frames[0].link_type, LinkType::ETHERNET);
}

#[test]
fn more_captured_than_on_the_wire_is_delivered() {
    let mut file = pcap_header(Order::Little, MICRO, 65535, 1);
    file.extend(pcap_record(Order::Little, (0, 0), 2, &[1, 2, 3, 4]));
    assert_eq!(read(&file).frames[0].wire_len, 4);
}

#[test]
fn an_absurd_length_is_damage_with_its_place() {
    for length in [256 * 1024 + 1, 0x8000_0000, 0xffff_ffff_u32] {
        let mut file = pcap_header(Order::Little, MICRO, 65535, 1);
        file.extend(pcap_record(Order::Little, (0, 0), 4, &[1, 2, 3, 4]));
        let mut bad = pcap_record(Order::Little, (0, 0), 4, &[]);
        bad[8..12].copy_from_slice(&length.to_le_bytes());
        file.extend(bad);
        let read = read(&file);
        assert_eq!(read.frames.len(), 1);
        let damage = read.damage.unwrap();
        assert_eq!((damage.offset, damage.packet), (44, 2));
        assert_eq!(damage.what, DamageKind::RecordLength { length, limit: 256 * 1024 });
    }
}

#[test]
fn an_absurd_snaplen_is_held_to_what_is_believable() {
    for snaplen in [0, 0x7fff_ffff, 0xffff_ffff] {
        let mut file = pcap_header(Order::Little, MICRO, snaplen, 1);
        file.extend(pcap_record(Order::Little, (0, 0), 4, &[1, 2, 3, 4]));
        assert_eq!(read(&file).frames.len(), 1);
        let mut bad = pcap_record(Order::Little, (0, 0), 4, &[]);
        bad[8..12].copy_from_slice(&0x0100_0001_u32.to_le_bytes());
        file.extend(bad);
        assert_eq!(read(&file).damage.unwrap().offset, 44);
    }
}

#[test]
fn pcapng_in_both_byte_orders_with_every_kind_of_packet() {
    for order in [Order::Little, Order::Big] {
        let mut file = section(order);
        file.extend(interface(order, 1, 4, &[]));
        let ns = option(order, 9, &[9]);
        file.extend(interface(order, 276, 0, &ns));
        file.extend(block(order, 0x0bad_f00d, &[1, 2, 3]));
        file.extend(enhanced(order, 0, 5_000_007, 90, &[1, 2, 3]));
        file.extend(enhanced(order, 1, 5_000_000_007, 5, &[1, 2, 3, 4, 5]));
        file.extend(simple(order, 9, &[4, 3, 2, 1]));
        file.extend(obsolete(order, 1, 6_000_000_000, 2, &[8, 8]));
        let read = read(&file);
        assert_eq!(read.damage, None);
        let frames = read.frames;
        assert_eq!(frames.len(), 4);
        assert_eq!(frames[0].time_ns, Some(5_000_007_000));
        assert_eq!((frames[0].wire_len, frames[0].interface), (90, 0));
        assert_eq!(frames[0].data, [1, 2, 3]);
        assert_eq!(frames[1].time_ns, Some(5_000_000_007));
        assert_eq!((frames[1].link_type, frames[1].interface), (LinkType::LINUX_SLL2, 1));
        assert_eq!((frames[2].time_ns, frames[2].wire_len), (None, 9));
        assert_eq!(frames[2].data, [4, 3, 2, 1]);
        assert_eq!((frames[3].time_ns, frames[3].number), (Some(6_000_000_000), 4));
    }
}

#[test]
fn a_section_has_its_own_byte_order_and_interfaces() {
    let mut file = section(Order::Little);
    file.extend(interface(Order::Little, 1, 0, &[]));
    file.extend(enhanced(Order::Little, 0, 1, 1, &[1]));
    file.extend(section(Order::Big));
    file.extend(interface(Order::Big, 101, 0, &[]));
    file.extend(enhanced(Order::Big, 0, 2, 1, &[2]));
    file.extend(enhanced(Order::Big, 1, 2, 1, &[2]));
    let offset = (file.len() - 36) as u64;
    let read = read(&file);
    assert_eq!(read.frames.len(), 2);
    assert_eq!((read.frames[1].link_type, read.frames[1].interface), (LinkType::RAW, 1));
    let damage = read.damage.unwrap();
    assert_eq!((damage.packet, damage.offset), (3, offset));
    assert_eq!(damage.what, DamageKind::NoInterface { id: 1, known: 1 });
}

#[test]
fn clocks_of_interfaces() {
    let order = Order::Little;
    let at = |options: &[u8], ticks| {
        let mut file = section(order);
        file.extend(interface(order, 1, 0, options));
        file.extend(enhanced(order, 0, ticks, 0, &[]));
        read(&file).frames[0].time_ns
    };
    assert_eq!(at(&option(order, 9, &[0x80 | 32]), 3 << 31), Some(1_500_000_000));
    assert_eq!(at(&option(order, 9, &[0]), 2), Some(2_000_000_000));
    let mut shifted = option(order, 14, &order.u64(100));
    shifted.extend(option(order, 0, &[]));
    assert_eq!(at(&shifted, 1), Some(100_000_001_000));
    let back = option(order, 14, &order.u64(-1_i64 as u64));
    assert_eq!(at(&back, 3_000_000), Some(2_000_000_000));
    assert_eq!(at(&back, 3), None, "before the epoch");
}

#[test]
fn a_senseless_block_is_damage_with_its_place() {
    let order = Order::Little;
    let mut start = section(order);
    start.extend(interface(order, 1, 0, &[]));
    start.extend(enhanced(order, 0, 1, 4, &[1, 2, 3, 4]));
    let good = enhanced(order, 0, 1, 4, &[1, 2, 3, 4]);
    let with = |at: usize, value: u32| {
        let mut file = start.clone();
        let mut bad = good.clone();
        bad[at..at + 4].copy_from_slice(&order.u32(value));
        file.extend(bad);
        let read = read(&file);
        assert_eq!(read.frames.len(), 1);
        let damage = read.damage.unwrap();
        assert_eq!((damage.offset, damage.packet), (start.len() as u64, 2));
        damage.what
    };
    for length in [0, 8, 35, 37, 0xffff_fffc, 0x8000_0000, (16 << 20) + 4] {
        assert_eq!(with(4, length), DamageKind::BlockLength { block: 6, length });
    }
    assert_eq!(with(32, 40), DamageKind::TrailingLength { leading: 36, trailing: 40 });
    assert_eq!(with(20, 5), DamageKind::Overrun { captured: 5, room: 4 });
    assert_eq!(with(20, u32::MAX), DamageKind::Overrun { captured: u32::MAX, room: 4 });
    assert_eq!(with(8, 1), DamageKind::NoInterface { id: 1, known: 1 });
    assert_eq!(with(4, 60), DamageKind::Cut { needed: 60, had: 36 });
}

#[test]
fn erf_is_told_by_its_records() {
    let mut payload = vec![0, 0];
    payload.extend([0xaa; 60]);
    let mut file = erf_record(1_700_000_000, 2, 64, &payload);
    file.extend(erf_record(1_700_000_001, 48, 0, &[0; 8]));
    file.extend(erf_record(1_700_000_002, 21, 290, &[0xbb; 290]));
    assert_eq!(open(&file).unwrap().format().container, Container::Erf);
    let read = read(&file);
    assert_eq!(read.damage, None);
    assert_eq!(read.frames.len(), 2, "padding is no frame");
    let (cut, whole) = (&read.frames[0], &read.frames[1]);
    assert_eq!(cut.time_ns, Some(1_700_000_000_500_000_000));
    assert_eq!((cut.link_type, cut.wire_len), (LinkType::ERF, 16 + 2 + 64));
    assert_eq!((whole.wire_len, whole.data.len()), (306, 306));
    assert_eq!((whole.interface, whole.number), (1, 2));
}

#[test]
fn erf_extension_headers_belong_to_the_record() {
    let mut payload = vec![0x83, 0, 0, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0, 0, 0];
    payload.extend([0xbb; 30]);
    let record = erf_record(1_700_000_000, 0x80 | 21, 30, &payload);
    let read = read(&[record.clone(), record].concat());
    assert_eq!(read.frames.len(), 2);
    assert_eq!((read.frames[0].wire_len, read.frames[0].data.len()), (62, 62));
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    assert!(matches!(open(b""), Err(Error::Empty { .. })));
    for (bytes, looks) in [
        (&b"frame 1: 66 bytes on the wire, and so on and on"[..], "text"),
        (b"\xfd7zXZ\0\0\x04", "an xz file; use `xz -dc FILE | roce-sniff -`"),
        (&[0; 4096], "nothing but zeros"),
        (&[1], "binary data of an unknown kind"),
    ] {
        let error = open(bytes).err().unwrap();
        assert!(matches!(&error, Error::NotACapture { looks_like, .. } if *looks_like == looks));
    }
}

#[test]
fn a_header_that_makes_no_sense_is_an_error() {
    let mut old = pcap_header(Order::Little, MICRO, 0, 1);
    old[4] = 1;
    assert!(matches!(open(&old), Err(Error::UnsupportedVersion { major: 1, minor: 4, .. })));
    let mut new = section(Order::Big);
    new[13] = 2;
    assert!(matches!(open(&new), Err(Error::UnsupportedVersion { major: 2, .. })));
    let mut mark = section(Order::Little);
    mark[8] = 0;
    assert!(matches!(open(&mark), Err(Error::BadHeader { what: DamageKind::ByteOrder(_), .. })));
    for length in [0, 12, 24, 29, 0xffff_fffc_u32] {
        let mut bad = section(Order::Little);
        bad[4..8].copy_from_slice(&length.to_le_bytes());
        let error = open(&bad).err().unwrap();
        assert!(matches!(error, Error::BadHeader { what: DamageKind::BlockLength { .. }, .. }));
    }
}
