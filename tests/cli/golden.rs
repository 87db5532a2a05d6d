//! Output held to what was looked at once and found right: `fixtures/golden/CAPTURE.KIND`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use roce_sniff_tests::command::{fixtures, run};

/// What is kept of each capture.
const CASES: &[(&str, &[&str])] = &[
    ("made/all_opcodes_infiniband.pcap", &["verdict.txt", "verdict.csv"]),
    ("made/all_opcodes_v1.pcap", &["packets.jsonl"]),
    ("made/all_opcodes_v2_ipv4.pcap", &["packets.txt"]),
    ("made/all_opcodes_v2_ipv6.pcap", &["packets.csv"]),
    ("made/cm_v1.pcap", &["verdict.json"]),
    ("made/cm_v2_ipv4.pcap", &["verdict.txt", "packets.txt", "packets.jsonl"]),
    ("made/cnp.pcap", &["verdict.txt", "verdict.json", "packets.txt", "packets.csv"]),
    ("made/cut_in_data.pcap", &["verdict.txt", "verdict.json"]),
    ("made/decoys.pcap", &["verdict.txt", "verdict.json"]),
    ("made/field_limits.pcap", &["packets.txt", "packets-V.txt"]),
    ("made/gre.pcap", &["verdict.json"]),
    ("made/icrc.pcap", &["verdict.txt", "verdict.json", "packets.txt", "packets.jsonl"]),
    ("made/ip_options.pcap", &["packets-V.txt"]),
    ("made/ipv6_extensions.pcap", &["packets-V.txt"]),
    ("made/lengths.pcap", &["verdict.txt", "packets.txt", "packets-V.txt"]),
    ("made/marks.pcap", &["verdict.txt"]),
    ("made/mixed_versions.pcap", &["verdict.txt", "verdict.json", "verdict.csv"]),
    ("made/mode_mismatch.pcap", &["verdict.txt"]),
    ("made/mode_mismatch_v1.pcap", &["packets-V.txt"]),
    ("made/nanoseconds.pcap", &["packets.txt"]),
    (
        "made/pfc_pause.pcap",
        &["verdict.txt", "verdict.json", "packets.txt", "packets-V.txt", "packets.jsonl"],
    ),
    ("made/qinq.pcap", &["verdict.json", "packets.txt"]),
    ("made/random_4791.pcap", &["verdict.txt"]),
    ("made/sll2.pcap", &["packets-V.txt"]),
    ("made/snaplen_64.pcap", &["verdict.txt", "packets.txt", "packets.jsonl"]),
    ("made/syndromes.pcap", &["packets.txt"]),
    ("made/v1_padding_fcs.pcap", &["packets-V.txt"]),
    ("made/v1_plain.pcap", &["verdict.txt", "packets-x.txt"]),
    ("made/vlan.pcap", &["verdict.txt", "packets.txt"]),
    ("made/vxlan.pcap", &["verdict.txt", "packets.txt", "packets-V.txt"]),
    ("rxe/bait.pcap", &["verdict.txt", "verdict.json"]),
    ("rxe/cm_mra.pcap", &["packets.txt"]),
    ("rxe/cm_sidr_reject.pcap", &["packets.txt"]),
    ("rxe/corrupt_b.pcap", &["verdict.txt"]),
    ("rxe/ecn_ce_v4.pcap", &["verdict.txt"]),
    ("rxe/err_naks.pcap", &["packets.txt", "packets.csv"]),
    ("rxe/err_rnr.pcap", &["packets.txt", "packets.jsonl"]),
    ("rxe/mixed.pcap", &["verdict.txt"]),
    ("rxe/rc_pingpong_ll.pcap", &["verdict.txt"]),
    ("rxe/rdma_client_v4.pcap", &["packets.txt"]),
    ("rxe/rping_v4.pcap", &["verdict.txt"]),
    ("rxe/rping_v6.pcap", &["verdict.json"]),
    ("rxe/udaddy_v4.pcap", &["packets.txt"]),
    ("rxe/udaddy_v6.pcap", &["packets.jsonl"]),
    ("rxe/verbs_atomic_write.pcap", &["packets.txt", "packets-V.txt"]),
    ("rxe/verbs_flush.pcap", &["verdict.txt", "verdict.json", "packets.txt", "packets.jsonl"]),
    ("rxe/verbs_mcast_v4.pcap", &["verdict.txt"]),
    ("rxe/verbs_send_inv.pcap", &["packets.txt"]),
    ("rxe/vlan_rc_v4.pcap", &["verdict.txt"]),
];

