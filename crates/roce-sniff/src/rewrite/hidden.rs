//! New names by a seed: what each address, queue pair and key is called in an anonymous trace.
//!
//! Names of one kind stay of that kind, so that a trace means what it meant: unicast, multicast,
//! link-local, private, loopback, unspecified and broadcast addresses stay so, the /24 of an IPv4
//! address and the /64 of an IPv6 address keep their hosts together, an IPv4 address is the same in
//! its GID, and what was made of a MAC address is made of its new name. Every rule is a
//! permutation, so no two names become one, and nothing is remembered.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roce_analyze::connections::port::of_flow_label;
use roce_wire::{Addr, MacAddr, Ports};

use super::keyed::{Key, Memo};

/// What each permutation is of.
mod domain {
    pub(super) const MAC: u64 = 1;
    pub(super) const MAC_GROUP: u64 = 2;
    pub(super) const IPV4_NET: u64 = 3;
    pub(super) const IPV4_HOST: u64 = 4;
    pub(super) const IPV4_GROUP: u64 = 5;
    pub(super) const IPV6_NET: u64 = 6;
    pub(super) const IPV6_HOST: u64 = 7;
    pub(super) const IPV6_GROUP: u64 = 8;
    pub(super) const GUID: u64 = 9;
    pub(super) const LID: u64 = 10;
    pub(super) const QPN: u64 = 11;
    pub(super) const PORT: u64 = 12;
    pub(super) const R_KEY: u64 = 13;
    pub(super) const VIRT_ADDR: u64 = 14;
    pub(super) const Q_KEY: u64 = 15;
    pub(super) const DATA_32: u64 = 16;
    pub(super) const DATA_64: u64 = 17;
    pub(super) const PAYLOAD: u64 = 18;
}

/// The names by a seed.
pub(super) struct Hidden {
    key: Key,
    memo: Memo,
}

impl Hidden {
    pub(super) fn new(seed: &str) -> Self {
        Self { key: Key::of_seed(seed), memo: Memo::new() }
    }

    fn permute(&self, which: (u64, u64), bits: u32, value: u128) -> u128 {
        self.memo.get(which, value, || self.key.permute(which, bits, value))
    }

    fn permute_among(
        &self,
        which: (u64, u64),
        bits: u32,
        value: u128,
        belongs: impl Fn(u128) -> bool,
    ) -> u128 {
        self.memo.get(which, value, || self.key.permute_among(which, bits, value, belongs))
    }

    /// Group, locally administered and reserved addresses stay so.
    pub(super) fn mac(&self, mac: MacAddr) -> MacAddr {
        let number = number(&mac.0);
        if mac.is_multicast() {
            return self.mac_group(mac);
        }
        if number == 0 {
            return mac;
        }
        // Everything but the two bits that say what kind of address it is.
        let kind = number >> 40 & 3;
        let rest = number >> 42 << 40 | number & 0xff_ffff_ffff;
        let to_number = |rest: u128| rest >> 40 << 42 | kind << 40 | rest & 0xff_ffff_ffff;
        let belongs = |rest| to_number(rest) != 0;
        let tweak = low_64(kind);
        let rest = self.permute_among((domain::MAC, tweak), 46, rest, belongs);
        MacAddr(low_bytes(to_number(rest)))
    }

    fn mac_group(&self, mac: MacAddr) -> MacAddr {
        let number = number(&mac.0);
        // IPv4 groups have 23 bits, IPv6 groups 32; the rest are of protocols that everybody knows.
        let (bits, known): (u32, u128) = match mac.0 {
            [0x01, 0x00, 0x5e, ..] => (23, 0x100),
            [0x33, 0x33, ..] => (32, 0x1_0000),
            [0xff, ..] | [0x01, ..] => return mac,
            _ => (40, 0),
        };
        let (head, low) = split(number, bits);
        if low < known {
            return mac;
        }
        let which = (domain::MAC_GROUP, low_64(head >> bits));
        let low = self.permute_among(which, bits, low, |low| low >= known);
        MacAddr(low_bytes(head | low))
    }

