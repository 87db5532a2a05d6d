//! The messages of connection management, and the ICMP error that quotes one.

use core::net::{IpAddr, SocketAddr};

use roce_wire::mad::RdmaCmHeader;
use roce_wire::mad::cm::{
    AckTimeout, Apr, AprStatus, CmAttribute, CmMessage, CmTimeout, CommId, Drep, Dreq, Guid, Lap,
    Mra, MraMessage, Path, PathMtu, PortSpace, Rej, RejReason, RejectedMessage, Rep, Req, Rtu,
    ServiceId, SidrRep, SidrReq, SidrStatus,
};
use roce_wire::{
    EtherType, Ethernet, Gmp, Header, Ipv4, Ipv6, PKey, PacketBuilder, Psn, QKey, VlanTag,
};

use super::encode::gsi_head;
use super::identity::{Identity, gid};
use super::tx::CmBody;
use crate::plan::{Carrier, CmPlan, ConnectionPlan, Dir, Service};

/// Linux's agent number in the high half of a transaction id.
const AGENT: u64 = 6;

/// The datagram of a message.
pub(crate) fn datagram(
    plan: &ConnectionPlan,
    identity: &Identity,
    from: Dir,
    message: CmAttribute,
) -> Gmp {
    let nothing = Rtu::new(CommId::new(0), CommId::new(0));
    let Some(cm) = &plan.cm else {
        // Without connection management nothing of it is ever sent.
        return Gmp::cm(0, CmMessage::Rtu(&nothing));
    };
    Writer { plan, identity, cm, from }.datagram(message)
}

struct Writer<'p> {
    plan: &'p ConnectionPlan,
    identity: &'p Identity,
    cm: &'p CmPlan,
    from: Dir,
}

