//! Findings on real captures: each where it belongs, and none on a healthy wire.

mod common;

use common::{HEALTHY, analyze, records, rxe};
use roce_analyze::connections::Config;
use roce_analyze::findings::{Finding, Policy, RULES, Severity, Value, evaluate};

fn findings(name: &str) -> Vec<Finding> {
    evaluate(&rxe(name), &Policy::default())
}

fn ids(name: &str) -> Vec<&'static str> {
    let mut ids: Vec<_> = findings(name).into_iter().map(|finding| finding.id).collect();
    ids.dedup();
    ids
}

/// Nothing is lost there, and there is something to say all the same: see below.
const REMARKABLE: [&str; 5] = ["ecn_ce_v4", "mixed", "rc_pingpong_ll", "tclass_v6", "verbs_pmtu"];

#[test]
fn a_healthy_wire_has_no_findings() {
    for name in HEALTHY.into_iter().filter(|name| !REMARKABLE.contains(name)).chain(["cm_mra"]) {
        assert_eq!(findings(name), [], "{name}");
    }
}

#[test]
fn trouble_is_found_and_nothing_else() {
    // What each capture shows, in the words of the list of captures; see also tests/rxe.rs.
    for (name, wanted) in [
        ("cm_reject", &["connection-rejected"][..]),
        ("cm_reject_consumer", &["connection-rejected"]),
        ("cm_sidr_reject", &["connection-rejected"]),
        ("cm_req_timeout", &["request-unanswered"]),
        ("mixed", &["version-mismatch"]),
        ("err_naks", &["fatal-nak"]),
        ("err_rnr", &["retry-exceeded", "rnr-nak"]),
        // The other host says nothing at all there.
        ("err_no_answer", &["no-answer"]),
        ("loss_read_a", &["packet-loss-upstream"]),
        ("loss_read_b", &["packet-loss-downstream"]),
        ("loss_write_a", &["ack-timeout", "packet-loss-downstream"]),
        ("loss_write_b", &["ack-timeout", "packet-loss-upstream"]),
        // The requests one way, the responses the other.
        ("loss_a", &["ack-timeout", "packet-loss-downstream", "packet-loss-upstream"]),
        ("loss_b", &["ack-timeout", "packet-loss-downstream", "packet-loss-upstream"]),
        ("reorder_b", &["reordering"]),
        // The kernel sent 125 packets and received 125. Here three NAKs ask for what had passed, and
        // more acknowledgements come than if that had been lost.
        ("reorder_a", &["reordering"]),
        ("duplicate_a", &["duplicated-frames"]),
        ("duplicate_b", &["duplicated-frames"]),
        ("ecn_ce_v4", &["ce-without-cnp"]),
        ("tclass_v6", &["dscp-policy"]),
        ("rc_pingpong_ll", &["gid-link-local"]),
        ("verbs_pmtu", &["pmtu-small"]),
        ("verbs_flush", &["fatal-nak", "icrc-flush"]),
    ] {
        assert_eq!(ids(name), wanted, "{name}");
    }
}

#[test]
fn the_worst_comes_first_and_frames_prove_it() {
    let found = findings("corrupt_b");
    assert!(found.is_sorted_by_key(|finding| finding.severity));
    let first = &found[0];
    assert_eq!((first.id, first.severity), ("bad-icrc", Severity::Error));
    assert_eq!((first.subject.as_str(), first.count), ("sender 10.77.0.1", 21));
    assert_eq!(first.frames.len(), 10);
    // tshark, `ip.src == 10.77.0.1 && udp.dstport == 4791`: 198 frames.
    let others = first.evidence.iter().find(|(name, _)| *name == "other_packets_of_sender");
    assert_eq!(others.unwrap().1, Value::Number(198 - 21));
    for finding in &found {
        assert!(finding.frames.len() <= 10 && finding.frames.is_sorted(), "{finding:?}");
        assert!(RULES.iter().any(|rule| rule.id == finding.id));
    }
}

#[test]
fn versions_that_do_not_go_together() {
    let found = |name: &str| {
        let report = analyze(&records(&format!("made/{name}.pcap")), Config::default());
        evaluate(&report, &Policy::default())
    };
    // A v2 REQ three times, unanswered, and a host that says that port 4791 is unreachable.
    let mismatch = found("mode_mismatch");
    assert!(mismatch.iter().any(|finding| finding.id == "version-mismatch"), "{mismatch:?}");
    let mixed = found("mixed_versions");
    assert!(mixed.iter().any(|finding| finding.id == "mixed-versions"), "{mixed:?}");
}
