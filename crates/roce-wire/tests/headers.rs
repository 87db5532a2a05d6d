//! Every header of the crate: what parses comes back byte for byte, and a header that is not there
//! whole says so, in both directions.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

use std::fmt::Display;

use proptest::prelude::*;
use roce_wire::mad::{self, cm};
use roce_wire::*;

/// Longer than the longest header.
const ROOM: usize = 256;

/// Holds `H` to the rules of the [`Header`] trait, on bytes that go on behind it.
fn check<H: Header + Display>(bytes: &[u8]) {
    let (header, rest) = H::parse(bytes).unwrap();
    assert_eq!(rest, &bytes[H::LEN..], "{}", H::NAME);
    let mut out = Vec::new();
    header.emit(&mut out).unwrap();
    assert_eq!(out, bytes[..H::LEN], "{}", H::NAME);
    assert_eq!((header.name(), AnyHeader::bytes(header)), (H::NAME, &bytes[..H::LEN]));
    header.each_field(&mut |field| {
        if let Value::Named(_, text) = field.value {
            assert!(!text.to_string().is_empty(), "{} {}", H::NAME, field.name);
        }
    });
    // Whatever the bytes say, it is one line of plain text.
    assert!(!header.to_string().contains(char::is_control), "{}", H::NAME);
    for had in 0..H::LEN {
        let short = TooShort { header: H::NAME, offset: 0, needed: H::LEN, had };
        assert_eq!(H::parse(&bytes[..had]).err(), Some(short));
        let mut room = [0xee; ROOM];
        assert_eq!(header.emit(&mut &mut room[..had]), Err(short));
        assert_eq!(room, [0xee; ROOM], "{} wrote before it failed", H::NAME);
    }
}

fn check_transport(bytes: &[u8]) {
    check::<Bth>(bytes);
    check::<Rdeth>(bytes);
    check::<Deth>(bytes);
    check::<XrcEth>(bytes);
    check::<Feth>(bytes);
    check::<Reth>(bytes);
    check::<AtomicEth>(bytes);
    check::<Aeth>(bytes);
    check::<AtomicAckEth>(bytes);
    check::<ImmDt>(bytes);
    check::<Ieth>(bytes);
    check::<Icrc>(bytes);
}

fn check_link_and_network(bytes: &[u8]) {
    check::<Ethernet>(bytes);
    check::<VlanTag>(bytes);
    check::<Sll>(bytes);
    check::<Sll2>(bytes);
    check::<Null>(bytes);
    check::<Erf>(bytes);
    check::<Pfc>(bytes);
    check::<Pause>(bytes);
    check::<Ipv4>(bytes);
    check::<Ipv6>(bytes);
    check::<Udp>(bytes);
    check::<Grh>(bytes);
    check::<Lrh>(bytes);
    check::<Vxlan>(bytes);
    check::<Geneve>(bytes);
    check::<Gre>(bytes);
    check::<ErspanII>(bytes);
    check::<ErspanIII>(bytes);
    check::<MplsLabel>(bytes);
}

fn check_management(bytes: &[u8]) {
    check::<mad::Mad>(bytes);
    check::<mad::Rmpp>(bytes);
    check::<mad::RdmaCmHeader>(bytes);
    check::<cm::Req>(bytes);
    check::<cm::Mra>(bytes);
    check::<cm::Rej>(bytes);
    check::<cm::Rep>(bytes);
    check::<cm::Rtu>(bytes);
    check::<cm::Dreq>(bytes);
    check::<cm::Drep>(bytes);
    check::<cm::SidrReq>(bytes);
    check::<cm::SidrRep>(bytes);
    check::<cm::Lap>(bytes);
    check::<cm::Apr>(bytes);
}

fn any_room() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), ROOM)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn transport(bytes in any_room()) {
        check_transport(&bytes);
    }

    #[test]
    fn link_and_network(bytes in any_room()) {
        check_link_and_network(&bytes);
    }

    #[test]
    fn management(bytes in any_room()) {
        check_management(&bytes);
    }

    /// Any payload of a packet to QP1, most of them nearly connection management.
    #[test]
    fn datagrams(mut bytes in prop::collection::vec(any::<u8>(), 0..300),
                 attribute in 0x0eu8..0x1d, is_cm in prop::bool::weighted(0.9)) {
        let head = [1, 7, 2, 3];
        if is_cm && bytes.len() >= 24 {
            bytes[..4].copy_from_slice(&head);
            bytes[16..18].copy_from_slice(&[0, attribute]);
        }
        let Ok(management) = Management::parse(&bytes) else {
            assert!(bytes.len() < 24);
            return Ok(());
        };
        let mut out = Vec::new();
        management.emit(&mut out).unwrap();
        assert_eq!(out, bytes);
        assert!(!management.to_string().contains(char::is_control));
        management.for_each_header(&mut |header| header.each_field(&mut |_| {}));
        if let Some((header, data)) = management.rdma_cm() {
            assert_eq!(AnyHeader::bytes(header).len() + data.len(),
                       management.message.unwrap().private_data().len());
        }
        let announced = management.cm_attribute().is_some();
        assert_eq!(announced, management.message.is_some() || management.missing().is_some());
        assert_eq!(announced && bytes.len() < 256, management.missing().is_some());
    }
}
