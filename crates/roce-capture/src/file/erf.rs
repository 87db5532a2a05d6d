//! Endace's Extensible Record Format: records without any file header.
//!
//! ```text
//!  time 8 (little-endian, 2^-32 s) | type 1 | flags 1 | record length 2 | loss 2 | wire length 2
//!  extension headers 8 each, while the top bit of the type before is set | payload | padding
//! ```
//! A frame is handed on as the record itself, link type ERF, as libpcap does, without the padding
//! behind the payload: so a frame shorter than its `wire_len` was cut by the capture.

use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::buffer::Buffer;
use super::damage::{DamageKind, Stop, at_end};
use super::{Record, Resolution};
use crate::LinkType;

const HEADER: usize = size_of::<RecordHeader>();
const EXTENSION: usize = 8;
const MORE: u8 = 0x80;
const KIND: u8 = 0x7f;
/// The record's bytes are the provenance of the capture, not a frame.
const META: u8 = 27;
/// Padding between records; the highest type in use.
const PAD: u8 = 48;
/// How much of a file is looked at to tell whether it is ERF, in bytes and in records.
const PROBE: usize = 16 << 10;
const PROBE_RECORDS: usize = 16;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RecordHeader {
    time: [u8; 8],
    kind: u8,
    flags: u8,
    length: U16,
    loss: U16,
    wire: U16,
}

const _: () = assert!(HEADER == 16);

impl RecordHeader {
    const fn kind(&self) -> u8 {
        self.kind & KIND
    }

    fn length(&self) -> usize {
        usize::from(self.length.get())
    }

    /// Whether a record can start like this.
    fn is_plausible(&self) -> bool {
        matches!(self.kind(), 1..=25 | META | 32..=PAD) && self.length() >= HEADER
    }

    /// Bytes between the type's last extension header and the frame: Ethernet records have an
    /// offset and a pad byte. `None` for types whose layout does not matter here.
    const fn payload_head(&self) -> Option<usize> {
        match self.kind() {
            2 | 11 | 16 | 20 => Some(2),
            1 | 10 | 15 | 19 | 21..=25 => Some(0),
            _ => None,
        }
    }

    fn time_ns(&self) -> Option<u64> {
        Resolution::Binary(32).to_ns(u64::from_le_bytes(self.time))
    }
}

/// Whether the stream starts with ERF records. They have no magic number, so every header in the
/// first bytes must be plausible, and one alone does not do unless the file ends with it.
pub(super) fn detect(buffer: &mut Buffer) -> std::io::Result<bool> {
    let ends = !buffer.fill(PROBE)?;
    let mut rest = buffer.available();
    let mut seen = 0_usize;
    while let Ok((header, _)) = RecordHeader::ref_from_prefix(rest) {
        if !header.is_plausible() || !has_plausible_time(header) {
            return Ok(false);
        }
        let Some(after) = rest.get(header.length()..) else { break };
        rest = after;
        seen = seen.saturating_add(1);
        if seen == PROBE_RECORDS {
            return Ok(true);
        }
    }
    Ok(seen > 1 || (seen == 1 && (rest.len() >= HEADER || (rest.is_empty() && ends))))
}

/// Records of capture cards are stamped between 1990 and 2106; text read as a time seldom is, and
/// never is while its type and length are plausible too.
fn has_plausible_time(header: &RecordHeader) -> bool {
    const YEAR_1990: u64 = 631_152_000;
    header.kind() == PAD || u64::from_le_bytes(header.time) >> 32 >= YEAR_1990
}

/// The next record that is not padding, or `None` at the end of the file.
pub(super) fn next(buffer: &mut Buffer) -> Result<Option<Record>, Stop> {
    loop {
        if !buffer.fill(HEADER)? {
            return at_end(buffer, HEADER);
        }
        let Ok((header, _)) = RecordHeader::ref_from_prefix(buffer.available()) else {
            return at_end(buffer, HEADER);
        };
        if !header.is_plausible() {
            let (kind, length) = (header.kind(), header.length.get());
            return Err(DamageKind::ErfRecord { kind, length }.into());
        }
        let total = header.length();
        let is_padding = header.kind() == PAD;
        if !buffer.fill(total)? {
            return at_end(buffer, total);
        }
        if !is_padding {
            return record(buffer.available().get(..total).unwrap_or_default()).map(Some);
        }
        buffer.take(total);
    }
}

/// Describes the record whose bytes these are.
fn record(bytes: &[u8]) -> Result<Record, Stop> {
    let cut = || DamageKind::Cut { needed: HEADER as u64, had: bytes.len() as u64 };
    let (header, mut rest) = RecordHeader::ref_from_prefix(bytes).map_err(|_| cut())?;
    let mut more = header.kind & MORE != 0;
    while more {
        let Some((extension, after)) = rest.split_first_chunk::<EXTENSION>() else {
            let (kind, length) = (header.kind(), header.length.get());
            return Err(DamageKind::ErfRecord { kind, length }.into());
        };
        more = extension.first().is_some_and(|first| first & MORE != 0);
        rest = after;
    }
    let head = bytes.len().saturating_sub(rest.len());
    let (captured, wire) = match header.payload_head() {
        Some(extra) => {
            let wire = head.saturating_add(extra).saturating_add(header.wire.get().into());
            (bytes.len().min(wire), wire)
        }
        None => (bytes.len(), bytes.len()),
    };
    Ok(Record {
        time_ns: header.time_ns(),
        link_type: LinkType::ERF,
        // The capture card's port: the low two bits of the flags.
        interface: u32::from(header.flags & 3),
        wire_len: u32::try_from(wire).unwrap_or(u32::MAX),
        head: 0,
        captured,
        total: bytes.len(),
    })
}
