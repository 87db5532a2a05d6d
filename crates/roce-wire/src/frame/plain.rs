//! The frames that make up nearly all RoCE traffic, the short way.
//!
//! Ethernet, at most one VLAN tag, IPv4 without options or IPv6 without extension headers, UDP to a
//! RoCE port, lengths that agree: anything else is left to the walk. All these headers stand at
//! fixed places, so they are laid over the bytes at once. Both ways must give the same answer; the
//! tests hold them to each other.

use roce_crc::Mask;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{Carrier, Content, Frame, IcrcState, Link, Net, Oddities, Ports, Tunnels};
use crate::icrc::{self, Icrc};
use crate::link::{EtherType, Ethernet, VlanTag};
use crate::net::{Ipv4, Ipv6, Udp};
use crate::transport::Bth;
use crate::{OpcodeInfo, Packet};

const UDP: u8 = 17;

/// The headers of a plain frame.
///
/// Whoever wants but a few numbers takes them from here: a [`Frame`] of it costs more than all else.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a, N> {
    /// [`Ipv4`] or [`Ipv6`].
    pub net: &'a N,
    /// UDP, to a RoCE port.
    pub udp: &'a Udp,
    /// Base transport header.
    pub bth: &'a Bth,
    /// The VLAN tag, if there is one.
    pub vlans: &'a [VlanTag],
    bytes: &'a [u8],
    wire_len: usize,
    /// Where the BTH stands in the frame.
    bth_at: usize,
    /// From BTH to ICRC, by the account of the headers in front.
    packet_len: usize,
}

/// A packet that is RoCE beyond doubt.
#[derive(Clone, Copy, Debug)]
pub struct Sound<'a> {
    /// What its opcode is.
    pub info: &'static OpcodeInfo,
    /// The extended headers that the opcode calls for.
    pub headers: &'a [u8],
    /// The length of the payload on the wire, in bytes.
    pub payload: usize,
}

/// A network header that UDP follows at once.
pub trait PlainNet: FromBytes + KnownLayout + Immutable + Unaligned + Sized + 'static {
    /// How the packet is carried.
    const CARRIER: Carrier;

    /// Source and destination, as [`core::net::Ipv6Addr`] has them in numbers; IPv4 mapped into
    /// IPv6 (RFC 4291 2.5.5.2).
    fn ends(&self) -> (u128, u128);

    /// DSCP and ECN as one byte.
    fn traffic_class(&self) -> u8;

    /// The identification of IPv4.
    fn ip_id(&self) -> Option<u16>;

    #[doc(hidden)]
    fn payload_len(&self) -> Option<usize>;

    #[doc(hidden)]
    fn with<'a>(&'a self, udp: &'a Udp) -> Net<'a>;

    #[doc(hidden)]
    fn mask() -> &'static Mask;
}

impl PlainNet for Ipv4 {
    const CARRIER: Carrier = Carrier::V2Ipv4;

    #[inline]
    fn ends(&self) -> (u128, u128) {
        let number = |ip: core::net::Ipv4Addr| ip.to_ipv6_mapped().to_bits();
        (number(self.src()), number(self.dst()))
    }

    #[inline]
    fn traffic_class(&self) -> u8 {
        self.tos()
    }

    #[inline]
    fn ip_id(&self) -> Option<u16> {
        Some(self.id())
    }

    #[inline]
    fn payload_len(&self) -> Option<usize> {
        let is_plain = self.has_plain_length() && !self.is_fragment() && self.protocol == UDP;
        usize::from(self.total_len()).checked_sub(size_of::<Self>()).filter(|_| is_plain)
    }

    #[inline]
    fn with<'a>(&'a self, udp: &'a Udp) -> Net<'a> {
        Net::V2Ipv4(self, &[], udp)
    }

    #[inline]
    fn mask() -> &'static Mask {
        &icrc::V2_IPV4
    }
}

impl PlainNet for Ipv6 {
    const CARRIER: Carrier = Carrier::V2Ipv6;

