use super::*;
use roce_wire::{FrameBuilder, IcrcState, Opcode, PacketBuilder, Psn, Qpn};
use std::net::Ipv4Addr;

const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

fn addressing() -> Addressing {
    Addressing {
        src_mac: None,
        dst_mac: None,
        src_ip: None,
        dst_ip: None,
        interface: "lo".to_owned(),
        ports: Ports::default(),
        ways: HashMap::new(),
    }
}

fn apply(addressing: &mut Addressing, data: &[u8]) -> (Addressed, Vec<u8>) {
    let wire_len = u32::try_from(data.len()).unwrap();
    let link_type = LinkType::ETHERNET;
    let frame = Captured { number: 1, time_ns: None, link_type, wire_len, data, interface: 0 };
    let mut out = Vec::new();
    let addressed = addressing.apply(&frame, &mut out).unwrap();
    (addressed, out)
}

/// What another sender would have made of the packet with these addresses.
fn v2(src: [u8; 4], dst: [u8; 4]) -> Vec<u8> {
    let (src, dst) = (Ipv4Addr::from(src), Ipv4Addr::from(dst));
    let head = FrameBuilder::ethernet(B, A).vlan(3, 100).ipv4(src, dst).udp(0xc123);
    let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(7), Psn::new(9));
    let mut bytes = Vec::new();
    head.emit(&packet.payload(b"hello"), &mut bytes).unwrap();
    bytes
}

fn icrc(bytes: &[u8]) -> Option<IcrcState> {
    Frame::parse(WireLink::Ethernet, bytes, bytes.len(), &Ports::default()).icrc_state()
}

#[test]
fn a_frame_with_new_addresses_is_what_it_would_have_been_with_them() {
    let mut to = addressing();
    to.src_ip = Some(Set::To([192, 168, 0, 1].into()));
    to.dst_ip = Some([192, 168, 0, 2].into());
    let (addressed, bytes) = apply(&mut to, &v2([10, 0, 0, 1], [10, 0, 0, 2]));
    assert_eq!(addressed, Addressed::Changed);
    assert_eq!(bytes, v2([192, 168, 0, 1], [192, 168, 0, 2]));
    let (addressed, _) = apply(&mut to, &bytes);
    assert_eq!(addressed, Addressed::AsItWas);
}

#[test]
fn a_wrong_icrc_stays_wrong_even_when_the_new_addresses_would_make_it_right() {
    let right = v2([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut wrong = right.clone();
    // Readdressed by somebody who forgot the ICRC: only the IPv4 header was mended.
    let ip = v2([10, 0, 0, 9], [10, 0, 0, 2]);
    wrong[18..38].copy_from_slice(&ip[18..38]);
    assert_eq!(icrc(&wrong), Some(IcrcState::Bad));
    let mut to = addressing();
    to.src_ip = Some(Set::To([10, 0, 0, 1].into()));
    let (_, bytes) = apply(&mut to, &wrong);
    assert_eq!(icrc(&bytes), Some(IcrcState::Bad));
    assert_eq!(bytes[..bytes.len() - 4], right[..right.len() - 4]);
}

#[test]
fn macs_change_nothing_else() {
    let frame = v2([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut to = addressing();
    (to.src_mac, to.dst_mac) = (Some(B), Some(Set::To(A)));
    let (_, bytes) = apply(&mut to, &frame);
    assert_eq!((&bytes[..6], &bytes[6..12], &bytes[12..]), (&A.0[..], &B.0[..], &frame[12..]));
}

#[test]
fn a_gid_takes_either_family_and_a_header_its_own() {
    let head = FrameBuilder::ethernet(B, A).grh(Gid([1; 16]), Gid([2; 16]));
    let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(7), Psn::new(9));
    let mut v1 = Vec::new();
    head.emit(&packet, &mut v1).unwrap();
    let mut to = addressing();
    to.dst_ip = Some([10, 0, 0, 2].into());
    let (_, bytes) = apply(&mut to, &v1);
    assert_eq!(bytes[14 + 24..14 + 40], Gid::from_ipv4(Ipv4Addr::new(10, 0, 0, 2)).0);
    assert_eq!(icrc(&bytes), Some(IcrcState::Ok));
    to.dst_ip = Some(Ipv6Addr::LOCALHOST.into());
    let (addressed, _) = apply(&mut to, &v2([10, 0, 0, 1], [10, 0, 0, 2]));
    assert_eq!(addressed, Addressed::Unfit(Unfit::OtherFamily));
}

#[test]
fn what_cannot_be_mended_is_left_out_and_flow_control_keeps_its_address() {
    let mut tcp = v2([10, 0, 0, 1], [10, 0, 0, 2]);
    tcp[18 + 9] = 6;
    let mut to = addressing();
    to.dst_ip = Some([10, 0, 0, 3].into());
    assert_eq!(apply(&mut to, &tcp).0, Addressed::Unfit(Unfit::NoRoce));
    let mut pause = vec![0; 60];
    pause[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 1]);
    pause[12..18].copy_from_slice(&[0x88, 0x08, 0, 1, 0xff, 0xff]);
    to.dst_mac = Some(Set::To(A));
    assert_eq!(apply(&mut to, &pause), (Addressed::AsItWas, pause));
}

#[test]
fn macs_are_typed_in_either_way() {
    let mac = |text: &str| text.parse::<Set<MacAddr>>();
    assert_eq!(mac("02:00:00:00:00:01"), Ok(Set::To(A)));
    assert_eq!((mac("02-00-00-00-00-01"), mac("auto")), (Ok(Set::To(A)), Ok(Set::Auto)));
    for wrong in ["", "2:0:0:0:0:1", "02:00:00:00:00", "02:00:00:00:00:01:02", "+2:00:00:00:00:01"]
    {
        assert!(mac(wrong).is_err(), "{wrong}");
    }
}
