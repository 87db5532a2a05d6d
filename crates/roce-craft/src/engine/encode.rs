//! From a packet on its way to the bytes of its frame.

use roce_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, FrameBuilder, Head, IcrcFill, Msn, OnIp,
    OnLink, Opcode, PKey, PacketBuilder, Psn, QKey, Qpn, RKey, Ready, Reth, Syndrome, VirtAddr,
    XrcEth,
};

use super::connection::Connection;
use super::identity::{Identity, fold, from_queue_pairs, gid};
use super::messages::{datagram, icmp};
use super::tx::{Body, Request, Tx, wire_psn};
use crate::plan::{
    Both, Carrier, ConnectionPlan, Dir, IcrcFault, IpId, Malformed, OpKind, Plan, Service,
};

/// Payloads are pieces of this.
#[derive(Debug)]
pub(crate) struct Pattern {
    bytes: Vec<u8>,
}

/// The longest payload, and as much again for pieces to begin at different places.
const PATTERN_LEN: usize = 8192;

impl Pattern {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = crate::rng::Rng::fork(seed, u64::MAX);
        let words = PATTERN_LEN / 8;
        Self { bytes: (0..words).flat_map(|_| rng.next().to_be_bytes()).collect() }
    }

    /// The payload of the packet with this PSN: the same whenever it is sent.
    fn piece(&self, upsn: u64, len: u32) -> &[u8] {
        let start = usize::try_from(upsn.wrapping_mul(64) & 0xfff).unwrap_or(0);
        let len = usize::try_from(len).unwrap_or(0);
        self.bytes.get(start..start.saturating_add(len)).unwrap_or_default()
    }
}

/// DSCP 48 and ECT(0), as ConnectX marks its notifications.
const CNP_CLASS: u8 = 48 << 2 | 2;

/// Makes frames of packets.
#[derive(Debug)]
pub(crate) struct Encoder {
    pattern: Pattern,
    /// Of each plan of the scenario.
    heads: Vec<Both<Head>>,
}

impl Encoder {
    pub(crate) fn new(plan: &Plan) -> Self {
        let of = |plan: &ConnectionPlan, dir| head(plan, dir, 0, plan.traffic_class).head();
        let heads = plan.connections.iter();
        let heads = heads.map(|plan| Both::new(of(plan, Dir::Forth), of(plan, Dir::Back)));
        Self { pattern: Pattern::new(plan.seed), heads: heads.collect() }
    }

    /// How many bytes stand in front of every packet of a connection of this kind.
    pub(crate) fn head_len(&self, kind: usize) -> u32 {
        let Some(heads) = self.heads.get(kind) else { return 0 };
        let empty = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0), Psn::new(0));
        u32::try_from(heads.forth.len(&empty).saturating_sub(empty.len())).unwrap_or(0)
    }

    /// Appends the frame of a packet of a connection to `out`.
    pub(crate) fn encode(&mut self, connection: &Connection, tx: &Tx, out: &mut Vec<u8>) {
        let (plan, identity) = (&*connection.plan, &connection.identity);
        match tx.body {
            Body::Cm(cm) => {
                let bytes = datagram(plan, identity, tx.dir, cm.message);
                let packet = PacketBuilder::gmp(Psn::new(cm.psn), &bytes);
                emit(&gsi_head(plan, tx.dir).head(), &packet, out);
            }
            Body::Icmp(cm) => icmp(plan, identity, tx.dir, cm, out),
            Body::Cnp => {
                let packet = PacketBuilder::cnp(identity.qpn(tx.dir.other()));
                emit(&head(plan, tx.dir, 0, CNP_CLASS).head(), &packet, out);
            }
            _ => {
                let Some(heads) = self.heads.get_mut(connection.kind) else { return };
                let head = heads.of_mut(tx.dir);
                head.set_udp_src_port(identity.udp_src_port);
                data_packet(plan, identity, head, &self.pattern, tx, out);
            }
        }
    }
}

/// The length of a frame, in bytes, before it is made.
pub(crate) fn frame_len(plan: &ConnectionPlan, head_len: u32, tx: &Tx) -> u32 {
    let headers = tx.opcode(plan.service).info().map_or(0, |info| info.headers_len);
    let payload = match tx.body {
        Body::Cm(_) | Body::Icmp(_) => 256,
        _ => tx.payload(),
    };
    // BTH 12 and ICRC 4.
    head_len
        .saturating_add(16)
        .saturating_add(u32::from(headers))
        .saturating_add(payload.next_multiple_of(4))
}

