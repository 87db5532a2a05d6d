//! The mode as one JSON object, schema `roce-sniff/mode/1`.

use std::io::Write;

use anyhow::Result;
use roce_host::{ModeStatus, Obstacle, RoceMode};
use serde::Serialize;

use super::{Report, State};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<String>,
    ports: Vec<PortObject>,
}

#[derive(Serialize)]
struct PortObject {
    device: String,
    port: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_roce_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_roce_tos: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<Hidden>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_default: Option<&'static str>,
    gids: Vec<GidObject>,
}

#[derive(Serialize)]
struct Hidden {
    by: &'static str,
    text: String,
}

#[derive(Serialize)]
struct GidObject {
    index: u32,
    gid: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    netdev: Option<String>,
}

pub(super) fn write(out: &mut impl Write, report: &Report) -> Result<()> {
    let document = Document {
        schema: "roce-sniff/mode/1",
        changed: report.wants_change && !report.dry_run,
        steps: report.steps.iter().map(ToString::to_string).collect(),
        ports: report.ports.iter().map(port).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn port(state: &State) -> PortObject {
    let (text, tos, hidden) = match &state.status {
        ModeStatus::Known { text, tos, .. } => (text.clone(), *tos, None),
        ModeStatus::Hidden(obstacle) => {
            (None, None, Some(Hidden { by: obstacle_key(obstacle), text: obstacle.to_string() }))
        }
    };
    let entries = state.described.iter().flat_map(|port| &port.gids.entries);
    PortObject {
        device: state.port.device.clone(),
        port: state.port.port,
        mode: state.mode().map(RoceMode::short),
        default_roce_mode: text,
        default_roce_tos: tos,
        hidden,
        kernel_default: state.kernel_default().map(RoceMode::short),
        gids: entries
            .map(|entry| GidObject {
                index: entry.index,
                gid: entry.gid.to_string(),
                r#type: entry.kind.to_string(),
                netdev: entry.netdev.clone(),
            })
            .collect(),
    }
}

const fn obstacle_key(obstacle: &Obstacle) -> &'static str {
    match obstacle {
        Obstacle::NoConfigfs { .. } => "no-configfs",
        Obstacle::NotMounted { .. } => "configfs-not-mounted",
        Obstacle::NotLoaded => "rdma-cm-not-loaded",
        Obstacle::NotBuilt => "rdma-cm-without-configfs",
        Obstacle::NotMade { .. } => "device-not-made",
    }
}
