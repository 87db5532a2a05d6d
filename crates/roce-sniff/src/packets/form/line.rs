//! One packet on one line, in the spirit of tcpdump.

use anstyle::Style;
use roce_wire::mad::Management;
use roce_wire::{
    AckKind, Addr, Carrier, Content, Ecn, Frame, IcrcFault, IcrcState, Net, NoBth, Oddities,
    Packet, Qpn, Tunnels,
};

use super::Listed;
use crate::text::buf::Buf;
use crate::text::style::{BAD, WARN};

/// Writes lines; remembers what keeps them aligned.
#[derive(Debug)]
pub(crate) struct Line {
    colored: bool,
    /// Digits of the second's fraction: 9 from the first packet on whose time needs them.
    digits: usize,
}

const NANOS: u64 = 1_000_000_000;

impl Line {
    pub(crate) const fn new(colored: bool) -> Self {
        Self { colored, digits: 6 }
    }

    pub(crate) fn write(&mut self, buf: &mut Buf, listed: Listed<'_>) {
        buf.number(listed.captured.number);
        buf.byte(b' ');
        self.time(buf, listed.captured.time_ns);
        buf.byte(b' ');
        self.content(buf, listed);
        buf.byte(b'\n');
    }

    /// The packet without number and time.
    pub(super) fn content(&self, buf: &mut Buf, listed: Listed<'_>) {
        let frame = listed.frame;
        match &frame.content {
            Content::Packet(net, packet) => {
                self.packet(buf, frame, net, packet);
                self.icrc(buf, listed);
            }
            Content::NoBth(no_bth) => self.no_bth(buf, no_bth),
            Content::Pfc(pfc) => self.styled(buf, WARN, |buf| buf.display(pfc)),
            Content::Pause(pause) => self.styled(buf, WARN, |buf| buf.display(pause)),
            Content::Rejected(_) | Content::Other(_) => {}
        }
    }

    /// Time of day in UTC.
    fn time(&mut self, buf: &mut Buf, time_ns: Option<u64>) {
        let Some(ns) = time_ns else {
            buf.byte(b'-');
            return;
        };
        let (seconds, fraction) = (ns / NANOS % 86_400, ns % NANOS);
        if !fraction.is_multiple_of(1000) {
            self.digits = 9;
        }
        buf.padded(seconds / 3600, 2);
        buf.byte(b':');
        buf.padded(seconds / 60 % 60, 2);
        buf.byte(b':');
        buf.padded(seconds % 60, 2);
        buf.byte(b'.');
        match self.digits {
            9 => buf.padded(fraction, 9),
            _ => buf.padded(fraction / 1000, 6),
        }
    }

    fn packet(&self, buf: &mut Buf, frame: &Frame<'_>, net: &Net<'_>, packet: &Packet<'_>) {
        carriage(buf, frame, net.carrier());
        buf.addr(net.src());
        if let Some(udp) = net.udp() {
            buf.byte(b'.');
            buf.number(udp.src_port());
        }
        buf.text(" > ");
        buf.addr(net.dst());
        buf.byte(b' ');
        match packet.bth.opcode.name() {
            Some(name) => buf.text(name),
            None => buf.hex(packet.bth.opcode.0, 2),
        }
        buf.text(" qp ");
        buf.hex(packet.bth.dest_qp().get(), 6);
        buf.text(" psn ");
        buf.number(packet.bth.psn().get());
        flags(buf, net, packet);
        self.headers(buf, packet);
        buf.text(" len ");
        buf.number(u64::try_from(packet.payload_wire_len()).unwrap_or(u64::MAX));
        if packet.is_cut() {
            buf.text(" (cut)");
        }
    }

    /// What the extended headers say.
    fn headers(&self, buf: &mut Buf, packet: &Packet<'_>) {
        if let Some(rdeth) = packet.rdeth {
            buf.text(" ");
            buf.display(rdeth);
        }
        if let Some(deth) = packet.deth {
            buf.text(" src_qp ");
            buf.hex(deth.src_qp().get(), 6);
        }
        if let Some(xrceth) = packet.xrceth {
            buf.text(" ");
            buf.display(xrceth);
        }
        if let Some(feth) = packet.feth {
            buf.text(" ");
            buf.display(feth);
        }
        if let Some(reth) = packet.reth {
            buf.text(" va ");
            buf.short_hex(reth.va.get());
            buf.text(" r_key ");
            buf.hex(reth.r_key.get(), 8);
            buf.text(" dma_len ");
            buf.number(reth.dma_len());
        }
        if let Some(atomic) = packet.atomic_eth {
            buf.text(" ");
            buf.display(atomic);
        }
        if let Some(aeth) = packet.aeth {
            buf.byte(b' ');
            match aeth.syndrome().kind() {
                AckKind::Ack(None) => buf.text("ACK"),
                AckKind::Ack(Some(credits)) => {
                    buf.text("ACK credits ");
                    buf.number(credits);
                }
                _ => self.styled(buf, WARN, |buf| buf.display(&aeth.syndrome())),
            }
            buf.text(" msn ");
            buf.number(aeth.msn().get());
        }
        if let Some(atomic) = packet.atomic_ack_eth {
            buf.text(" ");
            buf.display(atomic);
        }
        if let Some(imm) = packet.imm_dt {
            buf.text(" imm ");
            buf.hex(imm.number(), 8);
        }
        if let Some(ieth) = packet.ieth {
            buf.text(" ");
            buf.display(ieth);
        }
        if let Some(management) = management(packet) {
            buf.text(" ");
            buf.display(&management);
        }
    }

