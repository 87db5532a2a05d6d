//! BSD loopback header, 4 bytes: the address family (link types NULL and LOOP).
//!
//! NULL has it in the byte order of the capturing machine, LOOP in network order, so it is kept as
//! bytes; the IP version behind it says the same.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// BSD loopback header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Null {
    /// The address family, in either byte order.
    pub family: [u8; 4],
}

const _: () = assert!(size_of::<Null>() == 4);

impl Null {
    /// The address family: families are small numbers, so only one byte order makes sense.
    #[must_use]
    pub const fn family(&self) -> u32 {
        let big = u32::from_be_bytes(self.family);
        if big > 0xffff { big.swap_bytes() } else { big }
    }
}

impl Header for Null {
    const NAME: &'static str = "null";

    fn fields(&self, f: &mut Fields<'_>) {
        f.bytes("family", &self.family);
    }
}

impl fmt::Display for Null {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "family {}", self.family())
    }
}
