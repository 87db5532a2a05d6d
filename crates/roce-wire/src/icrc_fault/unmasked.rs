//! ICRCs made over fields that are to be masked.

use core::fmt;
use zerocopy::IntoBytes;

use super::linear;
use crate::icrc::Cover;
use crate::{Grh, Header, Icrc, Ipv4, Ipv6, Packet, Udp};

/// Which of the fields that routers may change an ICRC was made over as they stood, and not as ones
/// (IBTA 7.8.1 and Annex A17; Linux `sw/rxe/rxe_icrc.c`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Unmasked(u8);

impl Unmasked {
    /// Type of service of IPv4, traffic class of IPv6 and the GRH.
    pub const TRAFFIC_CLASS: Self = Self(1);
    /// Flow label of IPv6 and the GRH.
    pub const FLOW_LABEL: Self = Self(1 << 1);
    /// Time to live of IPv4, hop limit of IPv6 and the GRH.
    pub const HOP_LIMIT: Self = Self(1 << 2);
    /// Header checksum of IPv4.
    pub const IPV4_CHECKSUM: Self = Self(1 << 3);
    /// Checksum of UDP.
    pub const UDP_CHECKSUM: Self = Self(1 << 4);
    /// The byte of the BTH with FECN, BECN and six reserved bits ("resv8a").
    pub const RESV8A: Self = Self(1 << 5);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::TRAFFIC_CLASS, "traffic class (ToS)"),
        (Self::FLOW_LABEL, "flow label"),
        (Self::HOP_LIMIT, "TTL (hop limit)"),
        (Self::IPV4_CHECKSUM, "IPv4 checksum"),
        (Self::UDP_CHECKSUM, "UDP checksum"),
        (Self::RESV8A, "FECN/BECN byte"),
    ];

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these fields are among them.
    #[must_use]
    pub const fn has(self, fields: Self) -> bool {
        self.0 & fields.0 == fields.0
    }

    const NONE: Self = Self(0);

    const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl fmt::Display for Unmasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Self::NAMES.iter().filter(|(field, _)| self.has(*field));
        if let Some((_, name)) = names.next() {
            f.write_str(name)?;
        }
        names.try_for_each(|(_, name)| write!(f, ", {name}"))
    }
}

/// The fields of which `packet` was made unmasked, where that alone explains how far its ICRC is
/// from the right one.
pub(super) fn of(cover: Cover<'_>, packet: &Packet<'_>, off_by: u32) -> Option<Unmasked> {
    let head = Heads::of(cover, packet)?;
    // What is off at the end of the headers.
    let off = linear::before(off_by, packet.after_bth().len());
    head.as_seen(off).or_else(|| head.marked_since(off))
}

/// By how much the ICRC is off when these fields are not masked; `None` where one is not there.
pub(super) fn off_by(cover: Cover<'_>, packet: &Packet<'_>, fields: Unmasked) -> Option<u32> {
    let head = Heads::of(cover, packet)?;
    let known = head.words().filter(|word| fields.has(word.field));
    let (found, off) = known.fold((Unmasked::NONE, 0), |(found, off), word| {
        (found.with(word.field), off ^ head.change(word.at, word.difference()))
    });
    (found == fields).then(|| linear::after(off, packet.after_bth().len()))
}

/// A field in its 32-bit word: where the word begins, which of its bits they are, and what they are.
#[derive(Clone, Copy)]
struct Word {
    field: Unmasked,
    at: usize,
    bits: u32,
    seen: u32,
}

impl Word {
    /// In which bits the field differs from ones.
    const fn difference(self) -> u32 {
        !self.seen & self.bits
    }
}

/// The headers that the ICRC covers, from the network header to the BTH.
struct Heads {
    words: [Option<Word>; 6],
    len: usize,
}

const BTH_LEN: usize = 12;
const UDP_LEN: usize = 8;

impl Heads {
    fn of(cover: Cover<'_>, packet: &Packet<'_>) -> Option<Self> {
        let bth = packet.bth.as_bytes();
        let (net, udp, fields): (&[u8], Option<&Udp>, &[Place]) = match cover {
            Cover::V2Ipv4(ip, [], udp) => (ip.as_bytes(), Some(udp), &IN_IPV4),
            Cover::V2Ipv6(ip, [], udp) => (ip.as_bytes(), Some(udp), &IN_IPV6),
            Cover::Global(grh) => (grh.as_bytes(), None, &IN_IPV6),
            // Options and extension headers are not RoCE v2's; native InfiniBand has no router here.
            Cover::V2Ipv4(..) | Cover::V2Ipv6(..) | Cover::Local(_) => return None,
        };
        let bth_at = net.len().checked_add(udp.map_or(0, |_| UDP_LEN))?;
        let mut words = [None; 6];
        let in_net =
            fields.iter().filter_map(|&(field, at, bits)| word(net, at, (field, bits, at)));
        let in_udp = udp.and_then(|udp| {
            let at = net.len().checked_add(4)?;
            word(udp.as_bytes(), 4, (Unmasked::UDP_CHECKSUM, 0xffff, at))
        });
        let at = bth_at.checked_add(4)?;
        let in_bth = word(bth, 4, (Unmasked::RESV8A, 0xff00_0000, at));
        for (slot, word) in words.iter_mut().zip(in_net.chain(in_udp).chain(in_bth)) {
            *slot = Some(word);
        }
        Some(Self { words, len: bth_at.checked_add(BTH_LEN)? })
    }

    fn words(&self) -> impl Iterator<Item = Word> {
        self.words.iter().flatten().copied()
    }

