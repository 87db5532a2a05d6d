//! Names by a seed keep what they mean.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use roce_wire::MacAddr;

use super::addresses::*;
use super::*;

fn hidden() -> Hidden {
    Hidden::new("test")
}

fn ip(text: &str) -> IpAddr {
    hidden().ip(text.parse().unwrap())
}

#[test]
fn the_kinds_of_addresses_stay() {
    for fixed in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "224.0.0.251", "::", "::1", "ff02::1"]
    {
        assert_eq!(ip(fixed).to_string(), fixed);
    }
    for text in ["10.77.0.1", "172.16.9.9", "192.168.1.7"] {
        let IpAddr::V4(new) = ip(text) else { panic!() };
        assert!(new.is_private() && new.to_string() != text, "{text} {new}");
    }
    let IpAddr::V4(public) = ip("8.8.8.8") else { panic!() };
    assert!(!public.is_private() && !public.is_multicast() && !public.is_loopback());
    let IpAddr::V4(local) = ip("169.254.3.4") else { panic!() };
    assert!(local.is_link_local());
    assert!(ip("239.1.2.3").is_multicast());
    let IpAddr::V6(local) = ip("fe80::1234") else { panic!() };
    assert!(local.is_unicast_link_local());
    let IpAddr::V6(unique) = ip("fd77::1") else { panic!() };
    assert!(unique.is_unique_local() && unique.to_string() != "fd77::1");
    assert!(ip("ff0e::1234:5678:9").is_multicast());
}

#[test]
fn a_subnet_keeps_its_hosts_together_and_apart() {
    let hosts: HashSet<IpAddr> = (1..255).map(|n| ip(&format!("10.1.2.{n}"))).collect();
    assert_eq!(hosts.len(), 254);
    let nets: HashSet<[u8; 3]> = hosts
        .iter()
        .map(|ip| match ip {
            IpAddr::V4(ip) => *ip.octets().first_chunk().unwrap(),
            IpAddr::V6(_) => panic!(),
        })
        .collect();
    assert_eq!(nets.len(), 1);
    let (IpAddr::V6(a), IpAddr::V6(b)) = (ip("2001:db8:1:2::a"), ip("2001:db8:1:2::b")) else {
        panic!()
    };
    assert!(a != b && a.segments()[..4] == b.segments()[..4]);
}

#[test]
fn private_nets_are_numbered_without_gaps() {
    for place in 0..PRIVATE_NETS {
        assert_eq!(private_place(private_net(place)), Some(place));
    }
    assert_eq!((0..1 << 24).filter(|net| private_place(*net).is_some()).count(), 69_888);
}

#[test]
fn an_ipv4_address_is_the_same_in_its_gid() {
    let address: Ipv4Addr = "10.77.0.1".parse().unwrap();
    let gid = hidden().ipv6(address.to_ipv6_mapped());
    assert_eq!(gid.to_ipv4_mapped(), Some(hidden().ipv4(address)));
    let group: Ipv4Addr = "239.9.8.7".parse().unwrap();
    let IpAddr::V6(mapped) = ip("ff0e::ffff:239.9.8.7") else { panic!() };
    assert_eq!(mapped.octets()[12..], hidden().ipv4(group).octets());
}

#[test]
fn what_is_made_of_a_mac_address_follows_it() {
    let mac = MacAddr([0x7c, 0xfe, 0x90, 0x75, 0x3c, 0xd8]);
    let new = hidden().mac(mac);
    assert!(new != mac && new.0[0] & 3 == 0);
    let IpAddr::V6(link_local) = ip("fe80::7efe:90ff:fe75:3cd8") else { panic!() };
    assert_eq!(u128::from(low_64(link_local.to_bits())), with_mac(new));
    assert_eq!(hidden().guid(0x7efe_90ff_fe75_3cd8), low_64(with_mac(new)));
    for known in [[0; 6], [0xff; 6], [0x01, 0x80, 0xc2, 0, 0, 1], [0x33, 0x33, 0, 0, 0, 1]] {
        assert_eq!(hidden().mac(MacAddr(known)), MacAddr(known));
    }
    assert_eq!(hidden().mac(MacAddr([1, 0, 0x5e, 9, 8, 7])).0[..3], [1, 0, 0x5e]);
}

#[test]
fn numbers_with_a_meaning_stay() {
    let hidden = hidden();
    let ports = Ports::default();
    for qpn in [0, 1, 0xff_ffff] {
        assert_eq!(hidden.qpn(qpn), qpn);
    }
    let qpns: HashSet<u32> = (2..5000).map(|qpn| hidden.qpn(qpn)).collect();
    assert_eq!(qpns.len(), 4998);
    assert!(!qpns.contains(&0) && !qpns.contains(&1));
    assert_eq!((hidden.lid(0), hidden.lid(0xffff), hidden.lid(0xc001)), (0, 0xffff, 0xc001));
    assert!((1..0xc000).contains(&hidden.lid(5)));
    assert_eq!((hidden.src_port(0, &ports), hidden.src_port(4791, &ports)), (0, 4791));
    assert!(hidden.src_port(0xc123, &ports) >= 0xc000 && hidden.src_port(53, &ports) < 0xc000);
    assert_eq!((hidden.q_key(0x8001_0000), hidden.q_key(0x0123_4567)), (0x8001_0000, 0x0123_4567));
    let host = Addr::Ip("10.0.0.1".parse().unwrap());
    let moved = |addr| hidden.virt_addr(host, 7, addr);
    assert_eq!(moved(0x1234) & 0xfff, 0x234);
    assert_eq!(moved(0x9234) - moved(0x1234), 0x8000);
}

#[test]
fn a_flow_label_makes_the_port_that_its_port_became() {
    let ports = Ports::default();
    for label in [1, 0x3fff, 0x4000, 0xf_ffff, 0x1_2345] {
        let port = |label: u32| 0xc000 | (label & 0x3fff) ^ (label >> 14 & 0x3f);
        let old = u16::try_from(port(label)).unwrap();
        let new = u16::try_from(port(hidden().flow_label(label, &ports))).unwrap();
        assert_eq!(new, hidden().src_port(old, &ports));
    }
}
