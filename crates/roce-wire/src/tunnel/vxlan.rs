//! Virtual eXtensible LAN header, 8 bytes (RFC 7348), over UDP port 4789.
//!
//! ```text
//!      0               1               2               3
//!  0  | flags         | reserved                                      |
//!  4  | VNI                                           | reserved      |
//! ```

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// VXLAN header; an Ethernet frame follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Vxlan {
    /// 0x08 says that the VNI is valid.
    pub flags: u8,
    reserved: [u8; 3],
    vni: U32,
}

const _: () = assert!(size_of::<Vxlan>() == 8);

impl Vxlan {
    /// The UDP destination port.
    pub const PORT: u16 = 4789;

    /// From the network identifier, modulo 2^24.
    #[must_use]
    pub const fn new(vni: u32) -> Self {
        Self { flags: 0x08, reserved: [0; 3], vni: U32::new(vni << 8) }
    }

    /// The network identifier, 24 bits.
    #[must_use]
    pub const fn vni(&self) -> u32 {
        self.vni.get() >> 8
    }
}

impl Header for Vxlan {
    const NAME: &'static str = "VXLAN";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("flags", 8, self.flags);
        f.bytes("reserved", &self.reserved);
        f.uint("vni", 24, self.vni());
        f.reserved(8, self.vni.get() & 0xff);
    }
}

impl fmt::Display for Vxlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vni {}", self.vni())
    }
}
