//! Held to the request of rping, as soft-RoCE sent it.

use super::*;
use core::net::Ipv4Addr;

use crate::Gid;
use crate::mad::cm::AckTimeout;
use crate::mad::test_data::{RPING_REQ, mad};

#[test]
fn the_req_of_rping_reads_as_tshark_reads_it() {
    let bytes = mad(RPING_REQ);
    let (req, rest) = Req::parse(&bytes[24..]).unwrap();
    assert!(rest.is_empty());
    assert_eq!(req.local_comm_id, CommId::new(0xc085_2c6d));
    assert_eq!(req.service_id.get(), 0x0000_0000_0106_1c06);
    assert_eq!(req.local_ca_guid, Guid::new(0x0000_00ff_fe77_0001));
    assert_eq!((req.local_q_key.get(), req.local_qpn()), (0, Qpn::new(0x11)));
    assert_eq!((req.responder_resources(), req.initiator_depth()), (1, 1));
    assert_eq!((req.local_eecn(), req.remote_eecn(), req.vendor_id()), (0, 0, 0));
    assert_eq!((req.remote_timeout(), req.local_timeout()), (CmTimeout(20), CmTimeout(20)));
    assert_eq!((req.service(), req.flow_control()), (Some(Service::Rc), false));
    assert_eq!(req.starting_psn(), Psn::new(0x9b_bbd7));
    assert_eq!((req.retry_count(), req.rnr_retry_count(), req.max_cm_retries()), (7, 7, 15));
    assert_eq!((req.p_key, req.path_mtu().bytes()), (PKey::DEFAULT, Some(1024)));
    assert!(!req.rdc_exists() && !req.srq() && !req.sap_supported());
}

#[test]
fn its_paths_read_as_linux_wrote_them() {
    let bytes = mad(RPING_REQ);
    let (req, _) = Req::parse(&bytes[24..]).unwrap();
    let path = req.primary;
    assert_eq!((path.local_lid.get(), path.remote_lid.get()), (0xffff, 0xffff));
    assert_eq!(path.local_gid.ipv4(), Some(Ipv4Addr::new(10, 77, 0, 1)));
    assert_eq!(path.remote_gid.ipv4(), Some(Ipv4Addr::new(10, 77, 0, 2)));
    // Source port times 31 plus destination port (Linux `cma_get_roce_udp_flow_label`); tshark
    // 4.0 shifts this field and the packet rate wrongly.
    assert_eq!(path.flow_label(), (0xc203 * 31 + 0x1c06) & 0xf_ffff);
    assert_eq!((path.packet_rate(), path.traffic_class, path.hop_limit), (0, 0, 64));
    assert_eq!((path.sl(), path.subnet_local(), path.ack_timeout()), (0, false, AckTimeout(17)));
    assert_eq!((req.alternate, req.alternate.is_used()), (Path::NONE, false));
}

#[test]
fn it_is_built_as_captured() {
    let gid = |last| Gid::from_ipv4(Ipv4Addr::new(10, 77, 0, last));
    let path = Path::new(gid(1), gid(2)).with_flow_label(0x79a63).with_ack_timeout(AckTimeout(17));
    let mut req = Req::new(CommId::new(0xc085_2c6d), ServiceId::new(0x0106_1c06), path)
        .with_local_qpn(Qpn::new(0x11))
        .with_responder_resources(1)
        .with_initiator_depth(1)
        .with_remote_timeout(CmTimeout(20))
        .with_starting_psn(Psn::new(0x9b_bbd7))
        .with_local_timeout(CmTimeout(20))
        .with_retry_count(7)
        .with_path_mtu(PathMtu(3))
        .with_rnr_retry_count(7)
        .with_max_cm_retries(15);
    req.local_ca_guid = Guid::new(0x0000_00ff_fe77_0001);
    let bytes = mad(RPING_REQ);
    req.private_data.copy_from_slice(&bytes[24 + 140..]);
    assert_eq!(req.as_bytes(), &bytes[24..]);
}

#[test]
fn a_setter_touches_its_own_bits_only() {
    let (all, _) = Req::parse(&[0xff; 232]).unwrap();
    let path = all.primary.with_flow_label(0).with_packet_rate(0).with_sl(0);
    let path = path.with_subnet_local(false).with_ack_timeout(AckTimeout(0));
    assert_eq!(path.as_bytes()[36..], [0, 0, 0x0f, 0xc0, 0xff, 0xff, 0x07, 0x07]);
    let none = all
        .with_vendor_id(0)
        .with_local_qpn(Qpn::new(0))
        .with_local_eecn(0)
        .with_remote_eecn(0)
        .with_transport(0)
        .with_starting_psn(Psn::new(0))
        .with_retry_count(0)
        .with_path_mtu(PathMtu(0))
        .with_max_cm_retries(0)
        .with_sap_supported(false);
    assert_eq!(none.as_bytes()[4..8], [0xff, 0, 0, 0]);
    let shared = [0, 0, 0, 0xff, 0, 0, 0, 0xff, 0, 0, 0, 0xf9, 0, 0, 0, 0xf8];
    assert_eq!(none.as_bytes()[32..48], shared);
    assert_eq!(none.as_bytes()[48..52], [0xff, 0xff, 0x0f, 0x0f]);
    assert_eq!(none.as_bytes()[139], 0xfb);
}

#[test]
fn the_transport_is_named_by_both_fields() {
    let (req, _) = Req::parse(&[0; 232]).unwrap();
    assert_eq!(req.with_transport(1).service(), Some(Service::Uc));
    assert_eq!(req.with_transport(2).service(), Some(Service::Rd));
    assert_eq!(req.with_transport(3).service(), None);
    let xrc = req.with_transport(3).with_extended_transport(1);
    assert_eq!(xrc.service(), Some(Service::Xrc));
}

#[test]
fn it_prints_who_wants_what() {
    let bytes = mad(RPING_REQ);
    let (req, _) = Req::parse(&bytes[24..]).unwrap();
    assert_eq!(
        req.to_string(),
        "0xc0852c6d TCP 10.77.0.1:49667 > 10.77.0.2:7174 RC qp 0x000011 psn 10206167 mtu 1024"
    );
}
