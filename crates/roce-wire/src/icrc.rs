//! Invariant CRC, the last 4 bytes of every packet.
//!
//! CRC-32 of IEEE 802.3 over eight bytes of ones (where the LRH of InfiniBand would stand), the
//! network header, UDP, BTH and everything behind it up to the ICRC, with the fields a router may
//! change set to ones. It is stored least significant byte first, unlike every other field.
//! Sources: IBTA 7.8 and Annex A17, Linux `sw/rxe/rxe_icrc.c`.

use core::fmt;
use crc32fast::Hasher;
use roce_crc::Mask;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute};

use crate::{Bth, Fields, Grh, Header, Ipv4, Ipv6, Lrh, Udp};

/// The ICRC as it stands on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Icrc([u8; 4]);

const _: () = assert!(size_of::<Icrc>() == 4);

impl Icrc {
    /// From the number that the CRC gives.
    #[must_use]
    pub const fn new(crc: u32) -> Self {
        Self(crc.to_le_bytes())
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        u32::from_le_bytes(self.0)
    }
}

impl Header for Icrc {
    const NAME: &'static str = "ICRC";

    fn fields(&self, f: &mut Fields<'_>) {
        // Shown as the bytes stand on the wire.
        f.hex("icrc", 32, u32::from_be_bytes(self.0));
    }
}

impl fmt::Display for Icrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", u32::from_be_bytes(self.0))
    }
}

