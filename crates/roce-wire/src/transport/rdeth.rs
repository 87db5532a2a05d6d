//! Reliable Datagram Extended Transport Header, 4 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | reserved      | EE-Context                                    |
//! ```
//! Source: Wireshark `packet-infiniband.c` (IBTA 9.3.1).

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// Reliable Datagram Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Rdeth {
    word: U32,
}

const _: () = assert!(size_of::<Rdeth>() == 4);

impl Rdeth {
    /// From the number; bits above the 24th are dropped.
    #[must_use]
    pub const fn new(eec: u32) -> Self {
        Self { word: U32::new(eec & 0x00ff_ffff) }
    }

    /// The reserved byte.
    #[must_use]
    pub const fn reserved(&self) -> u8 {
        (self.word.get() >> 24) as u8
    }

    /// The end-to-end context, 24 bits.
    #[must_use]
    pub const fn eec(&self) -> u32 {
        self.word.get() & 0x00ff_ffff
    }

    /// The same with another reserved byte.
    #[must_use]
    pub const fn with_reserved(self, bits: u8) -> Self {
        Self { word: U32::new((bits as u32) << 24 | self.eec()) }
    }
}

impl Header for Rdeth {
    const NAME: &'static str = "RDETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.reserved(8, self.reserved());
        f.hex("eec", 24, self.eec());
    }
}

impl fmt::Display for Rdeth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eec {:#x}", self.eec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_low_24_bits() {
        let (header, _) = Rdeth::parse(&[0xaa, 0x12, 0x34, 0x56]).unwrap();
        assert_eq!((header.reserved(), header.eec()), (0xaa, 0x12_3456));
        assert_eq!(Rdeth::new(0x12_3456).with_reserved(0xaa).as_bytes(), [0xaa, 0x12, 0x34, 0x56]);
    }
}
