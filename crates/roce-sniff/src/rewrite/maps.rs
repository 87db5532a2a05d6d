//! Names that the user gives: OLD=NEW, as typed.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use roce_wire::{Addr, MacAddr, Qpn};

/// One number for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Map<T> {
    pub(super) old: T,
    pub(super) new: T,
}

/// The new name of `old`, if one is given; the first that fits counts.
pub(super) fn find<T: PartialEq + Copy>(maps: &[Map<T>], old: T) -> Option<T> {
    maps.iter().find(|map| map.old == old).map(|map| map.new)
}

fn halves(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| "expected OLD=NEW".to_owned())
}

/// A number, decimal or with 0x.
fn number(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no number; expected such as 17 or 0x11"))
}

fn number_below(text: &str, limit: u32) -> Result<u32, String> {
    match number(text)? {
        number if number < limit => Ok(number),
        _ => Err(format!("`{text}` is too large: below {limit}")),
    }
}

/// Numbers below a limit.
fn numbers<T: TryFrom<u32>>(text: &str, limit: u32) -> Result<Map<T>, String> {
    let (old, new) = halves(text)?;
    let number = |text| {
        let number = number_below(text, limit)?;
        T::try_from(number).map_err(|_| format!("`{text}` is too large"))
    };
    Ok(Map { old: number(old)?, new: number(new)? })
}

/// VLAN ids.
pub(super) fn vlan(text: &str) -> Result<Map<u16>, String> {
    numbers(text, 4096)
}

/// LIDs and ports.
pub(super) fn word(text: &str) -> Result<Map<u16>, String> {
    numbers(text, 0x1_0000)
}

/// R_Keys.
pub(super) fn r_key(text: &str) -> Result<Map<u32>, String> {
    let (old, new) = halves(text)?;
    Ok(Map { old: number(old)?, new: number(new)? })
}

/// MAC addresses.
pub(super) fn mac(text: &str) -> Result<Map<MacAddr>, String> {
    let (old, new) = halves(text)?;
    Ok(Map { old: parse_mac(old)?, new: parse_mac(new)? })
}

fn parse_mac(text: &str) -> Result<MacAddr, String> {
    let wrong = || format!("`{text}` is no MAC address; expected such as 7c:fe:90:75:3c:d8");
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() == 2).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(MacAddr(mac)) }
}

/// An address for another, or all addresses of a prefix for those of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IpMap {
    /// IPv4 as in its GID, so that addresses and GIDs are one.
    old: u128,
    new: u128,
    /// Ones where the prefix is.
    mask: u128,
    is_ipv4: bool,
}

impl FromStr for IpMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (old, new) = halves(text)?;
        let (old, old_len) = prefix(old)?;
        let (new, new_len) = prefix(new)?;
        if old_len != new_len {
            return Err("both prefixes must be of one length".to_owned());
        }
        let (is_ipv4, to_ipv4) = (is_ipv4(old), is_ipv4(new));
        if is_ipv4 != to_ipv4 {
            return Err("one is IPv4 and one IPv6; --convert changes the family".to_owned());
        }
        let bits = match (old_len, is_ipv4) {
            (None, _) => 128,
            (Some(len), true) if len <= 32 => len.saturating_add(96),
            (Some(len), false) if len <= 128 => len,
            (Some(len), _) => return Err(format!("no prefix has {len} bits")),
        };
        let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits)).unwrap_or(0);
        Ok(Self { old: bits_of(old) & mask, new: bits_of(new) & mask, mask, is_ipv4 })
    }
}

fn prefix(text: &str) -> Result<(IpAddr, Option<u32>), String> {
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address, Some(number(len)?)),
        None => (text, None),
    };
    let ip: IpAddr = address.parse().map_err(|_| format!("`{address}` is no IP address or GID"))?;
    Ok((ip, len))
}

fn is_ipv4(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => ip.to_ipv4_mapped().is_some(),
    }
}

/// An address as the 128 bits of its GID.
pub(super) fn bits_of(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// The new bits of an address, if a map fits; the first that fits counts.
pub(super) fn find_ip(maps: &[IpMap], bits: u128) -> Option<u128> {
    let is_ipv4 = Ipv6Addr::from_bits(bits).to_ipv4_mapped().is_some();
    let fits = |map: &&IpMap| map.is_ipv4 == is_ipv4 && bits & map.mask == map.old;
    maps.iter().find(fits).map(|map| map.new | bits & !map.mask)
}

/// A host, and perhaps one of its queue pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    pub(super) host: Addr,
    pub(super) qpn: Option<u32>,
}

impl FromStr for End {
    type Err = String;

    /// `10.0.0.1`, `10.0.0.1:0x11`, `fd77::1`, `[fd77::1]:17`, `lid5`, `lid5:17`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(ip) = text.parse() {
            return Ok(Self { host: host(ip), qpn: None });
        }
        let (name, qpn) = match text.rsplit_once(':') {
            Some((name, qpn)) => (name, Some(parse_qpn(qpn)?)),
            None => (text, None),
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        if let Some(lid) = bare.strip_prefix("lid").and_then(|lid| lid.parse().ok()) {
            return Ok(Self { host: Addr::Lid(lid), qpn });
        }
        match bare.parse() {
            Ok(ip) => Ok(Self { host: host(ip), qpn }),
            Err(_) => Err(format!(
                "`{text}` is no host and queue pair; expected such as 10.0.0.1:0x11, [fd77::1]:17 \
                 or lid5:17"
            )),
        }
    }
}

