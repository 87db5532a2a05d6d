//! Management classes: who a datagram speaks to (Linux `include/rdma/ib_mad.h`).

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A management class.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct MgmtClass(pub u8);

impl MgmtClass {
    /// Subnet management, routed by LID.
    pub const SUBN_LID: Self = Self(0x01);
    /// Subnet administration.
    pub const SUBN_ADM: Self = Self(0x03);
    /// Performance management.
    pub const PERF: Self = Self(0x04);
    /// Baseboard management.
    pub const BM: Self = Self(0x05);
    /// Device management.
    pub const DEV_MGT: Self = Self(0x06);
    /// Connection management: the only class that RoCE needs.
    pub const CM: Self = Self(0x07);
    /// SNMP tunnelling.
    pub const SNMP: Self = Self(0x08);
    /// Device administration.
    pub const DEV_ADM: Self = Self(0x10);
    /// Boot management.
    pub const BOOT_MGT: Self = Self(0x11);
    /// The class that Linux calls BIS.
    pub const BIS: Self = Self(0x12);
    /// Congestion management.
    pub const CONG_MGT: Self = Self(0x21);
    /// Subnet management, by directed route.
    pub const SUBN_DIRECTED: Self = Self(0x81);

    /// The usual abbreviation.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::SUBN_LID => "SubnMgt",
            Self::SUBN_ADM => "SubnAdm",
            Self::PERF => "Perf",
            Self::BM => "BM",
            Self::DEV_MGT => "DevMgt",
            Self::CM => "CM",
            Self::SNMP => "SNMP",
            Self::DEV_ADM => "DevAdm",
            Self::BOOT_MGT => "BootMgt",
            Self::BIS => "BIS",
            Self::CONG_MGT => "CongMgt",
            Self::SUBN_DIRECTED => "SubnMgt directed route",
            _ => return None,
        })
    }
}

impl fmt::Display for MgmtClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.0) {
            (Some(name), _) => f.write_str(name),
            (None, 0x09..=0x0f | 0x30..=0x4f) => write!(f, "vendor class {:#04x}", self.0),
            (None, _) => write!(f, "class {:#04x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_classes_print_as_hex() {
        assert_eq!(MgmtClass(0x07).to_string(), "CM");
        assert_eq!(MgmtClass(0x32).to_string(), "vendor class 0x32");
        assert_eq!(MgmtClass(0x13).to_string(), "class 0x13");
    }
}
