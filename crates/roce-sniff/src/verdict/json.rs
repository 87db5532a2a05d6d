//! The verdict as one JSON object, schema `roce-sniff/verdict/1`.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use roce_analyze::verdict::{CARRIERS, Count, Direction, Pair};
use roce_host::RoceMode;
use roce_wire::mad::cm::CmAttribute;
use roce_wire::{Carrier, Opcode, Reject, Tunnels};
use serde::Serialize;

use super::Report;
use crate::beside::{EventPair, HostSide};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    verdict: &'static str,
    source: SourceObject,
    versions: BTreeMap<&'static str, Counts>,
    tunnels: BTreeMap<&'static str, u64>,
    opcodes: BTreeMap<String, u64>,
    icrc: BTreeMap<&'static str, u64>,
    congestion: BTreeMap<&'static str, u64>,
    ecn: BTreeMap<&'static str, u64>,
    dscp: BTreeMap<usize, u64>,
    pcp: BTreeMap<usize, u64>,
    vlans: BTreeMap<usize, u64>,
    cm: BTreeMap<&'static str, u64>,
    rejected: Rejected,
    pairs: Vec<PairObject>,
    #[serde(skip_serializing_if = "is_zero")]
    unlisted_pair_packets: u64,
    notes: Vec<NoteObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<HostObject>,
}

/// The RDMA port under the interface of a live capture.
#[derive(Serialize)]
struct HostObject {
    device: String,
    port: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    events: Vec<EventObject>,
}

/// An event as the wire showed it and as the adapter counted it.
#[derive(Serialize)]
struct EventObject {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nic: Option<u64>,
    counters: &'static [&'static str],
}

#[derive(Serialize)]
struct SourceObject {
    kind: &'static str,
    name: String,
    frames: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface_frames: Option<u64>,
    truncated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    other_frames: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Counts {
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Rejected {
    count: u64,
    reasons: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct PairObject {
    a: String,
    b: String,
    verdict: &'static str,
    a_to_b: BTreeMap<&'static str, u64>,
    b_to_a: BTreeMap<&'static str, u64>,
    frames: Vec<u64>,
}

#[derive(Serialize)]
struct NoteObject {
    id: &'static str,
    text: String,
}

pub(super) fn write(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(report)).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn document(report: &Report<'_>) -> Document {
    let verdict = report.verdict;
    let [not_ect, ect1, ect0, ce] = verdict.ecn;
    Document {
        schema: "roce-sniff/verdict/1",
        verdict: verdict.answer().key(),
        source: source(report),
        versions: CARRIERS.map(|carrier| (carrier.key(), counts(verdict.carrier(carrier)))).into(),
        tunnels: Tunnels::NAMES.iter().map(|(_, name)| *name).zip(verdict.tunnels).collect(),
        opcodes: (0..=255)
            .map(|code| Opcode(code).to_string())
            .zip(verdict.opcodes)
            .filter(|(_, count)| *count > 0)
            .collect(),
        icrc: [
            ("ok", verdict.icrc_ok),
            ("bad", verdict.icrc_bad),
            ("unchecked", verdict.icrc_unchecked),
        ]
        .into(),
        congestion: [
            ("cnp", verdict.cnp),
            ("pfc", verdict.pfc),
            ("pause", verdict.pause),
            ("fecn", verdict.fecn),
            ("becn", verdict.becn),
        ]
        .into(),
        ecn: [("not_ect", not_ect), ("ect0", ect0), ("ect1", ect1), ("ce", ce)].into(),
        dscp: seen(&verdict.dscp),
        pcp: seen(&verdict.pcp),
        vlans: seen(&verdict.vlans),
        cm: CmAttribute::ALL.map(CmAttribute::name).into_iter().zip(verdict.cm).collect(),
        rejected: Rejected {
            count: verdict.rejected_total(),
            reasons: Reject::ALL
                .map(Reject::key)
                .into_iter()
                .zip(verdict.rejected)
                .filter(|(_, count)| *count > 0)
                .collect(),
        },
        pairs: verdict.pairs.iter().map(pair).collect(),
        unlisted_pair_packets: verdict.pairs.unlisted(),
        notes: report.notes().into_iter().map(|(id, text)| NoteObject { id, text }).collect(),
        host: report.host.as_ref().and_then(host),
    }
}

fn source(report: &Report<'_>) -> SourceObject {
    let verdict = report.verdict;
    SourceObject {
        kind: if report.is_live { "live" } else { "file" },
        name: report.name.clone(),
        frames: verdict.all.packets,
        bytes: verdict.all.bytes,
        first_ns: verdict.first_ns,
        last_ns: verdict.last_ns,
        dropped: report.trace.stats.map(|stats| stats.dropped.saturating_add(stats.if_dropped)),
        interface_frames: report.trace.passed,
        truncated: verdict.truncated,
        damaged: report.trace.damaged.clone(),
        interrupted: report.trace.is_interrupted,
        other_frames: verdict
            .traffic
            .shares()
            .into_iter()
            .map(|(kind, count)| (kind.name(), count))
            .collect(),
    }
}

fn host(host: &HostSide) -> Option<HostObject> {
    let port = host.port.as_ref()?;
    let event = |pair: &EventPair| EventObject {
        event: pair.event.key(),
        wire: pair.wire,
        nic: pair.nic,
        counters: pair.counters,
    };
    Some(HostObject {
        device: port.device.clone(),
        port: port.port,
        mode: host.mode.map(RoceMode::short),
        events: host.events.iter().map(event).collect(),
    })
}

const fn counts(count: Count) -> Counts {
    Counts { packets: count.packets, bytes: count.bytes }
}

/// The entries that are not zero, by their index.
fn seen(counts: &[u64]) -> BTreeMap<usize, u64> {
    counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect()
}

fn pair(pair: &Pair) -> PairObject {
    PairObject {
        a: pair.a.to_string(),
        b: pair.b.to_string(),
        verdict: pair.answer().key(),
        a_to_b: direction(&pair.a_to_b),
        b_to_a: direction(&pair.b_to_a),
        frames: pair.first_frames(),
    }
}

fn direction(way: &Direction) -> BTreeMap<&'static str, u64> {
    let all = CARRIERS.into_iter().zip(way.packets);
    all.filter(|(carrier, count)| *carrier != Carrier::InfiniBand || *count > 0)
        .map(|(carrier, count)| (carrier.key(), count))
        .collect()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
