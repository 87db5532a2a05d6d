//! The interface that frames leave by.

use anyhow::{Context as _, Result, bail};
use roce_host::{LinkNetlink, LinkSent, NetLink};
use roce_wire::MacAddr;

pub(super) struct Link {
    pub(super) name: String,
    netlink: LinkNetlink,
    found: NetLink,
}

impl Link {
    pub(super) fn open(name: &str) -> Result<Self> {
        let mut netlink = LinkNetlink::open()?;
        let Some(found) = netlink.link(name)? else {
            let names = roce_capture::interfaces().into_iter().map(|interface| interface.name);
            // This one is for capturing only.
            let names: Vec<String> = names.filter(|name| name != "any").collect();
            bail!("{name}: no such interface; there are: {}", names.join(", "));
        };
        if !matches!(found.arp_type, NetLink::ETHERNET | NetLink::LOOPBACK) {
            bail!("{name} is no Ethernet interface (hardware type {})", found.arp_type);
        }
        Ok(Self { name: name.to_owned(), netlink, found })
    }

    /// Refuses an interface that would take frames only to drop them.
    pub(super) fn check_up(&self) -> Result<()> {
        let name = &self.name;
        if !self.found.up {
            bail!("{name}: the interface is down; bring it up with `ip link set {name} up`");
        }
        if !self.found.carrier {
            bail!("{name}: no carrier: nothing at the other end would get the frames");
        }
        Ok(())
    }

    /// Whether frames stay on this host, as far as one can see.
    pub(super) fn is_local(&self) -> bool {
        self.found.arp_type == NetLink::LOOPBACK || self.found.kind.as_deref() == Some("veth")
    }

    pub(super) fn mac(&self) -> Option<MacAddr> {
        self.found.mac.map(MacAddr)
    }

    /// What it is, for people.
    pub(super) fn describe(&self) -> String {
        let kind = self.found.kind.as_deref().unwrap_or("a network device");
        match self.mac() {
            Some(mac) => format!("{} ({kind}, {mac})", self.name),
            None => format!("{} ({kind})", self.name),
        }
    }

    /// What it has sent since it exists; absent when it has gone away.
    pub(super) fn sent(&mut self) -> Option<LinkSent> {
        let found = self.netlink.link(&self.name).context("interface").ok()??;
        found.sent.filter(|_| found.index == self.found.index)
    }
}
