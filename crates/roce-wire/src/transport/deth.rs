//! Datagram Extended Transport Header, 8 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | Q_Key                                                         |
//!  4  | reserved      | SrcQP                                         |
//! ```
//! Source: Linux `drivers/infiniband/core/ud_header.c`.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, QKey, Qpn};

/// Datagram Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Deth {
    /// The key the receiving queue pair must hold.
    pub q_key: QKey,
    src: U32,
}

const _: () = assert!(size_of::<Deth>() == 8);

impl Deth {
    /// A header with the reserved byte zero.
    #[must_use]
    pub const fn new(q_key: QKey, src_qp: Qpn) -> Self {
        Self { q_key, src: U32::new(src_qp.get()) }
    }

    /// The reserved byte.
    #[must_use]
    pub const fn reserved(&self) -> u8 {
        (self.src.get() >> 24) as u8
    }

    /// The queue pair the packet comes from.
    #[must_use]
    pub const fn src_qp(&self) -> Qpn {
        Qpn::new(self.src.get())
    }

    /// The same with another reserved byte.
    #[must_use]
    pub const fn with_reserved(self, bits: u8) -> Self {
        Self { src: U32::new((bits as u32) << 24 | self.src_qp().get()), ..self }
    }

    /// The same from another queue pair.
    #[must_use]
    pub const fn with_src_qp(self, qp: Qpn) -> Self {
        Self { src: U32::new(self.src.get() & 0xff00_0000 | qp.get()), ..self }
    }
}

impl Header for Deth {
    const NAME: &'static str = "DETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("q_key", 32, self.q_key.get());
        f.reserved(8, self.reserved());
        f.hex("src_qp", 24, self.src_qp().get());
    }
}

impl fmt::Display for Deth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src qp {} q_key {}", self.src_qp(), self.q_key)
    }
}
