//! Exit code 2: one line says what, where and what to do.

use std::fs;

use roce_sniff_tests::command::{Ended, as_nobody, run, run_line, start};

use crate::captures::{folder, is_root};

/// The one line on standard error of a command that failed.
fn refusal(ended: &Ended) -> String {
    let said = ended.errors();
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(said.starts_with("roce-sniff: ") && said.ends_with('\n'), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

#[test]
fn wrong_usage() {
    for line in [
        "--nonsense",
        "packets --nonsense rxe/rping_v4.pcap",
        "rxe/rping_v4.pcap --format xml",
        "rxe/rping_v4.pcap -c 0",
        "rxe/rping_v4.pcap -c many",
        "rxe/rping_v4.pcap --duration 0",
        "rxe/rping_v4.pcap --duration soon",
        "rxe/rping_v4.pcap --port 0",
        "rxe/rping_v4.pcap --port 65536",
        "-r rxe/rping_v4.pcap -i lo",
        "generate emacs",
    ] {
        let ended = run_line(line);
        let said = refusal(&ended);
        assert!(said.contains("; try 'roce-sniff"), "{line}: {said}");
        assert!(ended.stdout.is_empty(), "{line}");
    }
}

#[test]
fn no_source_at_all() {
    for line in ["", "packets"] {
        let said = refusal(&run_line(line));
        assert!(said.contains("name a capture file") && said.contains("lo"), "{said}");
    }
}

#[test]
fn what_is_not_there() {
    let said = refusal(&run(&["-r", "made/missing.pcap"]));
    assert!(said.contains("made/missing.pcap") && said.contains("no such file"), "{said}");
    // A bare name may be a file or an interface.
    let said = refusal(&run(&["eth77"]));
    assert!(said.contains("eth77: no such file and no such interface; there are: "), "{said}");
    assert!(said.trim_end().split([' ', ',']).any(|name| name == "lo"), "{said}");
    let said = refusal(&run(&["-i", "eth77"]));
    assert!(said.contains("eth77: no such interface; there are: "), "{said}");
    assert!(said.trim_end().split([' ', ',']).any(|name| name == "lo"), "{said}");
}

#[test]
fn what_is_no_capture() {
    let folder = folder();
    let cases: &[(&str, &[u8])] = &[
        ("empty", b""),
        ("text", b"#!/bin/sh\necho this is a script, no capture\n"),
        ("zeros", &[0; 4096]),
        ("three-bytes", b"\xd4\xc3\xb2"),
    ];
    for (name, bytes) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        for words in [&[][..], &["packets"][..]] {
            let mut args: Vec<_> = words.iter().map(std::ffi::OsStr::new).collect();
            args.push(path.as_os_str());
            let said = refusal(&run(&args));
            assert!(said.contains(name), "{said}");
        }
    }
    let said = refusal(&run(&["made"]));
    assert!(said.contains("made") && said.contains("directory"), "{said}");
}

/// Headers and records whose numbers cannot be: said with the place, and nothing allocated.
#[test]
fn absurd_numbers() {
    let folder = folder();
    let path = folder.path().join("absurd.pcap");
    let pcap = |snaplen: u32, records: &[u8]| {
        let mut bytes = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(snaplen.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(records);
        fs::write(&path, bytes).unwrap();
        run(&[path.as_os_str()])
    };
    let record = |captured: u32, wire: u32| [0, 0, captured, wire].map(u32::to_le_bytes).concat();
    for captured in [u32::MAX, 0x8000_0000, 0x7fff_ffff] {
        let said = refusal(&pcap(262_144, &[record(captured, captured), vec![0; 64]].concat()));
        assert!(said.contains("absurd.pcap") && said.contains("byte 24"), "{said}");
    }
    // A snap length of 4 GiB is only a promise.
    assert_eq!(pcap(u32::MAX, &[]).code(), Some(0));
    // A pcapng block of length 0 would never end.
    fs::write(&path, [0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a]).unwrap();
    let said = refusal(&run(&[path.as_os_str()]));
    assert!(said.contains("byte 0"), "{said}");
}

/// A file that makes no sense in its middle fails, after everything before it was counted.
#[test]
fn damaged_in_the_middle() {
    let folder = folder();
    let path = folder.path().join("damaged.pcap");
    let mut bytes =
        fs::read(roce_sniff_tests::command::fixtures().join("rxe/rping_v4.pcap")).unwrap();
    let mut at = 24;
    for _ in 0..10 {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        at += 16 + usize::try_from(len).unwrap();
    }
    bytes[at + 8..at + 12].copy_from_slice(&[0xff; 4]);
    fs::write(&path, &bytes).unwrap();
    let ended = run(&[path.as_os_str(), "--format=json".as_ref()]);
    let said = refusal(&ended);
    assert!(said.contains("packet 11") && said.contains(&format!("byte {at}")), "{said}");
    let verdict: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(verdict["source"]["frames"], 10);
    assert_eq!(verdict["versions"]["v2_ipv4"]["packets"], 10);
    let damaged = verdict["source"]["damaged"].as_str().unwrap();
    assert!(damaged.contains("packet 11"), "{damaged}");
    let ended = run(&["packets".as_ref(), path.as_os_str()]);
    assert_eq!((ended.text().lines().count(), ended.code()), (10, Some(2)));
}

/// A file that ends too early was read as far as it goes: a remark, no failure.
#[test]
fn cut_off_at_the_end() {
    for (capture, at) in [
        ("made/cut_in_data.pcap", "packet 12 at byte 1238"),
        ("made/cut_in_header.pcap", "packet 12 at byte "),
        ("made/cut_in_block.pcapng", "packet 12 at byte "),
    ] {
        let ended = run(&[capture, "--expect", "none"]);
        assert_eq!(ended.code(), Some(1), "{}", ended.errors());
        let ended = run(&["packets", capture]).well();
        assert_eq!(ended.text().lines().count(), 11, "{capture}");
        assert!(
            ended.errors().contains(at) && ended.errors().contains(capture),
            "{}",
            ended.errors()
        );
    }
}

#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let path = folder.path().join("secret.pcap");
    fs::copy(roce_sniff_tests::command::fixtures().join("rxe/rping_v4.pcap"), &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let ended = if is_root() {
        let Some(mut command) = as_nobody(folder.path()) else { return };
        start(command.arg(&path)).end()
    } else {
        run(&[path.as_os_str()])
    };
    let said = refusal(&ended);
    assert!(said.contains("secret.pcap") && said.to_lowercase().contains("permission"), "{said}");
}

#[test]
fn standard_input_is_read_once() {
    let said = refusal(&run(&["-", "-"]));
    assert!(said.contains("standard input"), "{said}");
    let said = refusal(&run(&["-r", "-", "-"]));
    assert!(said.contains("standard input"), "{said}");
}

#[test]
fn an_interface_is_not_read_with_other_sources() {
    let said = refusal(&run(&["rxe/rping_v4.pcap", "lo"]));
    assert!(said.contains("lo"), "{said}");
    let said = refusal(&run(&["-i", "lo", "rxe/rping_v4.pcap"]));
    assert!(said.contains("one source"), "{said}");
}

#[test]
fn a_filter_that_is_none() {
    let said = refusal(&run(&["rxe/rping_v4.pcap", "-f", "udp prot 4791"]));
    assert!(said.contains("udp prot 4791"), "{said}");
}

#[test]
fn a_mistake_says_what_where_and_how_it_is_right() {
    for (line, wanted) in [
        ("packets --foo x", "roce-sniff: unexpected argument '--foo' found; "),
        ("check --format jsn x", "a similar value exists: 'json'; try 'roce-sniff check --help'\n"),
        ("craft", "were not provided: --output <FILE> <SCENARIO>; try 'roce-sniff craft --help'\n"),
    ] {
        let said = refusal(&run_line(line));
        assert!(said.contains(wanted), "{said}");
    }
}

/// Nobody gets plain bytes under a compressed name, and no table is asked to hold nothing.
#[test]
fn names_and_numbers_that_cannot_be_meant_are_refused() {
    let folder = crate::captures::folder();
    let out = folder.path().join("out.pcapng.gz");
    let out = out.to_str().unwrap();
    for line in [
        format!("rxe/loss_a.pcap -w {out}"),
        format!("check rxe/loss_a.pcap -w {out}"),
        format!("rewrite rxe/loss_a.pcap -o {out} --set-dscp 26"),
        format!("craft healthy-v2 -o {out}"),
        "connections --max-connections 0 rxe/loss_a.pcap".to_owned(),
    ] {
        let ended = run_line(&line);
        let said = ended.errors();
        assert_eq!((ended.code(), said.lines().count()), (Some(2), 1), "{line}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
