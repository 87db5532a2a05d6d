//! Packets as CSV: the fields that every packet has.

use roce_wire::{Content, IcrcState};

use super::Listed;
use super::line::ends;
use crate::text::buf::Buf;

pub(crate) const HEADER: &str = "frame,time_ns,version,src,dst,udp_src_port,opcode,dest_qp,psn,\
    ack_req,syndrome,payload_len,icrc\n";

pub(crate) fn write(buf: &mut Buf, listed: Listed<'_>) {
    let captured = listed.captured;
    buf.number(captured.number);
    buf.byte(b',');
    if let Some(ns) = captured.time_ns {
        buf.number(ns);
    }
    buf.byte(b',');
    let content = &listed.frame.content;
    match content {
        Content::Packet(net, _) => buf.text(net.carrier().key()),
        Content::NoBth(no_bth) => buf.text(no_bth.carrier.key()),
        _ => {}
    }
    buf.byte(b',');
    let ends = ends(content);
    if let Some((src, _)) = ends {
        buf.addr(src);
    }
    buf.byte(b',');
    if let Some((_, dst)) = ends {
        buf.addr(dst);
    }
    buf.byte(b',');
    match content {
        Content::Packet(net, packet) => {
            if let Some(udp) = net.udp() {
                buf.number(udp.src_port());
            }
            let bth = packet.bth;
            buf.byte(b',');
            buf.display(&bth.opcode);
            for number in [bth.dest_qp().get(), bth.psn().get(), u32::from(bth.ack_req())] {
                buf.byte(b',');
                buf.number(number);
            }
            buf.byte(b',');
            if let Some(aeth) = packet.aeth {
                buf.number(aeth.syndrome().0);
            }
            buf.byte(b',');
            buf.number(u64::try_from(packet.payload_wire_len()).unwrap_or(u64::MAX));
        }
        _ => buf.text(",,,,,,"),
    }
    buf.byte(b',');
    buf.text(icrc(listed.icrc));
    buf.byte(b'\n');
}

pub(super) const fn icrc(state: Option<IcrcState>) -> &'static str {
    match state {
        Some(IcrcState::Ok) => "ok",
        Some(IcrcState::Bad) => "bad",
        Some(IcrcState::Unchecked) | None => "unchecked",
    }
}
