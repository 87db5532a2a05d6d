//! Network interfaces, as far as RDMA stands on them.

use std::path::Path;

use super::read;
use crate::{Error, Host};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: Option<u32>,
    /// `up`, `down`, `unknown` and so on.
    pub operstate: Option<String>,
    /// Largest packet in bytes.
    pub mtu: Option<u32>,
    /// Hardware address as text.
    pub address: Option<String>,
    /// Hardware type: 1 Ethernet, 32 InfiniBand, 772 loopback.
    pub arp_type: Option<u16>,
    /// The driver of its device; absent for interfaces made of software.
    pub driver: Option<String>,
    /// The interfaces it is stacked on: a VLAN's parent, the members of a bond or bridge.
    pub lower: Vec<String>,
}

impl Interface {
    fn read(dir: &Path, name: &str) -> Result<Self, Error> {
        let lower = read::names(dir)?
            .iter()
            .filter_map(|entry| entry.strip_prefix("lower_"))
            .map(str::to_owned)
            .collect();
        Ok(Self {
            name: name.to_owned(),
            index: read::number(&dir.join("ifindex")),
            operstate: read::attribute(&dir.join("operstate")),
            mtu: read::number(&dir.join("mtu")),
            address: read::attribute(&dir.join("address")),
            arp_type: read::number(&dir.join("type")),
            driver: read::link_name(&dir.join("device/driver")),
            lower,
        })
    }
}

impl Host {
    /// All network interfaces by name.
    ///
    /// # Errors
    /// When `/sys/class/net` cannot be listed. What cannot be read of an interface is absent.
    pub fn interfaces(&self) -> Result<Vec<Interface>, Error> {
        let class = self.path("sys/class/net");
        let mut found = Vec::new();
        for name in read::names(&class)? {
            let dir = class.join(&name);
            // The bonding driver keeps a plain file, `bonding_masters`, among them.
            if dir.is_dir() {
                found.push(Interface::read(&dir, &name)?);
            }
        }
        Ok(found)
    }
}
