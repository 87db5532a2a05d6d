//! Devices and interfaces for a person: how to capture first, then what there is.

use std::io::{self, Write};

use anyhow::Result;
use roce_host::{Interface, ModeStatus, Port, RdmaDevice, Visibility};

use super::{Report, protocol, ways};
use crate::text::layout::Columns;
use crate::text::number::plural;
use crate::text::style::{ANSWER, BAD, DIM, GOOD, WARN};
use crate::text::wrap::paragraph;

pub(super) fn write(out: &mut impl Write, report: &Report, width: usize) -> Result<()> {
    paragraph(out, ANSWER, "", &headline(report), width)?;
    for device in &report.topology.devices {
        writeln!(out)?;
        self::device(out, report, device, width)?;
    }
    interfaces(out, report)?;
    Ok(())
}

fn headline(report: &Report) -> String {
    let devices = &report.topology.devices;
    let is_roce = |device: &&RdmaDevice| device.ports.iter().any(|port| device.is_roce(port));
    let roce = devices.iter().filter(is_roce).count();
    let count = u64::try_from(devices.len()).unwrap_or(u64::MAX);
    let are = match (devices.len(), roce) {
        (0, _) => {
            return "No RDMA device: load the driver of the adapter, or make a soft-RoCE device \
                    with `rdma link add rxe0 type rxe netdev IFACE`."
                .to_owned();
        }
        (1, 1) => "it is RoCE".to_owned(),
        (all, n) if n == all => "all of them RoCE".to_owned(),
        (_, 0) => "none of them RoCE".to_owned(),
        (_, n) => format!("{n} of them RoCE"),
    };
    format!("{}, {are}.", plural(count, "RDMA device", "RDMA devices"))
}

fn device(
    out: &mut impl Write,
    report: &Report,
    device: &RdmaDevice,
    width: usize,
) -> io::Result<()> {
    let mut facts: Vec<String> = device.driver.iter().cloned().collect();
    facts.extend(device.firmware.iter().map(|version| format!("firmware {version}")));
    facts.extend(device.node_guid.iter().map(|guid| format!("node GUID {guid}")));
    writeln!(out, "{ANSWER}{}{ANSWER:#}  {}", device.name, facts.join(", "))?;
    capture(out, device, width)?;
    for port in &device.ports {
        self::port(out, report, device, port, width)?;
    }
    Ok(())
}

/// What shows this device's traffic, best first.
fn capture(out: &mut impl Write, device: &RdmaDevice, width: usize) -> io::Result<()> {
    let (why, style) = match device.visibility {
        Visibility::OnNetdev => ("made of software: its traffic is seen on the interface", GOOD),
        Visibility::Offloaded { .. } => ("offloaded: its traffic bypasses the kernel", WARN),
        Visibility::Unknown => ("unknown driver: its traffic may bypass the kernel", WARN),
    };
    writeln!(out, "  capture  {style}{why}{style:#}")?;
    let netdev = device.ports.iter().find_map(|port| port.netdevs.first());
    if let (Visibility::OnNetdev, Some(netdev)) = (device.visibility, netdev) {
        return writeln!(out, "           roce-sniff {netdev}");
    }
    for (at, (way, command)) in ways(device).into_iter().enumerate() {
        let lead = if at == 0 { "           " } else { "       or  " };
        let text = command.unwrap_or_else(|| way.to_string());
        paragraph(out, anstyle::Style::new(), lead, &text, width)?;
    }
    Ok(())
}

fn port(
    out: &mut impl Write,
    report: &Report,
    device: &RdmaDevice,
    port: &Port,
    width: usize,
) -> io::Result<()> {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(port.state.as_ref().map(ToString::to_string));
    facts.extend(port.phys_state.as_ref().map(ToString::to_string));
    facts.extend(port.rate.as_ref().map(ToString::to_string));
    facts.extend(protocol(device, port).map(str::to_owned));
    facts.extend(port.lid.map(|lid| format!("LID {lid}")));
    facts.extend((!port.netdevs.is_empty()).then(|| format!("on {}", port.netdevs.join(", "))));
    let style = if port.is_active() { GOOD } else { BAD };
    let mark = format!("  port {:<3} ", port.number);
    paragraph(out, style, &mark, &facts.join(", "), width)?;
    if let Some(ModeStatus::Known { text: Some(text), tos, .. }) = report.mode(device, port) {
        let tos = tos.map_or_else(String::new, |tos| format!(", ToS {tos}"));
        writeln!(out, "  mode     {text}{tos}")?;
    }
    gids(out, port)
}

/// The GID table of a port.
pub(crate) fn gids(out: &mut impl Write, port: &Port) -> io::Result<()> {
    let mut table = Columns::new(2);
    table.styled(DIM, ["GID", "type", "netdev", "value"].map(str::to_owned));
    for entry in &port.gids.entries {
        table.row([
            format!("{:>3}", entry.index),
            entry.kind.to_string(),
            entry.netdev.as_deref().unwrap_or("-").to_owned(),
            entry.gid.to_string(),
        ]);
    }
    if port.gids.entries.is_empty() {
        return writeln!(out, "  {DIM}no GID: the interface has no address or is down{DIM:#}");
    }
    table.write(out)?;
    if port.gids.unreadable > 0 {
        writeln!(out, "  {DIM}{} unreadable{DIM:#}", slots(port.gids.unreadable))?;
    }
    Ok(())
}

fn slots(count: usize) -> String {
    plural(u64::try_from(count).unwrap_or(u64::MAX), "slot", "slots")
}

fn interfaces(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let interfaces = &report.topology.interfaces;
    if interfaces.is_empty() {
        return Ok(());
    }
    let mut table = Columns::new(0);
    table.styled(DIM, ["interface", "state", "MTU", "driver", "RDMA"].map(str::to_owned));
    for interface in interfaces {
        let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        table.row([
            interface.name.clone(),
            or_dash(interface.operstate.as_deref()),
            interface.mtu.map_or_else(|| "-".to_owned(), |mtu| mtu.to_string()),
            or_dash(interface.driver.as_deref()),
            under(report, interface),
        ]);
    }
    writeln!(out)?;
    table.write(out)
}

/// The RDMA ports that an interface's traffic goes through.
fn under(report: &Report, interface: &Interface) -> String {
    let links = report.topology.rdma_of(&interface.name);
    let names: Vec<String> = links
        .iter()
        .map(|link| match link.distance {
            0 => link.port_ref().to_string(),
            _ => format!("{} by {}", link.port_ref(), link.netdev),
        })
        .collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
