//! Anonymous traces: nothing of the old names, and the same analysis.

use std::collections::HashSet;
use std::net::IpAddr;

use roce_wire::mad::Management;
use roce_wire::mad::cm::CmMessage;
use roce_wire::{Addr, Gid, Layer};
use serde_json::Value;

use crate::common::{Kept, Place, fixture, fixtures, malformed, read, said};

const SEED: &str = "--anonymize a-seed-for-tests";

/// Whether an address is of one host, and not of everybody or nobody.
fn is_telling(ip: IpAddr) -> bool {
    let ip = match ip {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip => ip,
    };
    !ip.is_loopback() && !ip.is_unspecified() && !ip.is_multicast()
}

/// The addresses of a capture in every form that they take on the wire.
fn encodings(frames: &[Kept]) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    let mut ip = |ip: IpAddr| {
        if !is_telling(ip) {
            return;
        }
        match ip {
            IpAddr::V4(ip) => found.insert(ip.octets().to_vec()),
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(ip) => found.insert(ip.octets().to_vec()),
                None => found.insert(ip.octets().to_vec()),
            },
        };
    };
    let mut macs = HashSet::new();
    for kept in frames {
        let frame = kept.parse();
        for (_, layer) in frame.layers() {
            match layer {
                Layer::Ethernet(ethernet) => {
                    for mac in [ethernet.src, ethernet.dst] {
                        if !mac.is_multicast() && mac.0 != [0; 6] {
                            macs.insert(mac.0.to_vec());
                        }
                    }
                }
                Layer::Ipv4(header) => {
                    ip(header.src().into());
                    ip(header.dst().into());
                }
                Layer::Ipv6(header) => {
                    ip(header.src().into());
                    ip(header.dst().into());
                }
                Layer::Grh(grh) if grh.version() == 6 => {
                    ip(grh.sgid.ipv6().into());
                    ip(grh.dgid.ipv6().into());
                }
                _ => {}
            }
        }
        let Some((_, packet)) = frame.packet().filter(|_| frame.is_roce()) else { continue };
        if let Ok(Management { message: Some(CmMessage::Req(req)), .. }) =
            Management::parse(packet.payload)
        {
            for gid in [req.primary.local_gid, req.primary.remote_gid] {
                ip(gid.ipv6().into());
            }
        }
    }
    found.extend(macs);
    found
}

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn no_old_address_is_anywhere_in_the_file() {
    let place = Place::new();
    let mut looked_for = 0;
    for path in fixtures() {
        let needles = encodings(&read(&path));
        let bytes = std::fs::read(place.rewrite(&path, "anonymous", SEED)).unwrap();
        for needle in &needles {
            // Two words of zeros and ones are everywhere.
            if needle.iter().filter(|byte| !matches!(byte, 0 | 1 | 0xff)).count() < 2 {
                continue;
            }
            looked_for += 1;
            assert!(!holds(&bytes, needle), "{}: {needle:02x?}", path.display());
        }
    }
    assert!(looked_for > 200, "{looked_for}");
}

#[test]
fn seeds_make_names_and_the_same_seed_the_same() {
    let place = Place::new();
    let path = fixture("rxe/rping_v4.pcap");
    let [a, b, c] = ["--anonymize x", "--anonymize x", "--anonymize y"]
        .map(|options| std::fs::read(place.rewrite(&path, "out", options)).unwrap());
    assert!(a == b && a != c);
}

/// What is said, without the names.
fn nameless(mut said: Value) -> Value {
    forget(&mut said);
    said
}

