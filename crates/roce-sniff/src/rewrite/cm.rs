//! New names in connection management: GIDs, LIDs, addresses, queue pairs and ports. Comm ids and
//! transaction ids stay: they name a connection and nobody.

use std::net::IpAddr;

use roce_wire::mad::Management;
use roce_wire::mad::cm::{
    CmAttribute, CmMessage, Dreq, Guid, Lap, Path, Rep, Req, ServiceId, SidrRep, SidrReq,
};
use roce_wire::mad::{Mad, RdmaCmHeader};
use roce_wire::{Header, Net, Qpn};

use super::names::Names;
use super::select::host_of;
use super::shape::put;

/// The RPC-over-RDMA version of private data begins so (RFC 8797).
const RPC_RDMA: [u8; 4] = [0xf6, 0xab, 0x0e, 0x18];
/// Where RDMA_CM's header has its port and its addresses.
const SOURCE_PORT: usize = 2;
const SOURCE: usize = 4;
const DESTINATION: usize = 20;

/// Edits a management datagram; `old` is what is in `bytes`.
pub(super) fn edit(names: &mut Names, net: &Net<'_>, old: &[u8], bytes: &mut [u8]) {
    let Ok(management) = Management::parse(old) else { return };
    let Some(data) = bytes.get_mut(Mad::LEN..) else { return };
    let Some(attribute) = management.cm_attribute() else {
        // Other classes tell of nodes, ports and routes.
        if names.hidden.is_some() {
            data.fill(0);
        }
        return;
    };
    // What is cut is edited as far as it goes.
    let mut message = [0; CmMessage::LEN];
    for (room, byte) in message.iter_mut().zip(data.iter()) {
        *room = *byte;
    }
    edit_message(names, net, attribute, &mut message);
    for (byte, new) in data.iter_mut().zip(message) {
        *byte = new;
    }
    if names.hidden.is_some() {
        data.get_mut(CmMessage::LEN..).unwrap_or_default().fill(0);
    }
}

fn edit_message(names: &mut Names, net: &Net<'_>, attribute: CmAttribute, bytes: &mut [u8]) {
    let private_at = private_data_of(attribute);
    let mut keep = private_at;
    if let Ok(CmMessage::Req(Req { service_id, private_data, .. })) =
        CmMessage::of(attribute, &*bytes)
    {
        let (service_id, private_data) = (*service_id, *private_data);
        keep =
            keep.saturating_add(edit_rdma_cm(names, service_id, &private_data, private_at, bytes));
    } else if let Ok(CmMessage::SidrReq(SidrReq { service_id, private_data, .. })) =
        CmMessage::of(attribute, &*bytes)
    {
        let (service_id, private_data) = (*service_id, *private_data);
        keep =
            keep.saturating_add(edit_rdma_cm(names, service_id, &private_data, private_at, bytes));
    }
    match CmMessage::of(attribute, &*bytes) {
        Ok(CmMessage::Req(req)) => write(bytes, req_of(names, net, *req)),
        Ok(CmMessage::Rep(rep)) => write(bytes, rep_of(names, net, *rep)),
        Ok(CmMessage::Dreq(dreq)) => {
            let dreq: Dreq = *dreq;
            write(bytes, dreq.with_remote_qpn(names.qpn(net.dst(), dreq.remote_qpn())));
        }
        Ok(CmMessage::SidrReq(req)) => {
            let mut req: SidrReq = *req;
            req.service_id = service(names, req.service_id);
            write(bytes, req);
        }
        Ok(CmMessage::SidrRep(rep)) => write(bytes, sidr_rep_of(names, net, *rep)),
        Ok(CmMessage::Lap(lap)) => write(bytes, lap_of(names, net, *lap)),
        _ => {}
    }
    if names.hidden.is_some() {
        blank(attribute, keep, bytes);
    }
}

/// Writes a message over the one that is there.
fn write(mut bytes: &mut [u8], message: impl Header) {
    // There is room: both are of one length.
    let _ = message.emit(&mut bytes);
}

fn req_of(names: &mut Names, net: &Net<'_>, mut req: Req) -> Req {
    let owner = match net {
        Net::InfiniBand(..) => net.src(),
        _ if req.primary.local_gid.is_zero() => net.src(),
        _ => host_of(req.primary.local_gid),
    };
    req.service_id = service(names, req.service_id);
    req.local_ca_guid = guid(names, req.local_ca_guid);
    req.local_q_key = names.q_key(req.local_q_key);
    req.primary = path(names, req.primary);
    req.alternate = path(names, req.alternate);
    req.with_local_qpn(names.qpn(owner, req.local_qpn()))
}

fn path(names: &mut Names, mut path: Path) -> Path {
    if !path.is_used() {
        return path;
    }
    path.local_lid = names.lid(path.local_lid);
    path.remote_lid = names.lid(path.remote_lid);
    path.local_gid = names.carried_gid(path.local_gid);
    path.remote_gid = names.carried_gid(path.remote_gid);
    path.with_flow_label(names.flow_label(path.flow_label()))
}

