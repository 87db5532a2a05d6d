//! Packets as JSON, one object a line; the keys are a contract.

use roce_wire::{
    AckKind, Aeth, AnyHeader, Content, IcrcFault, IcrcState, Net, Oddities, Packet, Tunnels, Value,
};

use super::Listed;
use super::csv::icrc;
use super::line::{ends, management};
use crate::text::buf::Buf;
use crate::text::json::Object;

pub(crate) fn write(buf: &mut Buf, listed: Listed<'_>) {
    let captured = listed.captured;
    let mut object = Object::open(buf);
    object.number("frame", captured.number);
    if let Some(ns) = captured.time_ns {
        object.number("time_ns", ns);
    }
    match &listed.frame.content {
        Content::Packet(net, packet) => {
            object.plain("version", &net.carrier().key());
            carriage(&mut object, listed);
            if let Some(udp) = net.udp() {
                object.number("udp_src_port", udp.src_port());
            }
            marks(&mut object, net);
            transport(&mut object, packet);
            self::listed_icrc(&mut object, listed);
            headers(&mut object, net, packet);
        }
        Content::NoBth(no_bth) => {
            object.plain("version", &no_bth.carrier.key());
            carriage(&mut object, listed);
            listed_icrc(&mut object, listed);
        }
        Content::Pfc(pfc) => fields(&mut object, "pfc", Some(*pfc)),
        Content::Pause(pause) => fields(&mut object, "pause", Some(*pause)),
        Content::Rejected(_) | Content::Other(_) => {}
    }
    object.close();
    buf.byte(b'\n');
}

/// Between whom, in which VLAN and tunnel.
fn carriage(object: &mut Object<'_>, listed: Listed<'_>) {
    if let Some((src, dst)) = ends(&listed.frame.content) {
        object.addr("src", src);
        object.addr("dst", dst);
    }
    if let Some(tag) = listed.frame.vlans.first() {
        object.number("vlan", tag.vlan());
        object.number("pcp", tag.pcp());
    }
    for (kind, name) in Tunnels::NAMES {
        if listed.frame.tunnels.has(kind) {
            object.flag(name, true);
        }
    }
}

fn marks(object: &mut Object<'_>, net: &Net<'_>) {
    if let Some(class) = net.traffic_class() {
        object.number("dscp", class >> 2);
        object.plain(
            "ecn",
            &["not_ect", "ect1", "ect0", "ce"].get(usize::from(class & 3)).unwrap_or(&""),
        );
    }
}

fn transport(object: &mut Object<'_>, packet: &Packet<'_>) {
    let bth = packet.bth;
    object.plain("opcode", &bth.opcode);
    object.number("dest_qp", bth.dest_qp().get());
    object.number("psn", bth.psn().get());
    object.flag("ack_req", bth.ack_req());
    object.flag("se", bth.solicited());
    object.flag("mig_req", bth.mig_req());
    object.number("pad_count", bth.pad_count());
    object.number("p_key", bth.p_key.get());
    object.flag("fecn", bth.fecn());
    object.flag("becn", bth.becn());
    object.number("payload_len", u64::try_from(packet.payload_wire_len()).unwrap_or(u64::MAX));
}

fn listed_icrc(object: &mut Object<'_>, listed: Listed<'_>) {
    object.plain("icrc", &icrc(listed.icrc));
    if listed.icrc == Some(IcrcState::Bad)
        && let Some(fault) = IcrcFault::of(listed.frame)
    {
        object.plain("icrc_fault", &fault);
    }
    if listed.frame.is_cut() {
        object.flag("truncated", true);
    }
    if listed.frame.oddities.has_lengths() {
        object.flag("contradictory_lengths", true);
    }
    if listed.frame.oddities.has(Oddities::IP_OPTIONS) {
        object.flag("ip_options", true);
    }
}

fn headers(object: &mut Object<'_>, net: &Net<'_>, packet: &Packet<'_>) {
    fields(object, "rdeth", packet.rdeth);
    fields(object, "deth", packet.deth);
    fields(object, "xrceth", packet.xrceth);
    fields(object, "feth", packet.feth);
    fields(object, "reth", packet.reth);
    fields(object, "atomic_eth", packet.atomic_eth);
    if let Some(header) = packet.aeth {
        object.object("aeth", |inner| aeth(inner, header));
    }
    fields(object, "atomic_ack_eth", packet.atomic_ack_eth);
    if let Some(imm) = packet.imm_dt {
        object.number("imm_dt", imm.number());
    }
    fields(object, "ieth", packet.ieth);
    fields(object, "grh", net.grh());
    if let Some(management) = management(packet) {
        fields(object, "mad", Some(management.mad));
        let name = management.cm_attribute().map(|attribute| attribute.name());
        if let Some(name) = name {
            object.object("cm", |inner| {
                inner.plain("message", &name);
                if let Some(message) = management.message {
                    each_field(inner, message.as_header());
                }
                if let Some((header, _)) = management.rdma_cm() {
                    fields(inner, "rdma_cm", Some(header));
                }
            });
        }
    }
}

fn aeth(object: &mut Object<'_>, aeth: &Aeth) {
    let syndrome = aeth.syndrome();
    object.number("syndrome", syndrome.0);
    match syndrome.kind() {
        AckKind::Ack(credits) => {
            object.plain("kind", &"ack");
            if let Some(credits) = credits {
                object.number("credits", credits);
            }
        }
        AckKind::RnrNak(timer) => {
            object.plain("kind", &"rnr_nak");
            object.number("rnr_timer_ns", u64::from(timer.micros()).saturating_mul(1000));
        }
        AckKind::Nak(code) => {
            object.plain("kind", &"nak");
            object.number("nak_code", code.0);
            object.plain("nak", &code);
        }
        AckKind::Reserved => object.plain("kind", &"reserved"),
    }
    object.number("msn", aeth.msn().get());
}

fn fields<H: AnyHeader>(object: &mut Object<'_>, key: &str, header: Option<&H>) {
    if let Some(header) = header {
        object.object(key, |inner| each_field(inner, header));
    }
}

/// Every field of a header by its name; reserved bits only when they are set, by their place in
/// bits, since a header may have several.
fn each_field(object: &mut Object<'_>, header: &dyn AnyHeader) {
    header.each_field(&mut |field| match field.value {
        Value::Reserved(0) => {}
        Value::Reserved(number) => object.number(&format!("reserved_{}", field.bit), number),
        Value::Uint(number) | Value::Hex(number) => object.number(field.name, number),
        Value::Named(number, text) => {
            object.number(field.name, number);
            object.text(&format!("{}_text", field.name), &text.to_string());
        }
        Value::Flag(set) => object.flag(field.name, set),
        Value::Mac(mac) => object.plain(field.name, &mac),
        Value::Ipv4(ip) => object.plain(field.name, &ip),
        Value::Ipv6(ip) => object.plain(field.name, &ip),
        Value::Bytes(bytes) => object.hex_bytes(field.name, bytes),
    });
}
