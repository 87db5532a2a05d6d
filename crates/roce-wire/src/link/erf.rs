//! Extensible Record Format header, 16 bytes (Endace ERF types guide; libpcap link type 197).
//!
//! ```text
//!      0               1               2               3
//!  0  | timestamp, little-endian, seconds in the high half (8 bytes)  |
//!  8  | type          | flags         | record length                 |
//! 12  | loss or colour                | wire length                   |
//! ```
//! Bit 7 of the type says that extension headers of 8 bytes follow, each with the same bit in its
//! first byte. A record of type Ethernet then has two bytes of padding before the frame.

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// ERF record header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Erf {
    /// Fixed point, 32 bits of seconds and 32 of their fraction, little-endian.
    pub timestamp: [u8; 8],
    kind: u8,
    /// Which port, whether cut, and the like.
    pub flags: u8,
    record_len: U16,
    loss: U16,
    wire_len: U16,
}

const _: () = assert!(size_of::<Erf>() == 16);

impl Erf {
    /// The record type of Ethernet.
    pub const ETHERNET: u8 = 2;
    /// The record type of InfiniBand.
    pub const INFINIBAND: u8 = 21;

    /// A header with timestamp, flags and loss 0; lengths in bytes.
    #[must_use]
    pub const fn new(kind: u8, record_len: u16, wire_len: u16) -> Self {
        Self {
            timestamp: [0; 8],
            kind: kind & 0x7f,
            flags: 0,
            record_len: U16::new(record_len),
            loss: U16::new(0),
            wire_len: U16::new(wire_len),
        }
    }

    /// The record type, 7 bits.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        self.kind & 0x7f
    }

    /// Whether extension headers follow.
    #[must_use]
    pub const fn has_extensions(&self) -> bool {
        self.kind & 0x80 != 0
    }

    /// The length of the record, this header included, in bytes.
    #[must_use]
    pub const fn record_len(&self) -> u16 {
        self.record_len.get()
    }

    /// The length of the frame on the wire, in bytes.
    #[must_use]
    pub const fn wire_len(&self) -> u16 {
        self.wire_len.get()
    }
}

impl Header for Erf {
    const NAME: &'static str = "ERF";

    fn fields(&self, f: &mut Fields<'_>) {
        f.bytes("timestamp", &self.timestamp);
        f.flag("extensions", self.has_extensions());
        f.uint("type", 7, self.kind());
        f.hex("flags", 8, self.flags);
        f.uint("record_len", 16, self.record_len());
        f.uint("loss", 16, self.loss.get());
        f.uint("wire_len", 16, self.wire_len());
    }
}

impl fmt::Display for Erf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERF type {} wire length {}", self.kind(), self.wire_len())
    }
}
