//! Generic network virtualization encapsulation, 8 bytes and options (RFC 8926), over UDP port 6081.
//!
//! ```text
//!      0               1               2               3
//!  0  |Ver| opt len   |O|C| reserved  | protocol (an Ethertype)       |
//!  4  | VNI                                           | reserved      |
//! ```

use core::fmt;
use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EtherType, Fields, Header};

/// Geneve header without its options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Geneve {
    ver_len: u8,
    /// Control (0x80), critical options (0x40), six reserved bits.
    pub flags: u8,
    protocol: U16,
    vni: U32,
}

const _: () = assert!(size_of::<Geneve>() == 8);

impl Geneve {
    /// The UDP destination port.
    pub const PORT: u16 = 6081;

    /// A header without options; the identifier is taken modulo 2^24.
    #[must_use]
    pub const fn new(protocol: EtherType, vni: u32) -> Self {
        Self { ver_len: 0, flags: 0, protocol: U16::new(protocol.0), vni: U32::new(vni << 8) }
    }

    /// Version, 2 bits; 0.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.ver_len >> 6
    }

    /// Length of the options, in bytes: 0 to 252.
    #[must_use]
    pub const fn options_len(&self) -> usize {
        ((self.ver_len & 0x3f) as usize) << 2
    }

    /// What follows the options.
    #[must_use]
    pub const fn protocol(&self) -> EtherType {
        EtherType(self.protocol.get())
    }

    /// The network identifier, 24 bits.
    #[must_use]
    pub const fn vni(&self) -> u32 {
        self.vni.get() >> 8
    }

    /// The same with another length of options in bytes, rounded down to a multiple of 4.
    #[must_use]
    pub const fn with_options_len(self, len: u8) -> Self {
        Self { ver_len: self.ver_len & 0xc0 | len >> 2, ..self }
    }
}

impl Header for Geneve {
    const NAME: &'static str = "Geneve";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("version", 2, self.version());
        f.uint("opt_len", 6, self.ver_len & 0x3f);
        f.hex("flags", 8, self.flags);
        f.named("protocol", 16, self.protocol().0, &self.protocol());
        f.uint("vni", 24, self.vni());
        f.reserved(8, self.vni.get() & 0xff);
    }
}

impl fmt::Display for Geneve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vni {}", self.vni())
    }
}
