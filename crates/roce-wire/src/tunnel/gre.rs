//! Generic routing encapsulation, 4 bytes and optional words (RFC 2784, RFC 2890).
//!
//! ```text
//!      0               1               2               3
//!  0  |C|R|K|S| flags             |Ver| protocol (an Ethertype)       |
//!     | checksum and reserved, when C or R                            |
//!     | key, when K                                                   |
//!     | sequence number, when S                                       |
//! ```

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EtherType, Fields, Header};

/// The first word of GRE.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Gre {
    flags: U16,
    protocol: U16,
}

const _: () = assert!(size_of::<Gre>() == 4);

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;

impl Gre {
    /// The IP protocol number.
    pub const PROTOCOL: u8 = 47;

    /// The flag that a sequence number follows.
    pub const SEQUENCE: u16 = SEQUENCE;

    /// From the flag word and what follows.
    #[must_use]
    pub const fn new(flags: u16, protocol: EtherType) -> Self {
        Self { flags: U16::new(flags), protocol: U16::new(protocol.0) }
    }

    /// Whether a word with a checksum follows.
    #[must_use]
    pub const fn has_checksum(&self) -> bool {
        self.flags.get() & (CHECKSUM | ROUTING) != 0
    }

    /// Whether a key follows.
    #[must_use]
    pub const fn has_key(&self) -> bool {
        self.flags.get() & KEY != 0
    }

    /// Whether a sequence number follows.
    #[must_use]
    pub const fn has_sequence(&self) -> bool {
        self.flags.get() & SEQUENCE != 0
    }

    /// Version, 3 bits: 0, or 1 for the PPP variant.
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.flags.get() & 7) as u8
    }

    /// What follows.
    #[must_use]
    pub const fn protocol(&self) -> EtherType {
        EtherType(self.protocol.get())
    }

    /// Length of the optional words behind this one, in bytes: 0, 4, 8 or 12.
    #[must_use]
    pub fn optional_len(&self) -> usize {
        let words = [self.has_checksum(), self.has_key(), self.has_sequence()];
        words.into_iter().filter(|there| *there).count() << 2
    }
}

impl Header for Gre {
    const NAME: &'static str = "GRE";

    fn fields(&self, f: &mut Fields<'_>) {
        let flags = self.flags.get();
        f.flag("checksum", flags & CHECKSUM != 0);
        f.flag("routing", flags & ROUTING != 0);
        f.flag("key", self.has_key());
        f.flag("sequence", self.has_sequence());
        f.hex("flags", 9, flags >> 3 & 0x1ff);
        f.uint("version", 3, self.version());
        f.named("protocol", 16, self.protocol().0, &self.protocol());
    }
}

impl fmt::Display for Gre {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "protocol {}", self.protocol())
    }
}