/// Names become nothing, and what is sorted by names is sorted anew.
fn forget(value: &mut Value) {
    const NAMES: [&str; 13] = [
        "name",
        "addr",
        "mac",
        "qpn",
        "a",
        "b",
        "udp_src_ports",
        "predicted_udp_src_port",
        "q_key",
        "sidr_qpn",
        "text",
        "damaged",
        "subject",
    ];
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                if NAMES.contains(&key.as_str()) && !value.is_object() {
                    *value = Value::Null;
                } else {
                    forget(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(forget),
        _ => {}
    }
}

/// The pairs of a verdict, whichever of the two hosts is named first.
fn sides(mut verdict: Value) -> Value {
    for pair in verdict["pairs"].as_array_mut().unwrap() {
        let mut sides = [pair["a_to_b"].to_string(), pair["b_to_a"].to_string()];
        sides.sort();
        *pair = Value::from(format!("{} {} {}", pair["verdict"], pair["frames"], sides.concat()));
    }
    let pairs = verdict["pairs"].as_array_mut().unwrap();
    pairs.sort_by_key(Value::to_string);
    verdict
}

#[test]
fn the_verdict_is_the_same() {
    let place = Place::new();
    for path in fixtures() {
        let anonymous = place.rewrite(&path, "anonymous", SEED);
        let (before, after) = (said(&[], &path), said(&[], &anonymous));
        assert_eq!(sides(nameless(after)), sides(nameless(before)), "{}", path.display());
    }
}

#[test]
fn the_connections_are_the_same() {
    let place = Place::new();
    let mut connections = 0;
    for path in fixtures() {
        let anonymous = place.rewrite(&path, "anonymous", SEED);
        let command = ["connections"];
        let (before, after) = (said(&command, &path), said(&command, &anonymous));
        connections += before["connections"].as_array().unwrap().len();
        assert_eq!(nameless(after), nameless(before), "{}", path.display());
    }
    assert!(connections > 100, "{connections}");
}

#[test]
fn the_findings_are_the_same() {
    let place = Place::new();
    let findings = |path: &std::path::Path| -> Vec<String> {
        let said = said(&["check"], path);
        // What is no RoCE has no queue pair any more: of which connection it is cannot be told.
        let findings = said["findings"].as_array().unwrap().iter();
        let findings = findings.filter(|found| found["id"] != "malformed-packet");
        let line =
            |found: &Value| ["id", "severity", "count", "frames"].map(|key| found[key].to_string());
        let mut lines: Vec<String> = findings.map(|found| line(found).join(" ")).collect();
        lines.sort();
        lines
    };
    let mut count = 0;
    for path in fixtures() {
        let before = findings(&path);
        count += before.len();
        assert_eq!(
            findings(&place.rewrite(&path, "anonymous", SEED)),
            before,
            "{}",
            path.display()
        );
    }
    assert!(count > 50, "{count}");
}

#[test]
fn the_same_host_has_one_name_on_v1_v2_and_in_its_gid() {
    let place = Place::new();
    let frames = read(&place.rewrite(&fixture("made/mixed_versions.pcap"), "out", SEED));
    let hosts: HashSet<String> = frames
        .iter()
        .flat_map(|kept| {
            let frame = kept.parse();
            let (net, _) = frame.packet().unwrap();
            [net.src(), net.dst()].map(|addr| addr.to_string())
        })
        .collect();
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    let frames = read(&place.rewrite(&fixture("rxe/rping_v4.pcap"), "out", SEED));
    let frame = frames.iter().map(Kept::parse).find_map(|frame| {
        let (net, packet) = frame.packet()?;
        match Management::parse(packet.payload).ok()?.message? {
            CmMessage::Req(req) => Some((net.src(), *req)),
            _ => None,
        }
    });
    let (src, req) = frame.unwrap();
    let Addr::Ip(IpAddr::V4(src)) = src else { panic!() };
    assert_eq!(req.primary.local_gid, Gid::from_ipv4(src));
    assert_eq!(req.rdma_cm().unwrap().0.source_ip(), Some(src.into()));
}

#[test]
fn tshark_finds_nothing_newly_malformed() {
    let place = Place::new();
    // It takes long to start. Of what is in MPLS it guesses, otherwise for other addresses.
    let wanted =
        ["cm_", "all_opcodes", "rping", "verbs_", "vlan", "vxlan", "sll", "decoys", "mode_"];
    let is_wanted = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        wanted.iter().any(|start| name.starts_with(start))
    };
    for path in fixtures().into_iter().filter(is_wanted) {
        let Some(before) = malformed(&path) else { return };
        for options in [SEED, "--headers-only"] {
            let after = malformed(&place.rewrite(&path, "out", options)).unwrap();
            let new: Vec<_> = after.iter().filter(|frame| !before.contains(frame)).collect();
            assert!(new.is_empty(), "{} {options}: {new:?}", path.display());
        }
    }
}
