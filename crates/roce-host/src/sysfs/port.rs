//! A port of an RDMA device.

use std::path::Path;

use super::coded::{Coded, Rate};
use super::gid::GidTable;
use super::read;
use crate::Error;

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number, from 1.
    pub number: u32,
    /// `4: ACTIVE` and so on.
    pub state: Option<Coded>,
    /// `5: LinkUp` and so on.
    pub phys_state: Option<Coded>,
    /// Its rate.
    pub rate: Option<Rate>,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: Option<String>,
    /// Its local identifier on InfiniBand; RoCE has none.
    pub lid: Option<u16>,
    /// The interfaces it belongs to, the port's own first, then those stacked on it that have
    /// GIDs of their own, such as VLANs.
    pub netdevs: Vec<String>,
    /// Its GIDs.
    pub gids: GidTable,
}

impl Port {
    pub(crate) fn read(device_dir: &Path, number: u32, only: bool) -> Result<Self, Error> {
        let dir = device_dir.join("ports").join(number.to_string());
        let gids = GidTable::read(&dir)?;
        let netdevs = netdevs(device_dir, number, only, &gids)?;
        let coded = |name: &str| Coded::parse(&read::attribute(&dir.join(name))?);
        Ok(Self {
            number,
            state: coded("state"),
            phys_state: coded("phys_state"),
            rate: read::attribute(&dir.join("rate")).and_then(|text| Rate::parse(&text)),
            link_layer: read::attribute(&dir.join("link_layer")),
            lid: lid(&dir.join("lid")),
            netdevs,
            gids,
        })
    }

    /// Whether the port can carry traffic.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.code == 4)
    }

    /// Whether the link is Ethernet.
    #[must_use]
    pub fn is_ethernet(&self) -> bool {
        self.link_layer.as_deref() == Some("Ethernet")
    }
}

/// `0x0` stands for none.
fn lid(path: &Path) -> Option<u16> {
    let text = read::attribute(path)?;
    u16::from_str_radix(text.strip_prefix("0x")?, 16).ok().filter(|lid| *lid != 0)
}

/// The interfaces of a port: soft-RoCE names its own in `parent`, an adapter's are those of its
/// PCI function, and the GID table names whichever has an address.
fn netdevs(
    device_dir: &Path,
    port: u32,
    only: bool,
    gids: &GidTable,
) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = read::attribute(&device_dir.join("parent")).into_iter().collect();
    let net = device_dir.join("device/net");
    for name in read::names(&net)? {
        if belongs_to(&net.join(&name), port, only) && !found.contains(&name) {
            found.push(name);
        }
    }
    for netdev in gids.entries.iter().filter_map(|entry| entry.netdev.as_ref()) {
        if !found.contains(netdev) {
            found.push(netdev.clone());
        }
    }
    Ok(found)
}

/// Whether the interface at `netdev_dir` is that of `port`, given that both are of one function.
fn belongs_to(netdev_dir: &Path, port: u32, only: bool) -> bool {
    // Representors of virtual functions (`pf0vf3`, `pf0sf1`) share the function and carry
    // no RDMA of their own.
    let representor = read::attribute(&netdev_dir.join("phys_port_name"))
        .is_some_and(|name| name.contains("vf") || name.contains("sf"));
    if representor {
        return false;
    }
    // Adapters with two ports on one function count the interfaces from 0.
    let dev_port = read::number::<u32>(&netdev_dir.join("dev_port"));
    only || dev_port.and_then(|n| n.checked_add(1)) == Some(port)
}
