//! The pcapng format: one section, little-endian, an interface for each link type, nanoseconds.

use super::WriterOptions;
use crate::file::ByteOrder;
use crate::{Frame, LinkType};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const OPTION_COMMENT: u16 = 1;
const OPTION_APPLICATION: u16 = 4;
const OPTION_TSRESOL: u16 = 9;
const END_OF_OPTIONS: u16 = 0;
const PADDING: [u8; 3] = [0; 3];

/// Appends a section header of unspecified length.
pub(super) fn section(out: &mut Vec<u8>, application: &str) {
    block(out, SECTION, |out| {
        out.extend(0x1a2b_3c4d_u32.to_le_bytes());
        out.extend(1_u16.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out.extend(u64::MAX.to_le_bytes());
        option(out, OPTION_APPLICATION, application.as_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// An interface by its link type and its number elsewhere.
pub(super) type Interface = (LinkType, u32);

/// The number of an interface here, described first if it is new; `None` when the format has no
/// room for the link type.
pub(super) fn interface(
    out: &mut Vec<u8>,
    interfaces: &mut Vec<Interface>,
    wanted: Interface,
    options: &WriterOptions,
) -> Option<u32> {
    if let Some(id) = interfaces.iter().position(|&known| known == wanted) {
        return u32::try_from(id).ok();
    }
    let (link_type, _) = wanted;
    let link_type = u16::try_from(link_type.0).ok()?;
    block(out, INTERFACE, |out| {
        out.extend(link_type.to_le_bytes());
        out.extend([0; 2]);
        out.extend(options.snaplen.to_le_bytes());
        option(out, OPTION_TSRESOL, &[9]);
        option(out, END_OF_OPTIONS, &[]);
    });
    interfaces.push(wanted);
    u32::try_from(interfaces.len().saturating_sub(1)).ok()
}

/// Appends a packet, with a comment unless that is empty. Only a simple packet block can be without
/// a time; it cannot say its captured length, nor name another interface than the first, nor have a
/// comment.
pub(super) fn packet(out: &mut Vec<u8>, frame: &Frame<'_>, length: u32, id: u32, text: &str) {
    let wire = frame.wire_len.max(length);
    if frame.time_ns.is_none() && id == 0 && wire == length && text.is_empty() {
        return block(out, SIMPLE_PACKET, |out| {
            out.extend(wire.to_le_bytes());
            data(out, frame.data);
        });
    }
    let body = frame.data.len().next_multiple_of(4).saturating_add(comment_len(text));
    // The writer takes no frame of 16 MiB or more, and comments are short.
    let total = u32::try_from(body.saturating_add(32)).unwrap_or(u32::MAX).to_le_bytes();
    let [h0, h1, h2, h3, l0, l1, l2, l3] = frame.time_ns.unwrap_or(0).to_be_bytes();
    let ([k0, k1, k2, k3], [t0, t1, t2, t3]) = (ENHANCED_PACKET.to_le_bytes(), total);
    let ([i0, i1, i2, i3], [c0, c1, c2, c3]) = (id.to_le_bytes(), length.to_le_bytes());
    let [w0, w1, w2, w3] = wire.to_le_bytes();
    // In one piece: this is done for every frame.
    out.extend_from_slice(&[
        k0, k1, k2, k3, t0, t1, t2, t3, i0, i1, i2, i3, h3, h2, h1, h0, //
        l3, l2, l1, l0, c0, c1, c2, c3, w0, w1, w2, w3,
    ]);
    data(out, frame.data);
    if !text.is_empty() {
        comment(out, text, ByteOrder::Little);
    }
    out.extend_from_slice(&total);
}

/// How many bytes [`comment`] appends, or none for an empty one.
fn comment_len(text: &str) -> usize {
    match u16::try_from(text.len()) {
        Ok(0) | Err(_) => 0,
        Ok(length) => usize::from(length).next_multiple_of(4).saturating_add(8),
    }
}

/// Appends a comment and the end of the options. It must be shorter than 64 KiB.
pub(super) fn comment(out: &mut Vec<u8>, text: &str, order: ByteOrder) {
    let Ok(length) = u16::try_from(text.len()) else { return };
    out.extend(order.short_bytes(OPTION_COMMENT));
    out.extend(order.short_bytes(length));
    data(out, text.as_bytes());
    out.extend([0; 4]);
}

/// Appends a block around what `body` appends, its length on both sides.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    let [k0, k1, k2, k3] = kind.to_le_bytes();
    out.extend_from_slice(&[k0, k1, k2, k3, 0, 0, 0, 0]);
    body(out);
    let total = out.len().saturating_sub(start).saturating_add(4);
    // The writer takes no frame of 16 MiB or more, and options are short.
    let length = u32::try_from(total).unwrap_or(u32::MAX).to_le_bytes();
    out.extend_from_slice(&length);
    if let Some(place) = out.get_mut(start..).and_then(|b| b.get_mut(4..8)) {
        place.copy_from_slice(&length);
    }
}

/// Appends an option; one too long for its length field is left out.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let Ok(length) = u16::try_from(value.len()) else { return };
    out.extend(code.to_le_bytes());
    out.extend(length.to_le_bytes());
    data(out, value);
}

/// Appends bytes, padded to a multiple of 4.
fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    let padding = bytes.len().wrapping_neg() & 3;
    if let Some(padding) = PADDING.get(..padding).filter(|padding| !padding.is_empty()) {
        out.extend_from_slice(padding);
    }
}
