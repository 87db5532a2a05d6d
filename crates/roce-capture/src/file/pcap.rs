//! The pcap format (draft-ietf-opsawg-pcap), both byte orders, microseconds and nanoseconds.
//!
//! ```text
//!  file    magic 4 | major 2 | minor 2 | zone 4 | accuracy 4 | snaplen 4 | link type 4
//!  record  seconds 4 | fraction 4 | captured length 4 | wire length 4 | bytes
//! ```

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::buffer::Buffer;
use super::byte_order::ByteOrder;
use super::damage::{DamageKind, Stop, at_end, size};
use super::{MAX_RECORD, Record, Resolution};
use crate::LinkType;

/// Captured lengths up to this are believed whatever the snaplen of the header, as tools write
/// snaplens that their records exceed; it is libpcap's own maximum.
const USUAL_SNAPLEN: u32 = 256 << 10;

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Kuznetzov's patched libpcap: records have 8 more bytes, an interface number among them.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// Above these bits of the link type stand flags and the length of a frame check sequence.
const LINK_TYPE: u32 = 0x03ff_ffff;
const MODIFIED_EXTRA: usize = 8;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FileHeader {
    magic: [u8; 4],
    major: [u8; 2],
    minor: [u8; 2],
    zone: [u8; 4],
    accuracy: [u8; 4],
    snaplen: [u8; 4],
    link_type: [u8; 4],
}

const _: () = assert!(size_of::<FileHeader>() == 24);

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RecordHeader {
    seconds: [u8; 4],
    fraction: [u8; 4],
    captured: [u8; 4],
    wire: [u8; 4],
}

const _: () = assert!(size_of::<RecordHeader>() == 16);

/// What the file header says of the records.
pub(super) struct Pcap {
    order: ByteOrder,
    nanoseconds: bool,
    link_type: LinkType,
    limit: u32,
    head: usize,
    /// Version 2.3 files may have the two lengths the other way round.
    swapped_lengths: bool,
}

/// The byte order and the magic number, if `start` is that of a pcap file.
fn magic(start: [u8; 4]) -> Option<(ByteOrder, u32)> {
    [ByteOrder::Little, ByteOrder::Big].into_iter().find_map(|order| match order.u32(start) {
        magic @ (MAGIC_MICROSECONDS | MAGIC_NANOSECONDS | MAGIC_MODIFIED) => Some((order, magic)),
        _ => None,
    })
}

/// Whether a file that starts so is pcap.
pub(super) fn detect(start: &[u8]) -> bool {
    start.first_chunk().copied().and_then(magic).is_some()
}

impl Pcap {
    /// Takes the file header.
    pub(super) fn open(buffer: &mut Buffer) -> Result<Self, Stop> {
        let needed = size_of::<FileHeader>();
        buffer.fill(needed)?;
        let had = buffer.available().len();
        let cut = DamageKind::Cut { needed: needed as u64, had: had as u64 };
        let Ok((header, _)) = FileHeader::ref_from_prefix(buffer.available()) else {
            return Err(cut.into());
        };
        let Some((order, magic)) = magic(header.magic) else {
            return Err(cut.into());
        };
        let (major, minor) = (order.u16(header.major), order.u16(header.minor));
        if (major, minor) != (2, 4) && (major, minor) != (2, 3) {
            return Err(DamageKind::Version { major, minor }.into());
        }
        // 0 means no limit; whatever else it says, a record is held to what is believable.
        let limit = order.u32(header.snaplen).clamp(USUAL_SNAPLEN, MAX_RECORD);
        let extra = if magic == MAGIC_MODIFIED { MODIFIED_EXTRA } else { 0 };
        let pcap = Self {
            order,
            nanoseconds: magic == MAGIC_NANOSECONDS,
            link_type: LinkType(order.u32(header.link_type) & LINK_TYPE),
            limit,
            head: size_of::<RecordHeader>().saturating_add(extra),
            swapped_lengths: minor == 3,
        };
        buffer.take(needed);
        Ok(pcap)
    }

    /// Its byte order.
    pub(super) const fn order(&self) -> ByteOrder {
        self.order
    }

    /// The step of its clock.
    pub(super) const fn resolution(&self) -> Resolution {
        if self.nanoseconds { Resolution::NANOSECONDS } else { Resolution::MICROSECONDS }
    }

    /// The next record, or `None` at the end of the file.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory twice")]
    pub(super) fn next(&self, buffer: &mut Buffer) -> Result<Option<Record>, Stop> {
        // Nearly always it is in the buffer already.
        let available = buffer.available();
        if let Ok((header, _)) = RecordHeader::ref_from_prefix(available) {
            let record = self.record(header)?;
            if record.total <= available.len() {
                return Ok(Some(record));
            }
        }
        self.fetch(buffer)
    }

    /// The same where the buffer holds less than a record.
    #[cold]
    fn fetch(&self, buffer: &mut Buffer) -> Result<Option<Record>, Stop> {
        if !buffer.fill(self.head)? {
            return at_end(buffer, self.head);
        }
        let Ok((header, _)) = RecordHeader::ref_from_prefix(buffer.available()) else {
            return at_end(buffer, self.head);
        };
        let record = self.record(header)?;
        if !buffer.fill(record.total)? {
            return at_end(buffer, record.total);
        }
        Ok(Some(record))
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the record through memory")]
    fn record(&self, header: &RecordHeader) -> Result<Record, Stop> {
        let (mut captured, mut wire) =
            (self.order.u32(header.captured), self.order.u32(header.wire));
        if self.swapped_lengths && captured > wire {
            (captured, wire) = (wire, captured);
        }
        if captured > self.limit {
            return Err(DamageKind::RecordLength { length: captured, limit: self.limit }.into());
        }
        let captured_len = size(captured);
        Ok(Record {
            time_ns: Some(
                self.time_ns(self.order.u32(header.seconds), self.order.u32(header.fraction)),
            ),
            link_type: self.link_type,
            interface: 0,
            // Some tools write a wire length that is less than what they captured.
            wire_len: wire.max(captured),
            head: self.head,
            captured: captured_len,
            total: self.head.wrapping_add(captured_len),
        })
    }

    #[inline]
    fn time_ns(&self, seconds: u32, fraction: u32) -> u64 {
        let step = if self.nanoseconds { 1 } else { 1_000 };
        // Cannot saturate: both are 32 bits.
        u64::from(seconds)
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::from(fraction).saturating_mul(step))
    }
}
