//! `--expect`: exit code 1 when the wire disagrees, 0 when it does not.

use roce_sniff_tests::command::run;

/// Which of `v1 v2 v2-ipv4 v2-ipv6 none` each capture satisfies.
const CAPTURES: &[(&str, [bool; 5])] = &[
    ("made/v1_plain.pcap", [true, false, false, false, false]),
    ("made/all_opcodes_v2_ipv4.pcap", [false, true, true, false, false]),
    ("rxe/rping_v6.pcap", [false, true, false, true, false]),
    // Both IP families, one version.
    ("made/source_ports.pcap", [false, true, false, false, false]),
    ("made/mixed_versions.pcap", [false, false, false, false, false]),
    ("made/decoys.pcap", [false, false, false, false, true]),
    ("made/random_4791.pcap", [false, false, false, false, true]),
    // Native InfiniBand is no RoCE.
    ("made/all_opcodes_infiniband.pcap", [false, false, false, false, true]),
];

#[test]
fn the_exit_code_says_whether_the_wire_is_as_expected() {
    for (capture, agrees) in CAPTURES {
        for (expect, agrees) in ["v1", "v2", "v2-ipv4", "v2-ipv6", "none"].iter().zip(agrees) {
            let ended = run(&[capture, "--expect", expect]);
            let code = if *agrees { 0 } else { 1 };
            assert_eq!(ended.code(), Some(code), "{capture} --expect {expect}");
            assert_eq!(ended.errors(), "", "{capture} --expect {expect}");
            assert!(!ended.stdout.is_empty(), "the verdict is printed all the same");
        }
    }
}

#[test]
fn quiet_prints_nothing_and_still_tells() {
    for (expect, code) in [("v2", 0), ("v1", 1)] {
        let ended = run(&["-q", "rxe/rping_v4.pcap", "--expect", expect]);
        assert_eq!(
            (ended.code(), ended.text(), ended.errors()),
            (Some(code), String::new(), String::new())
        );
    }
    let ended = run(&["packets", "--quiet", "--format", "csv", "rxe/bait.pcap"]).well();
    assert_eq!((ended.text(), ended.errors()), (String::new(), String::new()));
}

#[test]
fn a_value_that_does_not_exist_is_refused_with_those_that_do() {
    let ended = run(&["rxe/rping_v4.pcap", "--expect", "v3"]);
    assert_eq!(ended.code(), Some(2));
    for value in ["v1", "v2", "v2-ipv4", "v2-ipv6", "none"] {
        assert!(ended.errors().contains(value), "{}", ended.errors());
    }
}
