//! pcap-parser, an independent reader, as the oracle: on generated files the same frames, on
//! mutated ones never a panic, and the same frames up to where either gives up.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use std::io::Cursor;

use common::{Order, block, enhanced, interface, open, section, simple};
use common::{drain, pcap_header, pcap_record};
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};
use proptest::collection::vec;
use proptest::prelude::*;

/// Captured bytes and wire length of each frame, as pcap-parser reads them.
fn oracle(file: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let mut frames = Vec::new();
    let Ok(mut reader) = create_reader(1 << 20, Cursor::new(file.to_vec())) else {
        return frames;
    };
    let mut starved = false;
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                starved = false;
                match block {
                    PcapBlockOwned::Legacy(b) => frames.push((b.data.to_vec(), b.origlen)),
                    PcapBlockOwned::NG(Block::EnhancedPacket(b)) => {
                        frames.push((b.data[..b.caplen as usize].to_vec(), b.origlen));
                    }
                    PcapBlockOwned::NG(Block::SimplePacket(b)) => {
                        let captured = b.data.len().min(b.origlen as usize);
                        frames.push((b.data[..captured].to_vec(), b.origlen));
                    }
                    _ => {}
                }
                reader.consume(offset);
            }
            Err(PcapError::Incomplete(_)) if !starved => {
                starved = true;
                if reader.refill().is_err() {
                    return frames;
                }
            }
            Err(_) => return frames,
        }
    }
}

fn ours(file: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let Ok(reader) = open(file) else { return Vec::new() };
    drain(reader).frames.into_iter().map(|f| (f.data, f.wire_len)).collect()
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Little), Just(Order::Big)]
}

fn frame() -> impl Strategy<Value = (Vec<u8>, u32)> {
    (vec(any::<u8>(), 0..80), 0..2000_u32).prop_map(|(data, more)| {
        let wire = data.len() as u32 + more;
        (data, wire)
    })
}

fn pcap() -> impl Strategy<Value = Vec<u8>> {
    let magic = prop_oneof![Just(0xa1b2_c3d4_u32), Just(0xa1b2_3c4d)];
    (order(), magic, vec(frame(), 0..12)).prop_map(|(order, magic, frames)| {
        let mut file = pcap_header(order, magic, 65535, 1);
        for (data, wire) in frames {
            file.extend(pcap_record(order, (1, 2), wire, &data));
        }
        file
    })
}

/// One section; what stands in it is chosen by the number in front of each frame.
fn pcapng_section() -> impl Strategy<Value = Vec<u8>> {
    (order(), vec((0..4_u8, frame()), 0..8)).prop_map(|(order, frames)| {
        let mut file = section(order);
        file.extend(interface(order, 1, 0, &[]));
        for (kind, (data, wire)) in frames {
            file.extend(match kind {
                0 => simple(order, data.len() as u32, &data),
                // An empty body is right, but pcap-parser ends there.
                1 => block(order, 0x0000_0bad, &[&data[..], &[0; 4]].concat()),
                _ => enhanced(order, 0, wire.into(), wire, &data),
            });
        }
        file
    })
}

fn pcapng() -> impl Strategy<Value = Vec<u8>> {
    vec(pcapng_section(), 1..3).prop_map(|sections| sections.concat())
}

/// A byte or a few of it changed, put in or taken out, or the file cut.
fn mutated(file: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    (file, vec(change, 1..4)).prop_map(|(mut file, changes)| {
        for (at, byte, how) in changes {
            if file.is_empty() {
                break;
            }
            let at = at.index(file.len());
            match how {
                0 => file[at] = byte,
                1 => file[at] ^= 1 << (byte & 7),
                2 => file.insert(at, byte),
                _ => file.truncate(at),
            }
        }
        file
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn generated_pcap_reads_alike(file in pcap()) {
        prop_assert_eq!(ours(&file), oracle(&file));
    }

    #[test]
    fn generated_pcapng_reads_alike(file in pcapng()) {
        prop_assert_eq!(ours(&file), oracle(&file));
    }

    /// In a mutated file the two may give up at different places, as they believe different
    /// lengths; what both read is the same.
    #[test]
    fn mutated_pcap_never_differs(file in mutated(pcap())) {
        let (ours, oracle) = (ours(&file), oracle(&file));
        for (a, b) in ours.iter().zip(&oracle) {
            prop_assert_eq!(&a.0, &b.0);
        }
    }

    #[test]
    fn mutated_pcapng_is_read_without_panic(file in mutated(pcapng())) {
        let all = ours(&file).len();
        prop_assert!(all <= file.len() / 12);
    }

    #[test]
    fn any_bytes_are_read_without_panic(file in vec(any::<u8>(), 0..400)) {
        ours(&file);
    }

    /// Damage is where the bytes before it are whole: reading only those gives no damage.
    #[test]
    fn what_is_before_the_damage_is_sound(file in mutated(prop_oneof![pcap(), pcapng()])) {
        let Ok(reader) = open(&file) else { return Ok(()) };
        let all = drain(reader);
        if let Some(damage) = all.damage {
            prop_assert_eq!(damage.packet, all.frames.len() as u64 + 1);
            let before = drain(open(&file[..damage.offset as usize]).unwrap());
            prop_assert_eq!(before.damage, None);
            prop_assert_eq!(before.frames, all.frames);
        }
    }
}
