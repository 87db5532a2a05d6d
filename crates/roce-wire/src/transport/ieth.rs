//! Invalidate Extended Transport Header, 4 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | R_Key                                                         |
//! ```
//! Source: Linux `sw/rxe/rxe_hdr.h`.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, RKey};

/// Invalidate Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ieth {
    /// The key that the receiver is to invalidate.
    pub r_key: RKey,
}

const _: () = assert!(size_of::<Ieth>() == 4);

impl Header for Ieth {
    const NAME: &'static str = "IETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("r_key", 32, self.r_key.get());
    }
}

impl fmt::Display for Ieth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalidate {}", self.r_key)
    }
}
