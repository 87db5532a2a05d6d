//! What is written reads back, and what cannot be written is said.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use std::path::Path;

use common::{Owned, drain};
use roce_capture::{Container, Error, FileReader, FileWriter, Frame, LinkType, Resolution};
use roce_capture::{WriterOptions, same_file};

fn owned(number: u64, time_ns: Option<u64>, link_type: u32, wire_len: u32, data: &[u8]) -> Owned {
    let link_type = LinkType(link_type);
    Owned { number, time_ns, link_type, wire_len, data: data.to_vec(), interface: 0 }
}

fn frame(owned: &Owned) -> Frame<'_> {
    let Owned { number, time_ns, link_type, wire_len, data, interface } = owned;
    let (number, time_ns, link_type) = (*number, *time_ns, *link_type);
    Frame { number, time_ns, link_type, wire_len: *wire_len, data, interface: *interface }
}

fn write(path: &Path, frames: &[Owned], options: &WriterOptions) -> Result<u64, Error> {
    let mut writer = FileWriter::create(path, options)?;
    for each in frames {
        writer.write(&frame(each))?;
    }
    writer.finish()
}

#[test]
fn pcapng_keeps_everything() {
    let frames = [
        owned(1, None, 1, 3, &[1, 2, 3]),
        owned(2, Some(1_700_000_000_123_456_789), 1, 90, &[4; 61]),
        owned(3, Some(u64::MAX), 276, 4, &[5; 4]),
        owned(4, Some(0), 1, 0, &[]),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.anything");
    assert_eq!(write(&path, &frames, &WriterOptions::default()).unwrap(), 4);
    let reader = FileReader::open(&path).unwrap();
    assert_eq!(reader.format().container, Container::Pcapng);
    let mut read = drain(reader).frames;
    assert_eq!(read[2].interface, 1);
    read[2].interface = 0;
    assert_eq!(read, frames);
}

#[test]
fn pcap_by_its_name_in_either_clock() {
    let time = 1_700_000_000_123_456_789;
    let frames = [owned(1, Some(time), 247, 90, &[4; 61]), owned(2, Some(time), 247, 1, &[4])];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pcap");
    for (nanoseconds, resolution) in
        [(true, Resolution::NANOSECONDS), (false, Resolution::MICROSECONDS)]
    {
        let options = WriterOptions { nanoseconds, ..WriterOptions::default() };
        write(&path, &frames, &options).unwrap();
        let reader = FileReader::open(&path).unwrap();
        assert_eq!(reader.format().container, Container::Pcap);
        assert_eq!(reader.format().resolution, Some(resolution));
        let read = drain(reader).frames;
        let expected = if nanoseconds { time } else { time / 1000 * 1000 };
        assert_eq!(read[0].time_ns, Some(expected));
        assert_eq!((read[0].wire_len, &read[0].data), (90, &frames[0].data));
        assert_eq!(read[0].link_type, LinkType::INFINIBAND);
    }
}

#[test]
fn pcap_cannot_hold_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pcap");
    let mixed = [owned(1, Some(0), 1, 1, &[0]), owned(2, Some(0), 101, 1, &[0])];
    let error = write(&path, &mixed, &WriterOptions::default()).unwrap_err();
    assert!(error.to_string().contains("not both Ethernet and raw IP; name the file .pcapng"));
    let late = [owned(7, Some(u64::MAX), 1, 1, &[0])];
    let error = write(&path, &late, &WriterOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Unwritable { number: 7, .. }));
}

#[test]
fn a_file_without_frames_is_a_file() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["none.pcap", "none.pcapng"] {
        let path = dir.path().join(name);
        assert_eq!(write(&path, &[], &WriterOptions::default()).unwrap(), 0);
        assert!(drain(FileReader::open(&path).unwrap()).frames.is_empty());
    }
    let (pcap, pcapng) = (dir.path().join("none.pcap"), dir.path().join("none.pcapng"));
    assert!(same_file(&pcap, &dir.path().join("./none.pcap")) && !same_file(&pcap, &pcapng));
}

#[test]
fn a_dropped_writer_writes_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dropped.pcapng");
    let mut writer = FileWriter::create(&path, &WriterOptions::default()).unwrap();
    writer.write(&frame(&owned(1, Some(5), 1, 1, &[9]))).unwrap();
    drop(writer);
    assert_eq!(drain(FileReader::open(&path).unwrap()).frames.len(), 1);
}

#[test]
fn what_cannot_be_created_or_written_is_named() {
    let path = Path::new("/nowhere/out.pcapng");
    let error = FileWriter::create(path, &WriterOptions::default()).err().unwrap();
    assert!(error.to_string().starts_with("/nowhere/out.pcapng: cannot create: "), "{error}");
    let full = Path::new("/dev/full");
    let error = write(full, &[owned(1, None, 1, 1, &[0])], &WriterOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("/dev/full: cannot write: No space"), "{error}");
}
