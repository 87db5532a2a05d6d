//! Comments on frames, and everything else as it was.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use std::process::Command;

use common::Order::{Big, Little};
use common::{
    Shared, block, drain, erf_record, fixtures, interface, obsolete, open, option, read, section,
    simple,
};
use roce_capture::{CommentedCopy, FileReader, Part, WriterOptions};

/// Copies captures into one, with comments on the frames that `comment` gives one.
fn copy(readers: Vec<FileReader>, comment: impl Fn(u64) -> String) -> Vec<u8> {
    let shared = Shared::default();
    let sink = Box::new(shared.clone());
    let mut copy = CommentedCopy::to_write("copy".to_owned(), sink, &WriterOptions::default());
    for mut reader in readers {
        while let Some(part) = reader.next_part().unwrap() {
            match part {
                Part::Block(block) => copy.block(&block).unwrap(),
                Part::Frame(frame, envelope) => {
                    copy.frame(&frame, &envelope, &comment(frame.number)).unwrap();
                }
            }
        }
    }
    copy.finish().unwrap();
    shared.0.lock().unwrap().clone()
}

/// What tshark says of each frame that has a comment: its number and its comments.
fn tshark(bytes: &[u8]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("commented.pcapng");
    std::fs::write(&path, bytes).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-Y", "frame.comment", "-T", "fields"]);
    let output = command.args(["-e", "frame.number", "-e", "frame.comment"]).output();
    let Ok(output) = output else {
        eprintln!("skipped: tshark does not run");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn frames_and_times_stay_and_every_third_frame_has_a_comment() {
    let files = fixtures();
    assert!(files.len() > 50);
    for path in files {
        let every_third = |number: u64| match number % 3 {
            0 => format!("comment {number}"),
            _ => String::new(),
        };
        let copied = read(&copy(vec![FileReader::open(&path).unwrap()], every_third));
        let original = drain(FileReader::open(&path).unwrap());
        assert_eq!(copied.damage, None, "{}", path.display());
        assert_eq!(copied.frames.len(), original.frames.len(), "{}", path.display());
        for (after, before) in copied.frames.iter().zip(&original.frames) {
            let mut before = before.clone();
            if before.number.is_multiple_of(3) {
                // Of its interface's time, which may begin anywhere.
                before.time_ns = before.time_ns.or(after.time_ns);
            }
            assert_eq!(*after, before, "{}", path.display());
        }
    }
}

#[test]
fn pcapng_without_new_comments_comes_out_byte_for_byte() {
    for path in fixtures() {
        let original = std::fs::read(&path).unwrap();
        if original.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a])
            && drain(FileReader::open(&path).unwrap()).damage.is_none()
        {
            let copied = copy(vec![FileReader::open(&path).unwrap()], |_| String::new());
            assert!(copied == original, "{}", path.display());
        }
    }
}

#[test]
fn a_comment_stands_behind_the_options_that_are_there() {
    for order in [Little, Big] {
        let mut file = section(order);
        file.extend(interface(order, 1, 0, &[]));
        let mut body = [0, 1, 2, 5, 5].map(|word| order.u32(word)).concat();
        body.extend([7, 7, 7, 7, 7, 0, 0, 0]);
        let old = [option(order, 1, b"theirs"), option(order, 2, &[1, 0, 0, 0])].concat();
        let with_end = [body.clone(), old.clone(), option(order, 0, &[])].concat();
        let start = file.len();
        file.extend(block(order, 6, &with_end));
        let copied = copy(vec![open(&file).unwrap()], |_| "ours: µ".to_owned());
        let mut expected = file[..start].to_vec();
        let new = [old, option(order, 1, "ours: µ".as_bytes()), option(order, 0, &[])].concat();
        expected.extend(block(order, 6, &[body, new].concat()));
        assert_eq!(copied, expected);
        if let Some(told) = tshark(&copied) {
            assert_eq!(told, ["1\ttheirs,ours: µ"]);
        }
    }
}