fn parse_qpn(text: &str) -> Result<u32, String> {
    number_below(text, 1 << 24)
}

/// A host is the same by its IPv4 address and by the GID of that.
fn host(ip: IpAddr) -> Addr {
    match ip {
        IpAddr::V6(ip) => Addr::Ip(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)),
        ip => Addr::Ip(ip),
    }
}

/// A queue pair for another, of one host or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QpnMap {
    host: Option<Addr>,
    old: u32,
    new: u32,
}

impl FromStr for QpnMap {
    type Err = String;

    /// `0x11=0x12`, or `10.0.0.1:0x11=0x12`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (old, new) = halves(text)?;
        let new = parse_qpn(new)?;
        if let Ok(old) = parse_qpn(old) {
            return Ok(Self { host: None, old, new });
        }
        match old.parse()? {
            End { host, qpn: Some(old) } => Ok(Self { host: Some(host), old, new }),
            End { qpn: None, .. } => Err("expected a queue pair behind the host".to_owned()),
        }
    }
}

/// The new number of a host's queue pair, if one is given.
pub(super) fn find_qpn(maps: &[QpnMap], host: Addr, qpn: Qpn) -> Option<Qpn> {
    let fits =
        |map: &&QpnMap| map.old == qpn.get() && map.host.is_none_or(|of_host| of_host == host);
    maps.iter().find(fits).map(|map| Qpn::new(map.new))
}

/// Two ends of a connection: `A[:QPN]-B[:QPN]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ends(pub(super) End, pub(super) End);

impl FromStr for Ends {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('-') {
            Some((a, b)) => Ok(Self(a.parse()?, b.parse()?)),
            None => Err("expected two ends, such as 10.0.0.1:0x11-10.0.0.2:0x12".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_prefix_keeps_what_is_behind_it() {
        let maps = ["10.1.0.0/16=192.168.0.0/16", "fd77::/64=2001:db8::/64", "10.2.0.1=10.9.9.9"]
            .map(|text| text.parse().unwrap());
        let find = |text| find_ip(&maps, bits_of(ip(text)));
        assert_eq!(find("10.1.2.3"), Some(bits_of(ip("192.168.2.3"))));
        assert_eq!(find("::ffff:10.1.2.3"), Some(bits_of(ip("192.168.2.3"))));
        assert_eq!(find("fd77::5"), Some(bits_of(ip("2001:db8::5"))));
        assert_eq!(find("10.2.0.1"), Some(bits_of(ip("10.9.9.9"))));
        assert_eq!(find("10.2.0.2"), None);
        let all = ["0.0.0.0/0=0.0.0.0/0".parse().unwrap()];
        assert_eq!(find_ip(&all, bits_of(ip("fd77::1"))), None);
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for wrong in ["10.0.0.1", "10.0.0.1=", "10.0.0.1=fd77::1", "10.0.0.0/8=11.0.0.0/9"] {
            assert!(wrong.parse::<IpMap>().is_err(), "{wrong}");
        }
        assert!("10.0.0.0/33=10.0.0.0/33".parse::<IpMap>().is_err());
        assert!(vlan("1=4096").is_err() && word("65536=1").is_err() && vlan("7=9").is_ok());
        for wrong in ["1", "0x1000000=1", "10.0.0.1=5", "host:1=2"] {
            assert!(wrong.parse::<QpnMap>().is_err(), "{wrong}");
        }
        for wrong in ["7c:fe:90:75:3c=7c:fe:90:75:3c:d8", "1:2:3:4:5:6=1:2:3:4:5:6"] {
            assert!(mac(wrong).is_err(), "{wrong}");
        }
        assert_eq!(mac("7c-fe-90-75-3c-d8=00:00:00:00:00:01").unwrap().new.0, [0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn ends_have_queue_pairs_or_none() {
        let end = |text: &str| text.parse::<End>().unwrap();
        let v4 = Addr::Ip(ip("10.0.0.1"));
        assert_eq!(end("10.0.0.1"), End { host: v4, qpn: None });
        assert_eq!(end("10.0.0.1:0x11"), End { host: v4, qpn: Some(17) });
        assert_eq!(end("[::ffff:10.0.0.1]:17"), End { host: v4, qpn: Some(17) });
        assert_eq!(end("fd77::1").qpn, None);
        assert_eq!(end("[fd77::1]:17").host, Addr::Ip(ip("fd77::1")));
        assert_eq!(end("lid5:2"), End { host: Addr::Lid(5), qpn: Some(2) });
        let Ends(a, b) = "10.0.0.1:17-10.0.0.2".parse().unwrap();
        assert_eq!((a.qpn, b.qpn), (Some(17), None));
        assert!("10.0.0.1".parse::<Ends>().is_err());
        let map: QpnMap = "10.0.0.1:0x11=0x12".parse().unwrap();
        assert_eq!(find_qpn(&[map], v4, Qpn::new(0x11)), Some(Qpn::new(0x12)));
        assert_eq!(find_qpn(&[map], b.host, Qpn::new(0x11)), None);
    }
}