fn link(plan: &ConnectionPlan, dir: Dir) -> FrameBuilder<OnLink> {
    let (src, dst) = (plan.hosts.of(dir), plan.hosts.of(dir.other()));
    let mut link = FrameBuilder::ethernet(dst.mac, src.mac);
    if let Some(vni) = plan.vxlan {
        // The tunnel ends at the hosts themselves; its flow is told by its source port.
        link = link.ipv4(src.ipv4, dst.ipv4).vxlan(fold(vni), vni, dst.mac, src.mac);
    }
    match plan.vlan {
        Some((pcp, id)) => link.vlan(pcp, id),
        None => link,
    }
}

/// Headers up to the one that carries packets.
fn head(plan: &ConnectionPlan, dir: Dir, udp_src_port: u16, class: u8) -> FrameBuilder<Ready> {
    let ready = match plan.carrier {
        Carrier::V1 => link(plan, dir).grh(gid(plan, dir), gid(plan, dir.other())),
        Carrier::V2Ipv4 | Carrier::V2Ipv6 => datagram_head(plan, dir).udp(udp_src_port),
    };
    ready.traffic_class(class).hop_limit(plan.hop_limit)
}

/// The headers in front of what the general services queue pairs say.
pub(crate) fn gsi_head(plan: &ConnectionPlan, dir: Dir) -> FrameBuilder<Ready> {
    let port = fold(from_queue_pairs(Qpn::GSI.get(), Qpn::GSI.get()));
    head(plan, dir, port, plan.traffic_class)
}

fn datagram_head(plan: &ConnectionPlan, dir: Dir) -> FrameBuilder<OnIp> {
    let (src, dst) = (plan.hosts.of(dir), plan.hosts.of(dir.other()));
    let link = link(plan, dir);
    match plan.carrier {
        Carrier::V2Ipv6 => link.ipv6(src.ipv6, dst.ipv6),
        Carrier::V1 | Carrier::V2Ipv4 => link.ipv4(src.ipv4, dst.ipv4),
    }
}

fn emit(head: &Head, packet: &PacketBuilder<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start.saturating_add(head.len(packet)), 0);
    let emitted = head.emit_to(packet, out.get_mut(start..).unwrap_or_default());
    debug_assert!(emitted.is_ok(), "there is just as much room as it takes");
}

fn data_packet(
    plan: &ConnectionPlan,
    identity: &Identity,
    head: &mut Head,
    pattern: &Pattern,
    tx: &Tx,
    out: &mut Vec<u8>,
) {
    let mut packet = packet(plan, identity, pattern, tx);
    let fault = plan.icrc_fault.filter(|_| tx.dir == Dir::Forth);
    let class = if tx.fate.ce_before { plan.traffic_class | 3 } else { plan.traffic_class };
    head.set_traffic_class(class);
    if plan.ip_id == IpId::Count && plan.carrier == Carrier::V2Ipv4 {
        head.set_ip_id(tx.ip_id);
    }
    if let Some(malformed) = tx.fate.malformed {
        let mut right = self::head(plan, tx.dir, identity.udp_src_port, class);
        if plan.ip_id == IpId::Count {
            right = right.ip_id(tx.ip_id);
        }
        let is_v1 = plan.carrier == Carrier::V1;
        let (packet, deformed) = deform(malformed, is_v1, tx.payload(), packet, right);
        emit(&deformed.head(), &packet, out);
        return;
    }
    if tx.fate.corrupt {
        packet = packet.icrc(IcrcFill::Flipped(1 << (tx.order & 31)));
    } else if fault == Some(IcrcFault::Missing) {
        packet = packet.icrc(IcrcFill::Absent);
    }
    emit(head, &packet, out);
    if let Some(icrc) = out.last_chunk_mut::<4>() {
        match fault {
            Some(IcrcFault::ByteOrder) => icrc.reverse(),
            Some(IcrcFault::Zero) => *icrc = [0; 4],
            Some(IcrcFault::Missing) | None => {}
        }
    }
}

