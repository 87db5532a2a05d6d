//! RDMA_CM's header, 36 bytes: the first bytes of the private data of REQ and SIDR_REQ when the
//! service id is an RDMA_CM port (IBTA Annex A11).
//!
//! ```text
//!      0               1               2               3
//!  0  | major | minor | IPVer | res   | source port                   |
//!  4  | source IP address (16 bytes)                                  |
//! 20  | destination IP address (16 bytes)                             |
//! ```
//! An IPv4 address stands in the last 4 of its 16 bytes. The destination port is in the service
//! id. Answers do not have this header. Source: Linux `drivers/infiniband/core/cma.c`,
//! `struct cma_hdr`.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bits::ByteBits;
use super::cm::{PortSpace, ServiceId};
use crate::{Fields, Gid, Header};

/// RDMA_CM's header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RdmaCmHeader {
    cma_version: u8,
    ip_version: u8,
    source_port: U16,
    source: [u8; 16],
    destination: [u8; 16],
}

const _: () = assert!(size_of::<RdmaCmHeader>() == 36);

const MAJOR: ByteBits = ByteBits(0xf0);
const MINOR: ByteBits = ByteBits(0x0f);
const IP_VERSION: ByteBits = ByteBits(0xf0);
const RESERVED: ByteBits = ByteBits(0x0f);

impl RdmaCmHeader {
    /// A header of version 0.0; the IP version is that of `source`.
    #[must_use]
    pub const fn new(source: SocketAddr, destination: IpAddr) -> Self {
        let ip_version = if source.is_ipv4() { 4 } else { 6 };
        Self {
            cma_version: 0,
            ip_version: IP_VERSION.put(0, ip_version),
            source_port: U16::new(source.port()),
            source: octets(source.ip()),
            destination: octets(destination),
        }
    }

    /// The header at the start of the private data of a REQ or SIDR_REQ, and its consumer's data
    /// behind it; `None` when the service is not RDMA_CM's.
    ///
    /// In port space IB a service with InfiniBand addresses has no such header. It is told by the
    /// first two bytes then: version 0, and IP version 4 or 6.
    pub(super) fn of_service(id: ServiceId, private_data: &[u8]) -> Option<(&Self, &[u8])> {
        let space = id.port_space()?;
        let (header, rest) = Self::parse(private_data).ok()?;
        let plausible = header.cma_version == 0 && header.ip_version().is_some();
        (space != PortSpace::IB || plausible).then_some((header, rest))
    }

    /// Major version, 4 bits; 0.
    #[must_use]
    pub const fn major_version(&self) -> u8 {
        MAJOR.of(self.cma_version)
    }

    /// Minor version, 4 bits; 0.
    #[must_use]
    pub const fn minor_version(&self) -> u8 {
        MINOR.of(self.cma_version)
    }

    /// 4 or 6; `None` when the four bits say anything else.
    #[must_use]
    pub const fn ip_version(&self) -> Option<u8> {
        match IP_VERSION.of(self.ip_version) {
            version @ (4 | 6) => Some(version),
            _ => None,
        }
    }

    /// The port of the side that connects.
    #[must_use]
    pub const fn source_port(&self) -> u16 {
        self.source_port.get()
    }

    /// The address of the side that connects; `None` when the IP version is unknown.
    #[must_use]
    pub const fn source_ip(&self) -> Option<IpAddr> {
        self.ip(self.source)
    }

    /// The address that it connects to; `None` when the IP version is unknown.
    #[must_use]
    pub const fn destination_ip(&self) -> Option<IpAddr> {
        self.ip(self.destination)
    }

    const fn ip(&self, octets: [u8; 16]) -> Option<IpAddr> {
        let [.., a, b, c, d] = octets;
        match self.ip_version() {
            Some(4) => Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d))),
            Some(_) => Some(IpAddr::V6(Ipv6Addr::from_octets(octets))),
            None => None,
        }
    }

    /// Writes who wants to reach what, as well as it is known.
    pub(super) fn describe(
        id: ServiceId,
        found: Option<(&Self, &[u8])>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let known = found.and_then(|(header, _)| {
            let source = SocketAddr::new(header.source_ip()?, header.source_port());
            let destination = SocketAddr::new(header.destination_ip()?, id.port()?);
            Some((id.port_space()?, source, destination))
        });
        match known {
            Some((space, source, destination)) => write!(f, "{space} {source} > {destination}"),
            None => write!(f, "service {id}"),
        }
    }
}

