//! The answers of a host as one JSON object, schema `roce-sniff/probe/1`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use roce_host::RoceMode;
use roce_wire::{IcrcState, Version};
use serde::Serialize;

use super::compatible::{rows, server};
use super::exchange::Answer;
use super::{Asked, Report, vendor};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    host: String,
    port: u16,
    interface: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
    /// The versions that were answered over.
    speaks: Vec<&'static str>,
    asked: Vec<AskedObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<ClientObject>,
    compatibility: Vec<RowObject>,
}

#[derive(Serialize)]
struct AskedObject {
    version: &'static str,
    answer: &'static str,
    requests: u32,
    udp_src_port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mra: Option<MraObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rep: Option<RepObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disconnect: Option<Disconnect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icrc: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_mac: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_gid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hop_limit: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dscp: Option<u8>,
}

#[derive(Serialize)]
struct MraObject {
    service_timeout_ns: u64,
    after_ns: u64,
}

#[derive(Serialize)]
struct RepObject {
    qpn: u32,
    start_psn: u32,
    path_mtu: Option<u32>,
    rnr_retry_count: u8,
    responder_resources: u8,
    initiator_depth: u8,
    srq: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_guid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor: Option<String>,
}

#[derive(Serialize)]
struct Disconnect {
    requests: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ns: Option<u64>,
}

#[derive(Serialize)]
struct ClientObject {
    device: String,
    port: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    is_default: bool,
}

#[derive(Serialize)]
struct RowObject {
    client: &'static str,
    server: &'static str,
    connects: bool,
    supported: bool,
    reason: &'static str,
    advice: &'static str,
    source: &'static str,
}

pub(super) fn write(out: &mut impl Write, report: &Report) -> Result<()> {
    let way = &report.way;
    let answered = [(Version::V1, "v1"), (Version::V2, "v2")];
    let server = server(report.answers(Version::V1), report.answers(Version::V2));
    let document = Document {
        schema: "roce-sniff/probe/1",
        host: way.ip.to_string(),
        port: report.port,
        interface: way.interface.clone(),
        source: way.src.to_string(),
        gateway: way.gateway.map(|ip| ip.to_string()),
        mac: report.dst_mac.map(|mac| mac.to_string()),
        speaks: answered
            .into_iter()
            .filter(|(version, _)| report.answers(*version))
            .map(|(_, name)| name)
            .collect(),
        asked: report.asked.iter().map(|one| asked(report, one)).collect(),
        client: report.client.as_ref().map(|client| ClientObject {
            device: client.port.device.clone(),
            port: client.port.port,
            mode: client.mode.map(RoceMode::short),
            is_default: client.is_default,
        }),
        compatibility: rows(report.client.as_ref(), server)
            .into_iter()
            .map(|row| RowObject {
                client: row.client.short(),
                server: row.server.short(),
                connects: row.connects,
                supported: row.supported,
                reason: row.reason,
                advice: row.advice,
                source: row.source,
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn asked(report: &Report, asked: &Asked) -> AskedObject {
    let outcome = &asked.outcome;
    let (reason, reason_text) = match &outcome.answer {
        Answer::Rej(rej) => (Some(rej.reason.get()), Some(rej.reason.to_string())),
        Answer::Unreachable(error) => (None, Some(error.to_string())),
        _ => (None, None),
    };
    let rep = match &outcome.answer {
        Answer::Rep(rep) => Some(RepObject {
            qpn: rep.local_qpn().get(),
            start_psn: rep.starting_psn().get(),
            path_mtu: asked.offer.req.path_mtu().bytes(),
            rnr_retry_count: rep.rnr_retry_count(),
            responder_resources: rep.responder_resources,
            initiator_depth: rep.initiator_depth,
            srq: rep.srq(),
            ca_guid: outcome.ca_guid().map(|guid| guid.to_string()),
            vendor: outcome.ca_guid().and_then(vendor::of),
        }),
        _ => None,
    };
    let ending = outcome.ending;
    let carried = asked.carried;
    AskedObject {
        version: asked.key(report.way.ip.is_ipv4()),
        answer: asked.answer_key(),
        requests: outcome.requests,
        udp_src_port: asked.offer.udp_src_port,
        after_ns: outcome.after.map(nanos),
        mra: outcome.mra.map(|(time, after)| MraObject {
            service_timeout_ns: nanos(time.duration()),
            after_ns: nanos(after),
        }),
        reason,
        reason_text,
        rep,
        disconnect: ending.map(|ending| Disconnect {
            requests: ending.requests,
            after_ns: ending.after.map(nanos),
        }),
        icrc: carried.and_then(|carried| carried.icrc).map(|state| match state {
            IcrcState::Ok => "ok",
            IcrcState::Bad => "bad",
            IcrcState::Unchecked => "unchecked",
        }),
        from_mac: carried.and_then(|carried| carried.src_mac).map(|mac| mac.to_string()),
        from_gid: carried.map(|carried| carried.gid.to_string()),
        hop_limit: carried.and_then(|carried| carried.hop_limit),
        dscp: carried.and_then(|carried| carried.traffic_class).map(|class| class >> 2),
    }
}
