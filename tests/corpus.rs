//! Replays what fuzzing found, and the fixtures as seeds, through every fuzz target.

#![allow(clippy::unwrap_used, reason = "a test may be blunt")]

use std::path::{Path, PathBuf};

use roce_sniff_tests::fuzz::{FILE_TARGETS, FRAME_TARGETS, Target, file, packet, seed};
use roce_sniff_tests::{captures, read};

/// Every file below `fuzz/corpus/NAME` and `fuzz/regressions/NAME`, where there are any.
fn stored(name: &str) -> Vec<PathBuf> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let folders = ["corpus", "regressions"].map(|kind| fuzz.join(kind).join(name));
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn replay(name: &str, target: Target) {
    for path in stored(name) {
        println!("{}", path.display());
        target(&std::fs::read(path).unwrap());
    }
}

#[test]
fn corpora() {
    for (name, target) in FRAME_TARGETS.into_iter().chain(FILE_TARGETS) {
        replay(name, target);
    }
}

#[test]
fn every_frame_of_the_fixtures() {
    for (path, _) in captures("made").into_iter().chain(captures("rxe")) {
        for kept in read(&path).0 {
            println!("{} frame {}", path.display(), kept.number);
            let input = seed(kept.link(), &kept.data, kept.wire_len);
            for (name, target) in FRAME_TARGETS {
                if name != "packet" {
                    target(&input);
                }
            }
            let at = kept.parse().content_offset();
            packet(&[&[0], kept.data.get(at..).unwrap_or_default()].concat());
        }
    }
}

#[test]
fn every_file_of_the_fixtures_cut_and_spoilt() {
    for (path, _) in captures("made") {
        let whole = std::fs::read(&path).unwrap();
        file(&whole);
        for cut in 0..whole.len().min(400) {
            file(whole.get(..cut).unwrap());
            let mut spoilt = whole.clone();
            if let Some(byte) = spoilt.get_mut(cut) {
                *byte ^= 0xff;
            }
            file(&spoilt);
        }
    }
}