impl Writer<'_> {
    fn datagram(&self, message: CmAttribute) -> Gmp {
        let (here, there) = (self.id(self.from), self.id(self.from.other()));
        let tid = self.transaction_id(message);
        match message {
            CmAttribute::Req => Gmp::cm(tid, CmMessage::Req(&self.req())),
            CmAttribute::Rep => Gmp::cm(tid, CmMessage::Rep(&self.rep())),
            CmAttribute::Rtu => Gmp::cm(tid, CmMessage::Rtu(&Rtu::new(here, there))),
            CmAttribute::Drep => Gmp::cm(tid, CmMessage::Drep(&Drep::new(here, there))),
            CmAttribute::Dreq => {
                let remote = self.identity.qpn(self.from.other());
                Gmp::cm(tid, CmMessage::Dreq(&Dreq::new(here, there, remote)))
            }
            CmAttribute::Mra => {
                let timeout = CmTimeout(self.cm.timeout_code.saturating_add(3));
                // Who has not answered yet has given itself no id.
                let mra = Mra::new(CommId::new(0), there, MraMessage::REQ, timeout);
                Gmp::cm(tid, CmMessage::Mra(&mra))
            }
            CmAttribute::Rej => {
                let reason = RejReason::new(self.cm.reason);
                let rej = Rej::new(CommId::new(0), there, RejectedMessage::REQ, reason);
                Gmp::cm(tid, CmMessage::Rej(&rej))
            }
            CmAttribute::Lap => Gmp::cm(tid, CmMessage::Lap(&self.lap())),
            CmAttribute::Apr => Gmp::cm(tid, CmMessage::Apr(&Apr::new(here, there, AprStatus::OK))),
            CmAttribute::SidrReq => Gmp::cm(tid, CmMessage::SidrReq(&self.sidr_req())),
            CmAttribute::SidrRep => Gmp::cm(tid, CmMessage::SidrRep(&self.sidr_rep())),
        }
    }

    fn id(&self, of: Dir) -> CommId {
        CommId::new(*self.identity.comm_id.of(of))
    }

    /// Linux: the agent and the id of the side that opened the transaction.
    fn transaction_id(&self, message: CmAttribute) -> u64 {
        let opener = match message {
            CmAttribute::Dreq | CmAttribute::Lap => self.from,
            CmAttribute::Drep | CmAttribute::Apr => self.from.other(),
            _ => Dir::Forth,
        };
        AGENT << 32 | u64::from(self.identity.comm_id.of(opener).swap_bytes())
    }

    fn service_id(&self) -> ServiceId {
        let space = if self.plan.service == Service::Ud { PortSpace::UDP } else { PortSpace::TCP };
        ServiceId::rdma_cm(space, self.cm.port)
    }

    fn path(&self) -> Path {
        let mut path = Path::new(gid(self.plan, Dir::Forth), gid(self.plan, Dir::Back))
            .with_flow_label(self.identity.flow_label)
            .with_ack_timeout(AckTimeout(self.plan.limits.timeout_code));
        path.traffic_class = self.plan.traffic_class;
        path.hop_limit = self.plan.hop_limit;
        if let Some((pcp, _)) = self.plan.vlan {
            path = path.with_sl(pcp);
        }
        path
    }

    /// RDMA_CM's header and the client's own data.
    fn private_data<const N: usize>(&self) -> [u8; N] {
        let (source, destination) = (self.ip(Dir::Forth), self.ip(Dir::Back));
        let source = SocketAddr::new(source, self.identity.cm_src_port);
        let mut data = [0; N];
        let mut room = &mut data[..];
        let emitted = RdmaCmHeader::new(source, destination).emit(&mut room);
        debug_assert!(emitted.is_ok(), "every private data is longer than the header");
        for (to, from) in room.iter_mut().zip(&self.cm.private_data) {
            *to = *from;
        }
        data
    }

    fn ip(&self, dir: Dir) -> IpAddr {
        let host = self.plan.hosts.of(dir);
        match self.plan.carrier {
            Carrier::V2Ipv6 => IpAddr::V6(host.ipv6),
            Carrier::V1 | Carrier::V2Ipv4 => IpAddr::V4(host.ipv4),
        }
    }

    fn req(&self) -> Req {
        let plan = self.plan;
        let reads = u8::try_from(plan.limits.max_reads).unwrap_or(u8::MAX);
        let transport = match plan.service {
            Service::Rc | Service::Ud => 0,
            Service::Uc => 1,
            Service::Xrc => 3,
        };
        let mut req = Req::new(self.id(Dir::Forth), self.service_id(), self.path())
            .with_local_qpn(self.identity.qpn(Dir::Forth))
            .with_responder_resources(reads)
            .with_initiator_depth(reads)
            .with_remote_timeout(CmTimeout(self.cm.timeout_code))
            .with_local_timeout(CmTimeout(self.cm.timeout_code))
            // With which the other side is to begin.
            .with_starting_psn(Psn::new(self.identity.psn.back))
            .with_retry_count(plan.limits.retries)
            .with_rnr_retry_count(plan.limits.rnr_retries)
            .with_max_cm_retries(self.cm.retries)
            .with_path_mtu(PathMtu::from_bytes(plan.pmtu).unwrap_or(PathMtu(0)))
            .with_transport(transport)
            .with_extended_transport(u8::from(plan.service == Service::Xrc));
        req.p_key = PKey::new(plan.p_key);
        req.local_ca_guid = Guid::new(self.identity.guid.forth);
        req.private_data = self.private_data();
        req
    }

    fn rep(&self) -> Rep {
        let reads = u8::try_from(self.plan.limits.max_reads).unwrap_or(u8::MAX);
        let psn = Psn::new(self.identity.psn.forth);
        let qpn = self.identity.qpn(Dir::Back);
        let mut rep = Rep::new(self.id(Dir::Back), self.id(Dir::Forth), qpn, psn)
            .with_rnr_retry_count(self.plan.limits.rnr_retries);
        rep.responder_resources = reads;
        rep.initiator_depth = reads;
        rep.local_ca_guid = Guid::new(self.identity.guid.back);
        rep
    }

    fn lap(&self) -> Lap {
        let (here, there) = (self.from, self.from.other());
        let path = (gid(self.plan, here), gid(self.plan, there));
        let mut lap = Lap::new(self.id(here), self.id(there), path.0, path.1)
            .with_remote_qpn(self.identity.qpn(there))
            .with_flow_label(self.identity.flow_label)
            .with_remote_timeout(CmTimeout(self.cm.timeout_code))
            .with_ack_timeout(AckTimeout(self.plan.limits.timeout_code));
        lap.hop_limit = self.plan.hop_limit;
        lap
    }

    fn sidr_req(&self) -> SidrReq {
        let mut req = SidrReq::new(self.id(Dir::Forth), self.service_id());
        req.p_key = PKey::new(self.plan.p_key);
        req.private_data = self.private_data();
        req
    }

    fn sidr_rep(&self) -> SidrRep {
        let status = SidrStatus(u8::try_from(self.cm.reason).unwrap_or(u8::MAX));
        let rep = SidrRep::new(self.id(Dir::Forth), status, self.service_id());
        if status != SidrStatus::OK {
            return rep;
        }
        let mut rep = rep.with_qpn(self.identity.qpn(Dir::Back));
        rep.q_key = QKey::new(self.identity.q_key);
        rep
    }
}