    pub(super) fn ip(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) => IpAddr::V4(self.ipv4(ip)),
            IpAddr::V6(ip) => IpAddr::V6(self.ipv6(ip)),
        }
    }

    fn ipv4(&self, ip: Ipv4Addr) -> Ipv4Addr {
        let number = u128::from(ip.to_bits());
        let (net, host) = (number >> 8, number & 0xff);
        let new = match ip.octets() {
            [0 | 127, ..] | [255, 255, 255, 255] | [224, 0, 0, _] => number,
            [first @ 224..=255, ..] => {
                let (head, low) = split(number, 24);
                let which = (domain::IPV4_GROUP, u64::from(first));
                let belongs = |low| match first {
                    224 => low >= 0x100,
                    255 => low != 0xff_ffff,
                    _ => true,
                };
                head | self.permute_among(which, 24, low, belongs)
            }
            [169, 254, ..] => {
                let (head, net_low) = split(net, 8);
                let net_low = self.permute((domain::IPV4_NET, 1), 8, net_low);
                (head | net_low) << 8 | self.ipv4_host(net, host)
            }
            _ => {
                let new_net = match private_place(net) {
                    Some(place) => {
                        let belongs = |place| place < PRIVATE_NETS;
                        let which = (domain::IPV4_NET, 2);
                        private_net(self.permute_among(which, 17, place, belongs))
                    }
                    None => self.permute_among((domain::IPV4_NET, 3), 24, net, is_public_net),
                };
                new_net << 8 | self.ipv4_host(net, host)
            }
        };
        Ipv4Addr::from_bits(u32::try_from(new & 0xffff_ffff).unwrap_or(0))
    }

    /// The address of a network and its broadcast address stay what they are.
    fn ipv4_host(&self, net: u128, host: u128) -> u128 {
        if matches!(host, 0 | 255) {
            return host;
        }
        let belongs = |host| !matches!(host, 0 | 255);
        self.permute_among((domain::IPV4_HOST, low_64(net)), 8, host, belongs)
    }

    fn ipv6(&self, ip: Ipv6Addr) -> Ipv6Addr {
        if let Some(ip) = ip.to_ipv4_mapped() {
            return self.ipv4(ip).to_ipv6_mapped();
        }
        if ip.is_multicast() {
            return self.ipv6_group(ip);
        }
        let number = ip.to_bits();
        let (head, host) = split(number, 64);
        let net = head >> 64;
        let new_net = match ip.segments() {
            [0, 0, 0, 0, ..] | [0xfe80..=0xfebf, ..] => net,
            _ => {
                let (kind, low) = split(net, 56);
                let is_plain = |low: u128| {
                    let net = kind | low;
                    net != 0 && !matches!(net >> 48, 0xfe80..=0xfebf)
                };
                let which = (domain::IPV6_NET, low_64(kind >> 56));
                kind | self.permute_among(which, 56, low, is_plain)
            }
        };
        Ipv6Addr::from_bits(new_net << 64 | self.interface_id(net, host))
    }

    fn interface_id(&self, net: u128, host: u128) -> u128 {
        // The unspecified address, loopback, and whatever anybody puts beside them.
        if host == 0 || (net == 0 && host == 1) {
            return host;
        }
        if let Some(mac) = mac_in(host) {
            return with_mac(self.mac(mac));
        }
        let belongs = |host: u128| {
            let is_mapped = net == 0 && host >> 32 == 0xffff;
            host != 0 && !(net == 0 && host == 1) && !is_mapped && mac_in(host).is_none()
        };
        self.permute_among((domain::IPV6_HOST, low_64(net)), 64, host, belongs)
    }

    fn ipv6_group(&self, ip: Ipv6Addr) -> Ipv6Addr {
        let number = ip.to_bits();
        let (head, low) = split(number, 112);
        let kind = |low: u128| match low {
            ..=0xffff => Group::Known,
            _ if low >> 24 == 0x1ff => Group::Solicited,
            _ if low >> 32 == 0xffff => Group::Ipv4,
            _ => Group::Any,
        };
        let which = (domain::IPV6_GROUP, low_64(head >> 112));
        let low = match kind(low) {
            Group::Known => low,
            Group::Solicited => {
                let (prefix, node) = split(low, 24);
                prefix | self.permute((domain::IPV6_GROUP, 0), 24, node)
            }
            Group::Ipv4 => {
                let (prefix, group) = split(low, 32);
                let group = Ipv4Addr::from_bits(u32::try_from(group).unwrap_or(0));
                prefix | u128::from(self.ipv4(group).to_bits())
            }
            Group::Any => {
                self.permute_among(which, 112, low, |low| matches!(kind(low), Group::Any))
            }
        };
        Ipv6Addr::from_bits(head | low)
    }

    /// The number of an adapter; one that is made of a MAC address stays so.
    pub(super) fn guid(&self, guid: u64) -> u64 {
        let guid = u128::from(guid);
        if guid == 0 {
            return 0;
        }
        low_64(match mac_in(guid) {
            Some(mac) => with_mac(self.mac(mac)),
            None => {
                let belongs = |guid| guid != 0 && mac_in(guid).is_none();
                self.permute_among((domain::GUID, 0), 64, guid, belongs)
            }
        })
    }

    pub(super) fn lid(&self, lid: u16) -> u16 {
        let is_unicast = |lid: u128| (1..0xc000).contains(&lid);
        let new = if is_unicast(lid.into()) {
            self.permute_among((domain::LID, 0), 16, lid.into(), is_unicast)
        } else {
            lid.into()
        };
        u16::try_from(new).unwrap_or(lid)
    }

    /// One permutation for all hosts: a host may have several addresses, and connection management
    /// names queue pairs from another address than the data comes from.
    pub(super) fn qpn(&self, qpn: u32) -> u32 {
        let is_plain = |qpn: u128| !matches!(qpn, 0 | 1 | 0xff_ffff);
        if !is_plain(qpn.into()) {
            return qpn;
        }
        let new = self.permute_among((domain::QPN, 0), 24, qpn.into(), is_plain);
        u32::try_from(new).unwrap_or(qpn)
    }

    /// A UDP source port of RoCE; those that Linux makes stay in their range.
    pub(super) fn src_port(&self, port: u16, ports: &Ports) -> u16 {
        // What these mean depends on their number.
        let is_known = |port: u16| matches!(port, 0 | 4789 | 6081) || ports.contains(port);
        let is_low = |n: u128| u16::try_from(n).is_ok_and(|port| port < 0xc000 && !is_known(port));
        let number = u128::from(port);
        let new = if is_known(port) {
            number
        } else if port >= 0xc000 {
            0xc000 | self.permute((domain::PORT, 1), 14, number & 0x3fff)
        } else {
            self.permute_among((domain::PORT, 2), 16, number, is_low)
        };
        u16::try_from(new).unwrap_or(port)
    }

    /// The flow label that makes Linux take the port that the old label's port is renamed to.
    pub(super) fn flow_label(&self, label: u32, ports: &Ports) -> u32 {
        if label == 0 {
            return 0;
        }
        let new = u32::from(self.src_port(of_flow_label(label), ports)) & 0x3fff;
        // A label of 0 would mean that there is none.
        if new == 0 { 0x4001 } else { new }
    }

    /// Of a host's memory; 0 is what a request for no bytes has.
    pub(super) fn r_key(&self, host: Addr, key: u32) -> u32 {
        if key == 0 {
            return 0;
        }
        let which = (domain::R_KEY, of_host(host));
        let new = self.permute_among(which, 32, key.into(), |key| key != 0);
        u32::try_from(new).unwrap_or(key)
    }

    /// Moved by whole pages, as far as everything else of the same memory region.
    pub(super) fn virt_addr(&self, host: Addr, r_key: u32, addr: u64) -> u64 {
        let by = self.key.number([domain::VIRT_ADDR, of_host(host), r_key.into()]);
        // Addresses of processes have 47 bits: the sum has no more than 48.
        addr.wrapping_add(by & 0x7fff_ffff_f000)
    }

    /// Well-known keys, and the bit that says that the system owns it, stay.
    pub(super) fn q_key(&self, key: u32) -> u32 {
        // Of QP1, and Linux's `RDMA_UDP_QKEY`.
        let is_known = |key: u128| matches!(key, 0 | 0x8001_0000 | 0x0123_4567);
        if is_known(key.into()) {
            return key;
        }
        let (head, low) = split(key.into(), 31);
        let belongs = |low: u128| !is_known(head | low);
        let new = head | self.permute_among((domain::Q_KEY, low_64(head)), 31, low, belongs);
        u32::try_from(new).unwrap_or(key)
    }

    /// Four bytes of the application: equal ones stay equal.
    pub(super) fn data_32(&self, data: u32) -> u32 {
        let new = self.permute((domain::DATA_32, 0), 32, data.into());
        u32::try_from(new).unwrap_or(0)
    }

    /// Eight bytes of the application: equal ones stay equal, and 0 stays 0.
    pub(super) fn data_64(&self, data: u64) -> u64 {
        if data == 0 {
            return 0;
        }
        low_64(self.permute_among((domain::DATA_64, 0), 64, data.into(), |data| data != 0))
    }

    /// Fills a payload. The same packet sent again has the same.
    pub(super) fn payload(&self, dst: Addr, qpn: u32, psn: u32, out: &mut [u8]) {
        let packet = u64::from(qpn) << 24 | u64::from(psn);
        self.key.fill([domain::PAYLOAD, of_host(dst), packet], out);
    }
}

