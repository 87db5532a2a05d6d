//! The headers in front of a packet, put together in an order that the types allow.

use bytes::BufMut;
use core::marker::PhantomData;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::PacketBuilder;
use super::head::{Head, MAX_PARTS};
use super::part::{Auto, Part};
use crate::{
    ErspanII, EtherType, Ethernet, Geneve, Gid, Gre, Grh, Ipv4, Ipv6, Lid, Lnh, Lrh, MacAddr,
    MplsLabel, TooShort, Udp, VlanTag, Vxlan,
};

/// The IP protocol number of UDP.
const UDP: u8 = 17;

/// The headers in front of a packet; `State` is what the last of them lets follow.
///
/// One builder serves every packet of a flow: [`emit`](FrameBuilder::emit) takes the packet; where
/// there are many, [`head`](FrameBuilder::head) spares putting the headers together for each.
/// Lengths, IPv4 checksums and the ICRC are filled on emit. A value that was set by hand stays.
#[derive(Clone, Copy, Debug)]
pub struct FrameBuilder<State> {
    /// What is added beyond is left out.
    parts: [Part; MAX_PARTS],
    count: usize,
    state: PhantomData<State>,
}

/// The last header is of the link layer.
#[derive(Clone, Copy, Debug)]
pub struct OnLink;

/// The last header is of a tunnel that carries IP.
#[derive(Clone, Copy, Debug)]
pub struct OnShim;

/// The last header is of IP.
#[derive(Clone, Copy, Debug)]
pub struct OnIp;

/// A packet can follow.
#[derive(Clone, Copy, Debug)]
pub struct Ready;

/// Behind what an IP header can stand.
pub trait CarriesIp: sealed::Sealed {}
impl CarriesIp for OnLink {}
impl CarriesIp for OnShim {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::OnLink {}
    impl Sealed for super::OnShim {}
}

/// Where a frame can begin.
impl FrameBuilder<OnLink> {
    /// An Ethernet frame from `src` to `dst`.
    #[must_use]
    pub const fn ethernet(dst: MacAddr, src: MacAddr) -> Self {
        Self::first(Part::Ethernet(Ethernet::new(dst, src, EtherType(0))))
    }

    /// A frame of native InfiniBand without a GRH.
    #[must_use]
    pub const fn infiniband(slid: Lid, dlid: Lid) -> FrameBuilder<Ready> {
        FrameBuilder::first(Part::Lrh(Lrh::new(slid, dlid, Lnh::Local), Auto::ALL))
    }

    /// A frame of native InfiniBand with a GRH.
    #[must_use]
    pub fn infiniband_global(slid: Lid, dlid: Lid, sgid: Gid, dgid: Gid) -> FrameBuilder<Ready> {
        FrameBuilder::<Ready>::first(Part::Lrh(Lrh::new(slid, dlid, Lnh::Global), Auto::ALL))
            .then(Part::Grh(Grh::new(sgid, dgid, 0), Auto::ALL))
    }

    /// An IPv4 datagram without any link layer.
    #[must_use]
    pub const fn raw_ipv4(src: Ipv4Addr, dst: Ipv4Addr) -> FrameBuilder<OnIp> {
        FrameBuilder::first(Part::Ipv4(Ipv4::new(src, dst, UDP, 0), Auto::ALL))
    }

    /// An IPv6 datagram without any link layer.
    #[must_use]
    pub const fn raw_ipv6(src: Ipv6Addr, dst: Ipv6Addr) -> FrameBuilder<OnIp> {
        FrameBuilder::first(Part::Ipv6(Ipv6::new(src, dst, UDP, 0), Auto::ALL))
    }
}

impl FrameBuilder<OnLink> {
    /// An 802.1Q tag: priority (modulo 8) and VLAN id (modulo 4096).
    #[must_use]
    pub fn vlan(self, pcp: u8, id: u16) -> Self {
        self.announce(EtherType::VLAN).then(Part::Vlan(VlanTag::new(pcp, id, EtherType(0))))
    }

    /// An 802.1ad service tag, the outer one of two.
    #[must_use]
    pub fn service_vlan(self, pcp: u8, id: u16) -> Self {
        self.announce(EtherType::SERVICE_VLAN).then(Part::Vlan(VlanTag::new(pcp, id, EtherType(0))))
    }

    /// One MPLS label, the bottom of its stack, with time to live 64; IP follows.
    #[must_use]
    pub fn mpls(self, label: u32, class: u8) -> FrameBuilder<OnShim> {
        self.announce(EtherType::MPLS).then(Part::Mpls(MplsLabel::new(label, class, true, 64)))
    }

    /// The GRH of RoCE v1; the packet follows.
    #[must_use]
    pub fn grh(self, sgid: Gid, dgid: Gid) -> FrameBuilder<Ready> {
        self.announce(EtherType::ROCE_V1).then(Part::Grh(Grh::new(sgid, dgid, 0), Auto::ALL))
    }
}

