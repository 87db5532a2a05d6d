//! The pcap format: one link type, little-endian, microseconds or nanoseconds.

use super::WriterOptions;
use crate::{Frame, LinkType};

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Appends the file header.
pub(super) fn header(out: &mut Vec<u8>, link_type: LinkType, options: &WriterOptions) {
    let magic = if options.nanoseconds { NANOSECONDS } else { MICROSECONDS };
    out.extend(magic.to_le_bytes());
    out.extend(2_u16.to_le_bytes());
    out.extend(4_u16.to_le_bytes());
    out.extend([0; 8]);
    out.extend(options.snaplen.to_le_bytes());
    out.extend(link_type.0.to_le_bytes());
}

/// Appends a record, or nothing and returns false when the time does not fit 32 bits of seconds.
pub(super) fn record(out: &mut Vec<u8>, frame: &Frame<'_>, length: u32, nanoseconds: bool) -> bool {
    let time = std::time::Duration::from_nanos(frame.time_ns.unwrap_or(0));
    let Ok(seconds) = u32::try_from(time.as_secs()) else { return false };
    let fraction = if nanoseconds { time.subsec_nanos() } else { time.subsec_micros() };
    out.extend(seconds.to_le_bytes());
    out.extend(fraction.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(frame.wire_len.max(length).to_le_bytes());
    out.extend(frame.data);
    true
}