fn command_line(kind: &str) -> &'static [&'static str] {
    match kind {
        "verdict.txt" => &[],
        "verdict.json" => &["--format", "json"],
        "verdict.csv" => &["--format", "csv"],
        "packets.txt" => &["packets"],
        "packets-V.txt" => &["packets", "-V"],
        "packets-x.txt" => &["packets", "-x"],
        "packets.jsonl" => &["packets", "--format", "json"],
        "packets.csv" => &["packets", "--format", "csv"],
        _ => panic!("{kind}: no such kind"),
    }
}

fn golden(capture: &str, kind: &str) -> PathBuf {
    fixtures().join("golden").join(format!("{capture}.{kind}"))
}

#[test]
fn output_is_as_it_was_found_right() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut differ = Vec::new();
    for (capture, kinds) in CASES {
        for kind in *kinds {
            let got = run(&[command_line(kind), &[capture]].concat()).well().text();
            let path = golden(capture, kind);
            if update {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, got).unwrap();
            } else if let Some(difference) =
                first_difference(&std::fs::read_to_string(&path).unwrap_or_default(), &got)
            {
                differ.push(format!("{}: {difference}", path.display()));
            }
        }
    }
    assert!(differ.is_empty(), "UPDATE_GOLDEN=1 writes them anew\n{}", differ.join("\n"));
}

/// The first line that is not the same.
fn first_difference(want: &str, got: &str) -> Option<String> {
    let (mut want_lines, mut got_lines) = (want.lines(), got.lines());
    for number in 1.. {
        match (want_lines.next(), got_lines.next()) {
            (None, None) => break,
            (want, got) if want == got => {}
            (want, got) => {
                let or_end = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
                return Some(format!(
                    "line {number}\n  was {}\n  is  {}",
                    or_end(want),
                    or_end(got)
                ));
            }
        }
    }
    (want != got).then(|| "line ends differ".to_owned())
}

/// Nothing lies in the folder that no test looks at.
#[test]
fn every_golden_result_is_used() {
    let mut unused = BTreeSet::new();
    for folder in ["made", "rxe"] {
        for entry in std::fs::read_dir(fixtures().join("golden").join(folder)).unwrap() {
            unused.insert(entry.unwrap().path());
        }
    }
    for (capture, kinds) in CASES {
        for kind in *kinds {
            unused.remove(&golden(capture, kind));
        }
    }
    assert!(unused.is_empty(), "{unused:#?}");
}

/// The verdict is for a terminal of 80 columns, whatever the capture.
#[test]
fn the_verdict_fits_80_columns() {
    for folder in ["made", "rxe"] {
        for (path, _) in roce_sniff_tests::captures(folder) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let text = run(&[format!("{folder}/{name}")]).well().text();
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }
}

/// JSON in which a key comes twice, or which is no JSON, is of no use to a script. A document that
/// is read and written again gets shorter if one of two members of a name was lost.
#[test]
fn every_line_of_json_has_each_key_once() {
    for folder in ["made", "rxe"] {
        for (path, _) in roce_sniff_tests::captures(folder) {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            let text = run(&["packets", "--format", "json", &name]).well().text();
            for line in text.lines() {
                let value: serde_json::Value = serde_json::from_str(line).expect(line);
                assert_eq!(value.to_string().len(), line.len(), "{name}: {line}");
            }
        }
    }
}
