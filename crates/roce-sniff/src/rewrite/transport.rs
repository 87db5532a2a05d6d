//! New names in a packet: queue pairs, keys, addresses of memory, and the application's own data.

use std::rc::Rc;

use roce_wire::{Addr, Content, Frame, Net, NoBth, Opcode, Packet, Qpn};

use super::args::Fill;
use super::cm;
use super::hidden::Hidden;
use super::names::Names;
use super::shape::put;

/// What becomes of payloads.
pub(super) enum Payload {
    Keep,
    Zero,
    Pattern(Rc<Hidden>),
}

impl Payload {
    pub(super) fn new(fill: Option<Fill>, hidden: Option<Rc<Hidden>>) -> Self {
        match (fill, hidden) {
            (Some(Fill::Zero), _) => Self::Zero,
            (_, Some(hidden)) => Self::Pattern(hidden),
            (Some(Fill::Pattern), None) => Self::Pattern(Rc::new(Hidden::new(""))),
            (None, None) => Self::Keep,
        }
    }
}

/// Edits what the headers carry, which is RoCE.
pub(super) fn edit(names: &mut Names, payload: &Payload, frame: &Frame<'_>, bytes: &mut [u8]) {
    let at = frame.content_offset();
    match &frame.content {
        Content::Packet(net, packet) => {
            let body = bytes.get_mut(at..).unwrap_or_default();
            edit_packet(names, payload, (net, packet), body);
        }
        Content::NoBth(no_bth) => {
            edit_no_bth(names, no_bth, bytes.get_mut(at..).unwrap_or_default());
        }
        _ => {}
    }
}

/// Of a BTH that is cut, what is there: the queue pair stands in bytes 5 to 7.
fn edit_no_bth(names: &Names, no_bth: &NoBth<'_>, bytes: &mut [u8]) {
    match (&no_bth.net, bytes.get(5..8)) {
        (Some(net), Some(&[a, b, c])) => {
            let qpn = Qpn::new(u32::from_be_bytes([0, a, b, c]));
            put_24(bytes, 5, names.qpn(net.dst(), qpn).get());
        }
        // A network header that is cut, or the beginning of a queue pair.
        (net, _) if names.hidden.is_some() => {
            let keep = if net.is_some() { 5 } else { 8 };
            bytes.get_mut(keep..).unwrap_or_default().fill(0);
        }
        _ => {}
    }
}

/// `bytes` begin at the BTH.
fn edit_packet(
    names: &mut Names,
    payload: &Payload,
    (net, packet): (&Net<'_>, &Packet<'_>),
    bytes: &mut [u8],
) {
    let dest_qp = packet.bth.dest_qp();
    put_24(bytes, 5, names.qpn(net.dst(), dest_qp).get());
    edit_extended(names, net, packet, bytes);
    let at = packet.header_len();
    let Some(body) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..packet.payload.len()))
    else {
        return;
    };
    if packet.lacks_headers() {
        // The beginning of a header that is cut.
        if names.hidden.is_some() {
            body.fill(0);
        }
    } else if packet.deth.is_some() && matches!(dest_qp, Qpn::SMI | Qpn::GSI) {
        cm::edit(names, net, packet.payload, body);
    } else if packet.bth.opcode != Opcode::CNP {
        let psn = packet.bth.psn().get();
        match payload {
            Payload::Keep => {}
            Payload::Zero => body.fill(0),
            Payload::Pattern(hidden) => hidden.payload(net.dst(), dest_qp.get(), psn, body),
        }
    }
    if names.hidden.is_some() {
        edit_pad(packet, bytes);
    }
}

/// A pad that is not zero stays so, and tells nothing more.
fn edit_pad(packet: &Packet<'_>, bytes: &mut [u8]) {
    let at = packet.header_len().saturating_add(packet.payload.len());
    let pad = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..packet.pad.len()));
    for byte in pad.unwrap_or_default().iter_mut().filter(|byte| **byte != 0) {
        *byte = 0xff;
    }
}

/// The extended headers, in wire order.
fn edit_extended(names: &Names, net: &Net<'_>, packet: &Packet<'_>, bytes: &mut [u8]) {
    let (src, dst) = (net.src(), net.dst());
    let mut at = size_of::<roce_wire::Bth>();
    let mut next = |len: usize, is_there: bool| {
        let here = at;
        at = at.saturating_add(if is_there { len } else { 0 });
        here
    };
    next(4, packet.rdeth.is_some());
    let here = next(8, packet.deth.is_some());
    if let Some(deth) = packet.deth {
        put(bytes, here, &names.q_key(deth.q_key).get().to_be_bytes());
        put_24(bytes, here.saturating_add(5), names.qpn(src, deth.src_qp()).get());
    }
    let here = next(4, packet.xrceth.is_some());
    if let (Some(xrceth), Some(hidden)) = (packet.xrceth, &names.hidden) {
        put_24(bytes, here.saturating_add(1), hidden.qpn(xrceth.srqn()));
    }
    next(4, packet.feth.is_some());
    let here = next(16, packet.reth.is_some());
    if let Some(reth) = packet.reth {
        put_memory(names, dst, (reth.va, reth.r_key), bytes, here);
    }
    let here = next(28, packet.atomic_eth.is_some());
    if let Some(atomic) = packet.atomic_eth {
        put_memory(names, dst, (atomic.va, atomic.r_key), bytes, here);
        put_data(names, atomic.swap_add(), bytes, here.saturating_add(12));
        put_data(names, atomic.compare(), bytes, here.saturating_add(20));
    }
    next(4, packet.aeth.is_some());
    let here = next(8, packet.atomic_ack_eth.is_some());
    if let Some(atomic) = packet.atomic_ack_eth {
        put_data(names, atomic.original(), bytes, here);
    }
    let here = next(4, packet.imm_dt.is_some());
    if let (Some(hidden), Some(&data)) =
        (&names.hidden, bytes.get(here..).and_then(<[u8]>::first_chunk))
        && packet.imm_dt.is_some()
    {
        put(bytes, here, &hidden.data_32(u32::from_be_bytes(data)).to_be_bytes());
    }
    let here = next(4, packet.ieth.is_some());
    if let Some(ieth) = packet.ieth {
        put(bytes, here, &names.r_key(dst, ieth.r_key).get().to_be_bytes());
    }
}

/// An address and the key that gives access to it.
fn put_memory(
    names: &Names,
    host: Addr,
    (va, key): (roce_wire::VirtAddr, roce_wire::RKey),
    bytes: &mut [u8],
    at: usize,
) {
    put(bytes, at, &names.virt_addr(host, key, va).get().to_be_bytes());
    put(bytes, at.saturating_add(8), &names.r_key(host, key).get().to_be_bytes());
}

/// Eight bytes of the application.
fn put_data(names: &Names, data: u64, bytes: &mut [u8], at: usize) {
    if let Some(hidden) = &names.hidden {
        put(bytes, at, &hidden.data_64(data).to_be_bytes());
    }
}

fn put_24(bytes: &mut [u8], at: usize, number: u32) {
    let [_, a, b, c] = number.to_be_bytes();
    put(bytes, at, &[a, b, c]);
}
