//! Requests and answers as the kernel's headers lay them out, and this machine's own loopback.

use super::*;
use crate::netlink::attr::attr;
use crate::netlink::message::{Message, messages};
use proptest::prelude::*;

#[test]
fn requests_are_as_the_kernel_wants_them() {
    let bytes = route_request(7, "10.77.0.2".parse().unwrap(), Some(3));
    let mut expected = Vec::new();
    expected.extend(44_u32.to_ne_bytes()); // nlmsg_len
    expected.extend(26_u16.to_ne_bytes()); // RTM_GETROUTE
    expected.extend(0x0005_u16.to_ne_bytes()); // request, acknowledge
    expected.extend(7_u32.to_ne_bytes());
    expected.extend(0_u32.to_ne_bytes());
    expected.extend([2, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // AF_INET, 32 bits
    expected.extend(attr(1, &[10, 77, 0, 2]));
    expected.extend(attr(4, &3_u32.to_ne_bytes()));
    assert_eq!(bytes, expected);
    let bytes = route_request(7, "fd77::2".parse().unwrap(), None);
    assert_eq!((bytes[16], bytes[17], bytes.len()), (10, 128, 48));
}

#[test]
fn a_route_by_a_router() {
    let mut fixed = [0; 12];
    fixed[7] = 1;
    let attrs = [
        attr(5, &[10, 0, 0, 1]),
        attr(4, &2_u32.to_ne_bytes()),
        attr(7, &[10, 0, 0, 9]),
        // One byte long in IPv6 routes, where tables of other families have attributes in it.
        attr(20, &[0]),
    ]
    .concat();
    assert!(Attrs(&attrs).check(0).is_ok());
    assert_eq!(
        route(&fixed, Attrs(&attrs)),
        Some(Route {
            kind: RouteKind::Unicast,
            interface: 2,
            source: Some("10.0.0.9".parse().unwrap()),
            gateway: Some("10.0.0.1".parse().unwrap()),
        })
    );
    let via = [attr(4, &2_u32.to_ne_bytes()), attr(18, &[10, 0, 0xfe, 0x80])].concat();
    assert_eq!(route(&fixed, Attrs(&via)).unwrap().gateway, None);
}

#[test]
fn a_neighbour_counts_while_it_can_be_used() {
    let of = "10.77.0.2".parse().unwrap();
    let mac = [2, 0, 0, 0x77, 0, 2];
    let attrs = [attr(1, &[10, 77, 0, 2]), attr(2, &mac)].concat();
    let found = |state: u16, index: u32| {
        let mut fixed = [0; 12];
        fixed[4..8].copy_from_slice(&5_u32.to_ne_bytes());
        fixed[8..10].copy_from_slice(&state.to_ne_bytes());
        neighbour(&fixed, Attrs(&attrs), index, of)
    };
    for state in [0x02, 0x04, 0x08, 0x10, 0x40, 0x80] {
        assert_eq!(found(state, 5), Some(Neighbour { mac: Some(mac), failed: false }));
    }
    assert_eq!(found(0x20, 5), Some(Neighbour { mac: None, failed: true }));
    assert_eq!(found(0x01, 5), Some(Neighbour { mac: None, failed: false }));
    assert_eq!(found(0x02, 6), None);
}

/// Whatever the machine, its loopback address is its own.
#[test]
fn this_machine() {
    let mut netlink = RouteNetlink::open().unwrap();
    let route = netlink.route("127.0.0.1".parse().unwrap(), None).unwrap().unwrap();
    assert_eq!((route.kind, route.gateway), (RouteKind::Local, None));
    assert_eq!(route.source, Some("127.0.0.1".parse().unwrap()));
    assert_eq!(netlink.neighbour(u32::MAX, "192.0.2.1".parse().unwrap()).unwrap(), None);
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let ip = "10.77.0.2".parse().unwrap();
        for message in messages(Family::Route, &bytes, 7) {
            if let Ok(Message::Data { fixed, attrs, .. }) = message {
                let _ = (route(fixed, attrs), neighbour(fixed, attrs, 1, ip));
            }
        }
        let _ = (route(&bytes, Attrs(&bytes)), neighbour(&bytes, Attrs(&bytes), 1, ip));
    }
}
