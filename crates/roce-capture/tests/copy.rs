//! A copy is the file it was made from but for what was changed.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use common::Order::{Big, Little};
use common::{
    Order, Shared, block, drain, fixtures, interface, open, option, read, section, simple,
};
use roce_capture::{Compression, Container, FileCopy, FileReader, Frame, Part};

/// Copies a capture, its frames as `edit` makes them: bytes and length on the wire.
fn copy(
    mut reader: FileReader,
    nameless: bool,
    edit: impl Fn(&Frame<'_>) -> (Vec<u8>, u32),
) -> Vec<u8> {
    let shared = Shared::default();
    let mut copy = FileCopy::to_write("copy".to_owned(), Box::new(shared.clone()));
    if nameless {
        copy = copy.nameless();
    }
    while let Some(part) = reader.next_part().unwrap() {
        match part {
            Part::Block(block) => copy.block(&block).unwrap(),
            Part::Frame(frame, envelope) => {
                let (data, wire_len) = edit(&frame);
                copy.frame(&Frame { data: &data, wire_len, ..frame }, &envelope).unwrap();
            }
        }
    }
    copy.finish().unwrap();
    shared.0.lock().unwrap().clone()
}

fn same(frame: &Frame<'_>) -> (Vec<u8>, u32) {
    (frame.data.to_vec(), frame.wire_len)
}

#[test]
fn what_is_not_changed_comes_out_byte_for_byte() {
    let files = fixtures();
    assert!(files.len() > 50);
    for path in files {
        let reader = FileReader::open(&path).unwrap();
        assert_eq!(reader.format().compression, Compression::None);
        let original = std::fs::read(&path).unwrap();
        let copied = copy(reader, false, same);
        // What is damaged ends before the damage; ERF in a file of its own may have padding.
        if drain(FileReader::open(&path).unwrap()).damage.is_none() {
            assert!(copied == original, "{}", path.display());
        } else {
            assert!(original.starts_with(&copied), "{}", path.display());
        }
    }
}

#[test]
fn changed_lengths_are_written_in_every_form() {
    for path in fixtures() {
        let reader = FileReader::open(&path).unwrap();
        if reader.format().container == Container::Erf {
            continue;
        }
        let edit = |frame: &Frame<'_>| {
            let mut data = frame.data.to_vec();
            data.truncate(data.len() - data.len() % 7);
            data.extend([7; 3]);
            (data, frame.wire_len + 9)
        };
        let copied = read(&copy(reader, false, edit));
        let original = drain(FileReader::open(&path).unwrap()).frames;
        assert_eq!(copied.damage, None, "{}", path.display());
        assert_eq!(copied.frames.len(), original.len());
        for (after, before) in copied.frames.iter().zip(&original) {
            let frame = Frame {
                number: before.number,
                time_ns: before.time_ns,
                link_type: before.link_type,
                wire_len: before.wire_len,
                data: &before.data,
                interface: before.interface,
            };
            assert_eq!((after.data.clone(), after.wire_len), edit(&frame));
            // A simple packet that cannot say its captured length gets a time.
            if before.time_ns.is_some() {
                assert_eq!(after.time_ns, before.time_ns, "{}", path.display());
            }
            assert_eq!((after.interface, after.link_type), (before.interface, before.link_type));
        }
    }
}

/// An enhanced packet block with options.
fn packet(order: Order, data: &[u8], options: &[u8]) -> Vec<u8> {
    let mut body = [0, 0x1234, 0x5678, data.len() as u32, data.len() as u32]
        .map(|word| order.u32(word))
        .concat();
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(order, 6, &body)
}

fn file(order: Order) -> Vec<u8> {
    let name = option(order, 2, b"eth2");
    let host = option(order, 3, b"Secretware");
    let resolution = option(order, 9, &[9]);
    let comment = option(order, 1, b"lost on spine-07");
    let hash = option(order, 3, &[2, 1, 2, 3, 4]);
    let flags = option(order, 2, &[1, 0, 0, 0]);
    let end = option(order, 0, &[]);
    let mut out = section(order);
    let body = [&out[8..24], &host, &end].concat();
    out = block(order, 0x0a0d_0d0a, &body);
    out.extend(interface(order, 1, 0, &[&name[..], &resolution, &end].concat()));
    out.extend(packet(order, &[1, 2, 3, 4, 5], &[&comment[..], &flags, &hash, &end].concat()));
    out.extend(block(order, 4, b"spine-07 10.0.0.1"));
    out.extend(packet(order, &[6, 7, 8], &[]));
    out.extend(simple(order, 3, &[9, 9, 9]));
    out
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn comments_and_names_stay_and_a_wrong_sum_goes() {
    for order in [Little, Big] {
        let bytes = file(order);
        assert_eq!(copy(open(&bytes).unwrap(), false, same), bytes);
        let edited = copy(open(&bytes).unwrap(), false, |frame| {
            ([frame.data, &[0xaa]].concat(), frame.wire_len + 1)
        });
        for text in [&b"eth2"[..], b"Secretware", b"lost on spine-07", b"spine-07 10.0.0.1"] {
            assert!(holds(&edited, text));
        }
        assert!(holds(&bytes, &[2, 1, 2, 3, 4]) && !holds(&edited, &[2, 1, 2, 3, 4]));
        let frames = read(&edited).frames;
        assert_eq!(frames[0].data, [1, 2, 3, 4, 5, 0xaa]);
        assert_eq!((frames[0].time_ns, frames[2].time_ns), (Some(0x1234_0000_5678), None));
    }
}

#[test]
fn a_nameless_copy_names_nobody_and_keeps_the_clock() {
    for order in [Little, Big] {
        let bytes = file(order);
        let nameless = copy(open(&bytes).unwrap(), true, same);
        for text in [&b"eth2"[..], b"Secretware", b"spine"] {
            assert!(holds(&bytes, text) && !holds(&nameless, text));
        }
        assert_eq!(read(&nameless).frames, read(&bytes).frames);
        assert_eq!(read(&nameless).damage, None);
    }
}
