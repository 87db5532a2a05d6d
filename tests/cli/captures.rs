//! Captures that these tests write for themselves, into a folder that goes away.

use std::path::{Path, PathBuf};

use roce_capture::{FileReader, FileWriter, Frame, LinkType, WriterOptions};
use roce_sniff_tests::command::fixtures;
use tempfile::TempDir;

/// A folder that others may look into, too.
pub(crate) fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A fixture's frames after `change`, in a new file.
pub(crate) fn changed(
    fixture: &str,
    to: &Path,
    mut change: impl FnMut(u64, &mut Vec<u8>),
) -> PathBuf {
    let mut reader = FileReader::open(&fixtures().join(fixture)).unwrap();
    let mut writer = FileWriter::create(to, &WriterOptions::default()).unwrap();
    while let Some(frame) = reader.next_frame().unwrap() {
        let mut data = frame.data.to_vec();
        change(frame.number, &mut data);
        let wire_len = u32::try_from(data.len()).unwrap();
        writer.write(&Frame { data: &data, wire_len, ..frame }).unwrap();
    }
    writer.finish().unwrap();
    to.to_owned()
}

/// The fixture again and again, `times` times, as plain pcap.
pub(crate) fn repeated(fixture: &str, times: usize, to: &Path) -> PathBuf {
    let bytes = std::fs::read(fixtures().join(fixture)).unwrap();
    let (header, records) = bytes.split_at(24);
    std::fs::write(to, [header, &records.repeat(times)].concat()).unwrap();
    to.to_owned()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The fixture from its last frame to its first; says how many there are.
pub(crate) fn reversed(fixture: &str, to: &Path) -> usize {
    let mut frames = frames(fixture);
    frames.reverse();
    write(&frames, to);
    frames.len()
}

/// The fixture with the frames of each pair the wrong way round, where they are less than a millisecond
/// apart; says how many pairs those are.
pub(crate) fn exchanged(fixture: &str, to: &Path) -> usize {
    let mut frames = frames(fixture);
    let mut pairs = 0;
    for pair in frames.chunks_exact_mut(2) {
        if (1..1_000_000).contains(&(pair[1].0 - pair[0].0)) {
            pair.swap(0, 1);
            pairs += 1;
        }
    }
    write(&frames, to);
    pairs
}

/// Times and bytes of all frames.
fn frames(fixture: &str) -> Vec<(u64, Vec<u8>)> {
    let mut reader = FileReader::open(&fixtures().join(fixture)).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push((frame.time_ns.unwrap(), frame.data.to_vec()));
    }
    frames
}

fn write(frames: &[(u64, Vec<u8>)], to: &Path) {
    let mut writer = FileWriter::create(to, &WriterOptions::default()).unwrap();
    for (number, (time_ns, data)) in (1..).zip(frames) {
        let (time_ns, wire_len) = (Some(*time_ns), u32::try_from(data.len()).unwrap());
        let link_type = LinkType::ETHERNET;
        writer.write(&Frame { number, time_ns, link_type, wire_len, data, interface: 0 }).unwrap();
    }
    writer.finish().unwrap();
}
