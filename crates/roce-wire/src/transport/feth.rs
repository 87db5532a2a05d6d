//! FLUSH Extended Transport Header, 4 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | reserved (26 bits)                                |SEL|  PLT  |
//! ```
//! Source: Linux `sw/rxe/rxe_hdr.h` and `include/uapi/rdma/ib_user_verbs.h`.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// FLUSH Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Feth {
    word: U32,
}

const _: () = assert!(size_of::<Feth>() == 4);

impl Feth {
    /// Placement type bit: the data is to be globally visible.
    pub const GLOBAL: u8 = 1;
    /// Placement type bit: the data is to be persistent.
    pub const PERSISTENT: u8 = 2;
    /// Selectivity: the range that the RETH names.
    pub const RANGE: u8 = 0;
    /// Selectivity: the whole memory region.
    pub const REGION: u8 = 1;

    /// From selectivity (modulo 4) and placement type (modulo 16).
    #[must_use]
    pub const fn new(selectivity: u8, placement: u8) -> Self {
        Self { word: U32::new((selectivity as u32 & 3) << 4 | placement as u32 & 0xf) }
    }

    /// The 26 reserved bits.
    #[must_use]
    pub const fn reserved(&self) -> u32 {
        self.word.get() >> 6
    }

    /// SEL: [`Self::RANGE`] or [`Self::REGION`].
    #[must_use]
    pub const fn selectivity(&self) -> u8 {
        (self.word.get() >> 4 & 3) as u8
    }

    /// PLT: [`Self::GLOBAL`] and [`Self::PERSISTENT`], or both.
    #[must_use]
    pub const fn placement(&self) -> u8 {
        (self.word.get() & 0xf) as u8
    }

    /// The same with other reserved bits, modulo 2^26.
    #[must_use]
    pub const fn with_reserved(self, bits: u32) -> Self {
        Self { word: U32::new(bits << 6 | self.word.get() & 0x3f) }
    }
}

impl Header for Feth {
    const NAME: &'static str = "FETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.reserved(26, self.reserved());
        f.uint("sel", 2, self.selectivity());
        f.hex("plt", 4, self.placement());
    }
}

impl fmt::Display for Feth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("flush")?;
        if self.placement() & Self::GLOBAL != 0 {
            f.write_str(" global")?;
        }
        if self.placement() & Self::PERSISTENT != 0 {
            f.write_str(" persistent")?;
        }
        match self.selectivity() {
            Self::RANGE => f.write_str(" range"),
            Self::REGION => f.write_str(" region"),
            other => write!(f, " sel {other}"),
        }
    }
}
