//! Internet Protocol version 4 header, 20 bytes without options (RFC 791).
//!
//! ```text
//!      0               1               2               3
//!  0  |Version|  IHL  | DSCP      |ECN| total length                  |
//!  4  | identification                |r|D|M| fragment offset         |
//!  8  | time to live  | protocol      | header checksum               |
//! 12  | source address                                                |
//! 16  | destination address                                           |
//! ```

use core::fmt;
use core::net::Ipv4Addr;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Ecn, Fields, Header};

/// IPv4 header without its options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ipv4 {
    version_ihl: u8,
    tos: u8,
    len: U16,
    id: U16,
    fragment: U16,
    /// Time to live.
    pub ttl: u8,
    /// What follows; 17 is UDP.
    pub protocol: u8,
    sum: U16,
    src: [u8; 4],
    dst: [u8; 4],
}

const _: () = assert!(size_of::<Ipv4>() == 20);

impl Ipv4 {
    /// A header as RoCE v2 wants it: no options, don't fragment, time to live 64; checksum 0.
    #[must_use]
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, total_len: u16) -> Self {
        Self {
            version_ihl: 0x45,
            tos: 0,
            len: U16::new(total_len),
            id: U16::new(0),
            fragment: U16::new(0x4000),
            ttl: 64,
            protocol,
            sum: U16::new(0),
            src: src.octets(),
            dst: dst.octets(),
        }
    }

    /// 4 in every IPv4 header.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version_ihl >> 4
    }

    /// Length of the header with its options, in bytes: 0 to 60; below 20 is an error of the sender.
    #[must_use]
    pub const fn header_len(&self) -> u8 {
        (self.version_ihl & 0x0f) << 2
    }

    /// Whether this is version 4 with a header of 20 bytes: no options.
    #[inline]
    #[must_use]
    pub const fn has_plain_length(&self) -> bool {
        self.version_ihl == 0x45
    }

    /// Type of service: DSCP and ECN together.
    #[must_use]
    pub const fn tos(&self) -> u8 {
        self.tos
    }

    /// Differentiated services code point, 6 bits.
    #[must_use]
    pub const fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    /// Explicit congestion notification.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_tos(self.tos)
    }

    /// Length of the datagram, header included, in bytes.
    #[must_use]
    pub const fn total_len(&self) -> u16 {
        self.len.get()
    }

    /// Identification; the ICRC covers it.
    #[must_use]
    pub const fn id(&self) -> u16 {
        self.id.get()
    }

    /// The three flags and the fragment offset together; the ICRC covers them.
    #[must_use]
    pub const fn fragment_word(&self) -> u16 {
        self.fragment.get()
    }

    /// The reserved flag.
    #[must_use]
    pub const fn reserved_flag(&self) -> bool {
        self.fragment.get() & 0x8000 != 0
    }

    /// Don't fragment.
    #[must_use]
    pub const fn dont_fragment(&self) -> bool {
        self.fragment.get() & 0x4000 != 0
    }

    /// More fragments.
    #[must_use]
    pub const fn more_fragments(&self) -> bool {
        self.fragment.get() & 0x2000 != 0
    }

    /// Fragment offset in units of 8 bytes.
    #[must_use]
    pub const fn fragment_offset(&self) -> u16 {
        self.fragment.get() & 0x1fff
    }

    /// Whether this is one fragment of a larger datagram, the first one included.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.fragment.get() & 0x3fff != 0
    }

    /// Header checksum.
    #[must_use]
    pub const fn checksum(&self) -> u16 {
        self.sum.get()
    }

    /// Source address.
    #[must_use]
    pub const fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(self.src)
    }

    /// Destination address.
    #[must_use]
    pub const fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(self.dst)
    }

    /// The same with another type of service.
    #[must_use]
    pub const fn with_tos(self, tos: u8) -> Self {
        Self { tos, ..self }
    }

    /// The same with another header length in bytes, rounded down to a multiple of 4.
    #[must_use]
    pub const fn with_header_len(self, len: u8) -> Self {
        Self { version_ihl: self.version_ihl & 0xf0 | (len >> 2 & 0x0f), ..self }
    }

    /// The same with another total length.
    #[must_use]
    pub const fn with_total_len(self, len: u16) -> Self {
        Self { len: U16::new(len), ..self }
    }

    /// The same with another identification.
    #[must_use]
    pub const fn with_id(self, id: u16) -> Self {
        Self { id: U16::new(id), ..self }
    }

    /// The same with other flags and offset, the 16 bits as on the wire.
    #[must_use]
    pub const fn with_fragment_word(self, word: u16) -> Self {
        Self { fragment: U16::new(word), ..self }
    }

    /// The same with another checksum.
    #[must_use]
    pub const fn with_checksum(self, checksum: u16) -> Self {
        Self { sum: U16::new(checksum), ..self }
    }

    /// The same between other addresses.
    #[must_use]
    pub const fn with_addrs(self, src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Self { src: src.octets(), dst: dst.octets(), ..self }
    }
}

impl Header for Ipv4 {
    const NAME: &'static str = "IPv4";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("version", 4, self.version());
        f.uint("ihl", 4, self.version_ihl & 0x0f);
        f.uint("dscp", 6, self.dscp());
        f.named("ecn", 2, self.tos & 3, &self.ecn());
        f.uint("total_length", 16, self.total_len());
        f.hex("identification", 16, self.id());
        f.reserved(1, self.reserved_flag());
        f.flag("dont_fragment", self.dont_fragment());
        f.flag("more_fragments", self.more_fragments());
        f.uint("fragment_offset", 13, self.fragment_offset());
        f.uint("ttl", 8, self.ttl);
        f.uint("protocol", 8, self.protocol);
        f.hex("header_checksum", 16, self.checksum());
        f.ipv4("src", self.src());
        f.ipv4("dst", self.dst());
    }
}

impl fmt::Display for Ipv4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} protocol {}", self.src(), self.dst(), self.protocol)
    }
}
