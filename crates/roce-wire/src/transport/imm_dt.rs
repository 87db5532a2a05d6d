//! Immediate Data, 4 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | Immediate data                                                |
//! ```
//! Source: Linux `sw/rxe/rxe_hdr.h`.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// Immediate Data.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ImmDt {
    /// Four bytes for the receiver's application; their order is its own.
    pub data: [u8; 4],
}

const _: () = assert!(size_of::<ImmDt>() == 4);

impl ImmDt {
    /// The four bytes read as a big-endian number, as most tools show them.
    #[must_use]
    pub const fn number(&self) -> u32 {
        u32::from_be_bytes(self.data)
    }
}

impl Header for ImmDt {
    const NAME: &'static str = "ImmDt";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("data", 32, self.number());
    }
}

impl fmt::Display for ImmDt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "imm {:#010x}", self.number())
    }
}