/// Makes a packet wrong on purpose.
fn deform<'p>(
    malformed: Malformed,
    is_v1: bool,
    payload: u32,
    packet: PacketBuilder<'p>,
    head: FrameBuilder<Ready>,
) -> (PacketBuilder<'p>, FrameBuilder<Ready>) {
    const ONES: [u8; 3] = [0xff; 3];
    let bth: fn(Bth) -> Bth = match malformed {
        Malformed::Tver => |bth| bth.with_tver(1),
        Malformed::Opcode => |mut bth| {
            bth.opcode = Opcode(0xdf);
            bth
        },
        Malformed::Reserved => |bth| bth.with_reserved_6(0x15).with_reserved_7(0x2a),
        // Of v1, whose last header is no UDP, the other one counts.
        Malformed::Length if is_v1 => return (packet, head.net_length(8)),
        Malformed::Length => return (packet, head.udp_length(12)),
        Malformed::NoIcrc => return (packet.icrc(IcrcFill::Absent), head),
        Malformed::Pad => {
            let count = payload.wrapping_neg() & 3;
            let pad = ONES.get(..usize::try_from(count).unwrap_or(0)).unwrap_or_default();
            return (packet.pad(u8::try_from(count).unwrap_or(0), pad), head);
        }
    };
    (packet.edit_bth(bth), head)
}

fn packet<'p>(
    plan: &ConnectionPlan,
    identity: &Identity,
    pattern: &'p Pattern,
    tx: &Tx,
) -> PacketBuilder<'p> {
    // Answers are numbered as the requests they answer.
    let requester = if tx.request().is_some() { tx.dir } else { tx.dir.other() };
    let psn = wire_psn(*identity.psn.of(requester), tx.upsn);
    let to = identity.qpn(tx.dir.other());
    let mut packet = PacketBuilder::new(tx.opcode(plan.service), to, psn)
        .p_key(PKey::new(plan.p_key))
        .payload(pattern.piece(tx.upsn, tx.payload()));
    if plan.mig_req {
        packet = packet.edit_bth(|bth| bth.with_mig_req(true));
    }
    match &tx.body {
        Body::Request(request) => request_packet(plan, identity, tx, request, &mut packet),
        Body::Response { msn, place, .. } if place.begins() || place.ends() => {
            packet = packet.aeth(Aeth::new(Syndrome::ACK_UNLIMITED, Msn::new(*msn)));
        }
        Body::AtomicAck { msn, original } => {
            packet = packet
                .aeth(Aeth::new(Syndrome::ACK_UNLIMITED, Msn::new(*msn)))
                .atomic_ack_eth(AtomicAckEth::new(*original));
        }
        Body::Ack { syndrome, msn, .. } => {
            packet = packet.aeth(Aeth::new(Syndrome(*syndrome), Msn::new(*msn)));
        }
        _ => {}
    }
    packet
}

/// Completes the packet of a request. In its place: moved, it would be copied in parts that do not fit
/// those in which it was just written, and a processor waits for such.
fn request_packet(
    plan: &ConnectionPlan,
    identity: &Identity,
    tx: &Tx,
    request: &Request,
    packet: &mut PacketBuilder<'_>,
) {
    *packet =
        packet.edit_bth(|bth| bth.with_ack_req(request.ack_req).with_solicited(request.solicited));
    let there = tx.dir.other();
    // Messages follow one another in the peer's buffer.
    let va = identity.address.of(there).wrapping_add(tx.upsn.wrapping_mul(u64::from(plan.pmtu)));
    let (va, r_key) = (VirtAddr::new(va), RKey::new(*identity.r_key.of(there)));
    let has_reth = matches!(request.kind, OpKind::Read | OpKind::Flush | OpKind::AtomicWrite)
        || request.kind == OpKind::Write && request.place.begins();
    if has_reth {
        let length = if request.kind == OpKind::AtomicWrite { 8 } else { request.length };
        *packet = packet.reth(Reth::new(va, r_key, length));
    }
    if request.kind == OpKind::Flush {
        *packet = packet.feth(Feth::new(Feth::RANGE, Feth::GLOBAL));
    }
    if matches!(request.kind, OpKind::CompareSwap | OpKind::FetchAdd) {
        *packet = packet.atomic_eth(AtomicEth::new(va, r_key, tx.message, 0));
    }
    if request.immediate {
        *packet = packet.imm_dt(wire_psn(0, tx.message).get().to_be_bytes());
    }
    if request.invalidate {
        *packet = packet.ieth(RKey::new(*identity.r_key.of(there)));
    }
    match plan.service {
        Service::Ud => {
            let deth = Deth::new(QKey::new(identity.q_key), identity.qpn(tx.dir));
            *packet = packet.deth(deth);
        }
        Service::Xrc => *packet = packet.xrceth(XrcEth::new(plan.srqn)),
        Service::Rc | Service::Uc => {}
    }
}
