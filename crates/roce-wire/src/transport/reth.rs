//! RDMA Extended Transport Header, 16 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | Virtual address (8 bytes)                                     |
//!  8  | R_Key                                                         |
//! 12  | DMALen                                                        |
//! ```
//! Source: Linux `sw/rxe/rxe_hdr.h`; DMALen may not exceed 2^31 (IBTA 9.4.3).

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, RKey, VirtAddr};

/// RDMA Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Reth {
    /// Where in the responder's memory.
    pub va: VirtAddr,
    /// The key to that memory.
    pub r_key: RKey,
    len: U32,
}

const _: () = assert!(size_of::<Reth>() == 16);

impl Reth {
    /// From its three fields.
    #[must_use]
    pub const fn new(va: VirtAddr, r_key: RKey, dma_len: u32) -> Self {
        Self { va, r_key, len: U32::new(dma_len) }
    }

    /// How many bytes the whole message moves; pad bytes not counted.
    #[must_use]
    pub const fn dma_len(&self) -> u32 {
        self.len.get()
    }
}

impl Header for Reth {
    const NAME: &'static str = "RETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("va", 64, self.va.get());
        f.hex("r_key", 32, self.r_key.get());
        f.uint("dma_len", 32, self.dma_len());
    }
}

impl fmt::Display for Reth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "va {} r_key {} dma_len {}", self.va, self.r_key, self.dma_len())
    }
}
