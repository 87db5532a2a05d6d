//! The build without libpcap: it links none, reads files, and captures through a packet socket.

use std::process::Command;

use roce_sniff_tests::command::{fixtures, program, program_without_libpcap, start};
use roce_sniff_tests::have;
use rustix::process::Signal;
use serde_json::Value;

use crate::rig::Rig;

#[test]
fn libpcap_is_not_linked() {
    if !have("ldd", &["--version"]) {
        return;
    }
    let libraries = |program| {
        let output = Command::new("ldd").arg(program).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(libraries(program()).contains("libpcap"), "the other build has it");
    let without = libraries(program_without_libpcap());
    assert!(!without.contains("libpcap"), "{without}");
}

fn verdict(program: &std::path::Path, name: &str) -> Value {
    let mut command = Command::new(program);
    start(command.args([name, "--format", "json"]).current_dir(fixtures())).end().json()
}

#[test]
fn files_are_read_the_same() {
    for name in
        ["rxe/mixed.pcap", "made/sections.pcapng.gz", "made/plain.pcap.zst", "made/records.erf"]
    {
        assert_eq!(verdict(program_without_libpcap(), name), verdict(program(), name), "{name}");
    }
    let mut command = Command::new(program_without_libpcap());
    let ended = start(command.args(["-f", "udp", "rxe/mixed.pcap"]).current_dir(fixtures())).end();
    assert_eq!(ended.code(), Some(2));
    assert!(ended.errors().contains("libpcap"), "{}", ended.errors());
}

#[test]
fn it_captures() {
    let Some(rig) = Rig::new() else { return };
    let running = rig.listen_with(program_without_libpcap(), "far --format json");
    rig.send(&["rxe/rping_v4.pcap", "made/v1_plain.pcap", "rxe/rping_v6.pcap", "made/decoys.pcap"]);
    running.signal(Signal::INT);
    let got = running.end().json();
    assert_eq!(got["versions"]["v2_ipv4"]["packets"], 65);
    assert_eq!(got["versions"]["v1"]["packets"], 3);
    assert_eq!(got["versions"]["v2_ipv6"]["packets"], 85);
    assert_eq!(got["icrc"]["ok"], 65 + 3 + 85);
    assert_eq!(got["source"]["frames"], 65 + 3 + 85 + 56);
    assert!(got["source"].get("dropped").is_none(), "nobody counts drops: {got}");
}