#[test]
fn every_form_of_record_takes_a_comment() {
    let mut file = section(Big);
    file.extend(interface(Big, 1, 0, &[]));
    file.extend(simple(Big, 5, &[1; 5]));
    file.extend(obsolete(Big, 0, 3, 6, &[2; 6]));
    let mut pcap = common::pcap_header(Big, 0xa1b2_c3d4, 64, 1);
    pcap.extend(common::pcap_record(Big, (9, 8), 70, &[3; 7]));
    let erf = erf_record(1_700_000_000, 21, 50, &[4; 50]);
    let mut readers = Vec::new();
    let mut first = 1;
    for bytes in [&file, &pcap, &erf, &erf, &file] {
        let frames = u64::try_from(read(bytes).frames.len()).unwrap();
        readers.push(open(bytes).unwrap().with_first_number(first));
        first += frames;
    }
    let copied = copy(readers, |number| format!("frame {number}"));
    let frames = read(&copied).frames;
    let originals = [&file, &pcap, &erf, &erf, &file].map(|bytes| read(bytes).frames).concat();
    assert_eq!(frames.len(), 7);
    for (after, before) in frames.iter().zip(&originals) {
        assert_eq!((&after.data, after.wire_len), (&before.data, before.wire_len));
        assert_eq!(after.time_ns, before.time_ns.or(Some(0)));
        assert_eq!(after.link_type, before.link_type);
    }
    if let Some(told) = tshark(&copied) {
        let expected: Vec<_> = (1..=7).map(|n| format!("{n}\tframe {n}")).collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn comments_that_are_too_long_are_cut_between_characters() {
    let mut file = section(Little);
    file.extend(interface(Little, 1, 0, &[]));
    file.extend(common::enhanced(Little, 0, 1, 4, &[1; 4]));
    let copied = copy(vec![open(&file).unwrap()], |_| "µ".repeat(40_000));
    // 65,534 bytes of text, two of padding, the option's head, and the end of options.
    assert_eq!(copied.len(), file.len() + 65_536 + 4 + 4);
    assert_eq!(read(&copied).frames.len(), 1);
}

#[test]
fn a_copy_of_nothing_is_a_capture() {
    let pcap = common::pcap_header(Little, 0xa1b2_c3d4, 64, 1);
    let copied = read(&copy(vec![open(&pcap).unwrap()], |_| String::new()));
    assert_eq!((copied.frames.len(), copied.damage), (0, None));
}

#[test]
fn stale_comments_go_and_others_stay() {
    let mut options = Vec::new();
    for text in ["ours: old", "theirs", "ours: older"] {
        options.extend(option(Little, 1, text.as_bytes()));
    }
    options.extend(option(Little, 0, b""));
    let comments = |copied: &[u8]| -> Vec<bool> {
        ["ours: old", "theirs", "ours: older", "new"]
            .iter()
            .map(|text| copied.windows(text.len()).any(|window| window == text.as_bytes()))
            .collect()
    };
    let mut body = vec![0; 12];
    body.extend(4u32.to_le_bytes());
    body.extend(4u32.to_le_bytes());
    body.extend([1, 2, 3, 4]);
    body.extend(&options);
    let file = [section(Little), interface(Little, 1, 0, &[]), block(Little, 6, &body)].concat();
    for (comment, wanted) in
        [("", [false, true, false, false]), ("new", [false, true, false, true])]
    {
        let shared = Shared::default();
        let sink = Box::new(shared.clone());
        let copy = CommentedCopy::to_write("copy".to_owned(), sink, &WriterOptions::default());
        let mut copy = copy.without(|text| text.starts_with(b"ours: "));
        let mut reader = open(&file).unwrap();
        while let Some(part) = reader.next_part().unwrap() {
            match part {
                Part::Block(block) => copy.block(&block).unwrap(),
                Part::Frame(frame, envelope) => copy.frame(&frame, &envelope, comment).unwrap(),
            }
        }
        copy.finish().unwrap();
        let copied = shared.0.lock().unwrap().clone();
        // "ours: old" is the beginning of "ours: older", so neither is there.
        assert_eq!(comments(&copied), wanted, "{comment}");
        assert_eq!(read(&copied).damage, None);
    }
}
