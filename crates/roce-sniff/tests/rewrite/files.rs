//! Files: which frames go into them, and what is left when it fails.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Place, fixture, read, run};

#[test]
fn frames_are_chosen_by_number_time_expression_and_connection() {
    let place = Place::new();
    let path = fixture("rxe/rping_v4.pcap");
    let all = read(&path);
    let chosen = |options: &str| read(&place.rewrite(&path, "out", options));
    assert_eq!(chosen("--frames 2-3,5"), [all[1].clone(), all[2].clone(), all[4].clone()]);
    assert_eq!(chosen("--frames 60-"), all[59..]);
    let first = all[0].time_ns.unwrap();
    let since = |ns: u64| all.iter().filter(|f| f.time_ns.unwrap() - first >= ns).count();
    assert_eq!(chosen("--from 0.01").len(), since(10_000_000));
    assert_eq!(chosen("--to 0.01").len() + since(10_000_001), all.len());
    let epoch = format!("--from {}.{:09}", first / 1_000_000_000, first % 1_000_000_000);
    assert_eq!(chosen(&epoch).len(), all.len());
    let by_host = chosen("--connection 10.77.0.1-10.77.0.2");
    assert_eq!(by_host.len(), all.iter().filter(|f| f.parse().is_roce()).count());
    assert!(chosen("--connection 10.77.0.1-10.77.0.9").is_empty());
    let qpn = all.iter().map(|kept| kept.parse().packet().unwrap().1.bth.dest_qp().get());
    let qpns: Vec<u32> = qpn.filter(|qpn| *qpn > 1).collect();
    let wanted = format!("--connection 10.77.0.1:{}-10.77.0.2", 0x11);
    let with = chosen(&wanted);
    assert!(with.len() > 3 && with.len() <= by_host.len(), "{qpns:x?}");
}

#[test]
fn a_connection_is_chosen_with_its_connection_management() {
    let place = Place::new();
    let path = fixture("rxe/rping_v4.pcap");
    let frames = read(&path);
    let mut ends = std::collections::BTreeSet::new();
    for kept in &frames {
        let frame = kept.parse();
        let (net, packet) = frame.packet().unwrap();
        let qpn = packet.bth.dest_qp().get();
        if qpn > 1 {
            ends.insert((net.dst().to_string(), qpn));
        }
    }
    let [a, b] = [ends.first().unwrap(), ends.last().unwrap()];
    let options = format!("--connection {}:{}-{}:{}", a.0, a.1, b.0, b.1);
    assert_eq!(read(&place.rewrite(&path, "out", &options)).len(), frames.len());
    let other = format!("--connection {}:{}-{}:{}", a.0, a.1 + 1, b.0, b.1 + 1);
    assert!(read(&place.rewrite(&path, "out", &other)).is_empty());
}

#[cfg(feature = "libpcap")]
#[test]
fn frames_are_chosen_by_expression() {
    let place = Place::new();
    let path = fixture("rxe/rping_v4.pcap");
    let output = place.path("out.pcap");
    let args = ["rewrite", "-q", path.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let ended = run(&[&args[..], &["-f", "src host 10.77.0.1"]].concat());
    assert!(ended.status.success());
    let all = read(&path);
    let from_a = all.iter().filter(|kept| kept.data[26..30] == [10, 77, 0, 1]).count();
    assert_eq!(read(&output).len(), from_a);
}

#[test]
fn the_name_says_the_format_and_a_stream_is_pcapng() {
    let place = Place::new();
    let path = fixture("made/nanoseconds.pcap");
    let output = place.path("out.pcapng");
    let ended = run(&["rewrite", path.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert!(ended.status.success());
    assert_eq!(read(&output), read(&path));
    assert!(std::fs::read(&output).unwrap().starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let back = place.path("back.pcap");
    run(&["rewrite", output.to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(read(&back), read(&path));
    // From standard input to standard output.
    let mut child = Command::new(env!("CARGO_BIN_EXE_roce-sniff"))
        .args(["rewrite", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(&path).unwrap()).unwrap();
    let streamed = place.path("streamed");
    std::fs::write(&streamed, child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(read(&streamed), read(&path));
}

#[test]
fn what_fails_leaves_nothing_under_the_name() {
    let place = Place::new();
    let path = fixture("rxe/rping_v4.pcap");
    let path = path.to_str().unwrap();
    let fails = |args: &[&str], expected: &str| {
        let ended = run(&[&["rewrite", path][..], args].concat());
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    };
    fails(&["-o", "/dev/full"], "/dev/full: cannot write");
    fails(&["-o", "/nowhere/out.pcap"], "/nowhere/out.pcap");
    fails(&["-o", path], "is the file that is being read");
    let output = place.path("out.pcap");
    let output = output.to_str().unwrap();
    fails(&["-o", output, "--map-ip", "10.0.0.1=fd77::1"], "--convert changes the family");
    fails(&["-o", output, "-f", "no such thing"], "filter");
    let missing = run(&["rewrite", "/nowhere/in.pcap", "-o", output]);
    assert_eq!(missing.status.code(), Some(2));
    // Two link types do not fit one pcap file: the error comes when half of it is written.
    let sections = fixture("made/sections.pcapng");
    let ended = run(&["rewrite", sections.to_str().unwrap(), "-o", output]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_cut_capture_is_rewritten_as_far_as_it_goes() {
    let place = Place::new();
    let path = fixture("made/cut_in_data.pcap");
    let output = place.path("out.pcap");
    let ended =
        run(&["rewrite", path.to_str().unwrap(), "-o", output.to_str().unwrap(), "--dscp", "1"]);
    assert!(ended.status.success());
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("everything before was read"), "{errors}");
    assert_eq!(read(&output).len(), 11);
}
