//! Atomic Extended Transport Header, 28 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | Virtual address (8 bytes)                                     |
//!  8  | R_Key                                                         |
//! 12  | Swap or add data (8 bytes)                                    |
//! 20  | Compare data (8 bytes)                                        |
//! ```
//! Source: Linux `sw/rxe/rxe_hdr.h`.

use core::fmt;
use zerocopy::network_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, RKey, VirtAddr};

/// Atomic Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AtomicEth {
    /// Where in the responder's memory.
    pub va: VirtAddr,
    /// The key to that memory.
    pub r_key: RKey,
    swap_add: U64,
    compare: U64,
}

const _: () = assert!(size_of::<AtomicEth>() == 28);

impl AtomicEth {
    /// From its four fields; `compare` means nothing in a FetchAdd.
    #[must_use]
    pub const fn new(va: VirtAddr, r_key: RKey, swap_add: u64, compare: u64) -> Self {
        Self { va, r_key, swap_add: U64::new(swap_add), compare: U64::new(compare) }
    }

    /// What to store (CmpSwap) or to add (FetchAdd).
    #[must_use]
    pub const fn swap_add(&self) -> u64 {
        self.swap_add.get()
    }

    /// What must be there for CmpSwap to store.
    #[must_use]
    pub const fn compare(&self) -> u64 {
        self.compare.get()
    }
}

impl Header for AtomicEth {
    const NAME: &'static str = "AtomicETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("va", 64, self.va.get());
        f.hex("r_key", 32, self.r_key.get());
        f.hex("swap_add", 64, self.swap_add());
        f.hex("compare", 64, self.compare());
    }
}

impl fmt::Display for AtomicEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { va, r_key, .. } = self;
        let (swap_add, compare) = (self.swap_add(), self.compare());
        write!(f, "va {va} r_key {r_key} swap_add {swap_add:#x} compare {compare:#x}")
    }
}