/// Sixteen bytes of the wire.
const fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

impl Header for RdmaCmHeader {
    const NAME: &'static str = "RDMA_CM";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("major_version", 4, self.major_version());
        f.uint("minor_version", 4, self.minor_version());
        f.uint("ip_version", 4, IP_VERSION.of(self.ip_version));
        f.reserved(4, RESERVED.of(self.ip_version));
        f.uint("source_port", 16, self.source_port());
        self.ip_field("source_ip", self.source, f);
        self.ip_field("destination_ip", self.destination, f);
    }
}

impl RdmaCmHeader {
    fn ip_field(&self, name: &'static str, octets: [u8; 16], f: &mut Fields<'_>) {
        match self.ip(octets) {
            Some(IpAddr::V4(ip)) => {
                // The twelve bytes before the address, 64 bits and 32.
                let [a, b, c, d, e, g, h, i, j, k, l, m, ..] = octets;
                f.reserved(64, u64::from_be_bytes([a, b, c, d, e, g, h, i]));
                f.reserved(32, u32::from_be_bytes([j, k, l, m]));
                f.ipv4(name, ip);
            }
            Some(IpAddr::V6(ip)) => f.gid(name, Gid::from(ip)),
            None => f.bytes(name, &octets),
        }
    }
}

impl fmt::Display for RdmaCmHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source_ip(), self.destination_ip()) {
            (Some(source), Some(destination)) => {
                write!(f, "{} > {destination}", SocketAddr::new(source, self.source_port()))
            }
            _ => write!(f, "IP version {}", IP_VERSION.of(self.ip_version)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::Management;
    use crate::mad::cm::{CommId, SidrReq};
    use crate::mad::test_data::{RPING_REQ, RPING_V6_REQ, mad};

    /// The header in the private data of a REQ.
    fn header(hex: &str) -> RdmaCmHeader {
        let bytes = mad(hex);
        *Management::parse(&bytes).unwrap().rdma_cm().unwrap().0
    }

    #[test]
    fn the_headers_of_rping_read_as_tshark_reads_them() {
        let v4 = header(RPING_REQ);
        assert_eq!((v4.major_version(), v4.minor_version(), v4.ip_version()), (0, 0, Some(4)));
        assert_eq!(v4.source_port(), 0xc203);
        assert_eq!(v4.source_ip(), Some("10.77.0.1".parse().unwrap()));
        assert_eq!(v4.destination_ip(), Some("10.77.0.2".parse().unwrap()));
        let v6 = header(RPING_V6_REQ);
        assert_eq!((v6.ip_version(), v6.source_port()), (Some(6), 0xcafc));
        assert_eq!(v6.source_ip(), Some("fd77::1".parse().unwrap()));
        assert_eq!(v6.destination_ip(), Some("fd77::2".parse().unwrap()));
        assert_eq!(v6.to_string(), "[fd77::1]:51964 > fd77::2");
    }

    #[test]
    fn it_is_built_as_captured() {
        let source = "10.77.0.1:49667".parse().unwrap();
        let built = RdmaCmHeader::new(source, "10.77.0.2".parse().unwrap());
        assert_eq!(built, header(RPING_REQ));
        let source = "[fd77::1]:51964".parse().unwrap();
        let built = RdmaCmHeader::new(source, "fd77::2".parse().unwrap());
        assert_eq!(built, header(RPING_V6_REQ));
    }

    #[test]
    fn an_unknown_ip_version_has_no_addresses() {
        let (header, _) = RdmaCmHeader::parse(&[0x5f; 36]).unwrap();
        assert_eq!((header.ip_version(), header.source_ip()), (None, None));
        assert_eq!((header.major_version(), header.minor_version()), (5, 15));
        assert_eq!(header.to_string(), "IP version 5");
    }

    #[test]
    fn a_service_with_infiniband_addresses_has_no_header() {
        let mut req = SidrReq::new(CommId::new(1), ServiceId::rdma_cm(PortSpace::IB, 7));
        assert!(req.rdma_cm().is_none());
        assert_eq!(req.to_string(), "0x00000001 service IB port 7");
        req.private_data[..36].copy_from_slice(header(RPING_REQ).as_bytes());
        assert!(req.rdma_cm().is_some());
        req.service_id = ServiceId::new(0x1000);
        assert!(req.rdma_cm().is_none());
    }
}
