//! Sets the addresses of frames, and mends what depends on them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use roce_capture::{Frame as Captured, LinkType};
use roce_wire::{Content, Extent, Frame, Gid, Layer, Link as WireLink, MacAddr, Mend, Ports, mend};

use super::SendArgs;
use super::link::Link;
use crate::probe::target::{HostArg, Way};

/// What an address is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set<T> {
    /// To what this host knows.
    Auto,
    To(T),
}

impl<T: fmt::Display> fmt::Display for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::To(address) => address.fmt(f),
        }
    }
}

impl FromStr for Set<IpAddr> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => text.parse().map(Self::To).map_err(|_| "expected an IP address".to_owned()),
        }
    }
}

impl FromStr for Set<MacAddr> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let wrong = || "expected a MAC such as 02:00:00:00:00:01".to_owned();
        let mut mac = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut mac {
            let part = parts.next().ok_or_else(wrong)?;
            if part.len() != 2 || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        parts.next().map_or(Ok(Self::To(MacAddr(mac))), |_| Err(wrong()))
    }
}

/// Why a frame is not sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Unfit {
    /// The capture does not hold all of it.
    Cut,
    /// It does not begin with an Ethernet header.
    NoEthernet,
    /// Its IP addresses are to change, and nothing here can mend what it carries.
    NoRoce,
    /// An IPv4 address was given for an IPv6 frame, or the other way round.
    OtherFamily,
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Addressed {
    AsItWas,
    Changed,
    Unfit(Unfit),
}

/// More neighbours than this are not kept in mind.
const MOST_WAYS: usize = 4096;

pub(super) struct Addressing {
    src_mac: Option<MacAddr>,
    dst_mac: Option<Set<MacAddr>>,
    src_ip: Option<Set<IpAddr>>,
    dst_ip: Option<IpAddr>,
    interface: String,
    ports: Ports,
    ways: HashMap<IpAddr, (Way, Option<MacAddr>)>,
}

/// The outermost addresses of the network layer.
#[derive(Clone, Copy)]
struct Place {
    /// Where the source stands; the destination follows it.
    at: usize,
    kind: Kind,
    dst: IpAddr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ipv4,
    Ipv6,
    /// GIDs hold addresses of both families.
    Grh,
}

impl Addressing {
    pub(super) fn new(args: &SendArgs, link: &Link, ports: Ports) -> Self {
        Self {
            src_mac: match args.src_mac {
                Some(Set::Auto) => link.mac(),
                Some(Set::To(mac)) => Some(mac),
                None => None,
            },
            dst_mac: args.dst_mac,
            src_ip: args.src_ip,
            dst_ip: args.dst_ip,
            interface: link.name.clone(),
            ports,
            ways: HashMap::new(),
        }
    }

    /// Puts the frame as it is to be sent into `out`.
    pub(super) fn apply(&mut self, frame: &Captured<'_>, out: &mut Vec<u8>) -> Result<Addressed> {
        out.clear();
        if frame.link_type != LinkType::ETHERNET {
            return Ok(Addressed::Unfit(Unfit::NoEthernet));
        }
        if frame.is_truncated() {
            return Ok(Addressed::Unfit(Unfit::Cut));
        }
        out.extend_from_slice(frame.data);
        if let Err(unfit) = self.network(out).with_context(|| format!("frame {}", frame.number))? {
            return Ok(Addressed::Unfit(unfit));
        }
        if let Some(src) = self.src_mac {
            put(out, 6, &src.0);
        }
        let is_same = out.as_slice() == frame.data;
        Ok(if is_same { Addressed::AsItWas } else { Addressed::Changed })
    }

    /// Everything that depends on IP addresses.
    fn network(&mut self, bytes: &mut [u8]) -> Result<Result<(), Unfit>> {
        if let Some(Set::To(mac)) = self.dst_mac {
            self.set_dst_mac(bytes, mac);
        }
        let changes_ip = self.src_ip.is_some() || self.dst_ip.is_some();
        if !changes_ip && self.dst_mac != Some(Set::Auto) {
            return Ok(Ok(()));
        }
        let frame = Frame::parse(WireLink::Ethernet, bytes, bytes.len(), &self.ports);
        let Some(place) = place(&frame) else { return Ok(Ok(())) };
        let carries_roce = frame.packet().is_some();
        let dst = self.dst_ip.unwrap_or(place.dst);
        let mut src_ip = None;
        if self.src_ip == Some(Set::Auto) || self.dst_mac == Some(Set::Auto) {
            // A group has an address that follows from its IP address, which the frame has.
            if !is_group(dst) {
                let (src, mac) = self.way(dst)?;
                src_ip = Some(src);
                if let (Some(Set::Auto), Some(mac)) = (self.dst_mac, mac) {
                    put(bytes, 0, &mac.0);
                }
            }
        }
        let src_ip = match self.src_ip {
            Some(Set::To(ip)) => Some(ip),
            Some(Set::Auto) => src_ip,
            None => None,
        };
        if src_ip.is_none() && self.dst_ip.is_none() {
            return Ok(Ok(()));
        }
        if !carries_roce {
            return Ok(Err(Unfit::NoRoce));
        }
        Ok(self.set_ips(bytes, place, src_ip))
    }