/// The headers in front of the BTH, as far as the ICRC covers them.
#[derive(Clone, Copy, Debug)]
pub enum Cover<'a> {
    /// RoCE v1, and InfiniBand with a GRH: the LRH is masked whole.
    Global(&'a Grh),
    /// InfiniBand without a GRH: only the virtual lane is masked.
    Local(&'a Lrh),
    /// RoCE v2 over IPv4; options as they stand (the standard has none).
    V2Ipv4(&'a Ipv4, &'a [u8], &'a Udp),
    /// RoCE v2 over IPv6; extension headers as they stand.
    V2Ipv6(&'a Ipv6, &'a [u8], &'a Udp),
}

/// CRC of eight bytes of ones: where every ICRC but that of local InfiniBand begins.
///
/// Linux writes this state without the final complement: `0xdebb20e3`.
const AFTER_ONES: u32 = !0xdebb_20e3;

/// The right ICRC of a packet.
///
/// `rest` is what stands between the BTH and the ICRC: extended headers, payload and pad.
#[inline]
#[must_use]
pub fn compute(cover: Cover<'_>, bth: &Bth, rest: &[u8]) -> Icrc {
    let mut hasher = match cover {
        Cover::Local(_) => Hasher::new(),
        _ => Hasher::new_with_initial(AFTER_ONES),
    };
    masked(cover, bth, rest, &mut |bytes| hasher.update(bytes));
    Icrc::new(hasher.finalize())
}

/// The right ICRC of a packet in its frame, from the BTH at `bth_at` to `end`, with its network
/// headers right before it. The short way for packets as they come; `None` where there is none.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would pass the headers through memory")]
pub(crate) fn in_place(cover: Cover<'_>, frame: &[u8], bth_at: usize, end: usize) -> Option<Icrc> {
    let (mask, net_len) = match cover {
        Cover::Global(_) => (&GLOBAL, Grh::LEN),
        Cover::V2Ipv4(_, [], _) => (&V2_IPV4, size_of::<Datagram<Ipv4>>()),
        Cover::V2Ipv6(_, [], _) => (&V2_IPV6, size_of::<Datagram<Ipv6>>()),
        Cover::Local(_) | Cover::V2Ipv4(..) | Cover::V2Ipv6(..) => return None,
    };
    short(frame.get(bth_at.checked_sub(net_len)?..end)?, mask)
}

/// The right ICRC of a packet from its network header up to the ICRC; `None` where there is no short
/// way.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every frame of a capture")]
pub(crate) fn short(covered: &[u8], mask: &Mask) -> Option<Icrc> {
    if covered.len() > LONG {
        return None;
    }
    roce_crc::masked(AFTER_ONES, covered, mask).map(Icrc::new)
}

/// From here on wider registers than the short way's are faster, in bytes.
const LONG: usize = 512;

// What masking makes of headers of zeros is what is to be laid over others.
static GLOBAL: Mask = {
    let net = mask_grh(transmute!([0u8; 40]));
    Mask::new::<52>(transmute!(Head { net, bth: BTH }))
};
pub(crate) static V2_IPV4: Mask = {
    let net = Datagram { net: mask_ipv4(transmute!([0u8; 20])), udp: UDP };
    Mask::new::<40>(transmute!(Head { net, bth: BTH }))
};
pub(crate) static V2_IPV6: Mask = {
    let net = Datagram { net: mask_ipv6(transmute!([0u8; 40])), udp: UDP };
    Mask::new::<60>(transmute!(Head { net, bth: BTH }))
};
const UDP: Udp = mask_udp(transmute!([0u8; 8]));
const BTH: Bth = mask_bth(transmute!([0u8; 12]));

/// Calls `feed` with every byte that the ICRC is computed over, masked, in order.
pub(crate) fn covered(cover: Cover<'_>, bth: &Bth, rest: &[u8], feed: &mut impl FnMut(&[u8])) {
    if !matches!(cover, Cover::Local(_)) {
        feed(&[0xff; 8]);
    }
    masked(cover, bth, rest, feed);
}

/// The same without the eight bytes of ones in front.
#[inline]
fn masked(cover: Cover<'_>, bth: &Bth, rest: &[u8], feed: &mut impl FnMut(&[u8])) {
    let bth = mask_bth(*bth);
    match cover {
        Cover::Global(grh) => feed(Head { net: mask_grh(*grh), bth }.as_bytes()),
        Cover::Local(lrh) => feed(Head { net: lrh.with_vl(0xf), bth }.as_bytes()),
        Cover::V2Ipv4(ip, options, udp) => datagram(mask_ipv4(*ip), options, udp, bth, feed),
        Cover::V2Ipv6(ip, extensions, udp) => datagram(mask_ipv6(*ip), extensions, udp, bth, feed),
    }
    feed(rest);
}

#[inline]
fn datagram<N: IntoBytes + Immutable + Unaligned>(
    net: N,
    between: &[u8],
    udp: &Udp,
    bth: Bth,
    feed: &mut impl FnMut(&[u8]),
) {
    let udp = mask_udp(*udp);
    if between.is_empty() {
        feed(Head { net: Datagram { net, udp }, bth }.as_bytes());
    } else {
        feed(net.as_bytes());
        feed(between);
        feed(Head { net: udp, bth }.as_bytes());
    }
}

/// Masked headers side by side, so that one pass covers them: two short passes cost twice.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Head<N> {
    net: N,
    bth: Bth,
}

/// A network header and the UDP header right behind it.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Datagram<N> {
    net: N,
    udp: Udp,
}

const fn mask_ipv4(ip: Ipv4) -> Ipv4 {
    let mut masked = ip.with_tos(0xff).with_checksum(0xffff);
    masked.ttl = 0xff;
    masked
}

const fn mask_ipv6(ip: Ipv6) -> Ipv6 {
    let mut masked = ip.with_traffic_class(0xff).with_flow_label(0xf_ffff);
    masked.hop_limit = 0xff;
    masked
}

const fn mask_grh(grh: Grh) -> Grh {
    let mut masked = grh.with_traffic_class(0xff).with_flow_label(0xf_ffff);
    masked.hop_limit = 0xff;
    masked
}

const fn mask_udp(udp: Udp) -> Udp {
    udp.with_checksum(0xffff)
}

const fn mask_bth(bth: Bth) -> Bth {
    bth.with_fecn(true).with_becn(true).with_reserved_6(0xff)
}