/// What kind of group an IPv6 multicast address is.
enum Group {
    /// Registered, such as all nodes.
    Known,
    /// Of neighbour discovery: has the end of an address in it.
    Solicited,
    /// Has an IPv4 group in it.
    Ipv4,
    Any,
}

/// How many /24 the private ranges have: 10/8, 172.16/12, 192.168/16.
const PRIVATE_NETS: u128 = 0x1_0000 + 0x1000 + 0x100;

/// The place of a /24 among the private ones.
fn private_place(net: u128) -> Option<u128> {
    match net {
        0x0a_0000..=0x0a_ffff => Some(net & 0xffff),
        0xac_1000..=0xac_1fff => Some(0x1_0000 | net & 0xfff),
        0xc0_a800..=0xc0_a8ff => Some(0x1_1000 | net & 0xff),
        _ => None,
    }
}

/// The /24 at this place.
const fn private_net(place: u128) -> u128 {
    match place {
        0..=0xffff => 0x0a_0000 | place,
        0x1_0000..=0x1_0fff => 0xac_1000 | place & 0xfff,
        _ => 0xc0_a800 | place & 0xff,
    }
}

/// Whether a /24 is of none of the ranges that have rules of their own.
fn is_public_net(net: u128) -> bool {
    let first = net >> 16;
    let is_special = matches!(first, 0 | 127 | 224..) || net >> 8 == 0xa9_fe;
    !is_special && private_place(net).is_none()
}

