//! Targets that take one frame.

use roce_capture::{Frame as Captured, LinkType};
use roce_wire::{
    AnyHeader, Extent, Frame, IcrcFault, IcrcState, Layer, Management, Mend, Mended, Packet, Ports,
    Value, mend as mend_frame, plain,
};

use super::split;
use super::ways::Agree;
use crate::form::line::Line;
use crate::form::{Listed, csv, hex, json, tree};
use crate::text::buf::Buf;

/// Parses a frame; it comes back byte for byte, and what is said of it holds together.
pub fn frame(input: &[u8]) {
    let Some((link, bytes, wire_len)) = split(input) else { return };
    let frame = Frame::parse(link, bytes, wire_len, &Ports::default());
    let mut again = Vec::new();
    frame.emit(&mut again).unwrap();
    assert_eq!(again, bytes);

    // `None` only says that it is not plain.
    let _ = plain(link, bytes, wire_len, &Ports::default(), Agree(&frame));

    let mut end = 0;
    for (at, layer) in frame.layers() {
        assert_eq!(at, end, "layers leave no gap");
        end = end.saturating_add(layer.bytes().len());
    }
    assert_eq!(frame.content_offset(), end);
    let state = frame.icrc_state();
    assert_eq!(state == Some(IcrcState::Bad), IcrcFault::of(&frame).is_some());
    if frame.is_roce() {
        assert!(state.is_some() && frame.rejection().is_none());
    }
    // The same bytes as somebody whose buffer is too small for them wants them.
    for room in [0, bytes.len() / 2] {
        let short = &mut vec![0; room][..];
        assert_eq!(frame.emit(&mut &mut *short).is_ok(), room >= bytes.len());
    }
}

/// Parses a packet without its frame, and the datagram that it may carry.
pub fn packet(input: &[u8]) {
    let Some((&[more], bytes)) = input.split_first_chunk::<1>() else { return };
    // Half of the lengths are beyond the bytes, half before their end.
    let wire_len = bytes.len().saturating_add(usize::from(more >> 1));
    let wire_len = if more & 1 == 0 { wire_len } else { wire_len / 2 };
    let Ok(packet) = Packet::parse(bytes, wire_len) else { return };
    let mut again = Vec::new();
    packet.emit(&mut again).unwrap();
    assert_eq!(again, &bytes[..wire_len.min(bytes.len())]);
    assert!(packet.payload.len() <= packet.payload_wire_len().max(again.len()));

    if let Ok(management) = Management::parse(packet.payload) {
        let mut again = Vec::new();
        management.emit(&mut again).unwrap();
        assert_eq!(again, packet.payload);
    }
}

/// Asks for every text there is of a frame.
pub fn print_anything(input: &[u8]) {
    let Some((link, bytes, wire_len)) = split(input) else { return };
    let frame = Frame::parse(link, bytes, wire_len, &Ports::default());
    let mut text = format!("{:?}", frame.content);
    let mut print = |header: &dyn AnyHeader| {
        let mut end = 0;
        header.each_field(&mut |field| {
            assert_eq!(field.bit, end, "{} {}", header.name(), field.name);
            end += field.bits;
            text.push_str(&crate::text(field.value));
            if let Value::Named(_, name) = field.value {
                text.push_str(&name.to_string());
            }
        });
        assert_eq!(u64::from(end), 8 * header.bytes().len() as u64, "{}", header.name());
    };
    for (_, layer) in frame.layers() {
        layer.for_each_header(&mut print);
    }
    if let Some((net, packet)) = frame.packet() {
        packet.for_each_header(&mut print);
        if let Ok(management) = Management::parse(packet.payload) {
            management.for_each_header(&mut print);
            if let Some((rdma_cm, _)) = management.rdma_cm() {
                print(rdma_cm);
            }
            text.push_str(&management.to_string());
        }
        text.push_str(&format!("{} {} {}", net.src(), net.dst(), packet.is_cut()));
        display_packet(packet, &mut text);
    }
    for (_, layer) in frame.layers() {
        display_layer(&layer, &mut text);
    }
    if let (Some(fault), Some(reject)) = (IcrcFault::of(&frame), frame.rejection()) {
        text.push_str(&format!("{fault} {reject}"));
    }
    assert!(!text.is_empty());
    print_as_the_command_does(&frame);
}