impl<State: CarriesIp> FrameBuilder<State> {
    /// An IPv4 header: don't fragment, time to live 64.
    #[must_use]
    pub fn ipv4(self, src: Ipv4Addr, dst: Ipv4Addr) -> FrameBuilder<OnIp> {
        self.announce(EtherType::IPV4).then(Part::Ipv4(Ipv4::new(src, dst, UDP, 0), Auto::ALL))
    }

    /// An IPv6 header with hop limit 64.
    #[must_use]
    pub fn ipv6(self, src: Ipv6Addr, dst: Ipv6Addr) -> FrameBuilder<OnIp> {
        self.announce(EtherType::IPV6).then(Part::Ipv6(Ipv6::new(src, dst, UDP, 0), Auto::ALL))
    }
}

impl FrameBuilder<OnIp> {
    /// The UDP header of RoCE v2: destination port 4791, checksum 0; the packet follows.
    #[must_use]
    pub fn udp(self, src_port: u16) -> FrameBuilder<Ready> {
        self.then(Part::Udp(Udp::new(src_port, Udp::ROCE_V2, 0), Auto::ALL))
    }

    /// VXLAN over UDP from this port, and the Ethernet header of the frame inside.
    #[must_use]
    pub fn vxlan(
        self,
        src_port: u16,
        vni: u32,
        dst: MacAddr,
        src: MacAddr,
    ) -> FrameBuilder<OnLink> {
        self.then::<OnLink>(Part::Udp(Udp::new(src_port, Vxlan::PORT, 0), Auto::ALL))
            .then::<OnLink>(Part::Vxlan(Vxlan::new(vni)))
            .then(Part::Ethernet(Ethernet::new(dst, src, EtherType(0))))
    }

    /// Geneve over UDP from this port, and the Ethernet header of the frame inside.
    #[must_use]
    pub fn geneve(
        self,
        src_port: u16,
        vni: u32,
        dst: MacAddr,
        src: MacAddr,
    ) -> FrameBuilder<OnLink> {
        self.then::<OnLink>(Part::Udp(Udp::new(src_port, Geneve::PORT, 0), Auto::ALL))
            .then::<OnLink>(Part::Geneve(Geneve::new(EtherType::ETHERNET, vni)))
            .then(Part::Ethernet(Ethernet::new(dst, src, EtherType(0))))
    }

    /// GRE without options; IP follows.
    #[must_use]
    pub fn gre(self) -> FrameBuilder<OnShim> {
        self.protocol(Gre::PROTOCOL).then(Part::Gre(Gre::new(0, EtherType(0))))
    }

    /// ERSPAN II in GRE with sequence number 0, and the Ethernet header of the mirrored frame.
    #[must_use]
    pub fn erspan(self, session: u16, dst: MacAddr, src: MacAddr) -> FrameBuilder<OnLink> {
        self.protocol(Gre::PROTOCOL)
            .then::<OnLink>(Part::Gre(Gre::new(Gre::SEQUENCE, EtherType::ERSPAN)))
            .then::<OnLink>(Part::GreSequence([0; 4]))
            .then::<OnLink>(Part::ErspanII(ErspanII::new(session)))
            .then(Part::Ethernet(Ethernet::new(dst, src, EtherType(0))))
    }

    fn protocol(mut self, protocol: u8) -> Self {
        self.edit_last(|part| match part {
            Part::Ipv4(ip, _) => ip.protocol = protocol,
            Part::Ipv6(ip, _) => ip.next_header = protocol,
            _ => {}
        });
        self
    }
}

/// What the network header says beside its addresses: of the last IP header or GRH so far.
impl<State> FrameBuilder<State> {
    /// DSCP and ECN together: type of service, traffic class.
    #[must_use]
    pub fn traffic_class(mut self, class: u8) -> Self {
        self.edit_net(|part| match part {
            Part::Ipv4(ip, _) => *ip = ip.with_tos(class),
            Part::Ipv6(ip, _) => *ip = ip.with_traffic_class(class),
            Part::Grh(grh, _) => *grh = grh.with_traffic_class(class),
            _ => {}
        });
        self
    }

    /// Time to live or hop limit.
    #[must_use]
    pub fn hop_limit(mut self, hops: u8) -> Self {
        self.edit_net(|part| match part {
            Part::Ipv4(ip, _) => ip.ttl = hops,
            Part::Ipv6(ip, _) => ip.hop_limit = hops,
            Part::Grh(grh, _) => grh.hop_limit = hops,
            _ => {}
        });
        self
    }