/// The MAC address that an interface id or GUID was made of (EUI-64).
fn mac_in(id: u128) -> Option<MacAddr> {
    let [a, b, c, 0xff, 0xfe, d, e, f] = low_64(id).to_be_bytes() else { return None };
    let mac = MacAddr([a ^ 2, b, c, d, e, f]);
    (!mac.is_multicast() && number(&mac.0) != 0).then_some(mac)
}

/// The interface id or GUID made of a MAC address.
fn with_mac(MacAddr([a, b, c, d, e, f]): MacAddr) -> u128 {
    u128::from(u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]))
}

/// A number of the wire.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The last `N` bytes of a number.
fn low_bytes<const N: usize>(number: u128) -> [u8; N] {
    let bytes = number.to_be_bytes();
    bytes.last_chunk::<N>().copied().unwrap_or([0; N])
}

fn low_64(number: u128) -> u64 {
    u64::from_be_bytes(low_bytes(number))
}

/// A number without its lower bits, and these.
fn split(number: u128, bits: u32) -> (u128, u128) {
    let mask = 1_u128.checked_shl(bits).unwrap_or(0).wrapping_sub(1);
    (number & !mask, number & mask)
}

/// A host as a number; IPv4 is the same on v1 and on v2.
fn of_host(addr: Addr) -> u64 {
    let number = match addr {
        Addr::Ip(IpAddr::V4(ip)) => ip.to_ipv6_mapped().to_bits(),
        Addr::Ip(IpAddr::V6(ip)) => ip.to_bits(),
        Addr::Lid(lid) => u128::from(lid),
    };
    low_64(number >> 64).rotate_left(32) ^ low_64(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn hidden() -> Hidden {
        Hidden::new("test")
    }

    fn ip(text: &str) -> IpAddr {
        hidden().ip(text.parse().unwrap())
    }

    #[test]
    fn the_kinds_of_addresses_stay() {
        for fixed in
            ["0.0.0.0", "127.0.0.1", "255.255.255.255", "224.0.0.251", "::", "::1", "ff02::1"]
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
        assert_eq!(
            (hidden.q_key(0x8001_0000), hidden.q_key(0x0123_4567)),
            (0x8001_0000, 0x0123_4567)
        );
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
}
