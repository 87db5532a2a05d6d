//! Files that `craft` and `rewrite` make, and what becomes of them when that goes wrong: under the
//! name that was asked for is all of the new file, or what was there before.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::Duration;

use roce_sniff_tests::command::{Ended, as_nobody, fixtures, roce_sniff, run, start};
use roce_sniff_tests::read;
use rustix::process::Signal;
use serde_json::Value;

use crate::captures::{folder, repeated};
use crate::writing::TinyDisk;

/// The one line of a command that was refused.
fn refusal(ended: &Ended) -> String {
    let said = ended.errors();
    assert_eq!((ended.code(), said.lines().count()), (Some(2), 1), "{said}");
    said
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_wrong_scenario_is_told_with_file_and_line() {
    let folder = folder();
    let (path, out) = (folder.path().join("mine.toml"), folder.path().join("out.pcap"));
    let cases: [(&[u8], &str); 5] = [
        (b"[[connection]]\nfrom = \"a\"\nto = \"b\"\ncolour = 1\n", "line 4, column 1: unknown"),
        (b"[[connection]]\nfrom = \"a\"\nto = \"b\"\npmtu = 1500\n", "line 4, column 8: pmtu is"),
        (b"[[connection]\n", "line 1, column 14: "),
        (b"", "missing field `connection`"),
        (b"\xa1\xb2\xc3\xd4", "cannot read: stream did not contain valid UTF-8"),
    ];
    for (bytes, expected) in cases {
        fs::write(&path, bytes).unwrap();
        let crafted = refusal(&run(&["craft", text(&path), "-o", text(&out)]));
        let sent = refusal(&run(&["send", text(&path), "-i", "lo"]));
        for said in [crafted, sent] {
            let place = format!("roce-sniff: {}: ", path.display());
            assert!(said.starts_with(&place) && said.contains(expected), "{said}");
        }
    }
    assert_eq!(names(folder.path()), ["mine.toml"]);
}

#[test]
fn what_is_no_scenario() {
    let folder = folder();
    let out = folder.path().join("out.pcap");
    for (name, expected) in [
        ("/nowhere/mine.toml", "no such file and no such built-in scenario; see craft --list"),
        ("made", "made: cannot read: Is a directory"),
        ("/dev/zero", "/dev/zero: cannot read: longer than 1 MiB"),
    ] {
        let said = refusal(&run(&["craft", name, "-o", text(&out)]));
        assert!(said.contains(expected), "{said}");
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn places_where_nothing_can_be_made() {
    let folder = folder();
    let scenario = folder.path().join("mine.toml");
    fs::write(&scenario, "[[connection]]\nfrom = \"a\"\nto = \"b\"\n").unwrap();
    let scenario = text(&scenario);
    for out in ["/nowhere/out.pcap", "/proc/out.pcap", "made", scenario] {
        let said = refusal(&run(&["craft", scenario, "-o", out]));
        assert!(said.contains(&format!("{out}: ")), "{said}");
        let said = refusal(&run(&["craft", scenario, "-o", "/dev/null", "--truth", out]));
        assert!(said.contains(&format!("{out}: ")), "{said}");
    }
    for out in ["/nowhere/out.pcap", "/proc/out.pcap", "made", "rxe/../rxe/rping_v4.pcap"] {
        let said = refusal(&run(&["rewrite", "rxe/rping_v4.pcap", "-o", out]));
        assert!(said.contains(&format!("{out}: ")), "{said}");
    }
    let out = folder.path().join("out.pcap");
    let said = refusal(&run(&["craft", scenario, "-o", text(&out), "--truth", text(&out)]));
    assert!(said.contains("is where the capture goes"), "{said}");
    assert_eq!(names(folder.path()), ["mine.toml"]);
}

#[test]
fn what_may_not_be_read_or_written() {
    let folder = folder();
    let old = folder.path().join("old.pcap");
    fs::write(&old, "old").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
    let new = folder.path().join("new.pcap");
    for (args, expected) in [
        (["craft", text(&old), "-o", "/dev/null"], "old.pcap: cannot read: Permission denied"),
        (["rewrite", text(&old), "-o", "/dev/null"], "old.pcap: cannot open: Permission denied"),
        (["craft", "rnr", "-o", text(&new)], "new.pcap: cannot create: Permission denied"),
        (["craft", "rnr", "-o", text(&old)], "old.pcap: cannot create: Permission denied"),
    ] {
        let Some(mut command) = as_nobody(folder.path()) else { return };
        let said = refusal(&start(command.args(args).current_dir(fixtures())).end());
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(fs::read(&old).unwrap(), b"old");
    // The program itself had to be where nobody may run it.
    assert_eq!(names(folder.path()), ["old.pcap", "roce-sniff"]);
}

/// The disk has no room for the capture, or not for the truth: what was there stays.
#[test]
fn a_full_disk_leaves_what_was_there() {
    let folder = folder();
    let long = repeated("rxe/verbs_rc_v4.pcap", 20, &folder.path().join("long.pcap"));
    let Some(disk) = TinyDisk::mount() else { return };
    let full = disk.path().join("out.pcap");
    let other = folder.path().join("other.pcap");
    fs::write(&full, "old").unwrap();
    let many = ["craft", "small-messages", "--packets", "9000", "--connections", "500"];
    let ends: [&[&str]; 2] = [
        &["-o", text(&full), "--truth", "/dev/null"],
        &["-o", text(&other), "--truth", text(&full)],
    ];
    for said in [
        refusal(&run(&[&many, ends[0]].concat())),
        refusal(&run(&[&many, ends[1]].concat())),
        refusal(&run(&["rewrite", text(&long), "-o", text(&full), "--dscp", "1"])),
    ] {
        let told = format!("{}: cannot write, so ", full.display());
        assert!(said.contains(&told) && said.contains("No space left on device"), "{said}");
    }
    assert_eq!(
        (names(disk.path()), fs::read(&full).unwrap()),
        (vec!["out.pcap".into()], b"old".into())
    );
    assert_eq!(names(folder.path()), ["long.pcap"]);
}

/// Waits until a draft has begun to grow.
fn wait_for_draft(folder: &Path) {
    for _ in 0..2000 {
        let has_some = |name: &String| {
            name.contains(".part.")
                && fs::metadata(folder.join(name)).is_ok_and(|meta| meta.len() > 0)
        };
        if names(folder).iter().any(has_some) {
            return;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("no draft in {:?}", names(folder));
}

#[test]
fn ctrl_c_leaves_what_was_there() {
    let folder = folder();
    let out = folder.path().join("out.pcapng");
    fs::write(&out, "old").unwrap();
    let endless = ["craft", "small-messages", "--packets", "900000000", "--connections", "20"];
    for signal in [Signal::INT, Signal::TERM] {
        let crafting = start(roce_sniff(&endless).arg("-o").arg(&out));
        wait_for_draft(folder.path());
        crafting.signal(signal);
        let said = refusal(&crafting.end());
        assert!(said.contains("stopped: ") && said.contains("is not written"), "{said}");
        assert_eq!(names(folder.path()), ["out.pcapng"]);
    }
    // A capture that goes on and on is rewritten.
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let rewriting = start(roce_sniff(&["rewrite", text(&fifo), "--dscp", "1", "-o"]).arg(&out));
    let feeding = thread::spawn({
        let (fifo, bytes) = (fifo.clone(), fs::read(fixtures().join("rxe/rping_v4.pcap")).unwrap());
        move || {
            use std::io::Write as _;
            let mut fifo = fs::File::options().write(true).open(fifo).unwrap();
            fifo.write_all(&bytes).unwrap();
            sleep(Duration::from_millis(700));
        }
    });
    sleep(Duration::from_millis(300));
    rewriting.signal(Signal::INT);
    let said = refusal(&rewriting.end());
    assert!(said.contains("stopped: ") && said.contains("is not written"), "{said}");
    feeding.join().unwrap();
    assert_eq!(names(folder.path()), ["fifo", "out.pcapng"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
}

/// What cannot be replaced takes the bytes as they come: the same as a file has.
#[test]
fn streams_and_devices() {
    let folder = folder();
    let file = folder.path().join("file.pcapng");
    run(&["craft", "-q", "rnr", "-o", text(&file)]).well();
    let whole = fs::read(&file).unwrap();
    assert_eq!(names(folder.path()), ["file.pcapng", "file.pcapng.truth.json"]);
    for name in ["-", "/dev/stdout"] {
        let crafted = run(&["craft", "rnr", "-o", name]).well();
        assert!(crafted.stdout == whole, "{name}: {} bytes", crafted.stdout.len());
        let copied = run(&["rewrite", "-q", text(&file), "-o", name]).well();
        assert!(copied.stdout == whole, "{name}: {} bytes", copied.stdout.len());
    }
    run(&["craft", "rnr", "-o", "/dev/null"]).well();
    assert!(!Path::new("/dev/null.truth.json").exists() && !fixtures().join("-").exists());
    let truth = run(&["craft", "rnr", "-q", "-o", "/dev/null", "--truth", "-"]).json();
    let beside: Value =
        serde_json::from_slice(&fs::read(folder.path().join("file.pcapng.truth.json")).unwrap())
            .unwrap();
    assert_eq!(truth, beside);
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for make in [["craft", "rnr"], ["rewrite", text(&file)]] {
        let making = start(roce_sniff(&make).arg("-q").arg("-o").arg(&fifo));
        assert!(fs::read(&fifo).unwrap() == whole);
        assert_eq!(making.end().well().errors(), "");
    }
    assert_eq!(names(folder.path()), ["fifo", "file.pcapng", "file.pcapng.truth.json"]);
}

#[test]
fn a_file_is_replaced_where_it_is() {
    let folder = folder();
    let (file, link) = (folder.path().join("file.pcap"), folder.path().join("link.pcap"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    run(&["rewrite", "rxe/rping_v4.pcap", "-o", text(&link), "--dscp", "1"]).well();
    assert_eq!(read(&file).0.len(), read(&fixtures().join("rxe/rping_v4.pcap")).0.len());
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(folder.path()), ["file.pcap", "link.pcap"]);
}

#[test]
fn a_capture_without_roce() {
    let folder = folder();
    let out = folder.path().join("out.pcap");
    let said =
        refusal(&run(&["rewrite", "made/random_4791.pcap", "-o", text(&out), "--dscp", "1"]));
    assert!(said.contains("made/random_4791.pcap: nothing in it is RoCE"), "{said}");
    let said = refusal(&run(&[
        "send",
        "made/decoys.pcap",
        "-i",
        "lo",
        "--dst-ip",
        "127.0.0.1",
        "-f",
        "tcp",
        "-q",
    ]));
    assert!(said.contains("made/decoys.pcap: there was no frame to send: left out that"), "{said}");
    assert!(names(folder.path()).is_empty());
    // Frames can be chosen from any capture.
    run(&["rewrite", "made/random_4791.pcap", "-o", text(&out), "--frames", "1-3"]).well();
    assert_eq!(read(&out).0.len(), 3);
}

/// Real traffic in which bits were flipped, IPv4 headers among them, into a VLAN and out of it.
#[test]
fn what_was_wrong_stays_wrong_on_the_way_there_and_back() {
    let folder = folder();
    let [tagged, back] = ["tagged.pcap", "back.pcap"].map(|name| folder.path().join(name));
    let original = fixtures().join("rxe/corrupt_b.pcap");
    for (from, to, change) in
        [(&original, &tagged, &["--add-vlan", "7:3"][..]), (&tagged, &back, &["--strip-vlan"])]
    {
        let mut arguments = vec!["rewrite", text(from), "-o", text(to)];
        arguments.extend(change);
        assert_eq!(run(&arguments).code(), Some(0));
    }
    let bytes = |path| read(path).0.into_iter().map(|kept| kept.data).collect::<Vec<_>>();
    assert!(bytes(&original) == bytes(&back));
}
