//! One frame as a capture holds it: the layers, what they carry, and what stands behind it.

mod judge;
mod layers;
mod link;
mod net;
mod plain;
mod sets;
mod walk;
mod walk_net;
mod walk_tunnel;

use bytes::BufMut;

pub use judge::Reject;
pub use layers::{Layer, MAX_LAYERS};
pub use link::{Link, Ports};
pub use net::{Addr, Carrier, Net, Version};
pub use plain::{Plain, PlainNet, PlainUse, Sound, plain};
pub use sets::{Oddities, Tunnels};

use crate::header::{TooShort, put};
use crate::{Bth, EtherType, Header, Icrc, Packet, Pause, Pfc, VlanTag, icrc};
use layers::Layers;
use plain::MakeFrame;
use walk::Walk;

/// A frame, laid over its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    wire_len: usize,
    link: Link,
    ports: Ports,
    content_at: usize,
    /// What the layers carry.
    pub content: Content<'a>,
    /// The VLAN tags of the innermost Ethernet header, outermost tag first.
    pub vlans: &'a [VlanTag],
    /// The tunnels the packet is in.
    pub tunnels: Tunnels,
    /// What contradicts itself in the layers.
    pub oddities: Oddities,
}

/// What the layers of a frame carry.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Something to the RoCE port, under the RoCE Ethertype or in InfiniBand, with a whole BTH.
    /// Whether it is RoCE, [`Frame::rejection`] says.
    Packet(Net<'a>, Packet<'a>),
    /// RoCE by its port or Ethertype, but the capture ends before the BTH does.
    NoBth(NoBth<'a>),
    /// Priority flow control.
    Pfc(&'a Pfc),
    /// 802.3x PAUSE.
    Pause(&'a Pause),
    /// Something that bears the RoCE port or Ethertype and cannot be RoCE.
    Rejected(Reject),
    /// Anything else.
    Other(Other),
}

/// What is known of a packet whose BTH the capture cut.
#[derive(Clone, Copy, Debug)]
pub struct NoBth<'a> {
    /// How it is carried.
    pub carrier: Carrier,
    /// The network headers, when the capture holds them.
    pub net: Option<Net<'a>>,
    /// How many bytes were captured behind the last whole header.
    pub captured: usize,
}

/// What a frame that carries no RoCE is, as far as the walk came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Other {
    /// The last Ethertype.
    pub ethertype: Option<EtherType>,
    /// The IP protocol number behind the extension headers.
    pub protocol: Option<u8>,
    /// Source and destination port of UDP or TCP.
    pub ports: Option<(u16, u16)>,
}

/// What can be said of a packet's ICRC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IcrcState {
    /// It is right.
    Ok,
    /// It is wrong, or there is no room for it.
    Bad,
    /// The capture does not hold every byte it covers.
    Unchecked,
}

