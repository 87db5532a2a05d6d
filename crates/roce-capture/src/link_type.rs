//! Link types: what a frame's first byte is the start of.

use std::fmt;

/// A link type, as the `LINKTYPE_` numbers of pcap and pcapng files
/// (<https://www.tcpdump.org/linktypes.html>). Numbers not named here are carried as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: a 4-byte address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet II and 802.3.
    pub const ETHERNET: Self = Self(1);
    /// Raw IP; the version nibble says which.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, 16-byte header.
    pub const LINUX_SLL: Self = Self(113);
    /// Endace ERF records.
    pub const ERF: Self = Self(197);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// IP over InfiniBand.
    pub const IPOIB: Self = Self(242);
    /// InfiniBand from the local route header on.
    pub const INFINIBAND: Self = Self(247);
    /// Linux cooked capture version 2, 20-byte header; what `-i any` gives.
    pub const LINUX_SLL2: Self = Self(276);

    /// A name for people, such as `Ethernet`; `unknown` where this crate has none.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NULL => "BSD loopback",
            Self::ETHERNET => "Ethernet",
            Self::RAW => "raw IP",
            Self::LOOP => "OpenBSD loopback",
            Self::LINUX_SLL => "Linux cooked",
            Self::ERF => "ERF",
            Self::IPV4 => "raw IPv4",
            Self::IPV6 => "raw IPv6",
            Self::IPOIB => "IP over InfiniBand",
            Self::INFINIBAND => "InfiniBand",
            Self::LINUX_SLL2 => "Linux cooked v2",
            _ => "unknown",
        }
    }

    /// From libpcap's `DLT_` number, which differs from the file's only for raw IP.
    #[cfg(feature = "libpcap")]
    pub(crate) fn from_dlt(dlt: i32) -> Self {
        match u32::try_from(dlt) {
            Ok(DLT_RAW) => Self::RAW,
            Ok(number) => Self(number),
            Err(_) => Self(u32::MAX),
        }
    }

    /// To libpcap's `DLT_` number.
    #[cfg(feature = "libpcap")]
    pub(crate) fn to_dlt(self) -> i32 {
        let dlt = if self == Self::RAW { DLT_RAW } else { self.0 };
        i32::try_from(dlt).unwrap_or(i32::MAX)
    }
}

/// `DLT_RAW` of Linux (`pcap/dlt.h`); in files raw IP is 101 everywhere.
#[cfg(feature = "libpcap")]
const DLT_RAW: u32 = 12;

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "unknown" => write!(f, "link type {}", self.0),
            name => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_number_is_shown() {
        assert_eq!(LinkType::ETHERNET.to_string(), "Ethernet");
        assert_eq!(LinkType(147).to_string(), "link type 147");
    }

    #[cfg(feature = "libpcap")]
    #[test]
    fn raw_ip_is_the_one_that_differs_from_libpcap() {
        assert_eq!(LinkType::RAW.to_dlt(), 12);
        assert_eq!(LinkType::from_dlt(12), LinkType::RAW);
        assert_eq!(LinkType::from_dlt(276), LinkType::LINUX_SLL2);
    }
}
