//! The pcapng format (draft-ietf-opsawg-pcapng): sections, interfaces and packet blocks.
//!
//! ```text
//!  block      type 4 | length 4 | body | padding to 4 | length 4
//!  section    byte-order mark 4 | major 2 | minor 2 | section length 8 | options
//!  interface  link type 2 | reserved 2 | snaplen 4 | options
//!  enhanced   interface 4 | time high 4 | time low 4 | captured 4 | wire 4 | bytes | options
//!  simple     wire 4 | bytes
//!  packet     interface 2 | drops 2 | time high 4 | time low 4 | captured 4 | wire 4 | bytes
//! ```
//! The last one is obsolete and still read. Every other block is passed over.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::buffer::Buffer;
use super::byte_order::ByteOrder;
use super::damage::{DamageKind, Stop, at_end, size};
use super::{MAX_RECORD, Record, Resolution};
use crate::LinkType;

/// A section header block's type reads the same in both byte orders.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
pub(crate) const OBSOLETE_PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MARK: u32 = 0x1a2b_3c4d;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;

/// Bytes of a block around its body: type and length before, length after.
const BLOCK_HEAD: usize = 8;
const BLOCK_FRAME: u32 = 12;
/// The most interfaces kept of a section; a switch has fewer ports.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct BlockHeader {
    kind: [u8; 4],
    length: [u8; 4],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SectionBody {
    mark: [u8; 4],
    major: [u8; 2],
    minor: [u8; 2],
    section_length: [u8; 8],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct InterfaceBody {
    link_type: [u8; 2],
    reserved: [u8; 2],
    snaplen: [u8; 4],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct EnhancedBody {
    interface: [u8; 4],
    time_high: [u8; 4],
    time_low: [u8; 4],
    captured: [u8; 4],
    wire: [u8; 4],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ObsoleteBody {
    interface: [u8; 2],
    drops: [u8; 2],
    time_high: [u8; 4],
    time_low: [u8; 4],
    captured: [u8; 4],
    wire: [u8; 4],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct OptionHeader {
    code: [u8; 2],
    length: [u8; 2],
}

/// What an interface description block says.
#[derive(Clone, Copy)]
struct Interface {
    link_type: LinkType,
    snaplen: u32,
    resolution: Resolution,
    /// Nanoseconds in a tick, for clocks whose ticks are whole nanoseconds: nearly all.
    tick_ns: Option<u64>,
    /// Seconds to add to every time stamp.
    offset: i64,
}

/// A block, where it stands in the buffer.
pub(super) struct Block {
    pub(super) kind: u32,
    /// Its length in bytes, type and both lengths included.
    pub(super) total: usize,
    /// The packet in it.
    pub(super) record: Option<Record>,
}

/// The section being read.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// How many interfaces earlier sections had.
    earlier: u32,
    finest: Option<Resolution>,
}

/// Whether a file that starts so is pcapng.
pub(super) fn detect(start: &[u8]) -> bool {
    start.starts_with(&SECTION.to_be_bytes())
}

impl Pcapng {
    /// Takes the first section header.
    pub(super) fn open(buffer: &mut Buffer) -> Result<Self, Stop> {
        let order = ByteOrder::Little;
        let mut pcapng = Self { order, interfaces: Vec::new(), earlier: 0, finest: None };
        if let Some(total) = pcapng.section(buffer)? {
            buffer.take(total);
        }
        Ok(pcapng)
    }

    /// The finest clock of the interfaces met so far.
    pub(super) const fn finest_resolution(&self) -> Option<Resolution> {
        self.finest
    }

    /// The next packet, or `None` at the end of the file.
    #[inline]
    pub(super) fn next(&mut self, buffer: &mut Buffer) -> Result<Option<Record>, Stop> {
        loop {
            match self.block(buffer)? {
                Some(Block { record: Some(record), .. }) => return Ok(Some(record)),
                Some(Block { total, record: None, .. }) => {
                    buffer.take(total);
                }
                None => return Ok(None),
            }
        }
    }

    /// The next block, which is left at the start of the buffer; `None` at the end of the file.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory twice")]
    pub(super) fn block(&mut self, buffer: &mut Buffer) -> Result<Option<Block>, Stop> {
        if !buffer.fill(BLOCK_HEAD)? {
            return at_end(buffer, size(BLOCK_FRAME));
        }
        let Ok((header, _)) = BlockHeader::ref_from_prefix(buffer.available()) else {
            return at_end(buffer, size(BLOCK_FRAME));
        };
        let (kind, length) = (self.order.u32(header.kind), self.order.u32(header.length));
        if kind == SECTION {
            let total = self.section(buffer)?;
            return Ok(total.map(|total| Block { kind, total, record: None }));
        }
        let total = whole_block(buffer, self.order, kind, length)?;
        let body = body(buffer, total);
        let record = match kind {
            ENHANCED_PACKET => Some(self.enhanced(body, kind, length)?),
            SIMPLE_PACKET => Some(self.simple(body, kind, length)?),
            OBSOLETE_PACKET => Some(self.obsolete(body, kind, length)?),
            INTERFACE => {
                let interface = interface(self.order, body)
                    .ok_or(DamageKind::BlockLength { block: kind, length })??;
                self.add(interface)?;
                None
            }
            _ => None,
        };
        Ok(Some(Block { kind, total, record: record.map(|record| Record { total, ..record }) }))
    }

    /// The byte order of the section.
    pub(super) const fn order(&self) -> ByteOrder {
        self.order
    }

    /// The snaplen of the section's first interface, which simple packet blocks are cut at.
    pub(super) fn first_snaplen(&self) -> u32 {
        self.interfaces.first().map_or(0, |interface| interface.snaplen)
    }

    /// Begins a section: its byte order and its interfaces are its own. Returns the length of its
    /// header block, which is left at the start of the buffer; `None` at the end of the file.
    fn section(&mut self, buffer: &mut Buffer) -> Result<Option<usize>, Stop> {
        let head = BLOCK_HEAD.saturating_add(size_of::<SectionBody>());
        if !buffer.fill(head)? {
            return at_end(buffer, head);
        }
        let Ok((header, rest)) = BlockHeader::ref_from_prefix(buffer.available()) else {
            return Ok(None);
        };
        let Ok((section, _)) = SectionBody::ref_from_prefix(rest) else {
            return Ok(None);
        };
        let order = match ByteOrder::Little.u32(section.mark) {
            BYTE_ORDER_MARK => ByteOrder::Little,
            mark if mark == BYTE_ORDER_MARK.swap_bytes() => ByteOrder::Big,
            mark => return Err(DamageKind::ByteOrder(mark).into()),
        };
        let (major, minor) = (order.u16(section.major), order.u16(section.minor));
        // Minor 2 is what some writers put for the same layout, as the draft notes.
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(DamageKind::Version { major, minor }.into());
        }
        let length = order.u32(header.length);
        if size(length) < head.saturating_add(4) {
            return Err(DamageKind::BlockLength { block: SECTION, length }.into());
        }
        let total = whole_block(buffer, order, SECTION, length)?;
        self.order = order;
        let count = u32::try_from(self.interfaces.len()).unwrap_or(u32::MAX);
        self.earlier = self.earlier.saturating_add(count);
        self.interfaces.clear();
        Ok(Some(total))
    }

    fn add(&mut self, interface: Interface) -> Result<(), Stop> {
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(DamageKind::TooManyInterfaces.into());
        }
        let resolution = interface.resolution;
        if self.finest.is_none_or(|finest| resolution.is_finer_than(finest)) {
            self.finest = Some(resolution);
        }
        self.interfaces.push(interface);
        Ok(())
    }

    #[inline]
    fn interface(&self, id: u32) -> Result<&Interface, Stop> {
        usize::try_from(id).ok().and_then(|id| self.interfaces.get(id)).ok_or_else(|| {
            let known = u32::try_from(self.interfaces.len()).unwrap_or(u32::MAX);
            DamageKind::NoInterface { id, known }.into()
        })
    }

    #[inline]
    fn enhanced(&self, body: &[u8], block: u32, length: u32) -> Result<Record, Stop> {
        let Ok((packet, data)) = EnhancedBody::ref_from_prefix(body) else {
            return Err(DamageKind::BlockLength { block, length }.into());
        };
        self.packet(
            self.order.u32(packet.interface),
            self.ticks(packet.time_high, packet.time_low),
            (self.order.u32(packet.captured), self.order.u32(packet.wire)),
            size_of::<EnhancedBody>(),
            data,
        )
    }

    fn obsolete(&self, body: &[u8], block: u32, length: u32) -> Result<Record, Stop> {
        let Ok((packet, data)) = ObsoleteBody::ref_from_prefix(body) else {
            return Err(DamageKind::BlockLength { block, length }.into());
        };
        self.packet(
            self.order.u16(packet.interface).into(),
            self.ticks(packet.time_high, packet.time_low),
            (self.order.u32(packet.captured), self.order.u32(packet.wire)),
            size_of::<ObsoleteBody>(),
            data,
        )
    }

    /// A simple packet block belongs to interface 0, has no time, and does not say how much was
    /// captured: that is the wire length, or the interface's snaplen where it is less.
    fn simple(&self, body: &[u8], block: u32, length: u32) -> Result<Record, Stop> {
        let Some((wire, data)) = body.split_first_chunk::<4>() else {
            return Err(DamageKind::BlockLength { block, length }.into());
        };
        let wire = self.order.u32(*wire);
        let captured = match self.interface(0)?.snaplen {
            0 => wire,
            snaplen => wire.min(snaplen),
        };
        self.packet(0, None, (captured, wire), 4, data)
    }

    #[inline]
    fn ticks(&self, high: [u8; 4], low: [u8; 4]) -> Option<u64> {
        Some(u64::from(self.order.u32(high)) << 32 | u64::from(self.order.u32(low)))
    }

    #[inline]
    fn packet(
        &self,
        id: u32,
        ticks: Option<u64>,
        (captured, wire): (u32, u32),
        fields: usize,
        data: &[u8],
    ) -> Result<Record, Stop> {
        let interface = self.interface(id)?;
        if captured > MAX_RECORD || size(captured) > data.len() {
            let room = u32::try_from(data.len()).unwrap_or(u32::MAX);
            return Err(DamageKind::Overrun { captured, room }.into());
        }
        Ok(Record {
            time_ns: ticks.and_then(|ticks| interface.time_ns(ticks)),
            link_type: interface.link_type,
            interface: self.earlier.saturating_add(id),
            wire_len: wire.max(captured),
            head: BLOCK_HEAD.saturating_add(fields),
            captured: size(captured),
            total: 0,
        })
    }
}

impl Interface {
    /// A time that does not fit is none, rather than a wrong one.
    #[inline]
    fn time_ns(&self, ticks: u64) -> Option<u64> {
        let ns = match self.tick_ns {
            Some(tick) => ticks.checked_mul(tick)?,
            None => self.resolution.to_ns(ticks)?,
        };
        if self.offset == 0 {
            return Some(ns);
        }
        let offset = i128::from(self.offset).checked_mul(1_000_000_000)?;
        u64::try_from(i128::from(ns).checked_add(offset)?).ok()
    }
}

/// Sees to it that the whole block is in the buffer, and that it ends as it begins.
#[inline]
fn whole_block(
    buffer: &mut Buffer,
    order: ByteOrder,
    block: u32,
    length: u32,
) -> Result<usize, Stop> {
    if length < BLOCK_FRAME || !length.is_multiple_of(4) || length > MAX_RECORD {
        return Err(DamageKind::BlockLength { block, length }.into());
    }
    let total = size(length);
    if !buffer.fill(total)? {
        let had = buffer.available().len() as u64;
        return Err(DamageKind::Cut { needed: length.into(), had }.into());
    }
    let trailing = buffer.available().get(..total).and_then(|block| block.last_chunk());
    match trailing.map(|bytes| order.u32(*bytes)) {
        Some(trailing) if trailing != length => {
            Err(DamageKind::TrailingLength { leading: length, trailing }.into())
        }
        _ => Ok(total),
    }
}

/// The body of the block of `total` bytes at the start of the buffer.
#[inline]
fn body(buffer: &Buffer, total: usize) -> &[u8] {
    buffer.available().get(BLOCK_HEAD..total.saturating_sub(4)).unwrap_or_default()
}

/// Reads an interface description; `None` when the body is too short for one.
fn interface(order: ByteOrder, body: &[u8]) -> Option<Result<Interface, Stop>> {
    let (fields, mut options) = InterfaceBody::ref_from_prefix(body).ok()?;
    let mut interface = Interface {
        link_type: LinkType(order.u16(fields.link_type).into()),
        snaplen: order.u32(fields.snaplen),
        resolution: Resolution::MICROSECONDS,
        tick_ns: None,
        offset: 0,
    };
    while let Ok((option, rest)) = OptionHeader::ref_from_prefix(options) {
        let length = usize::from(order.u16(option.length));
        let Some(value) = rest.get(..length) else {
            return Some(Err(DamageKind::Options.into()));
        };
        match (order.u16(option.code), value) {
            (0, _) => break,
            (OPTION_TSRESOL, [step]) => interface.resolution = Resolution::from_tsresol(*step),
            (OPTION_TSOFFSET, value) => {
                if let Some(seconds) = value.first_chunk() {
                    interface.offset = order.i64(*seconds);
                }
            }
            _ => {}
        }
        options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    interface.tick_ns = interface.resolution.tick_ns();
    Some(Ok(interface))
}
