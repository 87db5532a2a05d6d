//! Every field of every header, with its place: what `-V` prints.

use std::net::Ipv6Addr;

use roce_wire::{AnyHeader, Content, Field, Frame, IcrcFault, IcrcState, Layer, Packet, Value};

use super::Listed;
use super::line::{Line, management};
use crate::text::buf::Buf;
use crate::text::escape;

/// How many bytes of a payload are shown; `-x` shows all.
const SHOWN: usize = 32;

pub(crate) fn write(buf: &mut Buf, line: &mut Line, listed: Listed<'_>) {
    line.write(buf, listed);
    let frame = listed.frame;
    for (at, layer) in frame.layers() {
        layer_lines(buf, at, &layer);
    }
    let at = frame.content_offset();
    match &frame.content {
        Content::Packet(_, packet) => packet_lines(buf, at, listed, packet),
        Content::Pfc(pfc) => header_lines(buf, at, *pfc),
        Content::Pause(pause) => header_lines(buf, at, *pause),
        _ => {}
    }
    oddities(buf, frame);
    let trailer = frame.trailer();
    bytes_line(buf, frame.bytes().len().saturating_sub(trailer.len()), "trailer", trailer);
    buf.byte(b'\n');
}

fn layer_lines(buf: &mut Buf, at: usize, layer: &Layer<'_>) {
    if let Layer::Raw(name, bytes) = layer {
        bytes_line(buf, at, name, bytes);
        return;
    }
    let mut at = at;
    layer.for_each_header(&mut |header| {
        header_lines(buf, at, header);
        at = at.saturating_add(header.bytes().len());
    });
}

fn packet_lines(buf: &mut Buf, at: usize, listed: Listed<'_>, packet: &Packet<'_>) {
    let mut at = at;
    packet.for_each_header(&mut |header| {
        header_lines(buf, at, header);
        at = at.saturating_add(header.bytes().len());
    });
    match management(packet) {
        Some(management) => {
            let mut inner = at;
            management.for_each_header(&mut |header| {
                header_lines(buf, inner, header);
                inner = inner.saturating_add(header.bytes().len());
            });
            if let (Some(message), Some((header, _))) = (management.message, management.rdma_cm()) {
                let private = message.private_data();
                let start = inner.saturating_sub(private.len());
                header_lines(buf, start, header);
                let after = header.bytes().len();
                let consumer = private.get(after..).unwrap_or_default();
                bytes_line(buf, start.saturating_add(after), "consumer data", consumer);
            }
            bytes_line(buf, inner, "rest", management.rest);
        }
        None => bytes_line(buf, at, "payload", packet.payload),
    }
    at = at.saturating_add(packet.payload.len());
    bytes_line(buf, at, "pad", packet.pad);
    at = at.saturating_add(packet.pad.len());
    icrc_line(buf, at, listed, packet);
}

fn icrc_line(buf: &mut Buf, at: usize, listed: Listed<'_>, packet: &Packet<'_>) {
    place(buf, at, None);
    buf.text("icrc ");
    if let Some(icrc) = packet.icrc {
        buf.display(icrc);
        buf.byte(b' ');
    }
    match listed.icrc {
        Some(IcrcState::Ok) => buf.text("right"),
        Some(IcrcState::Bad) => {
            buf.text("wrong");
            if let Some(right) = listed.frame.right_icrc() {
                buf.text(", should be ");
                buf.display(&right);
            }
            if let Some(fault) = IcrcFault::of(listed.frame) {
                buf.text(": ");
                buf.display(&fault);
            }
        }
        Some(IcrcState::Unchecked) => buf.text("cannot be checked: the capture lacks bytes"),
        None => buf.text("not checked"),
    }
    buf.byte(b'\n');
}

fn oddities(buf: &mut Buf, frame: &Frame<'_>) {
    for (kind, text) in roce_wire::Oddities::TEXTS {
        if frame.oddities.has(kind) {
            buf.text("  ! ");
            buf.text(text);
            buf.byte(b'\n');
        }
    }
}

fn header_lines(buf: &mut Buf, at: usize, header: &(impl AnyHeader + ?Sized)) {
    buf.text("  ");
    buf.text(header.name());
    buf.text(", ");
    buf.number(u64::try_from(header.bytes().len()).unwrap_or(u64::MAX));
    buf.text(" bytes\n");
    header.each_field(&mut |field| field_line(buf, at, &field));
}

fn field_line(buf: &mut Buf, at: usize, field: &Field<'_>) {
    let byte = at.saturating_add(usize::try_from(field.bit / 8).unwrap_or(usize::MAX));
    let whole = field.bit.is_multiple_of(8) && field.bits.is_multiple_of(8);
    place(buf, byte, (!whole).then_some(field.bit % 8));
    buf.text(field.name);
    buf.byte(b' ');
    let digits = field.bits.div_ceil(4);
    match field.value {
        Value::Uint(number) => buf.number(number),
        Value::Hex(number) | Value::Reserved(number) => buf.hex(number, digits),
        Value::Flag(set) => buf.number(u8::from(set)),
        Value::Named(number, text) => {
            buf.hex(number, digits);
            buf.text(" (");
            buf.display(text);
            buf.byte(b')');
        }
        Value::Mac(mac) => buf.display(&mac),
        Value::Ipv4(ip) => buf.display(&ip),
        Value::Ipv6(ip) => ipv6(buf, ip),
        Value::Bytes(bytes) => some_bytes(buf, bytes),
    }
    buf.byte(b'\n');
}

fn ipv6(buf: &mut Buf, ip: Ipv6Addr) {
    buf.display(&ip);
}

/// Offset of a field; with the bit where it does not fill whole bytes.
fn place(buf: &mut Buf, byte: usize, bit: Option<u32>) {
    let byte = byte.to_string();
    for _ in byte.len()..8 {
        buf.byte(b' ');
    }
    buf.text(&byte);
    match bit {
        Some(bit) => {
            buf.byte(b'.');
            buf.number(bit);
            buf.text("  ");
        }
        None => buf.text("    "),
    }
}

fn bytes_line(buf: &mut Buf, at: usize, name: &str, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    place(buf, at, None);
    buf.text(name);
    buf.text(", ");
    buf.number(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    buf.text(if bytes.len() == 1 { " byte: " } else { " bytes: " });
    some_bytes(buf, bytes);
    buf.byte(b'\n');
}

/// The first bytes, as text where they read as text; zeros at the end are left out.
fn some_bytes(buf: &mut Buf, bytes: &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at.saturating_add(1));
    let told = bytes.get(..end).unwrap_or_default();
    let shown = told.get(..SHOWN).unwrap_or(told);
    if shown.is_empty() {
        buf.text("all zero");
    } else if escape::is_text(shown) {
        escape::quoted(buf, shown);
    } else {
        buf.hex_bytes(shown);
    }
    if shown.len() < told.len() {
        buf.text("…");
    } else if end < bytes.len() && end > 0 {
        buf.text(", then zeros");
    }
}