impl<'a> Frame<'a> {
    /// Walks the headers of a frame. Whatever the bytes are, there is an answer.
    ///
    /// `bytes` is what was captured, `wire_len` how long the frame was on the wire, in bytes.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a call would copy the frame, which costs as much as parsing it"
    )]
    #[must_use]
    pub fn parse(link: Link, bytes: &'a [u8], wire_len: usize, ports: &Ports) -> Self {
        match plain(link, bytes, wire_len, ports, MakeFrame { ports }) {
            Some(frame) => frame,
            None => Self::walk(link, bytes, wire_len, ports),
        }
    }

    /// The long way, which takes any frame.
    #[inline(never)]
    fn walk(link: Link, bytes: &'a [u8], wire_len: usize, ports: &Ports) -> Self {
        let walk = Walk::through(link, bytes, wire_len, *ports, ());
        let Walk { wire_len, at, vlans, tunnels, oddities, content, .. } = walk;
        Frame {
            bytes,
            wire_len,
            link,
            ports: *ports,
            content_at: at,
            content,
            vlans,
            tunnels,
            oddities,
        }
    }

    /// The bytes the frame was parsed from.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How long the frame was on the wire, in bytes.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        self.wire_len
    }

    /// Whether the capture holds less than the frame had on the wire.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire_len
    }

    /// The headers in front of the content with their offsets, in wire order.
    ///
    /// They are not kept: this walks the frame once more, so that parsing costs nothing for them.
    pub fn layers(&self) -> impl Iterator<Item = (usize, Layer<'a>)> + use<'a> {
        let Self { link, bytes, wire_len, ports, .. } = *self;
        Walk::through(link, bytes, wire_len, ports, Layers::NONE).into_record().views(bytes)
    }

    /// Where the content begins, in bytes from the start of the frame.
    #[must_use]
    pub const fn content_offset(&self) -> usize {
        self.content_at
    }

    /// The packet and the network headers in front of it, RoCE or not.
    #[must_use]
    pub const fn packet(&self) -> Option<(&Net<'a>, &Packet<'a>)> {
        match &self.content {
            Content::Packet(net, packet) => Some((net, packet)),
            _ => None,
        }
    }

    /// What stands behind the content: Ethernet padding, FCS, VCRC, trailers of switches.
    #[must_use]
    pub fn trailer(&self) -> &'a [u8] {
        let behind = self.bytes.get(self.content_at..).unwrap_or_default();
        let len = match &self.content {
            Content::Packet(_, packet) => packet.wire_len(),
            Content::NoBth(no_bth) => no_bth.captured,
            Content::Pfc(_) => size_of::<Pfc>(),
            Content::Pause(_) => size_of::<Pause>(),
            Content::Rejected(_) | Content::Other(_) => 0,
        };
        behind.get(len..).unwrap_or_default()
    }

    /// Appends the whole frame as it is, byte for byte.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room; what was written before stays.
    pub fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        for (_, layer) in self.layers() {
            layer.emit(out)?;
        }
        match &self.content {
            Content::Packet(_, packet) => packet.emit(out)?,
            Content::Pfc(pfc) => pfc.emit(out)?,
            Content::Pause(pause) => pause.emit(out)?,
            Content::NoBth(no_bth) => {
                let behind = self.bytes.get(self.content_at..).unwrap_or_default();
                put("BTH", behind.get(..no_bth.captured).unwrap_or(behind), out)?;
            }
            Content::Rejected(_) | Content::Other(_) => {}
        }
        put("trailer", self.trailer(), out)
    }

    /// Checks the ICRC of the packet; `None` when the frame carries none.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would put the frame into memory")]
    #[must_use]
    pub fn icrc_state(&self) -> Option<IcrcState> {
        match &self.content {
            Content::Packet(net, packet) => Some(self.packet_icrc_state(net, packet)),
            Content::NoBth(_) => Some(IcrcState::Unchecked),
            _ => None,
        }
    }

    /// The ICRC the packet ought to have; `None` when not every byte it covers is there.
    #[must_use]
    pub fn right_icrc(&self) -> Option<Icrc> {
        let (net, packet) = self.packet()?;
        packet.icrc?;
        Some(self.icrc_of(net, packet))
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would put the frame into memory")]
    fn packet_icrc_state(&self, net: &Net<'_>, packet: &Packet<'_>) -> IcrcState {
        match packet.icrc {
            Some(icrc) if self.icrc_of(net, packet) == *icrc => IcrcState::Ok,
            Some(_) => IcrcState::Bad,
            // Whole, and yet no room for an ICRC: the sender left it out.
            None if !packet.is_cut() => IcrcState::Bad,
            None => IcrcState::Unchecked,
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would put the frame into memory")]
    fn icrc_of(&self, net: &Net<'_>, packet: &Packet<'_>) -> Icrc {
        let cover = net.cover();
        let end = self.content_at.saturating_add(Bth::LEN).saturating_add(packet.after_bth().len());
        icrc::in_place(cover, self.bytes, self.content_at, end)
            .unwrap_or_else(|| icrc::compute(cover, packet.bth, packet.after_bth()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A v2 frame with a VLAN tag or without, over IPv4 or IPv6, and the offset of its Ethertype.
    fn frames() -> impl Strategy<Value = Vec<u8>> {
        let v4 = "0800450000440001400040110000 0a0000010a000002 c12312b700300000";
        let v6 =
            "86dd60000000003011400000000000000000000000000000000100000000000000000000000000000002
                  c12312b700300000";
        let packet =
            "0a70ffff8000001180000008 0000000000001000 00001234 00000005 68656c6c6f000000 3e7965ac";
        let heads =
            [v4.to_owned(), v6.to_owned(), format!("81006064{v4}"), format!("81006064{v6}")];
        prop::sample::select(heads.to_vec()).prop_map(move |head| {
            let hex: Vec<u8> = format!("{}{head}{packet}", "00".repeat(12))
                .bytes()
                .filter(u8::is_ascii_hexdigit)
                .collect();
            hex.chunks(2)
                .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// One byte changed, the end cut or padded: both ways see the same.
        #[test]
        fn the_short_way_and_the_long_way_agree(
            frame in frames(), at in 0usize..70, value: u8, cut in 0usize..130, pad in 0usize..8,
        ) {
            let mut bytes = frame;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
            bytes.truncate(cut);
            let wire_len = bytes.len() + pad;
            let ports = Ports::default();
            let fast = Frame::parse(Link::Ethernet, &bytes, wire_len, &ports);
            let walked = Frame::walk(Link::Ethernet, &bytes, wire_len, &ports);
            prop_assert_eq!(format!("{fast:?}"), format!("{walked:?}"));
        }
    }
}
