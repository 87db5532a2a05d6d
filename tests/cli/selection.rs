//! Options that choose what is looked at.

use roce_sniff_tests::command::{run, run_line};

fn frames(line: &str) -> Vec<u64> {
    let text = run_line(&format!("packets --format csv {line}")).well().text();
    let numbers = text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap());
    numbers.collect()
}

#[test]
fn count_stops() {
    assert_eq!(frames("rxe/rping_v4.pcap -c 5"), [1, 2, 3, 4, 5]);
    // Lines count, not frames: 151 frames come before the last CM REQ to a host that is not there.
    assert_eq!(frames("rxe/mixed.pcap -c 2"), [75, 76]);
    let got = run_line("rxe/mixed.pcap -c 80 --format json").json();
    assert_eq!(got["source"]["frames"], 80);
    assert_eq!(got["versions"]["v2_ipv4"]["packets"], 6, "frames 75 to 80");
}

/// In a file, time is the capture's: frames 250 µs apart.
#[test]
fn duration_is_of_the_capture() {
    let got = run_line("made/all_opcodes_v1.pcap --duration 2500us --format json").json();
    assert_eq!(got["source"]["frames"], 10);
    assert_eq!(frames("made/all_opcodes_v1.pcap --duration 1ms"), [1, 2, 3, 4]);
    let two = "made/all_opcodes_v1.pcap made/all_opcodes_v2_ipv4.pcap --duration 1ms";
    assert_eq!(frames(two), [1, 2, 3, 4], "of the first file's clock");
}

/// Numbers by `tcpdump -r FILE EXPRESSION --count` on the same files.
#[test]
fn a_bpf_expression_selects() {
    let count = |file: &str, filter: &str| {
        let got = run(&[file, "-f", filter, "--format", "json"]).json();
        got["source"]["frames"].as_u64().unwrap()
    };
    assert_eq!(count("rxe/rping_v4.pcap", "src host 10.77.0.1"), 33);
    assert_eq!(count("rxe/mixed.pcap", "udp dst port 4791"), 68);
    assert_eq!(count("rxe/mixed.pcap", "icmp or icmp6 or arp"), 47);
    assert_eq!(count("rxe/vlan_rc_v4.pcap", "vlan 100"), 82);
    assert_eq!(count("made/v1_plain.pcap", "ether proto 0x8915"), 3);
    assert_eq!(count("made/v1_plain.pcap", "not ether proto 0x8915"), 0);
    // Each interface of a file has a link type of its own.
    assert_eq!(count("made/sections.pcapng", "len > 0"), 14);
    assert_eq!(
        frames("rxe/bait.pcap -f udp[8]=0x11"),
        frames_of("rxe/bait.pcap", "RC_ACKNOWLEDGE")
    );
}

fn frames_of(file: &str, opcode: &str) -> Vec<u64> {
    let text = run(&["packets", "--format", "csv", file]).well().text();
    let lines = text.lines().filter(|line| line.contains(opcode));
    lines.map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

/// `decoys.pcap` and the rest know one port; Lumina mirrors to 9741.
#[test]
fn another_port() {
    let folder = crate::captures::folder();
    let path = folder.path().join("lumina.pcap");
    crate::captures::changed("rxe/rping_v4.pcap", &path, |_, data| {
        data[36..38].copy_from_slice(&9741_u16.to_be_bytes());
    });
    let path = path.to_str().unwrap();
    assert_eq!(run(&[path, "--expect", "none"]).code(), Some(0));
    assert_eq!(run(&[path, "--port", "9741", "--expect", "v2-ipv4"]).code(), Some(0));
    let got = run(&[path, "--port", "1", "--port", "9741", "--format", "json"]).json();
    assert_eq!(got["versions"]["v2_ipv4"]["packets"], 65);
    // The UDP header is not covered by its port's meaning, but the ICRC covers the port.
    assert_eq!(got["icrc"]["bad"], 65);
}

#[test]
fn the_icrc_is_left_alone_when_asked() {
    let got = run_line("made/icrc.pcap --no-icrc --format json").json();
    assert_eq!(got["icrc"]["ok"], 0);
    assert_eq!(got["icrc"]["bad"], 0);
    assert_eq!(got["icrc"]["unchecked"], 18);
    assert!(!run_line("packets made/icrc.pcap --no-icrc").well().text().contains("ICRC"));
    let with = run_line("packets made/icrc.pcap").well().text();
    assert_eq!(with.matches("ICRC wrong").count(), 15);
}
