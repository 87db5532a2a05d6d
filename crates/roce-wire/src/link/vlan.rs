//! VLAN tag, 4 bytes (IEEE 802.1Q), as it stands behind the Ethertype that announces it.
//!
//! ```text
//!      0               1               2               3
//!  0  | PCP |D| VLAN id               | Ethertype                     |
//! ```

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EtherType, Fields, Header};

/// VLAN tag and the Ethertype behind it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct VlanTag {
    tci: U16,
    ethertype: U16,
}

const _: () = assert!(size_of::<VlanTag>() == 4);

impl VlanTag {
    /// From priority (modulo 8), VLAN id (modulo 4096) and what follows.
    #[must_use]
    pub const fn new(pcp: u8, vlan: u16, ethertype: EtherType) -> Self {
        let tci = (pcp as u16 & 7) << 13 | vlan & 0x0fff;
        Self { tci: U16::new(tci), ethertype: U16::new(ethertype.0) }
    }

    /// Priority code point, 3 bits.
    #[must_use]
    pub const fn pcp(&self) -> u8 {
        (self.tci.get() >> 13) as u8
    }

    /// Drop eligible indicator.
    #[must_use]
    pub const fn dei(&self) -> bool {
        self.tci.get() & 0x1000 != 0
    }

    /// VLAN id, 12 bits; 0 is a priority tag.
    #[must_use]
    pub const fn vlan(&self) -> u16 {
        self.tci.get() & 0x0fff
    }

    /// What follows.
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        EtherType(self.ethertype.get())
    }

    /// The same with another drop eligible indicator.
    #[must_use]
    pub const fn with_dei(self, on: bool) -> Self {
        let tci = self.tci.get() & 0xefff | if on { 0x1000 } else { 0 };
        Self { tci: U16::new(tci), ..self }
    }
}

impl Header for VlanTag {
    const NAME: &'static str = "VLAN";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("pcp", 3, self.pcp());
        f.flag("dei", self.dei());
        f.uint("vlan", 12, self.vlan());
        f.named("ethertype", 16, self.ethertype().0, &self.ethertype());
    }
}

impl fmt::Display for VlanTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vlan {} pcp {}", self.vlan(), self.pcp())
    }
}
