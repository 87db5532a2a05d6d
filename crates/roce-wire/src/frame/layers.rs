//! The headers in front of a packet: where each begins, and the view of it when asked.

use bytes::BufMut;
use zerocopy::{FromBytes, IntoBytes};

use crate::header::{AnyHeader, Header, TooShort, put};
use crate::link::{Erf, Ethernet, Null, Sll, Sll2, VlanTag};
use crate::net::{Grh, Ipv4, Ipv6, Lrh, Udp};
use crate::tunnel::{ErspanII, ErspanIII, Geneve, Gre, MplsLabel, Vxlan};

/// How many layers one frame may have; tags and labels that follow one another count as one.
pub const MAX_LAYERS: usize = 24;

/// One layer of a frame.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each variant is the header of that name")]
pub enum Layer<'a> {
    Erf(&'a Erf),
    Ethernet(&'a Ethernet),
    /// All tags that follow one another, outermost first.
    Vlans(&'a [VlanTag]),
    Sll(&'a Sll),
    Sll2(&'a Sll2),
    Null(&'a Null),
    /// All labels of the stack, outermost first.
    Mpls(&'a [MplsLabel]),
    Ipv4(&'a Ipv4),
    Ipv6(&'a Ipv6),
    Udp(&'a Udp),
    Grh(&'a Grh),
    Lrh(&'a Lrh),
    Vxlan(&'a Vxlan),
    Geneve(&'a Geneve),
    Gre(&'a Gre),
    ErspanII(&'a ErspanII),
    ErspanIII(&'a ErspanIII),
    /// What belongs to the header before it and has no struct of its own: name and bytes.
    Raw(&'static str, &'a [u8]),
}

/// Which header a layer is, or what its bytes are where it has no struct of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Erf,
    ErfExtensions,
    ErfPadding,
    Ethernet,
    Vlans,
    Sll,
    Sll2,
    Null,
    Mpls,
    ControlWord,
    Ipv4,
    Ipv4Options,
    Ipv6,
    Ipv6Extensions,
    Udp,
    Grh,
    Lrh,
    Vxlan,
    Geneve,
    GeneveOptions,
    Gre,
    GreFields,
    ErspanII,
    ErspanIII,
    ErspanPlatform,
}

/// Who is told of the layers of a walk. Most walks tell nobody and pay nothing.
pub(super) trait Record {
    /// A layer of `len` bytes at byte `at`; both fit 16 bits.
    fn layer(&mut self, kind: Kind, at: usize, len: usize);
}

impl Record for () {
    #[inline]
    fn layer(&mut self, _: Kind, _: usize, _: usize) {}
}

/// Where a layer begins and how long it is.
#[derive(Clone, Copy, Debug)]
struct Slot {
    kind: Kind,
    at: usize,
    len: usize,
}

/// The layers of a frame in wire order, each right behind the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    slots: [Slot; MAX_LAYERS],
    count: usize,
}

impl Record for Layers {
    fn layer(&mut self, kind: Kind, at: usize, len: usize) {
        if let Some(slot) = self.slots.get_mut(self.count) {
            *slot = Slot { kind, at, len };
            self.count = self.count.saturating_add(1);
        }
    }
}

impl Layers {
    pub(super) const NONE: Self =
        Self { slots: [Slot { kind: Kind::Ethernet, at: 0, len: 0 }; MAX_LAYERS], count: 0 };

    /// The views, with the offset of each in bytes.
    pub(super) fn views(self, bytes: &[u8]) -> impl Iterator<Item = (usize, Layer<'_>)> {
        let slots = self.slots.into_iter().take(self.count);
        slots.filter_map(move |slot| Some((slot.at, slot.view(bytes)?)))
    }
}

impl Slot {
    /// The view. Whoever noted the slot had laid the header over these bytes before.
    fn view(self, frame: &[u8]) -> Option<Layer<'_>> {
        let bytes = frame.get(self.at..self.at.checked_add(self.len)?)?;
        Some(match self.kind {
            Kind::Erf => Layer::Erf(one(bytes)?),
            Kind::ErfExtensions => Layer::Raw("ERF extension headers", bytes),
            Kind::ErfPadding => Layer::Raw("ERF padding", bytes),
            Kind::Ethernet => Layer::Ethernet(one(bytes)?),
            Kind::Vlans => Layer::Vlans(<[VlanTag]>::ref_from_bytes(bytes).ok()?),
            Kind::Sll => Layer::Sll(one(bytes)?),
            Kind::Sll2 => Layer::Sll2(one(bytes)?),
            Kind::Null => Layer::Null(one(bytes)?),
            Kind::Mpls => Layer::Mpls(<[MplsLabel]>::ref_from_bytes(bytes).ok()?),
            Kind::ControlWord => Layer::Raw("pseudowire control word", bytes),
            Kind::Ipv4 => Layer::Ipv4(one(bytes)?),
            Kind::Ipv4Options => Layer::Raw("IPv4 options", bytes),
            Kind::Ipv6 => Layer::Ipv6(one(bytes)?),
            Kind::Ipv6Extensions => Layer::Raw("IPv6 extension headers", bytes),
            Kind::Udp => Layer::Udp(one(bytes)?),
            Kind::Grh => Layer::Grh(one(bytes)?),
            Kind::Lrh => Layer::Lrh(one(bytes)?),
            Kind::Vxlan => Layer::Vxlan(one(bytes)?),
            Kind::Geneve => Layer::Geneve(one(bytes)?),
            Kind::GeneveOptions => Layer::Raw("Geneve options", bytes),
            Kind::Gre => Layer::Gre(one(bytes)?),
            Kind::GreFields => Layer::Raw("GRE optional words", bytes),
            Kind::ErspanII => Layer::ErspanII(one(bytes)?),
            Kind::ErspanIII => Layer::ErspanIII(one(bytes)?),
            Kind::ErspanPlatform => Layer::Raw("ERSPAN platform words", bytes),
        })
    }
}

fn one<H: Header>(bytes: &[u8]) -> Option<&H> {
    H::parse(bytes).ok().map(|(header, _)| header)
}

impl<'a> Layer<'a> {
    /// The bytes of the layer as on the wire.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        match *self {
            Self::Erf(h) => h.as_bytes(),
            Self::Ethernet(h) => h.as_bytes(),
            Self::Vlans(tags) => tags.as_bytes(),
            Self::Sll(h) => h.as_bytes(),
            Self::Sll2(h) => h.as_bytes(),
            Self::Null(h) => h.as_bytes(),
            Self::Mpls(labels) => labels.as_bytes(),
            Self::Ipv4(h) => h.as_bytes(),
            Self::Ipv6(h) => h.as_bytes(),
            Self::Udp(h) => h.as_bytes(),
            Self::Grh(h) => h.as_bytes(),
            Self::Lrh(h) => h.as_bytes(),
            Self::Vxlan(h) => h.as_bytes(),
            Self::Geneve(h) => h.as_bytes(),
            Self::Gre(h) => h.as_bytes(),
            Self::ErspanII(h) => h.as_bytes(),
            Self::ErspanIII(h) => h.as_bytes(),
            Self::Raw(_, bytes) => bytes,
        }
    }

    /// Calls `visit` for each header of the layer; a raw layer has none.
    pub fn for_each_header(&self, visit: &mut dyn FnMut(&dyn AnyHeader)) {
        match *self {
            Self::Erf(h) => visit(h),
            Self::Ethernet(h) => visit(h),
            Self::Vlans(tags) => tags.iter().for_each(|tag| visit(tag)),
            Self::Sll(h) => visit(h),
            Self::Sll2(h) => visit(h),
            Self::Null(h) => visit(h),
            Self::Mpls(labels) => labels.iter().for_each(|label| visit(label)),
            Self::Ipv4(h) => visit(h),
            Self::Ipv6(h) => visit(h),
            Self::Udp(h) => visit(h),
            Self::Grh(h) => visit(h),
            Self::Lrh(h) => visit(h),
            Self::Vxlan(h) => visit(h),
            Self::Geneve(h) => visit(h),
            Self::Gre(h) => visit(h),
            Self::ErspanII(h) => visit(h),
            Self::ErspanIII(h) => visit(h),
            Self::Raw(..) => {}
        }
    }

    /// Appends the layer as it is, byte for byte.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room for it.
    pub fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        put("layer", self.bytes(), out)
    }
}
