//! XRC Extended Transport Header, 4 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | reserved      | XRC SRQ number                                |
//! ```
//! Source: IBTA Annex A14.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// XRC Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct XrcEth {
    word: U32,
}

const _: () = assert!(size_of::<XrcEth>() == 4);

impl XrcEth {
    /// From the number; bits above the 24th are dropped.
    #[must_use]
    pub const fn new(srqn: u32) -> Self {
        Self { word: U32::new(srqn & 0x00ff_ffff) }
    }

    /// The reserved byte.
    #[must_use]
    pub const fn reserved(&self) -> u8 {
        (self.word.get() >> 24) as u8
    }

    /// The number of the shared receive queue, 24 bits.
    #[must_use]
    pub const fn srqn(&self) -> u32 {
        self.word.get() & 0x00ff_ffff
    }

    /// The same with another reserved byte.
    #[must_use]
    pub const fn with_reserved(self, bits: u8) -> Self {
        Self { word: U32::new((bits as u32) << 24 | self.srqn()) }
    }
}

impl Header for XrcEth {
    const NAME: &'static str = "XRCETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.reserved(8, self.reserved());
        f.hex("srqn", 24, self.srqn());
    }
}

impl fmt::Display for XrcEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "srqn {:#x}", self.srqn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_low_24_bits() {
        let (header, _) = XrcEth::parse(&[0xaa, 0x12, 0x34, 0x56]).unwrap();
        assert_eq!((header.reserved(), header.srqn()), (0xaa, 0x12_3456));
        assert_eq!(XrcEth::new(0x12_3456).with_reserved(0xaa).as_bytes(), [0xaa, 0x12, 0x34, 0x56]);
    }
}
