//! Reliable multi-packet protocol header, 12 bytes: behind the common header in the classes whose
//! answers span several datagrams, such as subnet administration.
//!
//! ```text
//!      0               1               2               3
//!  0  | RMPPVersion   | RMPPType      | RRespTime|flg | RMPPStatus    |
//!  4  | Data1: segment number                                         |
//!  8  | Data2: payload length or new window last                      |
//! ```
//! RRespTime has 5 bits, the flags 3. Source: Linux `include/rdma/ib_mad.h`.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bits::ByteBits;
use crate::{Fields, Header};

/// Reliable multi-packet protocol header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Rmpp {
    /// Version; 1.
    pub version: u8,
    /// What kind of datagram it is.
    pub kind: RmppType,
    time_flags: u8,
    /// Zero, or why a transfer was stopped or aborted.
    pub status: u8,
    data1: U32,
    data2: U32,
}

const _: () = assert!(size_of::<Rmpp>() == 12);

const RESP_TIME: ByteBits = ByteBits(0xf8);
const FLAGS: ByteBits = ByteBits(0x07);

impl Rmpp {
    /// A header of version 1 with the active flag (bit 0) set.
    #[must_use]
    pub const fn new(kind: RmppType, segment: u32, length: u32) -> Self {
        Self {
            version: 1,
            kind,
            time_flags: 1,
            status: 0,
            data1: U32::new(segment),
            data2: U32::new(length),
        }
    }

    /// The response time as an exponent of 5 bits.
    #[must_use]
    pub const fn resp_time(&self) -> u8 {
        RESP_TIME.of(self.time_flags)
    }

    /// Flags: bit 0 active, bit 1 first, bit 2 last.
    #[must_use]
    pub const fn flags(&self) -> u8 {
        FLAGS.of(self.time_flags)
    }

    /// The segment number, of DATA and ACK.
    #[must_use]
    pub const fn data1(&self) -> u32 {
        self.data1.get()
    }

    /// The payload length of DATA in bytes; the last segment of the new window of ACK.
    #[must_use]
    pub const fn data2(&self) -> u32 {
        self.data2.get()
    }

    /// The same with another response time, modulo 32.
    #[must_use]
    pub const fn with_resp_time(self, exponent: u8) -> Self {
        Self { time_flags: RESP_TIME.put(self.time_flags, exponent), ..self }
    }

    /// The same with other flags, modulo 8.
    #[must_use]
    pub const fn with_flags(self, flags: u8) -> Self {
        Self { time_flags: FLAGS.put(self.time_flags, flags), ..self }
    }
}

impl Header for Rmpp {
    const NAME: &'static str = "RMPP";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("version", 8, self.version);
        f.named("type", 8, self.kind.0, &self.kind);
        f.uint("resp_time", 5, self.resp_time());
        f.hex("flags", 3, self.flags());
        f.uint("status", 8, self.status);
        f.uint("data1", 32, self.data1());
        f.uint("data2", 32, self.data2());
    }
}

impl fmt::Display for Rmpp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} segment {}", self.kind, self.data1())
    }
}

/// What kind of datagram an RMPP header announces.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct RmppType(pub u8);

impl RmppType {
    /// A segment.
    pub const DATA: Self = Self(1);
    /// Segments arrived.
    pub const ACK: Self = Self(2);
    /// The receiver ends the transfer.
    pub const STOP: Self = Self(3);
    /// Either side gives up.
    pub const ABORT: Self = Self(4);

    /// The standard's name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::DATA => "DATA",
            Self::ACK => "ACK",
            Self::STOP => "STOP",
            Self::ABORT => "ABORT",
            _ => return None,
        })
    }
}

impl fmt::Display for RmppType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {:#04x}", self.0),
        }
    }
}