    #[inline]
    fn ends(&self) -> (u128, u128) {
        (self.src().to_bits(), self.dst().to_bits())
    }

    #[inline]
    fn traffic_class(&self) -> u8 {
        Self::traffic_class(self)
    }

    #[inline]
    fn ip_id(&self) -> Option<u16> {
        None
    }

    #[inline]
    fn payload_len(&self) -> Option<usize> {
        let is_plain = self.version() == 6 && self.next_header == UDP;
        Some(usize::from(Self::payload_len(self))).filter(|_| is_plain)
    }

    #[inline]
    fn with<'a>(&'a self, udp: &'a Udp) -> Net<'a> {
        Net::V2Ipv6(self, &[], udp)
    }

    #[inline]
    fn mask() -> &'static Mask {
        &icrc::V2_IPV6
    }
}

/// What is to be done with a plain frame, whichever headers it has.
pub trait PlainUse<'a> {
    /// What comes of it.
    type Output;

    /// Does it.
    fn take<N: PlainNet>(self, plain: &Plain<'a, N>) -> Option<Self::Output>;
}

/// Lays the headers of a plain frame over its bytes, and gives them to `what`; `None` where `what`
/// says so, and for every other frame, which says nothing about it.
#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every frame of a capture")]
pub fn plain<'a, U: PlainUse<'a>>(
    link: Link,
    bytes: &'a [u8],
    wire_len: usize,
    ports: &Ports,
    what: U,
) -> Option<U::Output> {
    if link != Link::Ethernet {
        return None;
    }
    let (Tagged { ethernet, tag }, _) = Tagged::ref_from_prefix(bytes).ok()?;
    match (ethernet.ethertype(), tag.ethertype()) {
        (EtherType::IPV4, _) => what.take(&lay::<Ethernet, Ipv4>(bytes, wire_len, ports)?),
        (EtherType::IPV6, _) => what.take(&lay::<Ethernet, Ipv6>(bytes, wire_len, ports)?),
        (EtherType::VLAN, EtherType::IPV4) => {
            what.take(&lay::<Tagged, Ipv4>(bytes, wire_len, ports)?)
        }
        (EtherType::VLAN, EtherType::IPV6) => {
            what.take(&lay::<Tagged, Ipv6>(bytes, wire_len, ports)?)
        }
        _ => None,
    }
}

/// The headers from Ethernet to BTH.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Stack<L, N> {
    link: L,
    net: N,
    udp: Udp,
    bth: Bth,
}

/// Ethernet with one VLAN tag.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tagged {
    ethernet: Ethernet,
    tag: VlanTag,
}

/// What is in front of the network header.
trait PlainLink: FromBytes + KnownLayout + Immutable + Unaligned + 'static {
    fn tags(&self) -> &[VlanTag];
}

impl PlainLink for Ethernet {
    #[inline]
    fn tags(&self) -> &[VlanTag] {
        &[]
    }
}

impl PlainLink for Tagged {
    #[inline]
    fn tags(&self) -> &[VlanTag] {
        core::slice::from_ref(&self.tag)
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "once for every frame of a capture")]
fn lay<'a, L: PlainLink, N: PlainNet>(
    bytes: &'a [u8],
    wire_len: usize,
    ports: &Ports,
) -> Option<Plain<'a, N>> {
    let (Stack { link, net, udp, bth }, _) = Stack::<L, N>::ref_from_prefix(bytes).ok()?;
    let ip_payload = net.payload_len()?;
    let bth_at = const { size_of::<Stack<L, N>>().saturating_sub(size_of::<Bth>()) };
    let packet_len = ip_payload.checked_sub(size_of::<Udp>())?;
    let is_plain = ports.contains(udp.dst_port())
        && usize::from(udp.length()) == ip_payload
        && bth_at.saturating_add(packet_len) <= wire_len;
    is_plain.then_some(Plain {
        net,
        udp,
        bth,
        vlans: link.tags(),
        bytes,
        wire_len,
        bth_at,
        packet_len,
    })
}