fn rep_of(names: &Names, net: &Net<'_>, mut rep: Rep) -> Rep {
    let host = net.src();
    rep.local_q_key = names.q_key(rep.local_q_key);
    rep.local_ca_guid = guid(names, rep.local_ca_guid);
    rep.with_local_qpn(names.qpn(host, rep.local_qpn()))
        // Of XRC, where it is the queue pair that answers.
        .with_local_eecn(names.qpn(host, Qpn::new(rep.local_eecn())).get())
}

fn sidr_rep_of(names: &Names, net: &Net<'_>, mut rep: SidrRep) -> SidrRep {
    rep.service_id = service(names, rep.service_id);
    rep.q_key = names.q_key(rep.q_key);
    rep.with_qpn(names.qpn(net.src(), rep.qpn()))
}

fn lap_of(names: &mut Names, net: &Net<'_>, mut lap: Lap) -> Lap {
    lap.local_lid = names.lid(lap.local_lid);
    lap.remote_lid = names.lid(lap.remote_lid);
    lap.local_gid = names.carried_gid(lap.local_gid);
    lap.remote_gid = names.carried_gid(lap.remote_gid);
    lap.with_remote_qpn(names.qpn(net.dst(), lap.remote_qpn()))
        .with_flow_label(names.flow_label(lap.flow_label()))
}

fn guid(names: &Names, guid: Guid) -> Guid {
    Guid::new(names.guid(guid.get()))
}

fn service(names: &Names, id: ServiceId) -> ServiceId {
    match (id.port_space(), id.port()) {
        (Some(space), Some(port)) => ServiceId::rdma_cm(space, names.cm_port(port)),
        _ => id,
    }
}

/// RDMA_CM's header in the private data, which begins at `at`; returns how long it is, 0 without.
fn edit_rdma_cm(
    names: &mut Names,
    service_id: ServiceId,
    private_data: &[u8],
    at: usize,
    bytes: &mut [u8],
) -> usize {
    let is_rdma_cm = service_id.is_rdma_cm();
    let Ok((header, _)) = RdmaCmHeader::parse(private_data) else { return 0 };
    let (Some(source), Some(destination)) = (header.source_ip(), header.destination_ip()) else {
        return 0;
    };
    if !is_rdma_cm || header.major_version() != 0 {
        return 0;
    }
    let port = names.cm_port(header.source_port());
    put(bytes, at.saturating_add(SOURCE_PORT), &port.to_be_bytes());
    let new = [source, destination].map(|ip| names.carried(ip).unwrap_or_else(|| names.ip(ip)));
    for (place, ip) in [SOURCE, DESTINATION].into_iter().zip(new) {
        match ip {
            // The twelve bytes in front of it stay, unless an address was in them.
            IpAddr::V4(ip) if source.is_ipv4() => {
                put(bytes, at.saturating_add(place).saturating_add(12), &ip.octets());
            }
            IpAddr::V4(ip) => {
                put(bytes, at.saturating_add(place), &u128::from(ip.to_bits()).to_be_bytes());
            }
            IpAddr::V6(ip) => put(bytes, at.saturating_add(place), &ip.octets()),
        }
    }
    if let [ip, _] = new
        && let Some(version) = bytes.get_mut(at.saturating_add(1))
        && ip.is_ipv4() != source.is_ipv4()
    {
        *version = *version & 0x0f | if ip.is_ipv4() { 0x40 } else { 0x60 };
    }
    RdmaCmHeader::LEN
}

/// Where the private data of a message begins.
const fn private_data_of(attribute: CmAttribute) -> usize {
    match attribute {
        CmAttribute::Req => 140,
        CmAttribute::Mra => 10,
        CmAttribute::Rej | CmAttribute::Apr => 84,
        CmAttribute::Rep => 36,
        CmAttribute::Rtu | CmAttribute::Drep => 8,
        CmAttribute::Dreq => 12,
        CmAttribute::SidrReq => 16,
        CmAttribute::SidrRep => 96,
        CmAttribute::Lap => 64,
    }
}

/// Blanks out private data from `keep` on, and additional information, which may hold addresses.
/// What says that RPC is on top stays.
fn blank(attribute: CmAttribute, keep: usize, bytes: &mut [u8]) {
    let data = bytes.get_mut(keep..).unwrap_or_default();
    let rest = if data.starts_with(&RPC_RDMA) { RPC_RDMA.len() } else { 0 };
    data.get_mut(rest..).unwrap_or_default().fill(0);
    let info = match attribute {
        CmAttribute::Rej | CmAttribute::Apr => 12..84,
        CmAttribute::SidrRep => 24..96,
        _ => 0..0,
    };
    bytes.get_mut(info).unwrap_or_default().fill(0);
}