    fn icrc(&self, buf: &mut Buf, listed: Listed<'_>) {
        if listed.icrc == Some(IcrcState::Bad) {
            self.styled(buf, BAD, |buf| {
                buf.text(" ICRC wrong");
                match IcrcFault::of(listed.frame) {
                    Some(IcrcFault::Unknown) | None => {}
                    Some(fault) => {
                        buf.text(": ");
                        buf.display(&fault);
                    }
                }
            });
        }
        if listed.frame.oddities.has_lengths() {
            self.styled(buf, WARN, |buf| buf.text(" (lengths contradict)"));
        }
        if listed.frame.oddities.has(Oddities::IP_OPTIONS) {
            self.styled(buf, WARN, |buf| buf.text(" (IP options)"));
        }
    }

    fn no_bth(&self, buf: &mut Buf, no_bth: &NoBth<'_>) {
        buf.text(version(no_bth.carrier));
        if let Some(net) = &no_bth.net {
            buf.byte(b' ');
            buf.addr(net.src());
            buf.text(" > ");
            buf.addr(net.dst());
        }
        buf.text(" cut before the end of the BTH");
    }

    fn styled(&self, buf: &mut Buf, style: Style, write: impl FnOnce(&mut Buf)) {
        if self.colored {
            buf.display(&style.render());
            write(buf);
            buf.display(&style.render_reset());
        } else {
            write(buf);
        }
    }
}

/// Version, VLAN and tunnels: how it travels.
fn carriage(buf: &mut Buf, frame: &Frame<'_>, carrier: Carrier) {
    buf.text(version(carrier));
    buf.byte(b' ');
    for tag in frame.vlans {
        buf.text("vlan ");
        buf.number(tag.vlan());
        buf.text(" pcp ");
        buf.number(tag.pcp());
        buf.byte(b' ');
    }
    if !frame.tunnels.is_empty() {
        for (_, name) in Tunnels::NAMES.iter().filter(|(kind, _)| frame.tunnels.has(*kind)) {
            buf.text(name);
            buf.byte(b' ');
        }
    }
}

const fn version(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::V1 => "v1",
        Carrier::V2Ipv4 | Carrier::V2Ipv6 => "v2",
        Carrier::InfiniBand => "IB",
    }
}

/// What is set, in brackets: A ack requested, S solicited, M MigReq, F FECN, B BECN; and CE.
fn flags(buf: &mut Buf, net: &Net<'_>, packet: &Packet<'_>) {
    let bth = packet.bth;
    let ce = net.traffic_class().map(Ecn::from_tos) == Some(Ecn::Ce);
    let flags = [
        (bth.ack_req(), b'A'),
        (bth.solicited(), b'S'),
        (bth.mig_req(), b'M'),
        (bth.fecn(), b'F'),
        (bth.becn(), b'B'),
    ];
    if flags.iter().any(|(set, _)| *set) {
        buf.text(" [");
        for (_, letter) in flags.iter().filter(|(set, _)| *set) {
            buf.byte(*letter);
        }
        buf.byte(b']');
    }
    if ce {
        buf.text(" CE");
    }
}

/// The management datagram in a packet to QP1.
pub(super) fn management<'a>(packet: &Packet<'a>) -> Option<Management<'a>> {
    let is_datagram = packet.deth.is_some() && packet.bth.dest_qp() == Qpn::GSI;
    is_datagram.then(|| Management::parse(packet.payload).ok()).flatten()
}

/// Source and destination, where they are known.
pub(super) fn ends(content: &Content<'_>) -> Option<(Addr, Addr)> {
    match content {
        Content::Packet(net, _) => Some((net.src(), net.dst())),
        Content::NoBth(no_bth) => no_bth.net.map(|net| (net.src(), net.dst())),
        _ => None,
    }
}