    /// MAC control frames go to an address that is theirs alone.
    fn set_dst_mac(&self, bytes: &mut [u8], mac: MacAddr) {
        let frame = Frame::parse(WireLink::Ethernet, bytes, bytes.len(), &self.ports);
        if !matches!(frame.content, Content::Pfc(_) | Content::Pause(_)) {
            put(bytes, 0, &mac.0);
        }
    }

    fn set_ips(&self, bytes: &mut [u8], place: Place, src: Option<IpAddr>) -> Result<(), Unfit> {
        let len = bytes.len();
        let frame = Frame::parse(WireLink::Ethernet, bytes, len, &self.ports);
        let Some(extent) = Extent::of(&frame, len) else { return Err(Unfit::NoRoce) };
        let fault = fault(&frame);
        let src = src.map(|ip| place.kind.octets(ip)).transpose()?;
        let dst = self.dst_ip.map(|ip| place.kind.octets(ip)).transpose()?;
        for (octets, at) in [(src, place.at), (dst, place.at.saturating_add(place.kind.len()))] {
            if let Some(octets) = octets {
                put(bytes, at, &octets);
            }
        }
        let (link, ports) = (WireLink::Ethernet, &self.ports);
        let what = Mend { lengths: false, ..Mend::ALL };
        if fault == [0; 4] {
            mend(bytes, link, extent, ports, what);
            return Ok(());
        }
        // What was wrong by these bits is wrong by them again. Checksums cover the ICRC.
        mend(bytes, link, extent, ports, Mend { checksums: false, ..what });
        let at = extent.packet_end.saturating_sub(fault.len());
        if let Some(icrc) = bytes.get_mut(at..extent.packet_end) {
            icrc.iter_mut().zip(fault).for_each(|(byte, fault)| *byte ^= fault);
        }
        mend(bytes, link, extent, ports, Mend { icrc: false, ..what });
        Ok(())
    }

    /// This host's address and the next hop's MAC on the way to an address.
    fn way(&mut self, to: IpAddr) -> Result<(IpAddr, Option<MacAddr>)> {
        if self.ways.len() >= MOST_WAYS {
            self.ways.clear();
        }
        let (way, mac) = match self.ways.entry(to) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(empty) => {
                let host = HostArg { ip: to, zone: None };
                let way = Way::to(&host, Some(&self.interface))?;
                let mac = if self.dst_mac == Some(Set::Auto) { Some(resolve(&way)?) } else { None };
                empty.insert((way, mac))
            }
        };
        Ok((way.src, *mac))
    }
}

fn resolve(way: &Way) -> Result<MacAddr> {
    let Some(mac) = way.resolve()? else {
        bail!(
            "--dst-mac auto: nobody on {} answers for {}; name the MAC, choose frames with -f, or \
             set --dst-ip",
            way.interface,
            way.next_hop()
        );
    };
    Ok(mac)
}

impl Kind {
    const fn len(self) -> usize {
        match self {
            Self::Ipv4 => 4,
            Self::Ipv6 | Self::Grh => 16,
        }
    }

    fn octets(self, ip: IpAddr) -> Result<Vec<u8>, Unfit> {
        match (self, ip) {
            (Self::Ipv4, IpAddr::V4(ip)) => Ok(ip.octets().to_vec()),
            (Self::Ipv6 | Self::Grh, IpAddr::V6(ip)) => Ok(ip.octets().to_vec()),
            (Self::Grh, IpAddr::V4(ip)) => Ok(Gid::from_ipv4(ip).0.to_vec()),
            _ => Err(Unfit::OtherFamily),
        }
    }
}

/// The first header with addresses of the network layer.
fn place(frame: &Frame<'_>) -> Option<Place> {
    let v6 = |ip: Ipv6Addr| IpAddr::V6(ip).to_canonical();
    frame.layers().find_map(|(at, layer)| match layer {
        Layer::Ipv4(ip) => {
            Some(Place { at: at.saturating_add(12), kind: Kind::Ipv4, dst: ip.dst().into() })
        }
        Layer::Ipv6(ip) => {
            Some(Place { at: at.saturating_add(8), kind: Kind::Ipv6, dst: ip.dst().into() })
        }
        Layer::Grh(grh) => {
            Some(Place { at: at.saturating_add(8), kind: Kind::Grh, dst: v6(grh.dgid.ipv6()) })
        }
        _ => None,
    })
}

/// By which bits the ICRC is wrong; none when it is right or there is none.
fn fault(frame: &Frame<'_>) -> [u8; 4] {
    let icrc = frame.packet().and_then(|(_, packet)| packet.icrc);
    match (icrc, frame.right_icrc()) {
        (Some(found), Some(right)) => (found.get() ^ right.get()).to_le_bytes(),
        _ => [0; 4],
    }
}

const fn is_group(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_multicast() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_multicast(),
    }
}

/// Writes `value` at `at`, if there is room.
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    let end = at.saturating_add(value.len());
    if let Some(room) = bytes.get_mut(at..end) {
        room.copy_from_slice(value);
    }
}

#[cfg(test)]
mod tests;
