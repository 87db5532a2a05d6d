//! The walk from the first byte of a frame to its packet: link layers, and the loop.
//!
//! Every step lays one header over the bytes, notes where it is, and says what follows. The steps
//! of the network layer are in `walk_net.rs`, those of the tunnels in `walk_tunnel.rs`.

use zerocopy::FromBytes;

use super::layers::{Kind, MAX_LAYERS, Record};
use super::{Carrier, Content, Link, Net, NoBth, Oddities, Other, Ports, Reject, Tunnels};
use crate::EtherType;
use crate::header::Header;
use crate::link::{Erf, Ethernet, Null, Pause, Pfc, Sll, Sll2, VlanTag};
use crate::net::Grh;

/// The state of a walk.
pub(super) struct Walk<'a, R> {
    pub(super) bytes: &'a [u8],
    pub(super) ports: Ports,
    /// How long the frame was on the wire, in bytes.
    pub(super) wire_len: usize,
    /// Where the next header begins.
    pub(super) at: usize,
    /// Where the packet ends by the account of the headers so far; at first nobody has spoken.
    pub(super) end: usize,
    depth: usize,
    record: R,
    /// The tags of the innermost Ethernet frame.
    pub(super) vlans: &'a [VlanTag],
    pub(super) tunnels: Tunnels,
    pub(super) oddities: Oddities,
    pub(super) other: Other,
    pub(super) content: Content<'a>,
}

/// What a step says of what follows.
pub(super) enum Next {
    /// An Ethernet header.
    Ethernet,
    /// What this Ethertype announces.
    EtherType(EtherType),
    /// An IP header; its version nibble says which.
    Ip,
    /// An LRH.
    Lrh,
    /// The end of the walk; what was found stands in [`Walk::content`].
    Done,
}

impl<'a, R: Record> Walk<'a, R> {
    /// Walks a whole frame; `record` is told of each layer.
    pub(super) fn through(
        link: Link,
        bytes: &'a [u8],
        wire_len: usize,
        ports: Ports,
        record: R,
    ) -> Self {
        let mut walk = Self {
            bytes,
            ports,
            wire_len,
            at: 0,
            end: usize::MAX,
            depth: 0,
            record,
            vlans: &[],
            tunnels: Tunnels::default(),
            oddities: Oddities::default(),
            other: Other::default(),
            content: Content::Other(Other::default()),
        };
        walk.run(link);
        walk
    }

    /// What was recorded.
    pub(super) fn into_record(self) -> R {
        self.record
    }

    fn run(&mut self, link: Link) {
        // Every step but the last takes a layer, and there is room for few: the loop is short.
        let mut next = self.link(link);
        loop {
            next = match next {
                Next::Ethernet => self.ethernet(),
                Next::EtherType(ethertype) => self.ethertype(ethertype),
                Next::Ip => self.ip(),
                Next::Lrh => self.lrh(),
                Next::Done => return,
            };
        }
    }

