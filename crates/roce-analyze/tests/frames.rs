//! Every finding names the frames that prove it, or its rule says why it cannot.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may be blunt")]

mod common;

use common::made::{Made, ask};
use common::{analyze, records};
use roce_analyze::connections::Config;
use roce_analyze::findings::{Finding, Policy, RULES, evaluate};
use roce_wire::Opcode;

fn assert_proven(name: &str, findings: &[Finding]) {
    for finding in findings {
        let rule = RULES.iter().find(|rule| rule.id == finding.id).unwrap();
        let is_proven = !finding.frames.is_empty() || rule.why_no_frames().is_some();
        assert!(is_proven, "{name}: {finding:?}");
    }
}

#[test]
fn every_finding_of_every_capture_has_frames() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut names = Vec::new();
    for kind in ["rxe", "made"] {
        for entry in std::fs::read_dir(folder.join(kind)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_little = || {
                let magic = std::fs::read(folder.join(kind).join(&name)).unwrap();
                [[0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1]]
                    .iter()
                    .any(|m| magic.starts_with(m))
            };
            if name.ends_with(".pcap") && is_little() {
                names.push(format!("{kind}/{name}"));
            }
        }
    }
    assert!(names.len() > 60, "{names:?}");
    for name in names {
        let report = analyze(&records(&name), Config::default());
        let mut policy = Policy::default();
        policy.strict = true;
        assert_proven(&name, &evaluate(&report, &policy));
    }
}

/// Nothing acknowledges UC: what is passed over is missing, and that is all that is known.
#[test]
fn the_packet_behind_a_gap_shows_it() {
    let mut made = Made::default();
    for psn in (1..30).filter(|psn| ![9, 15, 16].contains(psn)) {
        made.ask(ask(Opcode::UC_SEND_ONLY, psn, &[0x5a; 64]));
    }
    let found = made.findings();
    let gap = found.iter().find(|finding| finding.id == "packet-loss-unplaced").unwrap();
    assert_eq!((gap.count, &gap.frames[..]), (3, &[9, 14][..]));
}

#[test]
fn frames_that_were_cut_are_named() {
    let mut made = Made::default();
    made.chat(1..10);
    for record in made.records.iter_mut().skip(12) {
        record.bytes.truncate(60);
    }
    let found = made.findings();
    let cut = found.iter().find(|finding| finding.id == "capture-truncated").unwrap();
    assert_eq!((cut.count, &cut.frames[..]), (6, &[13, 14, 15, 16, 17, 18][..]));
}
