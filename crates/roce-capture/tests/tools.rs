//! Wireshark's tools read what is written here, and what they write is read here.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Owned, drain, erf_record, open};
use roce_capture::{FileReader, FileWriter, Frame, LinkType, WriterOptions};

/// Runs a tool; `None`, and a line that says so, when it is not installed.
fn run(tool: &str, args: &[&str]) -> Option<String> {
    match Command::new(tool).args(args).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{tool} {args:?}: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(e) => {
            eprintln!("skipped: {tool} does not run: {e}");
            None
        }
    }
}

/// What tshark says of each frame: number, time, captured and wire length.
fn tshark(path: &Path) -> Option<Vec<String>> {
    let fields = ["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len"];
    let mut args = vec!["-r", path.to_str().unwrap(), "-T", "fields", "-E", "separator=,"];
    args.extend(fields.iter().flat_map(|field| ["-e", field]));
    run("tshark", &args).map(|out| out.lines().map(str::to_owned).collect())
}

/// The same of what is read here.
fn lines(frames: &[Owned]) -> Vec<String> {
    let line = |frame: &Owned| {
        let time = frame.time_ns.unwrap();
        let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
        format!("{},{s}.{ns:09},{},{}", frame.number, frame.data.len(), frame.wire_len)
    };
    frames.iter().map(line).collect()
}

fn read(path: &Path) -> Vec<Owned> {
    let read = drain(FileReader::open(path).unwrap());
    assert_eq!(read.damage, None);
    read.frames
}

/// Forty frames of growing length, some cut, written by this crate.
fn sample(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    let mut writer = FileWriter::create(&path, &WriterOptions::default()).unwrap();
    for i in 0..40_u64 {
        let data = vec![i as u8; 14 + i as usize * 9];
        writer
            .write(&Frame {
                number: i + 1,
                time_ns: Some(1_700_000_000_000_000_001 + i * 1_000_000_007),
                link_type: LinkType::ETHERNET,
                wire_len: data.len() as u32 + u32::from(i % 3 == 0) * 100,
                data: &data,
                interface: 0,
            })
            .unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 40);
    path
}

#[test]
fn tshark_reads_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.pcap", "a.pcapng"] {
        let path = sample(dir.path(), name);
        let Some(expected) = tshark(&path) else { return };
        assert_eq!(lines(&read(&path)), expected);
    }
}

#[test]
fn every_format_that_editcap_writes() {
    let dir = tempfile::tempdir().unwrap();
    let path = sample(dir.path(), "a.pcapng");
    for format in ["pcap", "nsecpcap", "modpcap", "pcapng"] {
        let out = dir.path().join(format);
        let (from, to) = (path.to_str().unwrap(), out.to_str().unwrap());
        if run("editcap", &["-F", format, from, to]).is_none() {
            return;
        }
        let Some(expected) = tshark(&out) else { return };
        assert_eq!(lines(&read(&out)), expected, "{format}");
    }
}

#[test]
fn several_link_types_as_mergecap_writes_them() {
    let dir = tempfile::tempdir().unwrap();
    let ethernet = sample(dir.path(), "a.pcapng");
    let raw = dir.path().join("raw.pcap");
    let (from, to) = (ethernet.to_str().unwrap(), raw.to_str().unwrap());
    if run("editcap", &["-F", "pcap", "-T", "rawip", from, to]).is_none() {
        return;
    }
    let merged = dir.path().join("merged.pcapng");
    let merged_name = merged.to_str().unwrap();
    if run("mergecap", &["-a", "-w", merged_name, from, to]).is_none() {
        return;
    }
    let frames = read(&merged);
    let Some(expected) = tshark(&merged) else { return };
    assert_eq!(lines(&frames), expected);
    assert_eq!(frames.iter().filter(|f| f.link_type == LinkType::RAW).count(), 40);
    let interfaces: Vec<u32> = frames.iter().map(|f| f.interface).collect();
    assert_eq!((interfaces[0], interfaces[79]), (0, 1));
}

/// tshark reads ERF itself: it agrees on numbers, times and lengths of the payload.
#[test]
fn erf_as_tshark_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.erf");
    let records: Vec<u8> = (0..6_u8)
        .flat_map(|i| {
            let kind = if i == 3 { 48 } else { 21 };
            erf_record(1_700_000_000 + u32::from(i), kind, 100, &[0; 100][..80 + usize::from(i)])
        })
        .collect();
    std::fs::write(&path, records).unwrap();
    let Some(expected) = tshark(&path) else { return };
    let mut frames = read(&path);
    for frame in &mut frames {
        // Wireshark does not count the record header; this crate hands it on as libpcap does.
        frame.data.drain(..16);
        frame.wire_len -= 16;
    }
    assert_eq!(lines(&frames), expected);
}

#[test]
fn gzip_and_zstd_as_the_tools_write_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = sample(dir.path(), "a.pcapng");
    let plain = read(&path);
    for (tool, args) in [("gzip", &["-k"][..]), ("zstd", &["-q"]), ("zstd", &["-q", "-f", "-19"])] {
        let name = path.to_str().unwrap();
        if run(tool, &[args, &[name]].concat()).is_none() {
            continue;
        }
        let end = if tool == "gzip" { "gz" } else { "zst" };
        assert_eq!(read(&dir.path().join(format!("a.pcapng.{end}"))), plain, "{tool}");
    }
}

/// The captures in the folder that `ROCE_CAPTURES` names.
fn real() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("ROCE_CAPTURES") else {
        eprintln!("skipped: ROCE_CAPTURES names no folder of captures");
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "pcap")).collect()
}

#[test]
fn real_captures_as_capinfos_counts_them() {
    for path in real() {
        let Ok(output) = Command::new("capinfos").arg("-Mrc").arg(&path).output() else {
            eprintln!("skipped: capinfos does not run");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Link types that it refuses give no number.
        if let Some(count) = text.split_whitespace().find_map(|word| word.parse::<usize>().ok()) {
            assert_eq!(read(&path).len(), count, "{}", path.display());
        }
    }
}

#[test]
fn real_captures_cut_anywhere() {
    for path in real() {
        let file = std::fs::read(&path).unwrap();
        if file.len() > 10_000 {
            continue;
        }
        // The magic number's first byte tells the byte order.
        let length_of = if file[0] == 0xa1 { u32::from_be_bytes } else { u32::from_le_bytes };
        let mut ends = vec![24];
        while let Some(length) = file.get(ends.last().unwrap() + 8..).and_then(<[u8]>::first_chunk)
        {
            ends.push(ends.last().unwrap() + 16 + length_of(*length) as usize);
        }
        for cut in 24..=file.len() {
            let read = drain(open(&file[..cut]).unwrap());
            let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
            assert_eq!(read.frames.len(), whole, "{} cut at {cut}", path.display());
            let damage = read.damage.map(|damage| (damage.offset as usize, damage.packet));
            let expected = (!ends.contains(&cut)).then_some((ends[whole], whole as u64 + 1));
            assert_eq!(damage, expected, "{} cut at {cut}", path.display());
        }
    }
}
