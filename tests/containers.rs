//! Capture files of every kind, read by `roce-capture` and parsed by `roce-wire`, against what was
//! put into them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may be blunt")]

use std::collections::BTreeMap;
use std::process::Command;

use roce_sniff_tests::{captures, folder, have, read};
use roce_wire::Content;

#[test]
fn every_file_gives_the_frames_that_were_put_into_it() {
    let mut wrong = Vec::new();
    for (path, truth) in captures("made") {
        let (frames, damaged) = read(&path);
        // What a capture card cut, only its own record says.
        let cut = frames.iter().filter(|frame| frame.parse().is_cut()).count();
        let times = || frames.iter().filter_map(|frame| frame.time_ns);
        let got = serde_json::json!({
            "frames": frames.len(),
            "wire_bytes": frames.iter().map(|frame| frame.wire_len).sum::<usize>(),
            "truncated": cut,
            "damaged": damaged,
            "first_ns": times().min(),
            "last_ns": times().max(),
        });
        for (key, got) in got.as_object().unwrap() {
            if *got != truth[key] {
                wrong.push(format!("{} {key}: {got}, put in {}", path.display(), truth[key]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_gives_the_packets_that_were_put_into_it() {
    for (path, truth) in captures("made") {
        let mut versions = BTreeMap::<&str, u64>::new();
        for frame in read(&path).0 {
            let frame = frame.parse();
            let carrier = match &frame.content {
                Content::Packet(net, _) if frame.is_roce() => net.carrier(),
                Content::NoBth(no_bth) => no_bth.carrier,
                _ => continue,
            };
            *versions.entry(carrier.key()).or_default() += 1;
        }
        assert_eq!(serde_json::json!(versions), truth["versions"], "{}", path.display());
    }
}

#[test]
fn the_files_are_what_their_maker_makes() {
    if !have("python3", &["--version"]) {
        return;
    }
    let maker = folder("make.py");
    let output = Command::new("python3").arg(maker).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
