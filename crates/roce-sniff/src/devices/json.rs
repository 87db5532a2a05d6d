//! Devices and interfaces as one JSON object, schema `roce-sniff/devices/1`.

use std::io::Write;

use anyhow::Result;
use roce_host::{CaptureWay, Interface, ModeStatus, Port, RdmaDevice, Visibility};
use serde::Serialize;

use super::{Report, protocol, ways};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    devices: Vec<Device>,
    interfaces: Vec<Netdev>,
}

#[derive(Serialize)]
struct Device {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    firmware: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_guid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sys_image_guid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    board: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_desc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bypasses_kernel: Option<bool>,
    capture: Vec<Capture>,
    ports: Vec<PortObject>,
}

#[derive(Serialize)]
struct Capture {
    way: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

#[derive(Serialize)]
struct PortObject {
    number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phys_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<RateObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link_layer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lid: Option<u16>,
    netdevs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_roce_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_roce_tos: Option<u8>,
    gid_slots: usize,
    gid_unreadable: usize,
    gids: Vec<GidObject>,
}

#[derive(Serialize)]
struct RateObject {
    mbit_per_sec: u64,
    text: String,
}

#[derive(Serialize)]
struct GidObject {
    index: u32,
    gid: String,
    ip: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    netdev: Option<String>,
}

#[derive(Serialize)]
struct Netdev {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operstate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    lower: Vec<String>,
    rdma: Vec<Under>,
}

/// An RDMA port under an interface.
#[derive(Serialize)]
struct Under {
    device: String,
    port: u32,
    distance: usize,
}

pub(super) fn write(out: &mut impl Write, report: &Report) -> Result<()> {
    let topology = &report.topology;
    let document = Document {
        schema: "roce-sniff/devices/1",
        devices: topology.devices.iter().map(|device| object(report, device)).collect(),
        interfaces: topology.interfaces.iter().map(|netdev| interface(report, netdev)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn object(report: &Report, device: &RdmaDevice) -> Device {
    Device {
        name: device.name.clone(),
        driver: device.driver.clone(),
        firmware: device.firmware.clone(),
        node_guid: device.node_guid.map(|guid| guid.to_string()),
        sys_image_guid: device.sys_image_guid.map(|guid| guid.to_string()),
        node_type: device.node_type.as_ref().map(ToString::to_string),
        board: device.board.clone(),
        node_desc: device.node_desc.clone(),
        bypasses_kernel: device.visibility.bypasses_kernel(),
        capture: captures(device),
        ports: device.ports.iter().map(|port| port_object(report, device, port)).collect(),
    }
}

fn captures(device: &RdmaDevice) -> Vec<Capture> {
    let netdev = device.ports.iter().find_map(|port| port.netdevs.first());
    if let (Visibility::OnNetdev, Some(netdev)) = (device.visibility, netdev) {
        return vec![Capture { way: "interface", command: Some(format!("roce-sniff {netdev}")) }];
    }
    let ways = ways(device).into_iter();
    ways.map(|(way, command)| Capture { way: way_key(way), command }).collect()
}

const fn way_key(way: CaptureWay) -> &'static str {
    match way {
        CaptureWay::RdmaDevice => "rdma_device",
        CaptureWay::SnifferSwitch => "sniffer_switch",
        CaptureWay::Ibdump => "ibdump",
        CaptureWay::Mirror => "mirror",
    }
}

fn port_object(report: &Report, device: &RdmaDevice, port: &Port) -> PortObject {
    let (mode, tos) = match report.mode(device, port) {
        Some(ModeStatus::Known { text, tos, .. }) => (text.clone(), *tos),
        _ => (None, None),
    };
    let gid = |entry: &roce_host::GidEntry| GidObject {
        index: entry.index,
        gid: entry.gid.to_string(),
        ip: entry.ip().to_string(),
        r#type: entry.kind.to_string(),
        netdev: entry.netdev.clone(),
    };
    let rate = |rate: &roce_host::Rate| RateObject {
        mbit_per_sec: rate.mbit_per_sec,
        text: rate.text.clone(),
    };
    PortObject {
        number: port.number,
        state: port.state.as_ref().map(ToString::to_string),
        phys_state: port.phys_state.as_ref().map(ToString::to_string),
        rate: port.rate.as_ref().map(rate),
        link_layer: port.link_layer.clone(),
        protocol: protocol(device, port),
        lid: port.lid,
        netdevs: port.netdevs.clone(),
        default_roce_mode: mode,
        default_roce_tos: tos,
        gid_slots: port.gids.slots,
        gid_unreadable: port.gids.unreadable,
        gids: port.gids.entries.iter().map(gid).collect(),
    }
}

fn interface(report: &Report, netdev: &Interface) -> Netdev {
    let links = report.topology.rdma_of(&netdev.name);
    Netdev {
        name: netdev.name.clone(),
        index: netdev.index,
        operstate: netdev.operstate.clone(),
        mtu: netdev.mtu,
        address: netdev.address.clone(),
        driver: netdev.driver.clone(),
        lower: netdev.lower.clone(),
        rdma: links
            .iter()
            .map(|link| Under {
                device: link.device.name.clone(),
                port: link.port.number,
                distance: link.distance,
            })
            .collect(),
    }
}
