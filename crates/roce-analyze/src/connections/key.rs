//! What names a flow, and what names the two hosts of a connection.

use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv6Addr};
use core::num::NonZeroU64;

use roce_wire::{Addr, Carrier, Frame, Layer, Net, Packet, Plain, PlainNet, Service, VlanTag};

/// A flow: everything that goes one way between two queue pairs. It is a directed key; the
/// undirected one is [`HostPair`].
///
/// Where both directions of a connection go to the UDP port 4791, ports cannot name a flow: the
/// destination queue pair does. Many hosts use the same numbers, so the addresses are part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowKey {
    src: u128,
    dst: u128,
    via: Via,
    dest_qp: u32,
    /// Of datagrams, where the header names it; 0 otherwise.
    src_qp: u32,
}

/// Two hosts, whichever of them sends, and the way between them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HostPair {
    low: u128,
    high: u128,
    via: Via,
}

impl HostPair {
    /// Whether both are the same.
    pub(super) const fn is_one(&self) -> bool {
        self.low == self.high
    }
}

/// How a packet travels: the carrier, the VLAN and the tunnel, packed so that keys compare fast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Via(NonZeroU64);

const VLAN_SHIFT: u32 = 8;
const TUNNEL_SHIFT: u32 = 32;

impl Via {
    const fn new(carrier: Carrier, vlan: Option<u16>, tunnel: Option<u32>) -> Self {
        let carrier = match carrier {
            Carrier::V1 => 1,
            Carrier::V2Ipv4 => 2,
            Carrier::V2Ipv6 => 3,
            Carrier::InfiniBand => 4,
        };
        // One more than the number, so that VLAN 0 is not "no VLAN".
        let vlan = match vlan {
            Some(vlan) => (vlan as u64).saturating_add(1),
            None => 0,
        };
        let tunnel = match tunnel {
            Some(id) => (id as u64).saturating_add(1),
            None => 0,
        };
        let packed = carrier | vlan << VLAN_SHIFT | tunnel << TUNNEL_SHIFT;
        // The carrier is never 0.
        Self(NonZeroU64::MIN.saturating_add(packed.saturating_sub(1)))
    }

    const fn carrier(self) -> Carrier {
        match self.0.get() & 0xff {
            1 => Carrier::V1,
            2 => Carrier::V2Ipv4,
            3 => Carrier::V2Ipv6,
            _ => Carrier::InfiniBand,
        }
    }

    fn vlan(self) -> Option<u16> {
        let number = (self.0.get() >> VLAN_SHIFT & 0xff_ffff).checked_sub(1)?;
        u16::try_from(number).ok()
    }

    fn tunnel(self) -> Option<u32> {
        u32::try_from((self.0.get() >> TUNNEL_SHIFT).checked_sub(1)?).ok()
    }
}

impl Hash for FlowKey {
    /// As few words as hold all of it: it is hashed for every packet.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { src, dst, via: Via(via), dest_qp, src_qp } = *self;
        let qps = u64::from(dest_qp) | u64::from(src_qp) << 32;
        state.write_u128(src);
        state.write_u128(dst);
        state.write_u128(u128::from(qps) << 64 | u128::from(via.get()));
    }
}

impl FlowKey {
    /// No flow's.
    pub(super) const NONE: Self =
        Self { src: 0, dst: 0, via: Via(NonZeroU64::MIN), dest_qp: 0, src_qp: 0 };

    /// The key of a packet in a frame.
    #[must_use]
    #[inline]
    pub fn of(frame: &Frame<'_>, net: &Net<'_>, packet: &Packet<'_>) -> Self {
        let vlan = frame.vlans.last().map(VlanTag::vlan);
        let tunnel = if frame.tunnels.is_empty() { None } else { tunnel_id(frame) };
        let (src, dst) = ends(net);
        let src_qp = packet.deth.map_or(0, |deth| deth.src_qp().get());
        Self {
            src,
            dst,
            via: Via::new(net.carrier(), vlan, tunnel),
            dest_qp: packet.bth.dest_qp().get(),
            src_qp,
        }
    }

    /// A number that is the same for the same key, and seldom for others.
    pub(super) const fn digest(&self) -> u64 {
        let Self { src, dst, via: Via(via), dest_qp, src_qp } = *self;
        let hosts = src ^ dst.rotate_left(13);
        #[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
        let hosts = (hosts >> 64) as u64 ^ hosts as u64;
        hosts ^ via.get().rotate_left(23) ^ (dest_qp as u64) << 40 ^ (src_qp as u64) << 8
    }

