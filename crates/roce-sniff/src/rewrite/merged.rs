//! Names that have become one: what the user's maps merge cannot be told apart afterwards, and that
//! is said.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;

use roce_wire::{Addr, MacAddr};

/// How many names are remembered; what further ones are called is not looked at.
const MAX_NAMES: usize = 1 << 17;
/// How many merged names are told one by one.
const MAX_TOLD: usize = 8;

/// A name that a map can change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Name {
    Ip(IpAddr),
    Mac(MacAddr),
    Lid(u16),
    Vlan(u16),
    /// Of a host, by its old name.
    Qpn(Addr, u32),
    UdpPort(u16),
    CmPort(u16),
    /// Of a host, by its old name.
    RKey(Addr, u32),
}

impl Name {
    const fn option(&self) -> &'static str {
        match self {
            Self::Ip(_) => "--map-ip",
            Self::Mac(_) => "--map-mac",
            Self::Lid(_) => "--map-lid",
            Self::Vlan(_) => "--map-vlan",
            Self::Qpn(..) => "--map-qpn",
            Self::UdpPort(_) => "--map-udp-port",
            Self::CmPort(_) => "--map-cm-port",
            Self::RKey(..) => "--map-r-key",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Mac(mac) => mac.fmt(f),
            Self::Lid(number) | Self::Vlan(number) => number.fmt(f),
            Self::UdpPort(number) | Self::CmPort(number) => number.fmt(f),
            Self::Qpn(_, number) | Self::RKey(_, number) => write!(f, "{number:#x}"),
        }
    }
}

/// Two old names, and what both are called now.
struct Pair {
    old: [Name; 2],
    new: Name,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old: [a, b], new } = self;
        write!(f, "{}: {a} and {b}", new.option())?;
        if let Name::Qpn(host, _) | Name::RKey(host, _) = new {
            write!(f, " of {host}")?;
        }
        write!(f, " are both {new} now")
    }
}

/// What has been called what.
#[derive(Default)]
pub(super) struct Merged {
    seen: HashSet<Name>,
    /// The first name that became this one.
    first: HashMap<Name, Name>,
    told: Vec<Pair>,
    untold: u64,
}

impl Merged {
    pub(super) fn note(&mut self, old: Name, new: Name) {
        if self.seen.len() >= MAX_NAMES || !self.seen.insert(old) {
            return;
        }
        let first = *self.first.entry(new).or_insert(old);
        if first == old {
        } else if self.told.len() < MAX_TOLD {
            self.told.push(Pair { old: [first, old], new });
        } else {
            self.untold = self.untold.saturating_add(1);
        }
    }

    /// A remark for each two names that have become one, up to a number.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<_> = self.told.iter().map(Pair::to_string).collect();
        if self.untold > 0 {
            remarks.push(format!("the maps made {} further names one with others", self.untold));
        }
        remarks
    }
}
