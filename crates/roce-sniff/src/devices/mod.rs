//! `roce-sniff devices`: RDMA devices, the interfaces under them, and how to capture each.

mod csv;
mod json;
pub(crate) mod text;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use roce_host::{CaptureWay, Host, ModeStatus, Port, PortRef, RdmaDevice, Topology};

use crate::Outcome;
use crate::cli::{Format, OutputArgs};
use crate::printer;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff devices                 what can be captured here, and how
  roce-sniff devices --format json | jq '.devices[].ports[].gids'
  roce-sniff devices --root /tmp/sosreport   a tree of files from another host")]
pub(crate) struct DevicesArgs {
    /// Read the files of a host below this directory instead of /
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// All there is to report.
struct Report {
    topology: Topology,
    modes: Vec<(PortRef, ModeStatus)>,
}

pub(crate) fn run(args: &DevicesArgs) -> Result<Outcome> {
    let report = Report::of(&host_at(&args.root)?)?;
    if args.output.quiet {
        return Ok(Outcome::Done);
    }
    let mut out = printer::open(args.output.color);
    match args.output.format {
        Format::Text => text::write(&mut out, &report, printer::width())?,
        Format::Json => json::write(&mut out, &report)?,
        Format::Csv => csv::write(&mut out, &report)?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// The host whose files are below `root`.
pub(crate) fn host_at(root: &std::path::Path) -> Result<Host> {
    if !root.is_dir() {
        bail!("--root {}: no such directory", root.display());
    }
    Ok(Host::at(root))
}

impl Report {
    fn of(host: &Host) -> Result<Self> {
        let topology = host.topology()?;
        let mut modes = Vec::new();
        for device in &topology.devices {
            for port in device.ports.iter().filter(|port| device.is_roce(port)) {
                let port = PortRef { device: device.name.clone(), port: port.number };
                let status = host.mode(&port)?;
                modes.push((port, status));
            }
        }
        Ok(Self { topology, modes })
    }

    /// The mode of a port; absent when it has none or it cannot be seen.
    fn mode(&self, device: &RdmaDevice, port: &Port) -> Option<&ModeStatus> {
        let is_it = |of: &PortRef| of.device == device.name && of.port == port.number;
        self.modes.iter().find(|(of, _)| is_it(of)).map(|(_, status)| status)
    }
}

/// The commands that show a device's traffic, best first; a way without one is set up elsewhere.
fn ways(device: &RdmaDevice) -> Vec<(CaptureWay, Option<String>)> {
    let netdev = device.ports.iter().find_map(|port| port.netdevs.first());
    let ways = device.visibility.ways().iter();
    // The sniffer switch is one of the interface, which InfiniBand does not have.
    ways.filter(|way| netdev.is_some() || **way != CaptureWay::SnifferSwitch)
        .map(|way| (*way, way.command(&device.name, netdev.map_or("", String::as_str))))
        .collect()
}

/// What a port speaks.
fn protocol(device: &RdmaDevice, port: &Port) -> Option<&'static str> {
    Some(match port.link_layer.as_deref()? {
        "Ethernet" if device.is_roce(port) => "RoCE",
        "Ethernet" => "iWARP",
        "InfiniBand" => "InfiniBand",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_tree::Tree;

    fn text(tree: &Tree) -> String {
        let mut out = Vec::new();
        text::write(&mut out, &Report::of(&tree.host()).unwrap(), 80).unwrap();
        anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
    }

    #[test]
    fn the_answer_comes_first_and_fits_80_columns() {
        for (tree, first) in [
            (Tree::adapters(), "3 RDMA devices, 1 of them RoCE."),
            (Tree::soft_roce_small(), "1 RDMA device, it is RoCE."),
            (Tree::new("sys/class/net/eth0/ifindex = 2"), "No RDMA device"),
        ] {
            let text = text(&tree);
            assert!(text.starts_with(first), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }

    #[test]
    fn it_says_how_to_capture_each() {
        let text = text(&Tree::adapters());
        assert!(text.contains("roce-sniff -i mlx5_0\n"), "{text}");
        assert!(text.contains("ethtool --set-priv-flags eth2 sniffer on"), "{text}");
        assert!(text.contains("mirror port"), "{text}");
        let text = self::text(&Tree::soft_roce_small());
        assert!(text.contains("roce-sniff veth0\n"), "{text}");
        assert!(!text.contains("mirror"), "{text}");
    }

    /// Slots 2 and 7 to 255 of the tree cannot be read or are empty.
    #[test]
    fn gid_tables_skip_what_is_empty_or_unreadable() {
        let report = Report::of(&Tree::adapters().host()).unwrap();
        let mut out = Vec::new();
        csv::write(&mut out, &report).unwrap();
        let csv = String::from_utf8(out).unwrap();
        let lines: Vec<_> = csv.lines().filter(|line| line.starts_with("mlx5_0,1,")).collect();
        assert_eq!(lines.len(), 6, "{csv}");
        assert_eq!(lines[0], "mlx5_0,1,0,fe80::bace:f6ff:fe00:1,IB/RoCE v1,eth2");
        assert_eq!(lines[3], "mlx5_0,1,4,::ffff:10.0.0.1,RoCE v2,eth2");
        assert_eq!(lines[5], "mlx5_0,1,6,::ffff:10.101.0.1,RoCE v3,");
    }

    #[test]
    fn json_names_what_scripts_need() {
        let report = Report::of(&Tree::adapters().host()).unwrap();
        let mut out = Vec::new();
        json::write(&mut out, &report).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["schema"], "roce-sniff/devices/1");
        let device = &value["devices"][0];
        assert_eq!(device["name"], "mlx5_0");
        assert_eq!(device["driver"], "mlx5_core");
        assert_eq!(device["bypasses_kernel"], true);
        assert_eq!(device["capture"][0]["command"], "roce-sniff -i mlx5_0");
        let port = &device["ports"][0];
        assert_eq!(port["protocol"], "RoCE");
        assert_eq!(port["rate"]["mbit_per_sec"], 100_000);
        assert_eq!(port["gid_unreadable"], 1);
        assert_eq!(port["gids"][3]["type"], "RoCE v2");
        assert_eq!(value["devices"][2]["ports"][0]["protocol"], "iWARP");
        let bond = value["interfaces"].as_array().unwrap();
        let bond = bond.iter().find(|interface| interface["name"] == "bond0").unwrap();
        assert_eq!(bond["rdma"][0]["device"], "mlx5_0");
        assert_eq!(bond["rdma"][0]["distance"], 1);
    }
}
