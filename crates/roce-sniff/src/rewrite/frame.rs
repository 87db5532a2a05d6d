//! One frame on its way through all edits.

use roce_capture::Frame as Captured;
use roce_wire::{Frame, Header as _, Ipv4, Ipv6, Layer, Link, Ports};

use super::args::Way;
use super::headers::{self, Marks};
use super::icrc::Seal;
use super::layers::Layers;
use super::names::Names;
use super::shape::{Shape, put};
use super::transport::{self, Payload};
use super::vxlan::{self, Outer};
use super::{convert, other, sums, wrap};

/// The edits, in the order in which they are made.
pub(super) struct Rewriter {
    pub(super) names: Names,
    pub(super) marks: Marks,
    pub(super) payload: Payload,
    pub(super) fix_icrc: bool,
    pub(super) strip_tunnel: bool,
    pub(super) strip_vlan: bool,
    pub(super) convert: Option<Way>,
    pub(super) add_vlan: Option<(u16, u8)>,
    pub(super) add_vxlan: Option<Outer>,
    pub(super) headers_only: bool,
    /// Where RoCE v2 goes to before, and afterwards.
    pub(super) ports: Ports,
    pub(super) new_ports: Ports,
    /// The frame as it becomes.
    pub(super) bytes: Vec<u8>,
    /// How many RoCE packets could not be converted.
    pub(super) unconverted: u64,
}

impl Rewriter {
    /// Edits a frame; it is in `bytes` afterwards. Returns its length on the wire, in bytes.
    pub(super) fn rewrite(&mut self, captured: &Captured<'_>, frame: &Frame<'_>) -> u32 {
        let link = Link::from_linktype(captured.link_type.0);
        let is_roce = frame.is_roce();
        let fcs = frame_check_sequence(frame);
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend(captured.data);
        let seal = self.seal(frame, is_roce);
        self.edit_in_place(frame, link, seal, &mut bytes);
        let wire_len = usize::try_from(captured.wire_len).unwrap_or(usize::MAX);
        let (linktype, ports) = (captured.link_type.0, self.new_ports);
        let mut shape = Shape { bytes: &mut bytes, wire_len, link, linktype, ports };
        if self.reshape(&mut shape, is_roce) {
            seal.put_on(shape.bytes, link, shape.wire_len, &self.new_ports);
        }
        let wire_len = shape.wire_len;
        if let Some(fault) = sums::ipv4_fault(frame).filter(|_| bytes != captured.data) {
            let mended = Frame::parse(link, &bytes, wire_len, &self.new_ports);
            if let Some((at, spoilt)) = sums::spoil_ipv4(&mended, fault) {
                put(&mut bytes, at, &spoilt);
            }
        }
        if let Some(start) = fcs.filter(|_| bytes != captured.data) {
            set_frame_check_sequence(&mut bytes, start);
        }
        if self.headers_only {
            let ports = self.new_ports;
            wrap::cut(&mut Shape { bytes: &mut bytes, wire_len, link, linktype, ports });
        }
        self.bytes = bytes;
        u32::try_from(wire_len).unwrap_or(u32::MAX)
    }

    fn seal(&self, frame: &Frame<'_>, is_roce: bool) -> Seal {
        match Seal::of(frame, is_roce) {
            seal if seal.is_wrong() && self.fix_icrc => Seal::Right,
            seal => seal,
        }
    }

    /// Edits what keeps its place and its length.
    fn edit_in_place(&mut self, old: &Frame<'_>, link: Link, seal: Seal, bytes: &mut [u8]) {
        let is_roce = old.is_roce();
        let layers = Layers::of(old);
        headers::edit(&self.names, self.marks, old, &layers, is_roce, bytes);
        if is_roce {
            transport::edit(&mut self.names, &self.payload, old, bytes);
        } else if self.names.hidden.is_some() && other::quoted(old).is_none() {
            other::blank(&self.names, old, &layers, bytes);
        }
        if self.names.hidden.is_some() {
            other::blank_trailer(old, bytes);
        }
        if let Some(at) = other::quoted(old) {
            self.edit_quoted(old, at, bytes);
        }
        if bytes != old.bytes() {
            sums::adjust(old, &layers, bytes);
        }
        if bytes != old.bytes() || self.fix_icrc {
            seal.put_on(bytes, link, old.wire_len(), &self.new_ports);
        }
    }

    /// Edits the datagram that an ICMP error quotes, which is cut more often than not.
    fn edit_quoted(&mut self, old: &Frame<'_>, at: usize, bytes: &mut [u8]) {
        let quoted = old.bytes().get(at..).unwrap_or_default();
        let len = match (
            quoted.first().map(|first| first >> 4),
            Ipv4::parse(quoted),
            Ipv6::parse(quoted),
        ) {
            (Some(4), Ok((ip, _)), _) => usize::from(ip.total_len()),
            (Some(6), _, Ok((ip, _))) => usize::from(ip.payload_len()).saturating_add(Ipv6::LEN),
            _ => 0,
        };
        let room = bytes.get_mut(at..).unwrap_or_default();
        let (Some(captured), true) = (quoted.get(..len.min(quoted.len())), len > 0) else {
            if self.names.hidden.is_some() {
                room.fill(0);
            }
            return;
        };
        let frame = Frame::parse(Link::RawIp, captured, len, &self.ports);
        let Some(inner) = room.get_mut(..captured.len()) else { return };
        // An error about an error is not looked into: none is ever sent (RFC 1122, 3.2.2).
        if other::quoted(&frame).is_some() {
            if self.names.hidden.is_some() {
                inner.fill(0);
            }
        } else {
            let seal = self.seal(&frame, frame.is_roce());
            self.edit_in_place(&frame, Link::RawIp, seal, inner);
        }
        if self.names.hidden.is_some() {
            room.get_mut(captured.len()..).unwrap_or_default().fill(0);
        }
    }

    /// Takes headers off and puts others on; says whether there was anything to do.
    fn reshape(&mut self, shape: &mut Shape<'_>, is_roce: bool) -> bool {
        let mut changed = false;
        if self.strip_tunnel {
            changed |= wrap::strip_tunnel(shape);
        }
        if self.strip_vlan {
            changed |= wrap::strip_vlan(shape);
        }
        if let Some(way) = self.convert.filter(|_| is_roce) {
            if convert::convert(shape, way, &mut self.names.family) {
                changed = true;
            } else {
                self.unconverted = self.unconverted.saturating_add(1);
            }
        }
        if let Some(tag) = self.add_vlan {
            changed |= wrap::add_vlan(shape, tag);
        }
        if let Some(outer) = self.add_vxlan {
            changed |= vxlan::add(shape, outer);
        }
        changed
    }
}

/// Where the Ethernet frame begins that ends with a right check sequence, if it does.
fn frame_check_sequence(frame: &Frame<'_>) -> Option<usize> {
    if frame.is_cut() || frame.trailer().len() < 4 {
        return None;
    }
    let start = frame.layers().find_map(|(at, layer)| match layer {
        Layer::Ethernet(_) => Some(at),
        _ => None,
    })?;
    let (covered, fcs) = frame.bytes().get(start..)?.split_last_chunk::<4>()?;
    (crc32fast::hash(covered).to_le_bytes() == *fcs).then_some(start)
}

fn set_frame_check_sequence(bytes: &mut [u8], start: usize) {
    let at = bytes.len().saturating_sub(4);
    let fcs = crc32fast::hash(bytes.get(start..at).unwrap_or_default());
    put(bytes, at, &fcs.to_le_bytes());
}