    /// Flow label of IPv6 or GRH, modulo 2^20; IPv4 has none.
    #[must_use]
    pub fn flow_label(mut self, label: u32) -> Self {
        self.edit_net(|part| match part {
            Part::Ipv6(ip, _) => *ip = ip.with_flow_label(label),
            Part::Grh(grh, _) => *grh = grh.with_flow_label(label),
            _ => {}
        });
        self
    }

    /// Identification of IPv4; the others have none.
    #[must_use]
    pub fn ip_id(mut self, id: u16) -> Self {
        self.edit_net(|part| {
            if let Part::Ipv4(ip, _) = part {
                *ip = ip.with_id(id);
            }
        });
        self
    }

    /// Flags and fragment offset of IPv4, the 16 bits as on the wire.
    #[must_use]
    pub fn fragment_word(mut self, word: u16) -> Self {
        self.edit_net(|part| {
            if let Part::Ipv4(ip, _) = part {
                *ip = ip.with_fragment_word(word);
            }
        });
        self
    }

    /// The length field of IP or GRH instead of the right one.
    #[must_use]
    pub fn net_length(mut self, length: u16) -> Self {
        self.edit_net(|part| match part {
            Part::Ipv4(ip, auto) => {
                *ip = ip.with_total_len(length);
                auto.length = false;
            }
            Part::Ipv6(ip, auto) => {
                *ip = ip.with_payload_len(length);
                auto.length = false;
            }
            Part::Grh(grh, auto) => {
                *grh = grh.with_pay_len(length);
                auto.length = false;
            }
            _ => {}
        });
        self
    }

    /// The header checksum of IPv4 instead of the right one.
    #[must_use]
    pub fn ip_checksum(mut self, checksum: u16) -> Self {
        self.edit_net(|part| {
            if let Part::Ipv4(ip, auto) = part {
                *ip = ip.with_checksum(checksum);
                auto.checksum = false;
            }
        });
        self
    }
}

/// The last headers in front of the packet, changed.
impl FrameBuilder<Ready> {
    /// The UDP length instead of the right one.
    #[must_use]
    pub fn udp_length(mut self, length: u16) -> Self {
        self.edit_last(|part| {
            if let Part::Udp(udp, auto) = part {
                *udp = udp.with_length(length);
                auto.length = false;
            }
        });
        self
    }

    /// The UDP checksum, which is 0 otherwise; [`mend`](super::mend()) makes a right one of any other.
    #[must_use]
    pub fn udp_checksum(mut self, checksum: u16) -> Self {
        self.edit_last(|part| {
            if let Part::Udp(udp, _) = part {
                *udp = udp.with_checksum(checksum);
            }
        });
        self
    }

    /// Another UDP destination port than 4791.
    #[must_use]
    pub fn udp_dst_port(mut self, port: u16) -> Self {
        self.edit_last(|part| {
            if let Part::Udp(udp, _) = part {
                *udp = udp.with_dst_port(port);
            }
        });
        self
    }

    /// The length of the frame with this packet, in bytes, without Ethernet padding and FCS.
    #[must_use]
    pub fn len(&self, packet: &PacketBuilder<'_>) -> usize {
        self.head().len(packet)
    }

    /// Appends the whole frame to `out`.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room for it; nothing is written then.
    pub fn emit(&self, packet: &PacketBuilder<'_>, out: &mut impl BufMut) -> Result<(), TooShort> {
        self.head().emit(packet, out)
    }

    /// The same headers, for many packets: see there.
    #[must_use]
    pub fn head(&self) -> Head {
        Head::new(self.parts())
    }
}

impl<State> FrameBuilder<State> {
    const fn first(part: Part) -> Self {
        Self { parts: [part; MAX_PARTS], count: 1, state: PhantomData }
    }

    fn parts(&self) -> &[Part] {
        self.parts.get(..self.count).unwrap_or_default()
    }

    /// Adds a header.
    fn then<Next>(self, part: Part) -> FrameBuilder<Next> {
        let Self { mut parts, mut count, .. } = self;
        if let Some(slot) = parts.get_mut(count) {
            *slot = part;
            count = count.saturating_add(1);
        }
        FrameBuilder { parts, count, state: PhantomData }
    }

    /// Tells the last header what stands behind it.
    fn announce(mut self, next: EtherType) -> Self {
        self.edit_last(|part| *part = part.announcing(next));
        self
    }

    fn edit_last(&mut self, edit: impl FnOnce(&mut Part)) {
        if let Some(part) = self.parts.get_mut(..self.count).and_then(<[Part]>::last_mut) {
            edit(part);
        }
    }

    fn edit_net(&mut self, edit: impl FnOnce(&mut Part)) {
        let parts = self.parts.get_mut(..self.count).unwrap_or_default();
        let is_net =
            |part: &&mut Part| matches!(part, Part::Ipv4(..) | Part::Ipv6(..) | Part::Grh(..));
        if let Some(part) = parts.iter_mut().rev().find(is_net) {
            edit(part);
        }
    }
}
