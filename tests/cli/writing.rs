//! `-w`: the frames that matched, in a file that other tools read.

use std::fs;
use std::path::Path;
use std::process::Command;

use roce_sniff_tests::command::{fixtures, run, start};
use roce_sniff_tests::{have, read};

use crate::captures::{folder, is_root, repeated};

/// Frame count and file type by Wireshark's `capinfos`.
fn capinfos(path: &Path) -> Option<(String, String)> {
    if !have("capinfos", &["--version"]) {
        return None;
    }
    let output =
        Command::new("capinfos").args(["-T", "-m", "-r", "-c", "-t"]).arg(path).output().unwrap();
    // It knows no InfiniBand of link type 247.
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let columns: Vec<&str> = text.trim_end().split(',').collect();
    Some((columns[2].to_owned(), columns[1].to_owned()))
}

#[test]
fn what_is_written_is_what_was_read() {
    let folder = folder();
    for (fixture, kept) in [
        // 163 frames, of which 68 are RoCE.
        ("rxe/mixed.pcap", 68),
        ("made/sections.pcapng", 14),
        ("made/nanoseconds.pcap", 12),
        // PFC and PAUSE are kept, too.
        ("made/pfc_pause.pcap", 7),
        ("made/all_opcodes_infiniband.pcap", 86),
        ("made/snaplen_64.pcap", 30),
    ] {
        for extension in ["pcap", "pcapng"] {
            if (fixture, extension) == ("made/sections.pcapng", "pcap") {
                continue; // Several link types, which pcap has no room for.
            }
            let to = folder.path().join(format!("out.{extension}"));
            run(&[fixture.as_ref(), "-w".as_ref(), to.as_os_str()]).well();
            let (before, _) = read(&fixtures().join(fixture));
            let (after, damaged) = read(&to);
            assert_eq!((after.len(), damaged), (kept, false), "{fixture} as {extension}");
            let mut rest = before.iter();
            for frame in &after {
                let same = rest.find(|old| old.data == frame.data && old.time_ns == frame.time_ns);
                let old = same.unwrap_or_else(|| panic!("{fixture}: frame {}", frame.number));
                assert_eq!(old.wire_len, frame.wire_len, "{fixture}");
            }
            if let Some((count, kind)) = capinfos(&to) {
                assert_eq!(count, kept.to_string(), "{fixture} as {extension}");
                assert!(kind.contains(extension), "{kind}");
            }
            fs::remove_file(&to).unwrap();
        }
    }
}

#[test]
fn packets_writes_as_many_as_it_lists() {
    let folder = folder();
    let to = folder.path().join("five.pcapng");
    let args = ["packets", "rxe/mixed.pcap", "-c", "5", "-f", "src host 10.77.0.2", "-w"];
    let mut args: Vec<&Path> = args.iter().map(Path::new).collect();
    args.push(&to);
    let listed = run(&args).well().text();
    let (written, _) = read(&to);
    assert_eq!((listed.lines().count(), written.len()), (5, 5));
    // 10.77.0.2, at its place in an IPv4 header behind Ethernet's.
    assert!(written.iter().all(|frame| frame.data[26..30] == [10, 77, 0, 2]));
}

/// One link type is all that pcap can hold; better an error than a lie.
#[test]
fn two_link_types_do_not_fit_into_pcap() {
    let folder = folder();
    let to = folder.path().join("two.pcap");
    let args = [Path::new("made/v1_plain.pcap"), Path::new("made/sll.pcap"), Path::new("-w"), &to];
    let ended = run(&args);
    assert_eq!(ended.code(), Some(2));
    let said = ended.errors();
    assert!(said.contains("two.pcap") && said.contains("pcapng"), "{said}");
    assert_eq!(read(&to).0.len(), 3, "what came before is there");
}

#[test]
fn places_that_cannot_be_written_to() {
    for place in ["/nowhere/out.pcap", "/proc/out.pcap", "made"] {
        let ended = run(&["rxe/rping_v4.pcap", "-w", place]);
        let said = ended.errors();
        assert_eq!(ended.code(), Some(2), "{place}: {said}");
        assert!(said.contains(place) && said.lines().count() == 1, "{said}");
    }
}

/// Other tools take `-` for standard output, where the report goes here.
#[test]
fn standard_output_is_for_the_report() {
    let ended = run(&["rxe/rping_v4.pcap", "-w", "-"]);
    assert_eq!((ended.code(), ended.text()), (Some(2), String::new()));
    assert!(ended.errors().contains("-w -: "), "{}", ended.errors());
    assert!(!fixtures().join("-").exists());
}

/// Writing over what is being read would destroy it.
#[test]
fn the_source_is_not_overwritten() {
    let folder = folder();
    let path = folder.path().join("only.pcap");
    fs::copy(fixtures().join("rxe/rping_v4.pcap"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let ended = run(&[path.as_os_str(), "-w".as_ref(), path.as_os_str()]);
    assert_eq!(ended.code(), Some(2), "{}", ended.errors());
    assert!(ended.errors().contains("only.pcap"), "{}", ended.errors());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_full_device() {
    let ended = run(&["rxe/verbs_rc_v4.pcap", "-w", "/dev/full"]);
    let said = ended.errors();
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(said.contains("/dev/full") && said.contains("space"), "{said}");
}

/// A file system of 64 KiB, taken down when it is dropped.
pub(crate) struct TinyDisk(tempfile::TempDir);

impl TinyDisk {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn mount() -> Option<Self> {
        let folder = folder();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder.path())
            .output();
        if is_root() && mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("skipped: no file system can be mounted here (it takes root)");
        None
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// What was written before the disk was full can be read.
#[test]
fn a_disk_that_fills_up() {
    let folder = folder();
    let path = repeated("rxe/verbs_rc_v4.pcap", 20, &folder.path().join("long.pcap"));
    let Some(disk) = TinyDisk::mount() else { return };
    for extension in ["pcap", "pcapng"] {
        let to = disk.0.path().join(format!("out.{extension}"));
        let mut command = roce_sniff_tests::command::roce_sniff(&["packets"]);
        let ended = start(command.arg(&path).arg("-w").arg(&to)).end();
        let said = ended.errors();
        assert_eq!(ended.code(), Some(2), "{said}");
        assert!(said.contains(to.to_str().unwrap()) && said.contains("space"), "{said}");
        let (kept, _) = read(&to);
        let all = read(&path).0;
        let size: usize = kept.iter().map(|frame| frame.data.len()).sum();
        assert!(size > 48 << 10, "only {size} bytes of 64 KiB were kept");
        assert!(kept.iter().zip(&all).all(|(kept, frame)| kept.data == frame.data));
        fs::remove_file(&to).unwrap();
    }
}
