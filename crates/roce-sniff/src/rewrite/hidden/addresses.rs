//! New MAC and IP addresses, each of the kind that the old one was.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roce_wire::MacAddr;

use super::{Hidden, domain, low_64, low_bytes, number, split};

impl Hidden {
    /// Group, locally administered and reserved addresses stay so.
    pub(in super::super) fn mac(&self, mac: MacAddr) -> MacAddr {
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

    pub(in super::super) fn ip(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) => IpAddr::V4(self.ipv4(ip)),
            IpAddr::V6(ip) => IpAddr::V6(self.ipv6(ip)),
        }
    }

    pub(super) fn ipv4(&self, ip: Ipv4Addr) -> Ipv4Addr {
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

    pub(super) fn ipv6(&self, ip: Ipv6Addr) -> Ipv6Addr {
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
pub(super) const PRIVATE_NETS: u128 = 0x1_0000 + 0x1000 + 0x100;

/// The place of a /24 among the private ones.
pub(super) fn private_place(net: u128) -> Option<u128> {
    match net {
        0x0a_0000..=0x0a_ffff => Some(net & 0xffff),
        0xac_1000..=0xac_1fff => Some(0x1_0000 | net & 0xfff),
        0xc0_a800..=0xc0_a8ff => Some(0x1_1000 | net & 0xff),
        _ => None,
    }
}

/// The /24 at this place.
pub(super) const fn private_net(place: u128) -> u128 {
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
pub(super) fn mac_in(id: u128) -> Option<MacAddr> {
    let [a, b, c, 0xff, 0xfe, d, e, f] = low_64(id).to_be_bytes() else { return None };
    let mac = MacAddr([a ^ 2, b, c, d, e, f]);
    (!mac.is_multicast() && number(&mac.0) != 0).then_some(mac)
}

/// The interface id or GUID made of a MAC address.
pub(super) fn with_mac(MacAddr([a, b, c, d, e, f]): MacAddr) -> u128 {
    u128::from(u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]))
}