/// No packet can move a terminal's cursor, or break the form it is printed in.
fn print_as_the_command_does(frame: &Frame<'_>) {
    let (data, wire_len) = (frame.bytes(), u32::try_from(frame.wire_len()).unwrap_or(u32::MAX));
    let time_ns = data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let link_type = LinkType::ETHERNET;
    let captured = Captured { number: 1, time_ns, link_type, wire_len, data, interface: 0 };
    let listed = Listed { captured: &captured, frame, icrc: frame.icrc_state() };
    let form = |write: &dyn Fn(&mut Buf)| {
        let mut buf = Buf::default();
        write(&mut buf);
        let form = String::from_utf8(buf.as_bytes().to_vec()).unwrap();
        let is_plain = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
        assert!(form.chars().all(is_plain), "{form:?}");
        form
    };
    form(&|buf| tree::write(buf, &mut Line::new(false), listed));
    form(&|buf| hex::write(buf, data));
    assert_eq!(form(&|buf| Line::new(false).write(buf, listed)).lines().count(), 1);
    let object = form(&|buf| json::write(buf, listed));
    assert!(serde_json::from_str::<serde_json::Value>(&object).unwrap().is_object(), "{object}");
    let row = form(&|buf| csv::write(buf, listed));
    assert_eq!((row.lines().count(), row.split(',').count()), (1, csv::HEADER.split(',').count()));
}

fn display_packet(packet: &Packet<'_>, text: &mut String) {
    text.push_str(&packet.bth.to_string());
    text.extend(packet.rdeth.map(ToString::to_string));
    text.extend(packet.deth.map(ToString::to_string));
    text.extend(packet.xrceth.map(ToString::to_string));
    text.extend(packet.feth.map(ToString::to_string));
    text.extend(packet.reth.map(ToString::to_string));
    text.extend(packet.atomic_eth.map(ToString::to_string));
    text.extend(packet.aeth.map(ToString::to_string));
    text.extend(packet.atomic_ack_eth.map(ToString::to_string));
    text.extend(packet.imm_dt.map(ToString::to_string));
    text.extend(packet.ieth.map(ToString::to_string));
    text.extend(packet.icrc.map(ToString::to_string));
}

fn display_layer(layer: &Layer<'_>, text: &mut String) {
    let line = match layer {
        Layer::Erf(h) => h.to_string(),
        Layer::Ethernet(h) => h.to_string(),
        Layer::Vlans(tags) => tags.iter().map(ToString::to_string).collect(),
        Layer::Sll(h) => h.to_string(),
        Layer::Sll2(h) => h.to_string(),
        Layer::Null(h) => h.to_string(),
        Layer::Mpls(labels) => labels.iter().map(ToString::to_string).collect(),
        Layer::Ipv4(h) => h.to_string(),
        Layer::Ipv6(h) => h.to_string(),
        Layer::Udp(h) => h.to_string(),
        Layer::Grh(h) => h.to_string(),
        Layer::Lrh(h) => h.to_string(),
        Layer::Vxlan(h) => h.to_string(),
        Layer::Geneve(h) => h.to_string(),
        Layer::Gre(h) => h.to_string(),
        Layer::ErspanII(h) => h.to_string(),
        Layer::ErspanIII(h) => h.to_string(),
        Layer::Raw(name, bytes) => format!("{name} {}", bytes.len()),
    };
    text.push_str(&line);
}

/// Mends a frame. What is whole then has a right ICRC, and mending it again changes nothing.
pub fn mend(input: &[u8]) {
    let Some((link, bytes, wire_len)) = split(input) else { return };
    let ports = Ports::default();
    let mut mended = bytes.to_vec();
    let frame = Frame::parse(link, bytes, wire_len, &ports);
    let extent = Extent::of(&frame, wire_len).unwrap_or(Extent::exact(wire_len));
    let result = mend_frame(&mut mended, link, extent, &ports, Mend::ALL);
    if result == Mended::NoPacket {
        assert_eq!(mended, bytes, "what carries no packet is left alone");
    }
    let mut again = mended.clone();
    assert_eq!(mend_frame(&mut again, link, extent, &ports, Mend::ALL), result);
    assert_eq!(again, mended, "mending twice is mending once");
    let frame = Frame::parse(link, &mended, wire_len, &ports);
    if result == Mended::Whole
        && let Some((_, packet)) = frame.packet()
        && packet.icrc.is_some()
    {
        assert_eq!(frame.icrc_state(), Some(IcrcState::Ok));
    }
}
