//! Multiprotocol label switching: one label stack entry, 4 bytes (RFC 3032).
//!
//! ```text
//!      0               1               2               3
//!  0  | label (20 bits)                       | TC  |S| time to live  |
//! ```
//! Nothing says what follows the bottom of the stack; the first nibble tells: 4 and 6 are IP, 0 is
//! the control word of an Ethernet pseudowire (RFC 4385).

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// One label stack entry.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MplsLabel {
    word: U32,
}

const _: () = assert!(size_of::<MplsLabel>() == 4);

impl MplsLabel {
    /// From label (modulo 2^20), traffic class (modulo 8), bottom of stack and time to live.
    #[must_use]
    pub const fn new(label: u32, class: u8, bottom: bool, ttl: u8) -> Self {
        let word = label << 12 | (class as u32 & 7) << 9 | (bottom as u32) << 8 | ttl as u32;
        Self { word: U32::new(word) }
    }

    /// The label, 20 bits.
    #[must_use]
    pub const fn label(&self) -> u32 {
        self.word.get() >> 12
    }

    /// Traffic class, 3 bits.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        (self.word.get() >> 9 & 7) as u8
    }

    /// Whether this is the last label.
    #[must_use]
    pub const fn is_bottom(&self) -> bool {
        self.word.get() & 0x100 != 0
    }

    /// Time to live.
    #[must_use]
    pub const fn ttl(&self) -> u8 {
        (self.word.get() & 0xff) as u8
    }
}

impl Header for MplsLabel {
    const NAME: &'static str = "MPLS";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("label", 20, self.label());
        f.uint("traffic_class", 3, self.traffic_class());
        f.flag("bottom", self.is_bottom());
        f.uint("ttl", 8, self.ttl());
    }
}

impl fmt::Display for MplsLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "label {}", self.label())
    }
}
