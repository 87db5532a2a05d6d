//! The counts of `--format json` against what was put in, or counted by others.

use std::path::Path;

use roce_sniff_tests::command::{fixtures, run};
use serde_json::{Map, Value, json};

fn verdict(path: &Path) -> Value {
    run(&[path.as_os_str(), "--format".as_ref(), "json".as_ref()]).json()
}

/// The members that are not zero.
fn seen(counts: &Value) -> Value {
    let all = counts.as_object().unwrap();
    all.iter().filter(|(_, count)| **count != 0).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn packets(versions: &Value) -> Value {
    let all = versions.as_object().unwrap();
    let counts: Map<String, Value> =
        all.iter().map(|(key, count)| (key.clone(), count["packets"].clone())).collect();
    seen(&Value::Object(counts))
}

/// What `make.py` put in comes out.
#[test]
fn made_captures() {
    for (path, truth) in roce_sniff_tests::captures("made") {
        let got = verdict(&path);
        let name = path.display();
        assert_eq!(got["schema"], "roce-sniff/verdict/1", "{name}");
        assert_eq!(got["verdict"], truth["verdict"], "{name}");
        for key in ["opcodes", "icrc", "congestion", "ecn", "dscp", "pcp", "vlans", "cm", "tunnels"]
        {
            assert_eq!(seen(&got[key]), truth[key], "{name}: {key}");
        }
        assert_eq!(packets(&got["versions"]), truth["versions"], "{name}: versions");
        assert_eq!(got["rejected"]["reasons"], truth["rejected"], "{name}: rejected");
        let rejected = truth["rejected"].as_object().unwrap().values();
        let rejected: u64 = rejected.map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(got["rejected"]["count"], rejected, "{name}: rejected");
        let source = &got["source"];
        for (key, of) in [
            ("frames", "frames"),
            ("bytes", "wire_bytes"),
            ("first_ns", "first_ns"),
            ("last_ns", "last_ns"),
            ("truncated", "truncated"),
        ] {
            assert_eq!(source[key], truth[of], "{name}: {key}");
        }
        assert_eq!(source["damaged"].is_string(), truth["damaged"] == true, "{name}: damaged");
        assert_eq!(source["kind"], "file", "{name}");
        assert!(source.get("dropped").is_none(), "{name}: a file drops nothing");
    }
}

/// What tcpdump took of the Linux kernel's own RoCE.
#[test]
fn kernel_captures() {
    for (path, truth) in roce_sniff_tests::captures("rxe") {
        let got = verdict(&path);
        let name = path.display();
        assert_eq!(got["source"]["frames"], truth["frames"], "{name}");
        assert_eq!(got["opcodes"], truth["opcodes"], "{name}");
        let versions = &got["versions"];
        let v2 = ["v2_ipv4", "v2_ipv6"].map(|key| versions[key]["packets"].as_u64().unwrap());
        assert_eq!(json!(v2[0] + v2[1]), truth["v2"], "{name}");
        assert_eq!(versions["v1"]["packets"], 0, "{name}");
        assert_eq!(got["icrc"]["bad"], truth["icrc_bad"], "{name}");
        assert_eq!(got["icrc"]["unchecked"], 0, "{name}");
        let rejected = truth.get("rejected").cloned().unwrap_or_else(|| json!({}));
        assert_eq!(got["rejected"]["reasons"], rejected, "{name}");
        assert_eq!(got["verdict"], "v2", "{name}");
    }
}

/// NAKs by code and RNR NAKs, as `packets` shows them.
#[test]
fn kernel_naks() {
    for (path, truth) in roce_sniff_tests::captures("rxe") {
        let lines = run(&["packets".as_ref(), path.as_os_str(), "--format=json".as_ref()]).well();
        let mut naks = Map::new();
        for line in lines.text().lines() {
            let packet: Value = serde_json::from_str(line).unwrap();
            let aeth = &packet["aeth"];
            let name = match aeth["kind"].as_str() {
                Some("nak") => aeth["nak"].as_str().unwrap().to_lowercase().replace(' ', "_"),
                Some("rnr_nak") => "rnr".to_owned(),
                _ => continue,
            };
            let count = naks.entry(name).or_insert(json!(0));
            *count = json!(count.as_u64().unwrap() + 1);
        }
        assert_eq!(Value::Object(naks), truth["naks"], "{}", path.display());
    }
}

/// Captures of others, beside the checkout where there are any, with a table of answers.
#[test]
fn public_captures() {
    let folder = fixtures().join("../../shared/captures/public");
    let Ok(manifest) = std::fs::read_to_string(folder.join("MANIFEST.md")) else {
        eprintln!("skipped: no {}", folder.display());
        return;
    };
    let rows: Vec<Vec<&str>> = manifest
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() >= 17, "{} rows", rows.len());
    for row in rows {
        let name = row[1].split('`').nth(1).unwrap();
        let got = verdict(&folder.join(name));
        assert_eq!(got["source"]["frames"].to_string(), row[3], "{name}: frames");
        for (column, version) in (4..).zip(["v1", "v2_ipv4", "v2_ipv6", "infiniband"]) {
            let packets = &got["versions"][version]["packets"];
            assert_eq!(packets.to_string(), row[column], "{name}: {version}");
        }
        let icrc = ["ok", "bad", "unchecked"].map(|state| got["icrc"][state].to_string());
        let want = row[8].split(' ').next().unwrap();
        let want = if want == "–" { "0/0/0" } else { want };
        assert_eq!(icrc.join("/"), want, "{name}: ICRC");
    }
}

/// More captures of the kernel's, beside the checkout where there are any, with a table.
#[test]
fn more_kernel_captures() {
    let folder = fixtures().join("../../shared/captures/rxe");
    let Ok(manifest) = std::fs::read_to_string(folder.join("MANIFEST.md")) else {
        eprintln!("skipped: no {}", folder.display());
        return;
    };
    let mut rows = 0;
    for line in manifest.lines().filter(|line| line.starts_with("| [")) {
        let row: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = row[1].split(['[', ']']).nth(1).unwrap();
        let got = verdict(&folder.join(format!("{name}.pcap")));
        rows += 1;
        assert_eq!(got["source"]["frames"].to_string(), row[4], "{name}: frames");
        let v2 =
            ["v2_ipv4", "v2_ipv6"].map(|key| got["versions"][key]["packets"].as_u64().unwrap());
        if name == "bait" {
            // The table counts every datagram to the port whose first bytes name an opcode,
            // those with a TVer of 5 or an undefined opcode included; see `expected.json`.
            continue;
        }
        assert_eq!((v2[0] + v2[1]).to_string(), row[5], "{name}: v2");
        assert_eq!(got["icrc"]["bad"].to_string(), row[6], "{name}: wrong ICRCs");
    }
    assert!(rows >= 60, "{rows} rows");
}
