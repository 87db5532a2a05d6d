//! Every row of the table of compatible modes, on a capture of the case.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may be blunt"
)]

use std::path::PathBuf;
use std::process::Command;

use roce_host::RoceMode::{V1, V2};
use roce_host::compat::{TABLE, verdict};
use serde_json::Value;

fn roce_sniff(args: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_roce-sniff")).args(args).output().unwrap();
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), json)
}

/// The capture of a built-in scenario.
fn crafted(folder: &tempfile::TempDir, scenario: &str) -> String {
    let path = folder.path().join(format!("{scenario}.pcapng"));
    let path = path.to_str().unwrap().to_owned();
    assert_eq!(roce_sniff(&["craft", scenario, "-q", "-o", &path]).0, Some(0), "{scenario}");
    path
}

fn fixture(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/made");
    root.join(name).to_str().unwrap().to_owned()
}

#[test]
fn every_row_is_seen_on_a_capture_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (V1, V1, crafted(&folder, "healthy-v1"), "v1"),
        // The server would use v2 itself; on the wire it answers in the client's version.
        (V1, V2, fixture("mode_mismatch_v1.pcap"), "v1"),
        (V2, V2, crafted(&folder, "cm-connect"), "v2"),
        (V2, V1, fixture("mode_mismatch.pcap"), "v2"),
    ];
    assert_eq!(cases.len(), TABLE.len());
    for (client, server, capture, version) in cases {
        let row = verdict(client, server);
        let (_, seen) = roce_sniff(&[&capture, "--format", "json"]);
        assert_eq!(seen["verdict"], version, "{capture}");
        let answered =
            seen["cm"]["REP"].as_u64() > Some(0) || seen["opcodes"]["RC_ACKNOWLEDGE"].is_u64();
        assert_eq!(answered, row.connects, "{client} to {server}: {capture}");
    }
}

#[test]
fn check_names_the_row_of_a_client_that_is_not_understood() {
    let folder = tempfile::tempdir().unwrap();
    let capture = crafted(&folder, "version-mismatch");
    let (code, checked) = roce_sniff(&["check", &capture, "--format", "json"]);
    assert_eq!(code, Some(1));
    let findings = checked["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == "version-mismatch").unwrap();
    let told = finding["evidence"]["compatibility"].as_str().unwrap();
    let row = verdict(V2, V1);
    assert!(told.contains(row.reason) && told.contains("RHEL 7"), "{told}");
}
