//! Second opinions on the frames of every built-in scenario: tshark reads them, scapy computes
//! their ICRCs. Each is skipped with a line where the tool is missing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

mod common;
#[path = "../../../tests/src/scapy.rs"]
#[allow(unreachable_pub, reason = "it is made for other tests, too")]
mod scapy;

use std::fmt::Write as _;
use std::process::Command;

use common::{play_all, write_pcap};
use roce_wire::{Carrier, Frame, IcrcState, Link, Ports};

/// What tshark 4.0 takes payloads of RoCE for, and then finds broken. Faults of its guessing: the
/// payloads here are random bytes.
const GUESSES: [&str; 4] = ["RPCoRDMA", "Mellanox EoIB", "LAPBETHER", "Ethertype"];

fn tshark_malformed(path: &std::path::Path) -> Option<Vec<String>> {
    let output = Command::new("tshark")
        .args(["-r", path.to_str()?, "-Y", "_ws.malformed", "-T", "fields"])
        .args(["-e", "frame.number", "-e", "_ws.malformed"])
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn tshark_finds_nothing_malformed_that_was_not_to_be() {
    // All in one file: tshark takes longer to start than to read.
    let path = std::env::temp_dir().join(format!("roce-craft-{}.pcap", std::process::id()));
    let (mut frames, mut names) = (Vec::new(), Vec::new());
    for (name, played) in play_all() {
        names.resize(names.len() + played.frames.len(), name);
        frames.extend(played.frames);
    }
    write_pcap(&path, &frames);
    let found = tshark_malformed(&path);
    std::fs::remove_file(&path).unwrap();
    let Some(found) = found else {
        eprintln!("skipped: no tshark here");
        return;
    };
    for line in found {
        let number: usize = line.split_whitespace().next().unwrap().parse().unwrap();
        let name = names[number - 1];
        let known = GUESSES.iter().any(|guess| line.contains(&format!("Packet: {guess}]")));
        assert!(known || name == "malformed", "{name}: {line}");
    }
}

const SCRIPT: &str = "
import sys
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether
for line in sys.stdin:
    print(Ether(bytes.fromhex(line))[BTH].compute_icrc(b'').hex())
";

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
    text
}

#[test]
fn scapy_agrees_on_every_v2_icrc() {
    let (mut lines, mut ours) = (String::new(), Vec::new());
    for (name, played) in play_all() {
        // Many frames of one kind prove no more than a hundred of them.
        for held in played.frames.iter().take(150) {
            let frame = Frame::parse(Link::Ethernet, &held.bytes, held.wire_len, &Ports::default());
            let Some((net, packet)) = frame.packet() else { continue };
            let is_v2 = matches!(net.carrier(), Carrier::V2Ipv4 | Carrier::V2Ipv6);
            let is_right = frame.icrc_state() == Some(IcrcState::Ok);
            // scapy does not look into tunnels.
            if is_v2 && is_right && frame.tunnels.is_empty() && frame.rejection().is_none() {
                lines.push_str(&hex(&held.bytes));
                lines.push('\n');
                ours.push((name, hex(&packet.icrc.unwrap().get().to_le_bytes())));
            }
        }
    }
    let Some(theirs) = scapy::scapy(SCRIPT, lines) else { return };
    assert_eq!(theirs.lines().count(), ours.len());
    for (theirs, (name, ours)) in theirs.lines().zip(&ours) {
        assert_eq!(theirs, ours, "{name}");
    }
}