    /// The key of a packet in a plain frame, and the source queue pair if it names one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    pub(super) fn of_plain<N: PlainNet>(plain: &Plain<'_, N>, src_qp: u32) -> Self {
        let (src, dst) = plain.net.ends();
        let vlan = plain.vlans.last().map(VlanTag::vlan);
        let via = Via::new(N::CARRIER, vlan, None);
        Self { src, dst, via, dest_qp: plain.bth.dest_qp().get(), src_qp }
    }

    /// The same hosts and way, to another queue pair.
    #[must_use]
    pub(crate) const fn to_qp(self, dest_qp: u32) -> Self {
        Self { dest_qp, src_qp: 0, ..self }
    }

    /// The way back, to `dest_qp`.
    #[must_use]
    pub(crate) const fn back_to_qp(self, dest_qp: u32) -> Self {
        Self { src: self.dst, dst: self.src, dest_qp, src_qp: 0, ..self }
    }

    /// The way back of a datagram flow, whose both ends are known; `None` for any other.
    #[must_use]
    pub(crate) const fn datagram_back(self) -> Option<Self> {
        if self.src_qp == 0 {
            return None;
        }
        let Self { src, dst, dest_qp, src_qp, via } = self;
        Some(Self { src: dst, dst: src, dest_qp: src_qp, src_qp: dest_qp, via })
    }

    /// Whether it goes the other way between the same two hosts.
    #[inline]
    pub(super) fn goes_back(&self, other: &Self) -> bool {
        self.src == other.dst && self.dst == other.src && self.via == other.via
    }

    /// The same flow between other addresses: those a connection request names.
    #[must_use]
    pub(crate) fn between(self, src: Addr, dst: Addr) -> Self {
        Self { src: number_of(src), dst: number_of(dst), ..self }
    }

    /// Where it comes from.
    #[must_use]
    pub fn src(&self) -> Addr {
        addr_of(self.src, self.via.carrier())
    }

    /// Where it goes to.
    #[must_use]
    pub fn dst(&self) -> Addr {
        addr_of(self.dst, self.via.carrier())
    }

    /// How it is carried.
    #[must_use]
    pub const fn carrier(&self) -> Carrier {
        self.via.carrier()
    }

    /// The innermost VLAN it is in.
    #[must_use]
    pub fn vlan(&self) -> Option<u16> {
        self.via.vlan()
    }

    /// The number of the VXLAN or Geneve network it is in.
    #[must_use]
    pub fn tunnel_id(&self) -> Option<u32> {
        self.via.tunnel()
    }

    /// The destination queue pair.
    #[must_use]
    pub const fn dest_qp(&self) -> u32 {
        self.dest_qp
    }

    /// The source queue pair where the packet names it: in datagrams.
    #[must_use]
    pub fn src_qp(&self) -> Option<u32> {
        Some(self.src_qp).filter(|qp| *qp != 0)
    }

    /// Whether it comes from the lower of its two hosts.
    pub(super) const fn is_from_low(&self) -> bool {
        self.src <= self.dst
    }

    /// The two hosts and the way between them.
    #[must_use]
    pub fn hosts(&self) -> HostPair {
        HostPair { low: self.src.min(self.dst), high: self.src.max(self.dst), via: self.via }
    }
}

#[inline]
fn ends(net: &Net<'_>) -> (u128, u128) {
    match net {
        Net::V1(grh) => (u128::from_be_bytes(grh.sgid.0), u128::from_be_bytes(grh.dgid.0)),
        Net::V2Ipv4(ip, ..) => (
            u128::from_be_bytes(ip.src().to_ipv6_mapped().octets()),
            u128::from_be_bytes(ip.dst().to_ipv6_mapped().octets()),
        ),
        Net::V2Ipv6(ip, ..) => {
            (u128::from_be_bytes(ip.src().octets()), u128::from_be_bytes(ip.dst().octets()))
        }
        Net::InfiniBand(lrh, _) => (u128::from(lrh.slid.get()), u128::from(lrh.dlid.get())),
    }
}

fn number_of(addr: Addr) -> u128 {
    match addr {
        Addr::Ip(IpAddr::V4(ip)) => u128::from_be_bytes(ip.to_ipv6_mapped().octets()),
        Addr::Ip(IpAddr::V6(ip)) => u128::from_be_bytes(ip.octets()),
        Addr::Lid(lid) => u128::from(lid),
    }
}

fn addr_of(number: u128, carrier: Carrier) -> Addr {
    if carrier == Carrier::InfiniBand {
        return Addr::Lid(u16::try_from(number).unwrap_or(u16::MAX));
    }
    let ip = Ipv6Addr::from_bits(number);
    Addr::Ip(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4))
}

/// The number of the innermost VXLAN or Geneve network.
#[cold]
fn tunnel_id(frame: &Frame<'_>) -> Option<u32> {
    let ids = frame.layers().filter_map(|(_, layer)| match layer {
        Layer::Vxlan(vxlan) => Some(vxlan.vni()),
        Layer::Geneve(geneve) => Some(geneve.vni()),
        _ => None,
    });
    ids.last()
}

/// Whether the service names the source queue pair in every packet.
pub(super) const fn is_datagram(service: Service) -> bool {
    matches!(service, Service::Ud | Service::Rd)
}
