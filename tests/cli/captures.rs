//! Captures that these tests write for themselves, into a folder that goes away.

use std::path::{Path, PathBuf};
use std::process::Command;

use roce_capture::{FileReader, FileWriter, Frame, WriterOptions};
use roce_sniff_tests::command::{fixtures, program};
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

/// The command as user nobody runs it, without privileges; `None` where that cannot be had.
pub(crate) fn as_nobody(folder: &Path) -> Option<Command> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    let works = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        eprintln!("skipped: there is no becoming another user here (it takes root and setpriv)");
        return None;
    }
    // What this was built in may be closed to others.
    let copy = folder.join("roce-sniff");
    if !copy.exists() {
        // By a process of its own: a file that is open for writing when another thread forks is busy
        // until that child runs something else.
        assert!(Command::new("cp").arg(program()).arg(&copy).status().unwrap().success());
    }
    command.arg(copy);
    Some(command)
}
