//! What is asked: the REQ of an RDMA_CM client, as Linux makes it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};

use roce_wire::mad::RdmaCmHeader;
use roce_wire::mad::cm::{AckTimeout, CmTimeout, Guid, Path, PathMtu, PortSpace, Req, ServiceId};
use roce_wire::{CommId, Gid, Header as _, MacAddr, Psn, Qpn};

/// Whom to ask and as whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) src_mac: MacAddr,
    pub(crate) dst_mac: MacAddr,
    /// The RDMA_CM port to ask for.
    pub(crate) port: u16,
    /// The MTU of the interface in bytes, where it is known.
    pub(crate) mtu: Option<u32>,
}

/// A request and what goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) req: Req,
    pub(crate) transaction: u64,
    /// The UDP source port of all datagrams of the exchange.
    pub(crate) udp_src_port: u16,
}

/// Headers that may stand in front of a payload, by Linux's count (`iboe_get_mtu`).
const HEADERS: u32 = 40 + 8 + 12 + 4 + 28 + 4;
/// 268 ms: how long a server waits before it sends its REP again. Short, so that it soon lets go
/// of a connection whose client was killed.
const RESPONSE_TIME: CmTimeout = CmTimeout(16);
/// How often a server sends its REP again; with the time above, it lets go after 1.6 s.
const RETRIES: u8 = 5;

impl Offer {
    /// A request to one end, with numbers of its own.
    pub(crate) fn new(ends: &Ends) -> Self {
        let [high, low, more] = [random(), random(), random()];
        let [a, b, c, d, e, g, ..] = more.to_be_bytes();
        let local = low & 0xffff_ffff;
        let comm_id = CommId::new(u32::try_from(local).unwrap_or(1).max(1));
        // Above what any adapter hands out soon, so that it is not somebody's on this host.
        let qpn = Qpn::new(u32::from_be_bytes([0, a | 0x80, b, c]) & 0xff_fffe);
        let psn = Psn::new(u32::from_be_bytes([0, d, e, g]));
        // Of the ports that systems give to clients (RFC 6335).
        let src_port = 0xc000 | u16::from_be_bytes([c, e]);
        let label = flow_label(src_port, ends.port);
        let req =
            request(ends, comm_id, src_port, label).with_local_qpn(qpn).with_starting_psn(psn);
        Self {
            req,
            // Linux: the agent's number, then the comm id.
            transaction: high << 32 | u64::from(comm_id.get()),
            udp_src_port: roce_analyze::connections::port::of_flow_label(label),
        }
    }
}

fn request(ends: &Ends, comm_id: CommId, src_port: u16, label: u32) -> Req {
    let path = Path::new(gid(ends.src), gid(ends.dst))
        .with_flow_label(label)
        .with_ack_timeout(AckTimeout(17));
    let service = ServiceId::rdma_cm(PortSpace::TCP, ends.port);
    let mut req = Req::new(comm_id, service, path)
        .with_responder_resources(1)
        .with_initiator_depth(1)
        .with_remote_timeout(RESPONSE_TIME)
        .with_local_timeout(RESPONSE_TIME)
        .with_retry_count(7)
        .with_rnr_retry_count(7)
        .with_max_cm_retries(RETRIES)
        .with_path_mtu(path_mtu(ends.mtu));
    req.local_ca_guid = guid(ends.src_mac);
    let header = RdmaCmHeader::new(SocketAddr::new(ends.src, src_port), ends.dst);
    // 36 of 92 bytes: there is room.
    let _ = header.emit(&mut req.private_data.as_mut_slice());
    req
}

/// The GID of an IP address (Linux `rdma_ip2gid`).
pub(crate) fn gid(ip: IpAddr) -> Gid {
    match ip {
        IpAddr::V4(ip) => Gid::from_ipv4(ip),
        IpAddr::V6(ip) => Gid::from(ip),
    }
}

