//! Captures that these tests write for themselves, into a folder that goes away.

use std::path::{Path, PathBuf};

use roce_capture::{FileReader, FileWriter, Frame, WriterOptions};
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

/// The fixture with every other pair of frames the wrong way round, those that are less than a
/// millisecond apart; says how many pairs those are.
pub(crate) fn exchanged(fixture: &str, to: &Path) -> usize {
    let bytes = std::fs::read(fixtures().join(fixture)).unwrap();
    let (header, mut rest) = bytes.split_at(24);
    let word = |record: &[u8], at: usize| {
        u32::from_le_bytes(record[at..at + 4].try_into().unwrap()) as usize
    };
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (record, behind) = rest.split_at(16 + word(rest, 8));
        records.push(record);
        rest = behind;
    }
    let mut pairs = 0;
    for pair in records.chunks_exact_mut(2) {
        let time = |record: &[u8]| word(record, 0) * 1_000_000 + word(record, 4);
        if (1..1000).contains(&(time(pair[1]) - time(pair[0]))) {
            pair.swap(0, 1);
            pairs += 1;
        }
    }
    std::fs::write(to, [header, &records.concat()].concat()).unwrap();
    pairs
}
