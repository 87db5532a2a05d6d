//! Global Route Header, 40 bytes: the network layer of RoCE v1 and of routed InfiniBand.
//!
//! ```text
//!      0               1               2               3
//!  0  | IPVer | TClass        | FlowLabel                             |
//!  4  | PayLen                        | NxtHdr        | HopLmt        |
//!  8  | SGID (16 bytes)                                               |
//! 24  | DGID (16 bytes)                                               |
//! ```
//! Laid out like an IPv6 header; PayLen runs through the ICRC. Source: Linux
//! `drivers/infiniband/core/ud_header.c`.

use core::fmt;
use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Ecn, Fields, Gid, Header};

/// Global Route Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Grh {
    word: U32,
    pay_len: U16,
    /// What follows; [`Self::IBA`] is a BTH.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source.
    pub sgid: Gid,
    /// Destination.
    pub dgid: Gid,
}

const _: () = assert!(size_of::<Grh>() == 40);

impl Grh {
    /// The next header that says: InfiniBand transport.
    pub const IBA: u8 = 0x1b;

    /// A header with hop limit 1, traffic class and flow label 0.
    #[must_use]
    pub const fn new(sgid: Gid, dgid: Gid, pay_len: u16) -> Self {
        Self {
            word: U32::new(6 << 28),
            pay_len: U16::new(pay_len),
            next_header: Self::IBA,
            hop_limit: 1,
            sgid,
            dgid,
        }
    }

    /// IPVer: 6 in every GRH.
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.word.get() >> 28) as u8
    }

    /// TClass: DSCP and ECN together.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        (self.word.get() >> 20 & 0xff) as u8
    }

    /// Differentiated services code point, 6 bits.
    #[must_use]
    pub const fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Explicit congestion notification.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_tos(self.traffic_class())
    }

    /// Flow label, 20 bits.
    #[must_use]
    pub const fn flow_label(&self) -> u32 {
        self.word.get() & 0x000f_ffff
    }

    /// Bytes from behind this header through the ICRC.
    #[must_use]
    pub const fn pay_len(&self) -> u16 {
        self.pay_len.get()
    }

    /// The same with another traffic class.
    #[must_use]
    pub const fn with_traffic_class(self, class: u8) -> Self {
        let word = self.word.get() & 0xf00f_ffff | (class as u32) << 20;
        Self { word: U32::new(word), ..self }
    }

    /// The same with another flow label, modulo 2^20.
    #[must_use]
    pub const fn with_flow_label(self, label: u32) -> Self {
        let word = self.word.get() & 0xfff0_0000 | label & 0x000f_ffff;
        Self { word: U32::new(word), ..self }
    }

    /// The same with another payload length.
    #[must_use]
    pub const fn with_pay_len(self, len: u16) -> Self {
        Self { pay_len: U16::new(len), ..self }
    }
}

impl Header for Grh {
    const NAME: &'static str = "GRH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("ip_ver", 4, self.version());
        f.uint("dscp", 6, self.dscp());
        f.named("ecn", 2, self.traffic_class() & 3, &self.ecn());
        f.hex("flow_label", 20, self.flow_label());
        f.uint("pay_len", 16, self.pay_len());
        f.hex("next_header", 8, self.next_header);
        f.uint("hop_limit", 8, self.hop_limit);
        f.gid("sgid", self.sgid);
        f.gid("dgid", self.dgid);
    }
}

impl fmt::Display for Grh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} next header {:#x}", self.sgid, self.dgid, self.next_header)
    }
}