    /// What a change in the word at that place makes of the CRC at the end of the headers.
    fn change(&self, at: usize, difference: u32) -> u32 {
        linear::after(difference.swap_bytes(), self.len.saturating_sub(at))
    }

    /// What the word at that place must have differed by for the CRC at the end to be off so.
    fn cause(&self, at: usize, off: u32) -> u32 {
        linear::before(off, self.len.saturating_sub(at)).swap_bytes()
    }

    /// The fewest fields that explain it with the values that they have here; the TTL may have been
    /// higher, as routers count it down.
    fn as_seen(&self, off: u32) -> Option<Unmasked> {
        // TTL and IPv4 checksum share a word, whose difference follows from the rest.
        let hops = self.words().find(|word| word.field == Unmasked::HOP_LIMIT)?;
        let checksum = self.words().find(|word| word.field == Unmasked::IPV4_CHECKSUM);
        let others = self.words().filter(|word| word.at != hops.at);
        let mut others = others.map(|word| (word.field, self.change(word.at, word.difference())));
        let changes: [Option<(Unmasked, u32)>; 4] = core::array::from_fn(|_| others.next());
        let sets = (0u8..1 << changes.len()).filter_map(|set| {
            let mut left = (Unmasked::NONE, off);
            for (bit, change) in changes.iter().enumerate() {
                if set >> bit & 1 == 1 {
                    let (field, change) = (*change)?;
                    left = (left.0.with(field), left.1 ^ change);
                }
            }
            let (fields, off) = left;
            Some(fields.with(hops_of(hops, checksum, self.cause(hops.at, off))?))
        });
        sets.filter(|fields| *fields != Unmasked::NONE).min_by_key(|fields| fields.count())
    }

    /// One field alone that was marked since, so that it had another value then.
    fn marked_since(&self, off: u32) -> Option<Unmasked> {
        let class = self.words().find(|word| word.field == Unmasked::TRAFFIC_CLASS)?;
        let cause = self.cause(class.at, off);
        (cause & !class.bits == 0).then_some(class.field)
    }
}

/// Which fields in the word of the TTL were not masked, when its difference is `cause`.
fn hops_of(hops: Word, checksum: Option<Word>, cause: u32) -> Option<Unmasked> {
    let sum_bits = checksum.map_or(0, |word| word.bits);
    if cause & !(hops.bits | sum_bits) != 0 {
        return None;
    }
    // As it was then: ones where it was masked.
    let (was, sum_was) = (hops.bits & !cause, sum_bits & !cause);
    let is_hop = was != hops.bits;
    let is_sum = sum_was != sum_bits;
    let passed = if is_hop { was.checked_sub(hops.seen)? >> 16 } else { 0 };
    // Each router adds 0x100 to the checksum, in ones' complement (RFC 1624). A checksum of 0 was
    // not filled in yet.
    let added = checksum.map(|word| word.seen.saturating_add(!sum_was & 0xffff) % 0xffff);
    let is_known_sum = !is_sum
        || sum_was == 0
        || added.is_some_and(|by| if is_hop { by == passed % 0xffff } else { by & 0xff == 0 });
    if !is_known_sum {
        return None;
    }
    let hop = if is_hop { Unmasked::HOP_LIMIT } else { Unmasked::NONE };
    let sum = if is_sum { Unmasked::IPV4_CHECKSUM } else { Unmasked::NONE };
    Some(hop.with(sum))
}

fn word(header: &[u8], from: usize, (field, bits, at): (Unmasked, u32, usize)) -> Option<Word> {
    let bytes = header.get(from..)?.first_chunk()?;
    Some(Word { field, at, bits, seen: u32::from_be_bytes(*bytes) & bits })
}

/// A field, where the 32-bit word begins that it is in, and its bits in it.
type Place = (Unmasked, usize, u32);

/// Fields of the network header.
const IN_IPV4: [Place; 3] = [
    (Unmasked::TRAFFIC_CLASS, 0, 0x00ff_0000),
    (Unmasked::HOP_LIMIT, 8, 0xff00_0000),
    (Unmasked::IPV4_CHECKSUM, 8, 0xffff),
];
/// The GRH has the shape of an IPv6 header.
const IN_IPV6: [Place; 3] = [
    (Unmasked::TRAFFIC_CLASS, 0, 0x0ff0_0000),
    (Unmasked::FLOW_LABEL, 0, 0x000f_ffff),
    (Unmasked::HOP_LIMIT, 4, 0xff),
];

const _: () = assert!(Ipv4::LEN == 20 && Ipv6::LEN == 40 && Grh::LEN == 40 && Udp::LEN == UDP_LEN);

/// Whether the ICRC is right but for the eight bytes of ones that stand for the LRH.
pub(super) fn lacks_lrh(cover: Cover<'_>, packet: &Packet<'_>, off_by: u32) -> bool {
    let Some(head) = Heads::of(cover, packet) else { return false };
    let len = head.len.saturating_add(packet.after_bth().len());
    // The CRC's state behind them, in place of the one it begins with (Linux `rxe_icrc.c`).
    linear::before(off_by, len) == 0xdebb_20e3 ^ u32::MAX
}

/// The ICRC without the eight bytes of ones that stand for the LRH.
pub(super) fn without_lrh(cover: Cover<'_>, packet: &Packet<'_>, right: Icrc) -> Option<Icrc> {
    let len = Heads::of(cover, packet)?.len.saturating_add(packet.after_bth().len());
    Some(Icrc::new(right.get() ^ linear::after(0xdebb_20e3 ^ u32::MAX, len)))
}