/// RDMA_CM's flow label (Linux `cma_get_roce_udp_flow_label`).
fn flow_label(src_port: u16, dst_port: u16) -> u32 {
    u32::from(src_port).wrapping_mul(31).wrapping_add(u32::from(dst_port)) & 0xf_ffff
}

/// The largest payload that fits the interface's MTU behind any headers, 256 when nothing does.
fn path_mtu(mtu: Option<u32>) -> PathMtu {
    let room = mtu.unwrap_or(1500).saturating_sub(HEADERS);
    let fitting = [4096, 2048, 1024, 512].into_iter().find(|size| *size <= room).unwrap_or(256);
    PathMtu::from_bytes(fitting).unwrap_or(PathMtu(1))
}

/// The identifier of an adapter as soft-RoCE makes it of a MAC address: EUI-64 with the bit for
/// local administration flipped.
fn guid(mac: MacAddr) -> Guid {
    let [a, b, c, d, e, g] = mac.0;
    Guid::new(u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, g]))
}

/// A number that nobody can foresee: the seed of the standard library's hash maps.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_wire::mad::cm::CmMessage;
    use roce_wire::{Gmp, Management};

    fn ends() -> Ends {
        Ends {
            src: "10.77.0.1".parse().unwrap(),
            dst: "10.77.0.2".parse().unwrap(),
            src_mac: MacAddr([2, 0, 0, 0x77, 0, 1]),
            dst_mac: MacAddr([2, 0, 0, 0x77, 0, 2]),
            port: 7174,
            mtu: Some(1500),
        }
    }

    /// The REQ that a Linux 6.12 client made between the same ends, fixtures/rxe/rping_v4.pcap.
    #[test]
    fn it_asks_as_linux_does() {
        let req = request(&ends(), CommId::new(0xc085_2c6d), 0xc203, flow_label(0xc203, 7174));
        assert_eq!(req.service_id.get(), 0x0106_1c06);
        assert_eq!(req.local_ca_guid, Guid::new(0x0000_00ff_fe77_0001));
        assert_eq!(req.primary.flow_label(), 0x79a63);
        assert_eq!((req.primary.local_lid.get(), req.primary.remote_lid.get()), (0xffff, 0xffff));
        assert_eq!((req.path_mtu().bytes(), req.retry_count()), (Some(1024), 7));
        assert_eq!((req.rnr_retry_count(), req.transport()), (7, 0));
        let header = "0040c203 00000000 00000000 00000000 0a4d0001
                      00000000 00000000 00000000 0a4d0002";
        let digits: Vec<u32> = header.chars().filter_map(|c| c.to_digit(16)).collect();
        for (byte, pair) in req.private_data.iter().zip(digits.chunks(2)) {
            assert_eq!(u32::from(*byte), pair[0] << 4 | pair[1]);
        }
    }

    #[test]
    fn no_two_requests_are_alike() {
        let offers = [Offer::new(&ends()), Offer::new(&ends())];
        assert_ne!(offers[0].req.local_comm_id, offers[1].req.local_comm_id);
        assert_ne!(offers[0].transaction, offers[1].transaction);
        for offer in offers {
            assert!(offer.udp_src_port >= 0xc000);
            assert!((0x80_0000..0xff_ffff).contains(&offer.req.local_qpn().get()));
            assert_eq!(offer.transaction & 0xffff_ffff, u64::from(offer.req.local_comm_id.get()));
            let gmp = Gmp::cm(offer.transaction, CmMessage::Req(&offer.req));
            let management = Management::parse(gmp.bytes()).unwrap();
            let (header, _) = management.rdma_cm().unwrap();
            assert_eq!(header.destination_ip(), Some("10.77.0.2".parse().unwrap()));
        }
    }

    /// Linux: 1500 gives 1024, the rig's 4200 gives 4096.
    #[test]
    fn the_mtu_is_what_linux_makes_of_it() {
        for (mtu, path) in [(1500, 1024), (4200, 4096), (9000, 4096), (1280, 1024), (300, 256)] {
            assert_eq!(path_mtu(Some(mtu)).bytes(), Some(path), "{mtu}");
        }
    }
}