    /// The bytes from here on.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Lays a header over the bytes here and steps behind it; `None` when it is not there whole or
    /// when there are too many layers.
    #[inline]
    pub(super) fn take<H: Header>(&mut self, kind: Kind) -> Option<&'a H> {
        let (header, _) = H::parse(self.rest()).ok()?;
        self.step(kind, H::LEN)?;
        Some(header)
    }

    /// Steps over `len` bytes that are a layer of their own.
    #[inline]
    pub(super) fn take_raw(&mut self, kind: Kind, len: usize) -> Option<&'a [u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let bytes = self.rest().get(..len)?;
        self.step(kind, len)?;
        Some(bytes)
    }

    #[inline]
    fn step(&mut self, kind: Kind, len: usize) -> Option<()> {
        // Layers are told apart by 16-bit offsets; what lies deeper is no packet of any network.
        let end = self.at.saturating_add(len);
        if self.depth >= MAX_LAYERS || end > usize::from(u16::MAX) {
            return None;
        }
        self.record.layer(kind, self.at, len);
        self.depth = self.depth.saturating_add(1);
        self.at = end;
        Some(())
    }

    /// Takes the account of a header: the packet is to end at `end`, in bytes of the frame.
    #[inline]
    pub(super) fn ends_at(&mut self, end: usize) {
        if end > self.end {
            self.oddities.insert(Oddities::LENGTH_EXCEEDS_OUTER);
        } else {
            self.end = end;
        }
        if end > self.wire_len {
            self.oddities.insert(Oddities::LENGTH_EXCEEDS_FRAME);
        }
    }

    /// The end of the walk without RoCE.
    #[inline]
    pub(super) const fn other(&mut self) -> Next {
        self.done(Content::Other(self.other))
    }

    /// The end of the walk.
    #[inline]
    pub(super) const fn done(&mut self, content: Content<'a>) -> Next {
        self.content = content;
        Next::Done
    }

    /// Whether the capture holds less than the frame had on the wire.
    #[inline]
    pub(super) const fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire_len
    }

    fn link(&mut self, link: Link) -> Next {
        match link {
            Link::Ethernet => Next::Ethernet,
            Link::RawIp => Next::Ip,
            Link::InfiniBand => Next::Lrh,
            Link::Null => match self.take::<Null>(Kind::Null) {
                Some(_) => Next::Ip,
                None => self.other(),
            },
            Link::Sll => match self.take::<Sll>(Kind::Sll) {
                Some(sll) => Next::EtherType(sll.protocol()),
                None => self.other(),
            },
            Link::Sll2 => match self.take::<Sll2>(Kind::Sll2) {
                Some(sll) => Next::EtherType(sll.protocol()),
                None => self.other(),
            },
            Link::Erf => self.erf().unwrap_or_else(|| self.other()),
            Link::IpOverInfiniBand | Link::Other => self.other(),
        }
    }

    fn erf(&mut self) -> Option<Next> {
        let erf = self.take::<Erf>(Kind::Erf)?;
        if erf.has_extensions() {
            let count = self
                .rest()
                .chunks_exact(8)
                .position(|word| word.first().is_none_or(|kind| kind & 0x80 == 0))?;
            self.take_raw(Kind::ErfExtensions, count.saturating_add(1).saturating_mul(8))?;
        }
        let next = match erf.kind() {
            Erf::ETHERNET => {
                self.take_raw(Kind::ErfPadding, 2)?;
                Next::Ethernet
            }
            Erf::INFINIBAND => Next::Lrh,
            _ => return None,
        };
        // The record may be padded behind the frame; the wire length says where the frame ended.
        self.wire_len = self.at.saturating_add(usize::from(erf.wire_len()));
        Some(next)
    }

    #[inline]
    fn ethernet(&mut self) -> Next {
        self.vlans = &[];
        match self.take::<Ethernet>(Kind::Ethernet) {
            Some(ethernet) => Next::EtherType(ethernet.ethertype()),
            None => self.other(),
        }
    }

    #[inline]
    fn ethertype(&mut self, ethertype: EtherType) -> Next {
        self.other.ethertype = Some(ethertype);
        match ethertype {
            EtherType::IPV4 | EtherType::IPV6 => Next::Ip,
            EtherType::ROCE_V1 => self.v1(),
            EtherType::VLAN | EtherType::SERVICE_VLAN | EtherType::OLD_QINQ => self.vlans(),
            EtherType::MPLS | EtherType::MPLS_MULTICAST => self.mpls(),
            EtherType::MAC_CONTROL => self.mac_control(),
            EtherType::ETHERNET => Next::Ethernet,
            _ => self.other(),
        }
    }

    /// All tags that follow one another, as one layer.
    fn vlans(&mut self) -> Next {
        let rest = self.rest();
        let mut last = None;
        let mut len = 0usize;
        for chunk in rest.chunks_exact(VlanTag::LEN) {
            let Ok(tag) = VlanTag::ref_from_bytes(chunk) else { break };
            len = len.saturating_add(VlanTag::LEN);
            last = Some(tag.ethertype());
            if !tag.ethertype().is_vlan() {
                break;
            }
        }
        let Some(bytes) = self.take_raw(Kind::Vlans, len) else { return self.other() };
        self.vlans = <[VlanTag]>::ref_from_bytes(bytes).unwrap_or_default();
        match last {
            // A stack that runs to the end of the bytes says nothing of what follows.
            Some(ethertype) if !ethertype.is_vlan() => Next::EtherType(ethertype),
            _ => self.other(),
        }
    }

    fn mac_control(&mut self) -> Next {
        let rest = self.rest();
        let Ok((pause, _)) = Pause::parse(rest) else { return self.other() };
        match (pause.opcode(), Pfc::parse(rest)) {
            (Pause::OPCODE, _) => self.done(Content::Pause(pause)),
            (Pfc::OPCODE, Ok((pfc, _))) => self.done(Content::Pfc(pfc)),
            _ => self.other(),
        }
    }

    fn v1(&mut self) -> Next {
        let Some(grh) = self.take::<Grh>(Kind::Grh) else {
            let captured = self.rest().len();
            return self.done(if self.is_cut() {
                Content::NoBth(NoBth { carrier: Carrier::V1, net: None, captured })
            } else {
                Content::Rejected(Reject::TooShort)
            });
        };
        if grh.version() != 6 || grh.next_header != Grh::IBA {
            return self.done(Content::Rejected(Reject::BadGrh));
        }
        self.ends_at(self.at.saturating_add(usize::from(grh.pay_len())));
        self.packet(Net::V1(grh))
    }
}
