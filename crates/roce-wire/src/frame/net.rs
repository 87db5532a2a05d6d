//! How a packet is carried, and between whom: the network headers right in front of the BTH.

use core::fmt;
use core::net::IpAddr;

use crate::icrc::Cover;
use crate::{Gid, Grh, Ipv4, Ipv6, Lid, Lrh, Udp};

/// How a packet is carried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Carrier {
    /// RoCE v1: Ethertype 0x8915 and a GRH.
    V1,
    /// RoCE v2 over IPv4.
    V2Ipv4,
    /// RoCE v2 over IPv6.
    V2Ipv6,
    /// Native InfiniBand.
    InfiniBand,
}

/// The version of RoCE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Version {
    /// Ethertype 0x8915.
    V1,
    /// UDP destination port 4791.
    V2,
}

impl Carrier {
    /// The version of RoCE; `None` for native InfiniBand.
    #[must_use]
    pub const fn version(self) -> Option<Version> {
        match self {
            Self::V1 => Some(Version::V1),
            Self::V2Ipv4 | Self::V2Ipv6 => Some(Version::V2),
            Self::InfiniBand => None,
        }
    }

    /// The name used in machine-readable output: `v1`, `v2_ipv4`, `v2_ipv6`, `infiniband`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2Ipv4 => "v2_ipv4",
            Self::V2Ipv6 => "v2_ipv6",
            Self::InfiniBand => "infiniband",
        }
    }
}

/// One end of a packet's way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Addr {
    /// An IP address. A GID that maps an IPv4 address is that address, so that a host is the same
    /// on v1 and on v2.
    Ip(IpAddr),
    /// A LID of native InfiniBand.
    Lid(u16),
}

impl core::hash::Hash for Addr {
    /// One 128-bit word for any address: what is looked up for every packet is hashed fast.
    #[inline]
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        state.write_u128(match self {
            Self::Ip(IpAddr::V4(ip)) => u128::from(ip.to_bits()),
            Self::Ip(IpAddr::V6(ip)) => ip.to_bits(),
            Self::Lid(lid) => u128::from(*lid),
        });
    }
}

impl Addr {
    /// Whether this names a group of hosts and not one.
    #[must_use]
    pub const fn is_multicast(&self) -> bool {
        match self {
            Self::Ip(ip) => ip.is_multicast(),
            // The upper quarter of the LIDs, and the permissive one (IBTA 4.1.3).
            Self::Lid(lid) => *lid >= 0xc000,
        }
    }

    fn from_gid(gid: Gid) -> Self {
        Self::Ip(gid.ipv4().map_or(IpAddr::V6(gid.ipv6()), IpAddr::V4))
    }

    const fn from_lid(lid: Lid) -> Self {
        Self::Lid(lid.get())
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Lid(lid) => write!(f, "lid {lid}"),
        }
    }
}

/// The network headers right in front of the BTH.
#[derive(Clone, Copy, Debug)]
pub enum Net<'a> {
    /// RoCE v1.
    V1(&'a Grh),
    /// RoCE v2 over IPv4: header, options, UDP.
    V2Ipv4(&'a Ipv4, &'a [u8], &'a Udp),
    /// RoCE v2 over IPv6: header, extension headers, UDP.
    V2Ipv6(&'a Ipv6, &'a [u8], &'a Udp),
    /// Native InfiniBand, with a GRH or without.
    InfiniBand(&'a Lrh, Option<&'a Grh>),
}

impl<'a> Net<'a> {
    /// How the packet is carried.
    #[must_use]
    pub const fn carrier(&self) -> Carrier {
        match self {
            Self::V1(_) => Carrier::V1,
            Self::V2Ipv4(..) => Carrier::V2Ipv4,
            Self::V2Ipv6(..) => Carrier::V2Ipv6,
            Self::InfiniBand(..) => Carrier::InfiniBand,
        }
    }

    /// Where it comes from.
    #[must_use]
    pub fn src(&self) -> Addr {
        match self {
            Self::V1(grh) => Addr::from_gid(grh.sgid),
            Self::V2Ipv4(ip, ..) => Addr::Ip(IpAddr::V4(ip.src())),
            Self::V2Ipv6(ip, ..) => Addr::Ip(IpAddr::V6(ip.src())),
            Self::InfiniBand(lrh, _) => Addr::from_lid(lrh.slid),
        }
    }

    /// Where it goes to.
    #[must_use]
    pub fn dst(&self) -> Addr {
        match self {
            Self::V1(grh) => Addr::from_gid(grh.dgid),
            Self::V2Ipv4(ip, ..) => Addr::Ip(IpAddr::V4(ip.dst())),
            Self::V2Ipv6(ip, ..) => Addr::Ip(IpAddr::V6(ip.dst())),
            Self::InfiniBand(lrh, _) => Addr::from_lid(lrh.dlid),
        }
    }

    /// DSCP and ECN as one byte; `None` where there is no GRH.
    #[must_use]
    pub fn traffic_class(&self) -> Option<u8> {
        match self {
            Self::V1(grh) => Some(grh.traffic_class()),
            Self::V2Ipv4(ip, ..) => Some(ip.tos()),
            Self::V2Ipv6(ip, ..) => Some(ip.traffic_class()),
            Self::InfiniBand(_, grh) => grh.map(Grh::traffic_class),
        }
    }

    /// The GRH, where there is one.
    #[must_use]
    pub const fn grh(&self) -> Option<&'a Grh> {
        match *self {
            Self::V1(grh) => Some(grh),
            Self::InfiniBand(_, grh) => grh,
            Self::V2Ipv4(..) | Self::V2Ipv6(..) => None,
        }
    }

    /// The UDP header, where there is one.
    #[must_use]
    pub const fn udp(&self) -> Option<&'a Udp> {
        match *self {
            Self::V2Ipv4(_, _, udp) | Self::V2Ipv6(_, _, udp) => Some(udp),
            Self::V1(_) | Self::InfiniBand(..) => None,
        }
    }

    /// What the ICRC covers of these headers.
    #[must_use]
    pub const fn cover(&self) -> Cover<'a> {
        match *self {
            Self::V1(grh) | Self::InfiniBand(_, Some(grh)) => Cover::Global(grh),
            Self::V2Ipv4(ip, options, udp) => Cover::V2Ipv4(ip, options, udp),
            Self::V2Ipv6(ip, extensions, udp) => Cover::V2Ipv6(ip, extensions, udp),
            Self::InfiniBand(lrh, None) => Cover::Local(lrh),
        }
    }
}
