//! Service ids, and the part of them that RDMA_CM's IP addressing uses (IBTA Annex A11).
//!
//! ```text
//!      0               1               2               3
//!  0  | 0             | 0             | 0             | 0             |
//!  4  | 1             | protocol      | destination port              |
//! ```
//! Linux builds it as port space × 65536 + port (`drivers/infiniband/core/cma.c`,
//! `rdma_get_service_id`), so that the port space is bytes 4 and 5 read as one number.

use core::fmt;
use zerocopy::network_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What a REQ or SIDR_REQ asks for: 64 bits.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct ServiceId(U64);

impl ServiceId {
    /// From the number.
    #[must_use]
    pub const fn new(id: u64) -> Self {
        Self(U64::new(id))
    }

    /// The service id of an RDMA_CM port.
    #[must_use]
    pub const fn rdma_cm(space: PortSpace, port: u16) -> Self {
        Self::new((space.0 as u64) << 16 | port as u64)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Whether RDMA_CM made it: it has a port space and a port then.
    #[must_use]
    pub const fn is_rdma_cm(self) -> bool {
        self.port_space().is_some()
    }

    /// RDMA_CM's port space; `None` for a service id of another kind.
    ///
    /// Every number under Annex A11's prefix is one, known or not; below the prefix only
    /// [`PortSpace::IPOIB`] is.
    #[must_use]
    pub const fn port_space(self) -> Option<PortSpace> {
        let [0, 0, 0, 0, prefix, protocol, _, _] = self.get().to_be_bytes() else { return None };
        let space = PortSpace(u16::from_be_bytes([prefix, protocol]));
        if prefix == 1 || space.0 == PortSpace::IPOIB.0 { Some(space) } else { None }
    }

    /// RDMA_CM's destination port; `None` for a service id of another kind.
    #[must_use]
    pub const fn port(self) -> Option<u16> {
        let [.., hi, lo] = self.get().to_be_bytes();
        if self.is_rdma_cm() { Some(u16::from_be_bytes([hi, lo])) } else { None }
    }
}

impl fmt::Display for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port_space(), self.port()) {
            (Some(space), Some(port)) => write!(f, "{space} port {port}"),
            _ => write!(f, "{:#018x}", self.get()),
        }
    }
}

impl fmt::Debug for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceId({:#018x})", self.get())
    }
}

/// RDMA_CM's port space, as numbered in Linux `include/uapi/rdma/rdma_user_cm.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortSpace(pub u16);

impl PortSpace {
    /// IP over InfiniBand.
    pub const IPOIB: Self = Self(0x0002);
    /// Connections: RC and UC.
    pub const TCP: Self = Self(0x0106);
    /// Datagrams.
    pub const UDP: Self = Self(0x0111);
    /// Any transport, by InfiniBand addresses.
    pub const IB: Self = Self(0x013f);

    /// The usual name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::IPOIB => "IPOIB",
            Self::TCP => "TCP",
            Self::UDP => "UDP",
            Self::IB => "IB",
            _ => return None,
        })
    }
}

impl fmt::Display for PortSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "port space {:#06x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_id_of_rping_is_its_port() {
        // From a REQ of `rping`, whose port is 7174.
        let id = ServiceId::new(0x0000_0000_0106_1c06);
        assert_eq!((id.port_space(), id.port()), (Some(PortSpace::TCP), Some(7174)));
        assert_eq!(id.to_string(), "TCP port 7174");
        assert_eq!(ServiceId::rdma_cm(PortSpace::TCP, 7174), id);
    }

    #[test]
    fn other_service_ids_have_no_port() {
        for id in [0, 0x0200_0000_0000_0001, 0x0000_0001_0106_1c06, 0x0000_0000_0001_1c06] {
            assert_eq!(ServiceId::new(id).port(), None, "{id:#x}");
        }
        assert_eq!(ServiceId::new(0x1000).to_string(), "0x0000000000001000");
        let unknown = ServiceId::new(0x0000_0000_0142_0001);
        assert_eq!(unknown.to_string(), "port space 0x0142 port 1");
        assert_eq!(ServiceId::new(0x0002_0007).to_string(), "IPOIB port 7");
    }
}
