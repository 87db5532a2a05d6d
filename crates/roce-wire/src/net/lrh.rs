//! Local Route Header, 8 bytes: the link layer of native InfiniBand.
//!
//! ```text
//!      0               1               2               3
//!  0  |  VL   | LVer  |  SL   |res|LNH| DLID                          |
//!  4  | reserved| PktLen              | SLID                          |
//! ```
//! PktLen counts words of 4 bytes from the LRH through the ICRC; the VCRC behind it is not counted.
//! Source: IBTA 7.7, Wireshark `packet-infiniband.c`.

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, Lid};

/// Local Route Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Lrh {
    vl_lver: u8,
    sl_lnh: u8,
    /// Destination.
    pub dlid: Lid,
    len: U16,
    /// Source.
    pub slid: Lid,
}

const _: () = assert!(size_of::<Lrh>() == 8);

/// Link next header: what stands behind the LRH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lnh {
    /// Raw, with an Ethertype.
    Raw,
    /// Raw IPv6.
    Ip,
    /// A BTH: InfiniBand transport within the subnet.
    Local,
    /// A GRH, then a BTH.
    Global,
}

impl fmt::Display for Lnh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "raw",
            Self::Ip => "raw IPv6",
            Self::Local => "BTH",
            Self::Global => "GRH",
        })
    }
}

impl Lrh {
    /// A header on virtual lane and service level 0, of length 0.
    #[must_use]
    pub const fn new(slid: Lid, dlid: Lid, lnh: Lnh) -> Self {
        let lnh = match lnh {
            Lnh::Raw => 0,
            Lnh::Ip => 1,
            Lnh::Local => 2,
            Lnh::Global => 3,
        };
        Self { vl_lver: 0, sl_lnh: lnh, dlid, len: U16::new(0), slid }
    }

    /// Virtual lane, 4 bits.
    #[must_use]
    pub const fn vl(&self) -> u8 {
        self.vl_lver >> 4
    }

    /// Link version, 4 bits; 0.
    #[must_use]
    pub const fn lver(&self) -> u8 {
        self.vl_lver & 0x0f
    }

    /// Service level, 4 bits.
    #[must_use]
    pub const fn sl(&self) -> u8 {
        self.sl_lnh >> 4
    }

    /// What stands behind this header.
    #[must_use]
    pub const fn lnh(&self) -> Lnh {
        match self.sl_lnh & 3 {
            0 => Lnh::Raw,
            1 => Lnh::Ip,
            2 => Lnh::Local,
            _ => Lnh::Global,
        }
    }

    /// Length from this header through the ICRC, in words of 4 bytes: 0 to 2047.
    #[must_use]
    pub const fn pkt_len(&self) -> u16 {
        self.len.get() & 0x07ff
    }

    /// Length from this header through the ICRC, in bytes.
    #[must_use]
    pub const fn byte_len(&self) -> usize {
        (self.pkt_len() as usize) << 2
    }

    /// The same on another virtual lane, modulo 16.
    #[must_use]
    pub const fn with_vl(self, vl: u8) -> Self {
        Self { vl_lver: vl << 4 | self.vl_lver & 0x0f, ..self }
    }

    /// The same with another length in words of 4 bytes, modulo 2048.
    #[must_use]
    pub const fn with_pkt_len(self, words: u16) -> Self {
        Self { len: U16::new(self.len.get() & 0xf800 | words & 0x07ff), ..self }
    }
}

impl Header for Lrh {
    const NAME: &'static str = "LRH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("vl", 4, self.vl());
        f.uint("lver", 4, self.lver());
        f.uint("sl", 4, self.sl());
        f.reserved(2, self.sl_lnh >> 2 & 3);
        f.named("lnh", 2, self.sl_lnh & 3, &self.lnh());
        f.uint("dlid", 16, self.dlid.get());
        f.reserved(5, self.len.get() >> 11);
        f.uint("pkt_len", 11, self.pkt_len());
        f.uint("slid", 16, self.slid.get());
    }
}

impl fmt::Display for Lrh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lid {} > {} sl {} vl {}", self.slid, self.dlid, self.sl(), self.vl())
    }
}
