//! The GID table of a port.
//!
//! The index chooses the encapsulation, not the value: a port that speaks both versions holds
//! every GID twice, once as `IB/RoCE v1` and once as `RoCE v2`. A table has up to 1024 slots and
//! most are empty; the type and interface files of an empty slot exist and give EINVAL.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use super::read;
use crate::{Error, RoceMode};

/// The GIDs of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GidTable {
    /// The slots in use, by index.
    pub entries: Vec<GidEntry>,
    /// How many slots there are.
    pub slots: usize,
    /// How many slots could not be read; empty ones are not counted.
    pub unreadable: usize,
}

/// One slot of a GID table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GidEntry {
    /// Its index, which a program names to choose it.
    pub index: u32,
    /// The GID.
    pub gid: Ipv6Addr,
    /// What it makes packets look like.
    pub kind: GidType,
    /// The interface it comes from, such as a VLAN's; absent on InfiniBand.
    pub netdev: Option<String>,
}

impl GidEntry {
    /// The IP address it stands for. A link-local GID may be a default GID, made from the MAC
    /// address whether or not the interface has that address.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        self.gid.to_ipv4_mapped().map_or(IpAddr::V6(self.gid), IpAddr::V4)
    }
}

/// The type of a GID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GidType {
    /// `IB/RoCE v1`: RoCE v1 on Ethernet, plain InfiniBand elsewhere.
    V1,
    /// `RoCE v2`.
    V2,
    /// Another word of the kernel.
    Other(String),
    /// The kernel does not say.
    Unknown,
}

impl GidType {
    /// Reads the kernel's word.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "IB/RoCE v1" => Self::V1,
            "RoCE v2" => Self::V2,
            "" => Self::Unknown,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The RoCE mode that uses GIDs of this type.
    #[must_use]
    pub const fn mode(&self) -> Option<RoceMode> {
        match self {
            Self::V1 => Some(RoceMode::V1),
            Self::V2 => Some(RoceMode::V2),
            Self::Other(_) | Self::Unknown => None,
        }
    }
}

impl fmt::Display for GidType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "IB/RoCE v1",
            Self::V2 => "RoCE v2",
            Self::Other(text) => text,
            Self::Unknown => "unknown",
        })
    }
}

impl GidTable {
    /// Reads the table of the port at `port_dir`. Only slots in use cost more than one read.
    pub(crate) fn read(port_dir: &Path) -> Result<Self, Error> {
        let gids = port_dir.join("gids");
        let mut table = Self::default();
        for index in read::numbers(&gids)? {
            table.slots = table.slots.saturating_add(1);
            let name = index.to_string();
            let gid = read::text(&gids.join(&name)).ok().and_then(|text| text.parse().ok());
            match gid {
                Some(Ipv6Addr::UNSPECIFIED) => {}
                Some(gid) => table.entries.push(entry(port_dir, index, gid)),
                None => table.unreadable = table.unreadable.saturating_add(1),
            }
        }
        Ok(table)
    }

    /// The entry at `index`.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&GidEntry> {
        self.entries.iter().find(|entry| entry.index == index)
    }

    /// Whether any GID is of the type that `mode` uses.
    #[must_use]
    pub fn offers(&self, mode: RoceMode) -> bool {
        self.entries.iter().any(|entry| entry.kind.mode() == Some(mode))
    }

    /// The types of its GIDs in the kernel's words, each once.
    #[must_use]
    pub fn types(&self) -> Vec<String> {
        let mut types: Vec<String> = Vec::new();
        for entry in &self.entries {
            let text = entry.kind.to_string();
            if !types.contains(&text) {
                types.push(text);
            }
        }
        types
    }

    /// The GIDs whose address their interface does not have, given all addresses of the host.
    ///
    /// Such a GID is a leftover: packets sent with it get no answer. Link-local GIDs are passed
    /// over, since a port keeps a default one that no interface needs to have.
    #[must_use]
    pub fn without_address(&self, addresses: &[(String, IpAddr)]) -> Vec<&GidEntry> {
        let is_there = |entry: &GidEntry, netdev: &str| {
            addresses.iter().any(|(name, ip)| name == netdev && *ip == entry.ip())
        };
        self.entries
            .iter()
            .filter(|entry| !entry.gid.is_unicast_link_local())
            .filter(|entry| entry.netdev.as_deref().is_some_and(|name| !is_there(entry, name)))
            .collect()
    }
}

fn entry(port_dir: &Path, index: u32, gid: Ipv6Addr) -> GidEntry {
    let attrs = port_dir.join("gid_attrs");
    let name = index.to_string();
    let kind = read::attribute(&attrs.join("types").join(&name))
        .map_or(GidType::Unknown, |text| GidType::parse(&text));
    GidEntry { index, gid, kind, netdev: read::attribute(&attrs.join("ndevs").join(&name)) }
}