/// How much of an IPv4 packet is quoted: its header and 8 bytes (RFC 792).
const QUOTED_IPV4: usize = 28;
/// As much as fits the shortest MTU of IPv6 (RFC 4443); here all of the packet.
const QUOTED_IPV6: usize = 1_000;

/// ICMP "port unreachable" from `from`, quoting the message that the other end sent.
pub(crate) fn icmp(
    plan: &ConnectionPlan,
    identity: &Identity,
    from: Dir,
    quoted: CmBody,
    out: &mut Vec<u8>,
) {
    let gmp = datagram(plan, identity, from.other(), quoted.message);
    let packet = PacketBuilder::gmp(Psn::new(quoted.psn), &gmp);
    let mut frame = Vec::new();
    if gsi_head(plan, from.other()).emit(&packet, &mut frame).is_err() {
        return;
    }
    let link = if plan.vlan.is_some() { 18 } else { 14 };
    let datagram = frame.get(link..).unwrap_or_default();
    let (src, dst) = (plan.hosts.of(from), plan.hosts.of(from.other()));
    let ethertype = match plan.carrier {
        Carrier::V2Ipv6 => EtherType::IPV6,
        Carrier::V1 | Carrier::V2Ipv4 => EtherType::IPV4,
    };
    let emitted = match plan.vlan {
        Some((pcp, id)) => Ethernet::new(dst.mac, src.mac, EtherType::VLAN)
            .emit(out)
            .and_then(|()| VlanTag::new(pcp, id, ethertype).emit(out)),
        None => Ethernet::new(dst.mac, src.mac, ethertype).emit(out),
    };
    debug_assert!(emitted.is_ok(), "a vector grows");
    if plan.carrier == Carrier::V2Ipv6 {
        let body = body([1, 4], datagram.get(..QUOTED_IPV6).unwrap_or(datagram));
        let len = u32::try_from(body.len()).unwrap_or(0);
        let mut pseudo = Vec::from(src.ipv6.octets());
        pseudo.extend(dst.ipv6.octets());
        pseudo.extend(len.to_be_bytes());
        pseudo.extend([0, 0, 0, ICMPV6]);
        let body = with_checksum(body, &pseudo);
        let header = Ipv6::new(src.ipv6, dst.ipv6, ICMPV6, u16::try_from(len).unwrap_or(0));
        let _ = header.emit(out);
        out.extend(body);
    } else {
        let body = body([3, 3], datagram.get(..QUOTED_IPV4).unwrap_or(datagram));
        let len = u16::try_from(body.len().saturating_add(20)).unwrap_or(0);
        let header = Ipv4::new(src.ipv4, dst.ipv4, ICMP, len);
        let mut bytes = Vec::new();
        let _ = header.emit(&mut bytes);
        let sum = checksum(&[&bytes]);
        let _ = header.with_checksum(sum).emit(out);
        out.extend(with_checksum(body, &[]));
    }
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// Type and code, checksum 0, four unused bytes, and what is quoted.
fn body([kind, code]: [u8; 2], quoted: &[u8]) -> Vec<u8> {
    let mut body = vec![kind, code, 0, 0, 0, 0, 0, 0];
    body.extend_from_slice(quoted);
    body
}

fn with_checksum(mut body: Vec<u8>, pseudo: &[u8]) -> Vec<u8> {
    let sum = checksum(&[pseudo, &body]);
    if let Some(field) = body.get_mut(2..4) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
    body
}

/// The Internet checksum (RFC 1071) over parts of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words
        .map(|word| match *word {
            [hi, lo] => u32::from(u16::from_be_bytes([hi, lo])),
            [hi] => u32::from(hi) << 8,
            _ => 0,
        })
        .fold(0, u32::wrapping_add);
    while sum > 0xffff {
        sum = (sum >> 16).wrapping_add(sum & 0xffff);
    }
    let [_, _, hi, lo] = sum.to_be_bytes();
    !u16::from_be_bytes([hi, lo])
}
