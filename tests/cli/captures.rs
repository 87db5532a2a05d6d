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
