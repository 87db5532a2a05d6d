//! Encapsulated remote SPAN, types II (8 bytes) and III (12 bytes), in GRE.
//!
//! ```text
//! II   0               1               2               3
//!  0  | Ver   | VLAN                  | COS |En |T| session id        |
//!  4  | reserved              | port index                            |
//!
//! III  0               1               2               3
//!  0  | Ver   | VLAN                  | COS |BSO|T| session id        |
//!  4  | timestamp                                                     |
//!  8  | security group tag            |P| FT      | hw id     |D|gra|O|
//! ```
//! Type I has no header of its own: an Ethernet frame right behind a GRE header without sequence
//! number. O says that 8 more bytes follow. Source: draft-foschiano-erspan-03.

use core::fmt;
use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// ERSPAN type II header; an Ethernet frame follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ErspanII {
    ver_vlan: U16,
    session: U16,
    index: U32,
}

const _: () = assert!(size_of::<ErspanII>() == 8);

impl ErspanII {
    /// From the session id, modulo 1024.
    #[must_use]
    pub const fn new(session: u16) -> Self {
        Self { ver_vlan: U16::new(0x1000), session: U16::new(session & 0x03ff), index: U32::new(0) }
    }

    /// Version, 4 bits; 1.
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.ver_vlan.get() >> 12) as u8
    }

    /// VLAN of the mirrored frame, 12 bits.
    #[must_use]
    pub const fn vlan(&self) -> u16 {
        self.ver_vlan.get() & 0x0fff
    }

    /// The session, 10 bits.
    #[must_use]
    pub const fn session(&self) -> u16 {
        self.session.get() & 0x03ff
    }
}

impl Header for ErspanII {
    const NAME: &'static str = "ERSPAN II";

    fn fields(&self, f: &mut Fields<'_>) {
        let session = self.session.get();
        f.uint("version", 4, self.version());
        f.uint("vlan", 12, self.vlan());
        f.uint("cos", 3, session >> 13);
        f.uint("encapsulation", 2, session >> 11 & 3);
        f.flag("truncated", session & 0x0400 != 0);
        f.uint("session", 10, self.session());
        f.reserved(12, self.index.get() >> 20);
        f.uint("port_index", 20, self.index.get() & 0x000f_ffff);
    }
}

impl fmt::Display for ErspanII {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} vlan {}", self.session(), self.vlan())
    }
}

/// ERSPAN type III header; after the optional 8 bytes an Ethernet frame follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ErspanIII {
    ver_vlan: U16,
    session: U16,
    timestamp: U32,
    sgt: U16,
    flags: U16,
}

const _: () = assert!(size_of::<ErspanIII>() == 12);

impl ErspanIII {
    /// From the session id, modulo 1024.
    #[must_use]
    pub const fn new(session: u16) -> Self {
        Self {
            ver_vlan: U16::new(0x2000),
            session: U16::new(session & 0x03ff),
            timestamp: U32::new(0),
            sgt: U16::new(0),
            flags: U16::new(0),
        }
    }

    /// Version, 4 bits; 2.
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.ver_vlan.get() >> 12) as u8
    }

    /// VLAN of the mirrored frame, 12 bits.
    #[must_use]
    pub const fn vlan(&self) -> u16 {
        self.ver_vlan.get() & 0x0fff
    }

    /// The session, 10 bits.
    #[must_use]
    pub const fn session(&self) -> u16 {
        self.session.get() & 0x03ff
    }

    /// Frame type, 5 bits: 0 Ethernet, 2 IP.
    #[must_use]
    pub const fn frame_type(&self) -> u8 {
        (self.flags.get() >> 10 & 0x1f) as u8
    }

    /// Whether the platform's own 8 bytes follow.
    #[must_use]
    pub const fn has_platform(&self) -> bool {
        self.flags.get() & 1 != 0
    }
}

impl Header for ErspanIII {
    const NAME: &'static str = "ERSPAN III";

    fn fields(&self, f: &mut Fields<'_>) {
        let (session, flags) = (self.session.get(), self.flags.get());
        f.uint("version", 4, self.version());
        f.uint("vlan", 12, self.vlan());
        f.uint("cos", 3, session >> 13);
        f.uint("bso", 2, session >> 11 & 3);
        f.flag("truncated", session & 0x0400 != 0);
        f.uint("session", 10, self.session());
        f.uint("timestamp", 32, self.timestamp.get());
        f.uint("sgt", 16, self.sgt.get());
        f.flag("protocol_data", flags & 0x8000 != 0);
        f.uint("frame_type", 5, self.frame_type());
        f.uint("hardware_id", 6, flags >> 4 & 0x3f);
        f.flag("direction", flags & 0x0008 != 0);
        f.uint("granularity", 2, flags >> 1 & 3);
        f.flag("platform", self.has_platform());
    }
}

impl fmt::Display for ErspanIII {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} vlan {}", self.session(), self.vlan())
    }
}
