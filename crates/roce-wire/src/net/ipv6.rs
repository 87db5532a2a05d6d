//! Internet Protocol version 6 header, 40 bytes, and the extension headers behind it (RFC 8200).
//!
//! ```text
//!      0               1               2               3
//!  0  |Version| traffic class | flow label                            |
//!  4  | payload length                | next header   | hop limit     |
//!  8  | source address (16 bytes)                                     |
//! 24  | destination address (16 bytes)                                |
//! ```

use core::fmt;
use core::net::Ipv6Addr;
use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Ecn, Fields, Gid, Header};

/// IPv6 header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ipv6 {
    word: U32,
    payload_len: U16,
    /// What follows; 17 is UDP.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    src: Gid,
    dst: Gid,
}

const _: () = assert!(size_of::<Ipv6>() == 40);

impl Ipv6 {
    /// A header with hop limit 64, traffic class and flow label 0.
    #[must_use]
    pub const fn new(src: Ipv6Addr, dst: Ipv6Addr, next_header: u8, payload_len: u16) -> Self {
        Self {
            word: U32::new(6 << 28),
            payload_len: U16::new(payload_len),
            next_header,
            hop_limit: 64,
            src: Gid(src.octets()),
            dst: Gid(dst.octets()),
        }
    }

    /// 6 in every IPv6 header.
    #[must_use]
    pub const fn version(&self) -> u8 {
        (self.word.get() >> 28) as u8
    }

    /// Traffic class: DSCP and ECN together.
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

    /// Length of what follows this header, in bytes.
    #[must_use]
    pub const fn payload_len(&self) -> u16 {
        self.payload_len.get()
    }

    /// Source address.
    #[must_use]
    pub const fn src(&self) -> Ipv6Addr {
        self.src.ipv6()
    }

    /// Destination address.
    #[must_use]
    pub const fn dst(&self) -> Ipv6Addr {
        self.dst.ipv6()
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
    pub const fn with_payload_len(self, len: u16) -> Self {
        Self { payload_len: U16::new(len), ..self }
    }

    /// The same between other addresses.
    #[must_use]
    pub const fn with_addrs(self, src: Ipv6Addr, dst: Ipv6Addr) -> Self {
        Self { src: Gid(src.octets()), dst: Gid(dst.octets()), ..self }
    }
}

impl Header for Ipv6 {
    const NAME: &'static str = "IPv6";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("version", 4, self.version());
        f.uint("dscp", 6, self.dscp());
        f.named("ecn", 2, self.traffic_class() & 3, &self.ecn());
        f.hex("flow_label", 20, self.flow_label());
        f.uint("payload_length", 16, self.payload_len());
        f.uint("next_header", 8, self.next_header);
        f.uint("hop_limit", 8, self.hop_limit);
        f.gid("src", self.src);
        f.gid("dst", self.dst);
    }
}

impl fmt::Display for Ipv6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} next header {}", self.src(), self.dst(), self.next_header)
    }
}

/// The extension headers between an IPv6 header and what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionHeaders {
    /// Their length together, in bytes.
    pub len: usize,
    /// The protocol behind them.
    pub next_header: u8,
    /// Whether a fragment header says that this is one fragment of a larger datagram.
    pub is_fragment: bool,
    /// The fragment's offset in units of 8 bytes, when it is one; 0 otherwise.
    pub fragment_offset: u16,
    /// Whether the chain runs past the bytes that are there.
    pub is_cut: bool,
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

impl ExtensionHeaders {
    /// Follows the chain that begins with `next_header` at the start of `bytes`.
    #[must_use]
    pub fn walk(next_header: u8, bytes: &[u8]) -> Self {
        let mut chain =
            Self { len: 0, next_header, is_fragment: false, fragment_offset: 0, is_cut: false };
        // Each turn moves on by at least 8 bytes, so the length of `bytes` bounds the loop.
        while let HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS
        | MOBILITY | HIP | SHIM6 = chain.next_header
        {
            let rest = bytes.get(chain.len..).unwrap_or_default();
            let &[next, units, hi, lo, ..] = rest else {
                chain.is_cut = true;
                break;
            };
            let len = match chain.next_header {
                FRAGMENT => 8,
                // In units of 4 bytes, not counting the first two (RFC 4302).
                AUTHENTICATION => usize::from(units).saturating_add(2).saturating_mul(4),
                _ => usize::from(units).saturating_add(1).saturating_mul(8),
            };
            if rest.len() < len {
                chain.is_cut = true;
                break;
            }
            if chain.next_header == FRAGMENT {
                let word = u16::from_be_bytes([hi, lo]);
                chain.fragment_offset = word >> 3;
                // An atomic fragment (offset 0, no more to come) is a whole datagram (RFC 6946).
                chain.is_fragment = word & 0xfff9 != 0;
            }
            chain.next_header = next;
            chain.len = chain.len.saturating_add(len);
            // What follows the header in a later fragment is data, not another header.
            if chain.fragment_offset != 0 {
                break;
            }
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_ends_at_the_first_protocol() {
        let mut bytes = [0u8; 40];
        bytes[0] = DESTINATION_OPTIONS; // hop by hop, 8 bytes
        bytes[8] = 17; // destination options, 16 bytes
        bytes[9] = 1;
        let chain = ExtensionHeaders::walk(HOP_BY_HOP, &bytes);
        assert_eq!((chain.len, chain.next_header, chain.is_cut), (24, 17, false));
        assert_eq!(ExtensionHeaders::walk(17, &bytes).len, 0);
        assert!(ExtensionHeaders::walk(HOP_BY_HOP, &bytes[..20]).is_cut);
    }

    #[test]
    fn fragments_are_told_from_atomic_fragments() {
        let first = [17, 0, 0, 1, 0, 0, 0, 9];
        let later = [17, 0, 0, 0x10, 0, 0, 0, 9];
        let atomic = [17, 0, 0, 0, 0, 0, 0, 9];
        assert!(ExtensionHeaders::walk(FRAGMENT, &first).is_fragment);
        assert_eq!(ExtensionHeaders::walk(FRAGMENT, &later).fragment_offset, 2);
        assert!(!ExtensionHeaders::walk(FRAGMENT, &atomic).is_fragment);
    }

    #[test]
    fn the_first_word_keeps_its_parts_apart() {
        let ip = Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 17, 0)
            .with_traffic_class(0x2a)
            .with_flow_label(0x34567);
        assert_eq!(ip.as_bytes()[..4], [0x62, 0xa3, 0x45, 0x67]);
        assert_eq!((ip.dscp(), ip.ecn()), (10, Ecn::Ect0));
    }
}
