//! How a capture ends, and what is left of it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use roce_sniff_tests::command::{fixtures, program};
use rustix::process::Signal;
use serde_json::Value;

use crate::rig::Rig;

#[test]
fn a_number_of_frames() {
    let Some(rig) = Rig::new() else { return };
    let verdict = rig.listen("far -c 40 --format json");
    let packets = rig.listen("packets far -c 40");
    rig.send(&["rxe/rping_v4.pcap"]);
    let got = verdict.end().json();
    assert_eq!(got["source"]["frames"], 40);
    let listed = packets.end().well();
    assert_eq!(listed.text().lines().count(), 40);
    assert!(listed.text().starts_with("1 "));
    let said = listed.errors();
    assert!(said.contains("40 packets listed, 0 frames dropped by the kernel"), "{said}");
}

#[test]
fn a_time() {
    let Some(rig) = Rig::new() else { return };
    let running = rig.listen("far --duration 1500ms --format json");
    rig.send(&["rxe/rping_v4.pcap"]);
    let ended = running.end();
    assert!((1.4..20.0).contains(&ended.took.as_secs_f64()), "{:?}", ended.took);
    assert_eq!(ended.json()["versions"]["v2_ipv4"]["packets"], 65);
    // It ends when nothing comes, too.
    let got = rig.listen("far --duration 500ms --expect v2 --format json").end();
    assert_eq!(got.code(), Some(1));
}

/// Each packet is shown at once, though standard output is a pipe; a second Ctrl-C is not needed.
#[test]
fn packets_are_listed_as_they_come() {
    let Some(rig) = Rig::new() else { return };
    let mut child = rig
        .veth
        .at_far(&[program().to_str().unwrap(), "packets", "far", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    rig.send(&["made/vlan.pcap"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for frame in 1..=9 {
        let packet: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(packet["frame"], frame);
        // Tags that the kernel took off are back.
        assert_eq!(packet["vlan"], [100, 4095, 0][(frame - 1) / 3]);
        assert_eq!(packet["icrc"], "ok");
    }
    // Whoever read it has had enough: the next packet finds the pipe closed.
    drop(lines);
    rig.send(&["made/vlan.pcap"]);
    let since = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if since.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("it goes on though nobody listens");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}

/// Frames written while capturing are all in the file after Ctrl-C.
#[test]
fn what_was_seen_is_on_disk() {
    let Some(rig) = Rig::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["out.pcap", "out.pcapng"] {
        let to = folder.path().join(name);
        let running = rig.listen(&format!("far -q -w {}", to.display()));
        rig.send(&["rxe/mixed.pcap", "made/v1_plain.pcap"]);
        running.signal(Signal::TERM);
        let ended = running.end().well();
        assert_eq!((ended.text(), ended.errors()), (String::new(), String::new()));
        let (frames, damaged) = roce_sniff_tests::read(&to);
        assert_eq!((frames.len(), damaged), (68 + 3, false), "{name}");
        let (sent, _) = roce_sniff_tests::read(&fixtures().join("rxe/mixed.pcap"));
        let sent: Vec<_> = sent.iter().filter(|f| f.parse().packet().is_some()).collect();
        assert!(frames.iter().zip(&sent).all(|(got, sent)| got.data == sent.data), "{name}");
    }
}

/// What `check -w` wrote meanwhile is copied with comments when the capture ends.
#[test]
fn findings_are_comments_in_the_file_of_a_live_check() {
    let Some(rig) = Rig::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("told.pcapng");
    let running = rig.listen(&format!("check far -q --fail-on never -w {}", to.display()));
    rig.send(&["rxe/loss_a.pcap"]);
    running.signal(Signal::TERM);
    let ended = running.end().well();
    assert_eq!((ended.text(), ended.errors()), (String::new(), String::new()));
    let (sent, _) = roce_sniff_tests::read(&fixtures().join("rxe/loss_a.pcap"));
    let sent: Vec<_> = sent.iter().filter(|frame| frame.parse().packet().is_some()).collect();
    let (frames, damaged) = roce_sniff_tests::read(&to);
    assert_eq!((frames.len(), damaged), (sent.len(), false));
    assert!(frames.iter().zip(&sent).all(|(got, sent)| got.data == sent.data));
    let bytes = std::fs::read(&to).unwrap();
    let comment = b"roce-sniff warning packet-loss-downstream: 10.77.0.1 -> 10.77.0.2: ";
    assert!(bytes.windows(comment.len()).any(|window| window == comment));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// An interface that goes away ends the capture: what was seen is reported, then the failure.
#[test]
fn the_interface_vanishes() {
    let Some(rig) = Rig::new() else { return };
    let running = rig.listen("far --format json");
    rig.send(&["rxe/rping_v4.pcap"]);
    rig.veth.ip_far("link del far");
    let ended = running.end();
    let said = ended.errors();
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(said.starts_with("roce-sniff: far: ") && said.lines().count() == 1, "{said}");
    let got: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(got["versions"]["v2_ipv4"]["packets"], 65);
}
