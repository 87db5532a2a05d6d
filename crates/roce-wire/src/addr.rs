//! Addresses of the link and network layers: MAC, GID, LID, IPv4.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An Ethernet address, in the order of the wire.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// Whether the group bit is set: multicast or broadcast.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A global identifier: 16 bytes, written as an IPv6 address.
///
/// On RoCE it is an IP address: IPv4 as `::ffff:a.b.c.d`, IPv6 as itself
/// (Linux `include/rdma/ib_addr.h`, `rdma_ip2gid`).
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The GID of an IPv4 address.
    #[must_use]
    pub const fn from_ipv4(ip: Ipv4Addr) -> Self {
        Self(ip.to_ipv6_mapped().octets())
    }

    /// The same 16 bytes as an IPv6 address.
    #[must_use]
    pub const fn ipv6(self) -> Ipv6Addr {
        Ipv6Addr::from_octets(self.0)
    }

    /// The IPv4 address in it, if it is `::ffff:a.b.c.d`.
    #[must_use]
    pub const fn ipv4(self) -> Option<Ipv4Addr> {
        self.ipv6().to_ipv4_mapped()
    }

    /// Whether every byte is zero, as in an unused slot or path.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        u128::from_be_bytes(self.0) == 0
    }
}

impl From<Ipv6Addr> for Gid {
    fn from(ip: Ipv6Addr) -> Self {
        Self(ip.octets())
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.ipv6(), f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A local identifier of native InfiniBand; `0xffff` is the permissive one.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct Lid(U16);

impl Lid {
    /// From the number.
    #[must_use]
    pub const fn new(lid: u16) -> Self {
        Self(U16::new(lid))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

impl fmt::Debug for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lid({})", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_gid_is_the_mapped_address() {
        let gid = Gid::from_ipv4(Ipv4Addr::new(10, 77, 0, 1));
        assert_eq!(gid.0, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1]);
        assert_eq!(gid.to_string(), "::ffff:10.77.0.1");
        assert_eq!(gid.ipv4(), Some(Ipv4Addr::new(10, 77, 0, 1)));
        assert_eq!(Gid([0; 16]).ipv4(), None);
    }

    #[test]
    fn the_group_bit_is_the_lowest_of_the_first_byte() {
        assert!(MacAddr([0x01, 0x80, 0xc2, 0, 0, 1]).is_multicast());
        assert!(!MacAddr([0x02, 0, 0, 0, 0, 1]).is_multicast());
    }
}
