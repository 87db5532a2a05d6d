//! Where frames come from: streams, compressed files, several files, endings that lie.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use roce_sniff_tests::command::{fixtures, program, roce_sniff, run, start, start_with};
use roce_sniff_tests::have;
use rustix::process::Signal;
use serde_json::Value;

use crate::captures::folder;

/// The counts without the name of the source.
fn counts(mut verdict: Value) -> Value {
    verdict["source"]["name"] = Value::Null;
    verdict
}

fn verdict(name: &str) -> Value {
    counts(run(&[name, "--format", "json"]).json())
}

#[test]
fn a_stream_is_read_like_a_file() {
    for name in
        ["rxe/rping_v6.pcap", "made/sections.pcapng", "made/records.erf", "made/plain.pcap.gz"]
    {
        let bytes = fs::read(fixtures().join(name)).unwrap();
        let stream = start_with(&mut roce_sniff(&["-", "--format", "json"]), bytes).end().json();
        assert_eq!(stream["source"]["name"], "-");
        assert_eq!(counts(stream), verdict(name), "{name}");
    }
}

/// Frames are shown as they come, while the stream goes on; Ctrl-C ends it in good order.
#[test]
fn a_stream_is_followed() {
    let bytes = fs::read(fixtures().join("rxe/rping_v4.pcap")).unwrap();
    let mut child = Command::new(program())
        .args(["packets", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = child.stdout.take().unwrap();
    let (lines, seen) = std::sync::mpsc::channel();
    thread::spawn(move || {
        use std::io::{BufRead as _, BufReader};
        for line in BufReader::new(stdout).lines() {
            let _ = lines.send(line.unwrap());
        }
    });
    // The first frame is a CM REQ of 322 bytes.
    let first =
        24 + 16 + usize::try_from(u32::from_le_bytes(bytes[32..36].try_into().unwrap())).unwrap();
    stdin.write_all(&bytes[..first]).unwrap();
    let line = seen.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(line.starts_with("1 ") && line.contains("CM REQ"), "{line}");
    stdin.write_all(&bytes[first..]).unwrap();
    for number in 2..=65 {
        let line = seen.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(line.starts_with(&format!("{number} ")), "{line}");
    }
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
}

/// tcpdump as the source, through a pipe of the shell.
#[test]
fn tcpdump_streams_into_it() {
    if !have("tcpdump", &["--version"]) {
        return;
    }
    let script = format!(
        "tcpdump -r rxe/mixed.pcap -U -w - 2>/dev/null | {} - --format json",
        program().display()
    );
    let piped =
        start(Command::new("sh").args(["-c", &script]).current_dir(fixtures())).end().json();
    assert_eq!(counts(piped), verdict("rxe/mixed.pcap"));
}

#[test]
fn compression_is_told_by_content() {
    let plain = verdict("made/plain.pcap.gz");
    assert_eq!(plain["source"]["frames"], 12);
    assert_eq!(verdict("made/plain.pcap.zst"), plain);
    assert_eq!(verdict("made/two_members.pcap.gz"), plain);
    assert_eq!(verdict("made/sections.pcapng.gz"), verdict("made/sections.pcapng"));
    let folder = folder();
    for (from, to) in [("made/plain.pcap.zst", "a.txt"), ("made/records.erf", "b.pcap")] {
        let to = folder.path().join(to);
        fs::copy(fixtures().join(from), &to).unwrap();
        assert_eq!(verdict(to.to_str().unwrap()), verdict(from));
    }
}

#[test]
fn several_files_are_one_trace() {
    let files = ["rxe/rping_v4.pcap", "made/v1_plain.pcap", "made/plain.pcap.gz"];
    let got = run(&[&files[..], &["--format", "json"]].concat()).json();
    assert_eq!(got["source"]["frames"], 65 + 3 + 12);
    assert_eq!(got["versions"]["v1"]["packets"], 3 + 4);
    assert_eq!(got["versions"]["v2_ipv4"]["packets"], 65 + 4);
    assert_eq!(got["versions"]["v2_ipv6"]["packets"], 4);
    let lines = run(&[&["packets"], &files[..]].concat()).well().text();
    for (number, line) in (1..).zip(lines.lines()) {
        assert!(line.starts_with(&format!("{number} ")), "frame numbers run on: {line}");
    }
    assert_eq!(lines.lines().count(), 80);
    let by_option = run(&["-r", files[0], "-r", files[1], "-r", files[2], "--format=json"]).json();
    assert_eq!(by_option, got);
    // A file and a stream.
    let stream = fs::read(fixtures().join(files[1])).unwrap();
    let got = start_with(&mut roce_sniff(&["packets", files[0], "-"]), stream).end().well().text();
    assert!(got.lines().nth(65).unwrap().starts_with("66 "), "{got}");
}

/// A file may be called like an interface, or like an option.
#[test]
fn names_that_mislead() {
    let folder = folder();
    let path = fixtures().join("rxe/rping_v4.pcap");
    for name in ["lo", "--help", "any"] {
        fs::copy(&path, folder.path().join(name)).unwrap();
    }
    let ended = start(roce_sniff(&["lo"]).current_dir(folder.path())).end().well();
    assert!(ended.text().starts_with("RoCE v2 over IPv4: 65 packets"), "{}", ended.text());
    assert!(ended.errors().contains("-i lo"), "{}", ended.errors());
    let ended = start(roce_sniff(&["-r", "any", "--format=json"]).current_dir(folder.path())).end();
    assert_eq!(ended.json()["source"]["frames"], 65);
    let ended = start(roce_sniff(&["--", "--help"]).current_dir(folder.path())).end().well();
    assert!(ended.text().starts_with("RoCE v2"), "{}", ended.text());
}
