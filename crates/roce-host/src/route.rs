//! How this host would send to an address: the interface, its own address, the next hop and the
//! next hop's Ethernet address. Asked of the kernel over netlink, which knows policy routing and
//! both IP families. Numbers are those of Linux `include/uapi/linux/{rtnetlink,neighbour}.h`.

use std::net::IpAddr;

use netlink_packet_core::{DefaultNla, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::Error;
use crate::netlink::attr::Attrs;
use crate::netlink::conversation::Conversation;
use crate::netlink::message::{Family, raw_request};

const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;

const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
/// A gateway of the other IP family.
const RTA_VIA: u16 = 18;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

/// A route to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// What kind of route it is.
    pub kind: RouteKind,
    /// The index of the interface to send by.
    pub interface: u32,
    /// The address of this host that the kernel would send from; absent when it has none there.
    pub source: Option<IpAddr>,
    /// The router to send to; absent when the destination is a neighbour.
    pub gateway: Option<IpAddr>,
}

/// What kind of destination an address is (`rtm_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// Another host.
    Unicast,
    /// An address of this host.
    Local,
    /// A broadcast, multicast or anycast address.
    Group,
    /// Another kind, by the kernel's number.
    Other(u8),
}

/// What the kernel knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its Ethernet address; absent while it is not resolved.
    pub mac: Option<[u8; 6]>,
    /// Whether it did not answer when it was asked for its address.
    pub failed: bool,
}

/// A conversation about routes. Needs no privilege.
#[derive(Debug)]
pub struct RouteNetlink {
    conversation: Conversation,
}

impl RouteNetlink {
    /// Opens the conversation.
    ///
    /// # Errors
    /// When the system does not open a socket.
    pub fn open() -> Result<Self, Error> {
        Ok(Self { conversation: Conversation::open(NETLINK_ROUTE, Family::Route)? })
    }

    /// The route to an address, by one interface where that is asked for.
    ///
    /// # Errors
    /// When there is no route: the system's error is "network unreachable" or like it.
    pub fn route(&mut self, to: IpAddr, by: Option<u32>) -> Result<Option<Route>, Error> {
        let bytes = route_request(self.conversation.next_sequence(), to, by);
        let mut found = None;
        self.conversation.ask("route to an address", &bytes, |kind, fixed, attrs| {
            if kind == NEW_ROUTE {
                found = found.or_else(|| route(fixed, attrs));
            }
        })?;
        Ok(found)
    }

    /// What the kernel knows of a neighbour on an interface; absent when it was never asked for.
    ///
    /// # Errors
    /// When the conversation fails.
    pub fn neighbour(&mut self, interface: u32, ip: IpAddr) -> Result<Option<Neighbour>, Error> {
        let bytes = neighbour_request(self.conversation.next_sequence(), ip);
        let mut found = None;
        self.conversation.ask("list of neighbours", &bytes, |kind, fixed, attrs| {
            if kind == NEW_NEIGHBOUR {
                found = found.or_else(|| neighbour(fixed, attrs, interface, ip));
            }
        })?;
        Ok(found)
    }
}

const fn family(ip: IpAddr) -> u8 {
    // Both numbers fit a byte.
    match ip {
        IpAddr::V4(_) => libc::AF_INET.to_le_bytes()[0],
        IpAddr::V6(_) => libc::AF_INET6.to_le_bytes()[0],
    }
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => bytes.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        16 => bytes.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
        _ => None,
    }
}

/// `struct rtmsg`: family, length of the destination in bits, then what the answer fills.
fn route_request(sequence: u32, to: IpAddr, by: Option<u32>) -> Vec<u8> {
    let bits = if to.is_ipv4() { 32 } else { 128 };
    let mut fixed = [0; 12];
    fixed[0] = family(to);
    fixed[1] = bits;
    let mut attrs = vec![DefaultNla::new(RTA_DST, octets(to))];
    attrs.extend(by.map(|index| DefaultNla::new(RTA_OIF, index.to_ne_bytes().to_vec())));
    raw_request(GET_ROUTE, NLM_F_REQUEST | NLM_F_ACK, sequence, &fixed, &attrs)
}

/// `struct ndmsg` with only the family in it: all neighbours of that family.
fn neighbour_request(sequence: u32, of: IpAddr) -> Vec<u8> {
    let mut fixed = [0; 12];
    fixed[0] = family(of);
    raw_request(GET_NEIGHBOUR, NLM_F_REQUEST | NLM_F_DUMP, sequence, &fixed, &[])
}

/// `struct rtmsg`: the type is its byte 7.
fn route(fixed: &[u8], attrs: Attrs<'_>) -> Option<Route> {
    let kind = match fixed.get(7)? {
        1 => RouteKind::Unicast,
        2 => RouteKind::Local,
        3..=5 => RouteKind::Group,
        other => RouteKind::Other(*other),
    };
    // RTA_VIA holds the family in two bytes, then the address.
    let via = || attrs.get(RTA_VIA).and_then(|bytes| ip(bytes.get(2..)?));
    Some(Route {
        kind,
        interface: attrs.u32(RTA_OIF)?,
        source: attrs.get(RTA_PREFSRC).and_then(ip),
        gateway: attrs.get(RTA_GATEWAY).and_then(ip).or_else(via),
    })
}

/// `struct ndmsg`: interface index at byte 4, state at byte 8.
fn neighbour(fixed: &[u8], attrs: Attrs<'_>, index: u32, of: IpAddr) -> Option<Neighbour> {
    const INCOMPLETE: u16 = 0x01;
    const FAILED: u16 = 0x20;
    let found = u32::from_ne_bytes(*fixed.get(4..)?.first_chunk()?);
    let state = u16::from_ne_bytes(*fixed.get(8..)?.first_chunk()?);
    if found != index || attrs.get(NDA_DST).and_then(ip) != Some(of) {
        return None;
    }
    let usable = state != 0 && state & (INCOMPLETE | FAILED) == 0;
    let mac = attrs.get(NDA_LLADDR).and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
    Some(Neighbour { mac: mac.filter(|_| usable), failed: state & FAILED != 0 })
}

#[cfg(test)]
mod tests;
