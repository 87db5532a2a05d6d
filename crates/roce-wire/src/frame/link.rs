//! Where a walk begins and which ports it takes for RoCE v2.

use crate::Udp;

/// What the bytes of a capture begin with: the link types of libpcap that can carry RoCE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// Ethernet (1).
    Ethernet,
    /// An IP header, version 4 or 6 (101, 228, 229).
    RawIp,
    /// Linux cooked (113).
    Sll,
    /// Linux cooked version 2 (276).
    Sll2,
    /// BSD loopback, family in either byte order (0, 108).
    Null,
    /// InfiniBand, from the LRH (247).
    InfiniBand,
    /// ERF records of type Ethernet or InfiniBand (197).
    Erf,
    /// IP over InfiniBand (242): RDMA is under it, not in it.
    IpOverInfiniBand,
    /// Any other; nothing in it is looked at.
    Other,
}

impl Link {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Ethernet,
        Self::RawIp,
        Self::Sll,
        Self::Sll2,
        Self::Null,
        Self::InfiniBand,
        Self::Erf,
        Self::IpOverInfiniBand,
        Self::Other,
    ];

    /// From the number that libpcap gives it.
    #[must_use]
    pub const fn from_linktype(linktype: u32) -> Self {
        match linktype {
            1 => Self::Ethernet,
            // 12 and 14 are what raw IP is called on some systems inside a file.
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            113 => Self::Sll,
            276 => Self::Sll2,
            0 | 108 => Self::Null,
            247 => Self::InfiniBand,
            197 => Self::Erf,
            242 => Self::IpOverInfiniBand,
            _ => Self::Other,
        }
    }
}

/// The UDP destination ports taken for RoCE v2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    list: [u16; Self::MAX],
    count: u8,
}

impl Default for Ports {
    fn default() -> Self {
        Self { list: [Udp::ROCE_V2; Self::MAX], count: 1 }
    }
}

impl Ports {
    /// How many ports there can be, 4791 included.
    pub const MAX: usize = 8;

    /// Adds a port; `false` when there is no room for it.
    pub fn add(&mut self, port: u16) -> bool {
        if self.contains(port) {
            return true;
        }
        match self.list.get_mut(usize::from(self.count)) {
            Some(slot) => {
                *slot = port;
                self.count = self.count.saturating_add(1);
                true
            }
            None => false,
        }
    }

    /// Whether a datagram to this port is taken for RoCE v2.
    #[inline]
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        port == Udp::ROCE_V2 || (self.count > 1 && self.as_slice().contains(&port))
    }

    /// All of them, 4791 first.
    #[must_use]
    pub fn as_slice(&self) -> &[u16] {
        self.list.get(..usize::from(self.count)).unwrap_or_default()
    }
}
