//! A file cut anywhere gives what is before the cut, and says where it is.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use std::io::{Cursor, Write};

use common::{Drip, Order, drain, enhanced, erf_record, interface, open, read, section, simple};
use common::{pcap_header, pcap_record};
use roce_capture::{DamageKind, FileReader};

/// A file in pieces: its header, then one piece for each frame.
type Pieces = (Vec<u8>, Vec<Vec<u8>>);

fn pcap() -> Pieces {
    let records = (0..5_u8).map(|i| {
        pcap_record(Order::Big, (i.into(), 0), u32::from(i) * 7, &vec![i; usize::from(i) * 7])
    });
    (pcap_header(Order::Big, 0xa1b2_c3d4, 0, 1), records.collect())
}

fn pcapng() -> Pieces {
    let order = Order::Little;
    let mut start = section(order);
    start.extend(interface(order, 1, 0, &[]));
    let records = (0..5_u8).map(|i| match i {
        3 => simple(order, 9, &[i; 9]),
        _ => enhanced(order, 0, i.into(), u32::from(i) * 7, &vec![i; usize::from(i) * 7]),
    });
    (start, records.collect())
}

fn erf() -> Pieces {
    let records = (1..5_u8).map(|i| erf_record(1_700_000_000, 21, 50, &[i; 50]));
    (Vec::new(), records.collect())
}

#[test]
fn every_byte_offset() {
    for (start, records) in [pcap(), pcapng()] {
        let file = [start.clone(), records.concat()].concat();
        let mut ends = vec![start.len()];
        ends.extend(records.iter().scan(start.len(), |end, record| {
            *end += record.len();
            Some(*end)
        }));
        for cut in 0..file.len() {
            let Ok(reader) = open(&file[..cut]) else {
                assert!(cut < start.len(), "only the header may fail");
                continue;
            };
            let read = drain(reader);
            let whole = ends.iter().filter(|&&end| end <= cut).count().saturating_sub(1);
            assert_eq!(read.frames.len(), whole, "cut at {cut}");
            match read.damage {
                // Between the section header and the interface: in order, and no packets yet.
                None => assert!(ends.contains(&cut) || cut < start.len()),
                Some(damage) if cut > start.len() => {
                    assert_eq!(damage.offset, ends[whole] as u64);
                    assert_eq!(damage.packet, whole as u64 + 1);
                    assert!(
                        matches!(damage.what, DamageKind::Cut { .. }),
                        "cut at {cut}: {damage}"
                    );
                }
                Some(damage) => assert!(damage.offset < start.len() as u64),
            }
        }
    }
}

#[test]
fn an_erf_file_cut_after_its_first_record() {
    let (_, records) = erf();
    let file = records.concat();
    let each = records[0].len();
    for cut in each + 16..file.len() {
        let read = read(&file[..cut]);
        assert_eq!(read.frames.len(), cut / each);
        assert_eq!(read.damage.is_some(), !cut.is_multiple_of(each));
    }
}

#[test]
fn a_slow_pipe_gives_the_same_frames() {
    for (start, records) in [pcap(), pcapng(), erf()] {
        let file = [start, records.concat()].concat();
        let at_once = read(&file);
        for step in [1, 3, 16] {
            let drip = Drip(Cursor::new(file.clone()), step);
            let slow = FileReader::from_read("drip".to_owned(), Box::new(drip)).unwrap();
            assert_eq!(drain(slow).frames, at_once.frames);
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed_files_of_several_parts() {
    let (start, records) = pcapng();
    let parts = [start, records[..2].concat(), records[2..].concat()];
    let plain = read(&parts.concat());
    let gzipped: Vec<u8> = parts.iter().flat_map(|part| gzip(part)).collect();
    let zstd = |part: &Vec<u8>| zstd::encode_all(&part[..], 3).unwrap();
    let zipped: Vec<u8> = parts.iter().flat_map(zstd).collect();
    for file in [gzipped, zipped] {
        let read = read(&file);
        assert_eq!(read.damage, None);
        assert_eq!(read.frames, plain.frames);
    }
}

#[test]
fn a_compressed_file_cut_anywhere_is_damaged_and_never_wrong() {
    let (start, records) = pcap();
    let plain = [start, records.concat()].concat();
    let all = read(&plain);
    for file in [gzip(&plain), zstd::encode_all(&plain[..], 3).unwrap()] {
        for cut in 1..file.len() {
            let Ok(reader) = open(&file[..cut]) else { continue };
            let read = drain(reader);
            assert!(all.frames.starts_with(&read.frames), "cut at {cut}");
            // A file that ends early is no more damaged for being compressed.
            let is_cut = read.damage.is_some_and(|damage| damage.what.is_cut());
            assert!(is_cut, "cut at {cut} of {}", file.len());
        }
    }
}

#[test]
fn an_enormous_zstd_window_is_refused_with_advice() {
    // A frame header that asks for a window of 2 GiB (RFC 8878, 3.1.1.1.2), and an empty block.
    let file = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0, 0];
    let error = open(&file).err().unwrap().to_string();
    assert!(error.contains("window") && error.contains("--long=31"), "{error}");
}

/// Zeros without end, compressed: they stream through and are damage at the first record.
#[test]
fn a_decompression_bomb_streams() {
    let (start, _) = pcap();
    let bomb = start.into_iter().chain(std::iter::repeat_n(0, 64 << 20)).collect::<Vec<u8>>();
    let file = zstd::encode_all(&bomb[..], 1).unwrap();
    assert!(file.len() < 64 << 10);
    let mut reader = open(&file).unwrap();
    let mut frames = 0;
    while reader.next_frame().unwrap().is_some() {
        frames += 1;
    }
    assert_eq!(frames, (64 << 20) / 16);
}