impl<'a, N: PlainNet> Plain<'a, N> {
    /// The length of the frame on the wire, in bytes.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        self.wire_len
    }

    /// Whether the capture holds less than the frame had on the wire.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire_len
    }

    /// The packet, if it is RoCE beyond doubt and its extended headers are there. `None` says
    /// nothing: [`Frame::rejection`] does.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    #[must_use]
    pub fn sound(&self) -> Option<Sound<'a>> {
        let bth = self.bth;
        let info = bth.opcode.info()?;
        let behind = size_of::<Bth>()
            .wrapping_add(usize::from(info.headers_len))
            .wrapping_add(size_of::<Icrc>())
            .wrapping_add(usize::from(bth.pad_count()));
        let payload = self.packet_len.checked_sub(behind)?;
        let is_sound = bth.tver() == 0
            && bth.reserved_6() | bth.reserved_7() == 0
            && self.packet_len.is_multiple_of(4);
        let headers = self.behind_bth(usize::from(info.headers_len)).filter(|_| is_sound)?;
        Some(Sound { info, headers, payload })
    }

    /// The first `len` bytes behind the BTH, if the capture has them.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    fn behind_bth(&self, len: usize) -> Option<&'a [u8]> {
        let at = self.bth_at.wrapping_add(size_of::<Bth>());
        self.bytes.get(at..at.wrapping_add(len))
    }

    /// The ICRC of a [`sound`](Self::sound) packet, if the capture has it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    #[must_use]
    pub fn icrc(&self) -> Option<&'a Icrc> {
        let end = self.bth_at.wrapping_add(self.packet_len);
        let (_, icrc) = self.bytes.get(..end)?.split_last_chunk::<4>()?;
        Icrc::ref_from_bytes(icrc).ok()
    }

    /// What can be said of the ICRC of a [`sound`](Self::sound) packet.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    #[must_use]
    pub fn icrc_state(&self) -> IcrcState {
        let Some(icrc) = self.icrc() else { return IcrcState::Unchecked };
        let net_at = const { size_of::<N>().saturating_add(size_of::<Udp>()) };
        let start = self.bth_at.wrapping_sub(net_at);
        let end = self.bth_at.wrapping_add(self.packet_len).wrapping_sub(size_of::<Icrc>());
        let covered = self.bytes.get(start..end).unwrap_or_default();
        let right = icrc::short(covered, N::mask()).unwrap_or_else(|| {
            let rest = covered.get(net_at.wrapping_add(size_of::<Bth>())..).unwrap_or_default();
            long_icrc(self.net.with(self.udp), self.bth, rest)
        });
        if right == *icrc { IcrcState::Ok } else { IcrcState::Bad }
    }
}

/// By a library, which is faster for large packets and knows other processors.
#[inline(never)]
fn long_icrc(net: Net<'_>, bth: &Bth, rest: &[u8]) -> Icrc {
    icrc::compute(net.cover(), bth, rest)
}

/// Makes a [`Frame`] of a plain frame.
pub(super) struct MakeFrame<'p> {
    pub(super) ports: &'p Ports,
}

impl<'a> PlainUse<'a> for MakeFrame<'_> {
    type Output = Frame<'a>;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would copy the frame")]
    fn take<N: PlainNet>(self, plain: &Plain<'a, N>) -> Option<Frame<'a>> {
        let Plain { net, udp, bth, vlans, bytes, wire_len, bth_at, packet_len } = *plain;
        let behind = bytes.get(bth_at.saturating_add(size_of::<Bth>())..).unwrap_or_default();
        let packet = Packet::behind(bth, behind, packet_len)?;
        Some(Frame {
            bytes,
            wire_len,
            link: Link::Ethernet,
            ports: *self.ports,
            content_at: bth_at,
            content: Content::Packet(net.with(udp), packet),
            vlans,
            tunnels: Tunnels::default(),
            oddities: Oddities::default(),
        })
    }
}
