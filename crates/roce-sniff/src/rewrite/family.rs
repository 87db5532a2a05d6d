//! IPv4 addresses as IPv6 addresses and back.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 addresses stand in the last 32 bits of this prefix: local, and of nobody (RFC 4193).
const PREFIX: u128 = 0xfd00 << 112;
/// IPv4 groups stand in the last 32 bits of this one, as Linux has it for GIDs.
const GROUPS: u128 = 0xff0e << 112 | 0xffff << 32;
/// IPv6 addresses that have no IPv4 address in them get one of these: 198.18.0.0/15, which is for
/// tests (RFC 2544).
const POOL: u32 = 0xc612_0000;
/// How many there are, and so how many are remembered at most.
const POOL_LEN: u32 = 1 << 17;

/// The family that addresses are to be of.
pub(super) enum Family {
    Ipv6,
    Ipv4(Given),
}

/// IPv4 addresses given to IPv6 addresses, in the order in which these came.
#[derive(Default)]
pub(super) struct Given {
    by_ipv6: HashMap<Ipv6Addr, Ipv4Addr>,
}

impl Family {
    /// The address in this family; `None` when the pool is empty.
    pub(super) fn address(&mut self, ip: IpAddr) -> Option<IpAddr> {
        match (self, ip) {
            (Self::Ipv6, IpAddr::V4(ip)) => Some(IpAddr::V6(to_ipv6(ip))),
            (Self::Ipv4(given), IpAddr::V6(ip)) => given.address(ip).map(IpAddr::V4),
            (_, ip) => Some(ip),
        }
    }
}

fn to_ipv6(ip: Ipv4Addr) -> Ipv6Addr {
    let prefix = if ip.is_multicast() { GROUPS } else { PREFIX };
    Ipv6Addr::from_bits(prefix | u128::from(ip.to_bits()))
}

impl Given {
    fn address(&mut self, ip: Ipv6Addr) -> Option<Ipv4Addr> {
        let bits = ip.to_bits();
        let low = Ipv4Addr::from_bits(u32::try_from(bits & 0xffff_ffff).ok()?);
        let high = bits >> 32 << 32;
        if high == PREFIX || high == GROUPS && low.is_multicast() {
            return Some(low);
        }
        if let Some(ip) = ip.to_ipv4_mapped() {
            return Some(ip);
        }
        if ip.is_multicast() {
            // Administratively scoped groups are anybody's (RFC 2365); two may become one.
            return Some(Ipv4Addr::from_bits(0xef00_0000 | low.to_bits() & 0x00ff_ffff));
        }
        let used = u32::try_from(self.by_ipv6.len()).ok()?;
        if let Some(known) = self.by_ipv6.get(&ip) {
            return Some(*known);
        }
        // The first address of the pool is its network.
        let next = used.checked_add(1).filter(|next| *next < POOL_LEN)?;
        let new = Ipv4Addr::from_bits(POOL | next);
        self.by_ipv6.insert(ip, new);
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_there_and_back() {
        let (mut v4, mut v6) = (Family::Ipv4(Given::default()), Family::Ipv6);
        for (ipv4, ipv6) in [("10.0.0.1", "fd00::a00:1"), ("239.1.2.3", "ff0e::ffff:239.1.2.3")] {
            let (ipv4, ipv6): (IpAddr, IpAddr) = (ipv4.parse().unwrap(), ipv6.parse().unwrap());
            assert_eq!(v6.address(ipv4), Some(ipv6));
            assert_eq!(v4.address(ipv6), Some(ipv4));
            assert_eq!((v4.address(ipv4), v6.address(ipv6)), (Some(ipv4), Some(ipv6)));
        }
    }

    #[test]
    fn the_pool_gives_each_address_one_and_ends() {
        let mut family = Family::Ipv4(Given::default());
        let mut ask =
            |n: u32| family.address(IpAddr::V6(Ipv6Addr::from_bits(1 << 127 | u128::from(n))));
        assert_eq!(ask(7), Some("198.18.0.1".parse().unwrap()));
        assert_eq!(ask(8), Some("198.18.0.2".parse().unwrap()));
        assert_eq!(ask(7), Some("198.18.0.1".parse().unwrap()));
        assert_eq!((0..POOL_LEN + 5).filter(|n| ask(*n).is_none()).count(), 6);
    }
}
