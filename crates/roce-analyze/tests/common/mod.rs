//! Captures of the fixtures folder, read by the plainest reader that does.
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

pub(crate) mod made;
pub(crate) mod pairs;

use std::path::PathBuf;

use roce_analyze::connections::{Config, Report, Tracker};
use roce_wire::{Frame, Link, Ports};

/// Captures on which nothing was lost, late or repeated.
pub(crate) const HEALTHY: [&str; 35] = [
    "atomic_cas_v4",
    "atomic_fadd_v4",
    "cmtime_v4",
    "default_roce_tos_v4",
    "ecn_ce_v4",
    "mckey_v4",
    "mixed",
    "nfs_rdma_v4",
    "nvme_rdma_v4",
    "rc_pingpong_ll",
    "rcopy_v4",
    "rdma_client_v4",
    "read_bw_v4",
    "rping_v4",
    "rping_v6",
    "send_bw_uc_v4",
    "send_bw_v4",
    "srq_pingpong_v4",
    "tclass_v4",
    "tclass_v6",
    "ucmatose_v4",
    "udaddy_v4",
    "udaddy_v6",
    "verbs_mcast_v4",
    "verbs_mix",
    "verbs_pmtu",
    "verbs_psn_wrap",
    "verbs_rc_v4",
    "verbs_rc_v6",
    "verbs_uc",
    "verbs_ud",
    "vlan_rc_v4",
    "vlan_rc_v6",
    "vlan_rping_v4",
    "write_bw_cm_v4",
];

/// One record of a capture.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) link: Link,
    pub(crate) time_ns: u64,
    pub(crate) wire_len: usize,
    pub(crate) bytes: Vec<u8>,
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The records of a little-endian pcap file.
pub(crate) fn records(name: &str) -> Vec<Record> {
    let path = fixture(name);
    let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let scale = match word(0) {
        0xa1b2_c3d4 => 1000,
        0xa1b2_3c4d => 1,
        other => panic!("{name}: magic {other:#x}"),
    };
    let link = Link::from_linktype(word(20));
    let (mut at, mut records) = (24, Vec::new());
    while at + 16 <= file.len() {
        let [seconds, fraction, captured, wire] = [0, 4, 8, 12].map(|o| word(at + o) as usize);
        at += 16;
        // Some captures end inside a frame.
        let Some(bytes) = file.get(at..at + captured) else { break };
        records.push(Record {
            link,
            time_ns: seconds as u64 * 1_000_000_000 + fraction as u64 * scale,
            wire_len: wire,
            bytes: bytes.to_vec(),
        });
        at += captured;
    }
    records
}

/// What a tracker says of records, numbered from 1.
pub(crate) fn analyze<'a>(records: impl IntoIterator<Item = &'a Record>, config: Config) -> Report {
    let mut tracker = Tracker::new(config);
    for (number, record) in (1..).zip(records) {
        let frame = Frame::parse(record.link, &record.bytes, record.wire_len, &Ports::default());
        tracker.observe(&frame, number, Some(record.time_ns));
    }
    tracker.finish()
}

/// What a tracker says of a capture of the kernel's soft-RoCE.
pub(crate) fn rxe(name: &str) -> Report {
    analyze(&records(&format!("rxe/{name}.pcap")), Config::default())
}

/// A counter of the kernel, taken beside the capture: of `rxe0`, the requester's side, or `rxe1`.
pub(crate) fn counter(name: &str, device: &str, counter: &str) -> u64 {
    let text = std::fs::read_to_string(fixture(&format!("rxe/{name}.counters"))).unwrap();
    let wanted = [device, counter];
    text.lines()
        .find_map(|line| {
            let mut words = line.split_whitespace();
            let found = wanted.iter().all(|word| words.next() == Some(word));
            found.then(|| words.next().unwrap().parse().unwrap())
        })
        .unwrap_or_else(|| panic!("{name}: no {device} {counter}"))
}
