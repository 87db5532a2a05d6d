//! User Datagram Protocol header, 8 bytes (RFC 768).
//!
//! ```text
//!      0               1               2               3
//!  0  | source port                   | destination port              |
//!  4  | length, header included       | checksum                      |
//! ```
//! RoCE v2 senders leave the checksum 0, also over IPv6 (Linux `sw/rxe/rxe_net.c`).

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// UDP header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Udp {
    src: U16,
    dst: U16,
    len: U16,
    sum: U16,
}

const _: () = assert!(size_of::<Udp>() == 8);

impl Udp {
    /// The UDP destination port of RoCE v2.
    pub const ROCE_V2: u16 = 4791;

    /// A header with checksum 0; `length` counts these 8 bytes too.
    #[must_use]
    pub const fn new(src_port: u16, dst_port: u16, length: u16) -> Self {
        Self {
            src: U16::new(src_port),
            dst: U16::new(dst_port),
            len: U16::new(length),
            sum: U16::new(0),
        }
    }

    /// Source port; on RoCE v2 the flow's entropy.
    #[must_use]
    pub const fn src_port(&self) -> u16 {
        self.src.get()
    }

    /// Destination port.
    #[must_use]
    pub const fn dst_port(&self) -> u16 {
        self.dst.get()
    }

    /// Length of header and payload, in bytes.
    #[must_use]
    pub const fn length(&self) -> u16 {
        self.len.get()
    }

    /// Checksum; 0 means that none was made.
    #[must_use]
    pub const fn checksum(&self) -> u16 {
        self.sum.get()
    }

    /// The same with another source port.
    #[must_use]
    pub const fn with_src_port(self, port: u16) -> Self {
        Self { src: U16::new(port), ..self }
    }

    /// The same with another destination port.
    #[must_use]
    pub const fn with_dst_port(self, port: u16) -> Self {
        Self { dst: U16::new(port), ..self }
    }

    /// The same with another length.
    #[must_use]
    pub const fn with_length(self, length: u16) -> Self {
        Self { len: U16::new(length), ..self }
    }

    /// The same with another checksum.
    #[must_use]
    pub const fn with_checksum(self, checksum: u16) -> Self {
        Self { sum: U16::new(checksum), ..self }
    }
}

impl Header for Udp {
    const NAME: &'static str = "UDP";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("src_port", 16, self.src_port());
        f.uint("dst_port", 16, self.dst_port());
        f.uint("length", 16, self.length());
        f.hex("checksum", 16, self.checksum());
    }
}

impl fmt::Display for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} length {}", self.src_port(), self.dst_port(), self.length())
    }
}
