//! Prints what this crate knows of a host; with `set` it changes a port.
//!
//! ```text
//! show [ROOT]
//! show set DEVICE[/PORT] MODE|- TOS|- [persist]
//! ```
#![allow(clippy::print_stdout)] // It is a program that prints.

use std::path::Path;
use std::process::ExitCode;

use roce_host::netlink::RdmaNetlink;
use roce_host::{
    Change, Error, Host, ModeStatus, PortRef, RoceMode, Target, Topology, Unit, parse_tos,
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["set", target, mode, tos, rest @ ..] => set(target, mode, tos, rest == ["persist"]),
        [root] => show(&Host::at(root)).map_err(Into::into),
        _ => show(&Host::local()).map_err(Into::into),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("show: {error}");
            ExitCode::from(2)
        }
    }
}

fn show(host: &Host) -> Result<(), Error> {
    let topology = host.topology()?;
    show_devices(host, &topology)?;
    for interface in &topology.interfaces {
        println!("{interface:?}");
        for link in topology.rdma_of(&interface.name) {
            println!("  {}/{} {} steps down", link.device.name, link.port.number, link.distance);
        }
    }
    if host.is_local() { show_netlink(host) } else { Ok(()) }
}

fn show_devices(host: &Host, topology: &Topology) -> Result<(), Error> {
    for device in &topology.devices {
        println!(
            "{} driver {:?} firmware {:?} guid {:?} type {:?}: {}",
            device.name,
            device.driver,
            device.firmware,
            device.node_guid.map(|guid| guid.to_string()),
            device.node_type,
            device.visibility
        );
        for port in &device.ports {
            println!(
                "  port {} {:?} {:?} {:?} {:?} on {:?}, {} GID slots, {} unreadable",
                port.number,
                port.state.as_ref().map(ToString::to_string),
                port.phys_state.as_ref().map(ToString::to_string),
                port.rate.as_ref().map(ToString::to_string),
                port.link_layer,
                port.netdevs,
                port.gids.slots,
                port.gids.unreadable
            );
            for gid in &port.gids.entries {
                println!("    {} {} {} {:?}", gid.index, gid.gid, gid.kind, gid.netdev);
            }
            let port_ref = PortRef { device: device.name.clone(), port: port.number };
            match host.mode(&port_ref)? {
                ModeStatus::Known { text, tos, .. } => println!("    mode {text:?} tos {tos:?}"),
                ModeStatus::Hidden(obstacle) => println!("    mode hidden: {obstacle}"),
            }
            println!("    default would be {:?}", RoceMode::kernel_default(port));
            println!("    {:?}", host.hw_counters(&device.name, port.number)?.values);
            println!("    {:?}", host.cm_counters(&device.name, port.number)?.values);
        }
    }
    Ok(())
}

fn show_netlink(host: &Host) -> Result<(), Error> {
    let mut netlink = RdmaNetlink::open()?;
    for device in netlink.devices()? {
        println!("netlink {device:?}");
        for port in netlink.ports(device.index)? {
            println!("  {port:?}");
            println!("  {:?}", netlink.counters(device.index, port.number)?.values);
        }
        for qp in netlink.queue_pairs(device.index)? {
            println!("  {qp:?} {:?}", qp.owner(host));
        }
        for id in netlink.cm_ids(device.index)? {
            println!("  {id:?}");
        }
    }
    let resources = netlink.resources()?;
    println!("{} queue pairs, {} CM ids", resources.queue_pairs.len(), resources.cm_ids.len());
    println!("no such device: {:?}", netlink.queue_pairs(999_999).map_err(|e| e.to_string()));
    Ok(())
}

fn set(
    target: &str,
    mode: &str,
    tos: &str,
    persist: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::local();
    let target: Target = target.parse()?;
    let mode = if mode == "-" { None } else { Some(mode.parse()?) };
    let tos = if tos == "-" { None } else { Some(parse_tos(tos)?) };
    let program = Path::new("/usr/bin/roce-sniff");
    let persist = persist.then(|| Unit::new(program, &target, mode, tos));
    let plan = host.plan(&target, &Change { mode, tos, persist })?;
    let applied = plan.apply(&mut |step| println!("{step}"))?;
    for port in &plan.ports {
        println!("now {port}: {:?}", host.mode(port)?);
    }
    if mode.is_none() && tos.is_none() {
        println!("undone, left: {:?}", applied.undo());
    }
    Ok(())
}
