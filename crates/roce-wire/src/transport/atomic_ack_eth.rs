//! Atomic Acknowledge Extended Transport Header, 8 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | Original remote data (8 bytes)                                |
//! ```
//! Source: Linux `sw/rxe/rxe_hdr.h`.

use core::fmt;
use zerocopy::network_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// Atomic Acknowledge Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AtomicAckEth {
    original: U64,
}

const _: () = assert!(size_of::<AtomicAckEth>() == 8);

impl AtomicAckEth {
    /// From the number.
    #[must_use]
    pub const fn new(original: u64) -> Self {
        Self { original: U64::new(original) }
    }

    /// What the responder's memory held before.
    #[must_use]
    pub const fn original(&self) -> u64 {
        self.original.get()
    }
}

impl Header for AtomicAckEth {
    const NAME: &'static str = "AtomicAckETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("original", 64, self.original());
    }
}

impl fmt::Display for AtomicAckEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "original {:#x}", self.original())
    }
}
