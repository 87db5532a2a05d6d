//! Writes the seeds of the fuzz targets, made from the fixtures, into `fuzz/corpus`.

#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "nothing but fuzzing uses this"
)]

use std::path::Path;

use roce_sniff_tests::fuzz::{FRAME_TARGETS, seed};
use roce_sniff_tests::{captures, read};

/// Longer frames teach a fuzzer nothing new and slow it down.
const LONGEST: usize = 400;

fn write(target: &str, name: &str, input: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), input).unwrap();
}

fn main() {
    let mut count = 0;
    for (path, _) in captures("made") {
        let name = path.file_name().unwrap().to_string_lossy();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() < 4_000 {
            let target = if name.contains("pcapng") { "pcapng" } else { "pcap" };
            write(target, &name, &bytes);
            count += 1;
        }
        // Of hundreds of frames that differ in one field, some do.
        let frames = read(&path).0;
        let step = frames.len().div_ceil(90);
        for kept in frames.iter().filter(|kept| kept.data.len() <= LONGEST).step_by(step) {
            let name = format!("{name}-{}", kept.number);
            let input = seed(kept.link(), &kept.data, kept.wire_len);
            for (target, _) in FRAME_TARGETS {
                if target != "packet" {
                    write(target, &name, &input);
                }
            }
            let at = kept.parse().content_offset();
            write("packet", &name, &[&[0], kept.data.get(at..).unwrap_or_default()].concat());
            count += 4;
        }
    }
    println!("{count} seeds in fuzz/corpus");
}
