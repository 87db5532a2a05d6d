//! Frames that are not RoCE: in an anonymous trace they keep their headers and lose all they carry,
//! so that frames keep their numbers and what is said of them stays true.

use std::net::Ipv4Addr;

use roce_wire::{Content, EtherType, Frame, Gid, Layer, MacAddr, Other, Reject};

use super::layers::Layers;
use super::names::Names;
use super::shape::put;

const ICMP: u8 = 1;
const IGMP: u8 = 2;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Errors of ICMP that quote what they are about, by type.
const ICMP_ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
const ICMPV6_ERRORS: [u8; 4] = [1, 2, 3, 4];
/// Neighbour solicitation and advertisement.
const NEIGHBOUR: [u8; 2] = [135, 136];
/// Bytes of an ICMP message in front of what it quotes.
pub(super) const ICMP_HEAD: usize = 8;
const TCP_HEAD: usize = 20;
const UDP_HEAD: usize = 8;
/// ARP of Ethernet and IPv4: how it begins, and its length.
const ARP_HEAD: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP_LEN: usize = 28;

/// What an ICMP error quotes: where it begins in the frame.
pub(super) fn quoted(frame: &Frame<'_>) -> Option<usize> {
    let Content::Other(other) = &frame.content else { return None };
    let at = frame.content_offset();
    let kind = frame.bytes().get(at)?;
    let is_error = match other.protocol? {
        ICMP => ICMP_ERRORS.contains(kind),
        ICMPV6 => ICMPV6_ERRORS.contains(kind),
        _ => false,
    };
    is_error.then(|| at.saturating_add(ICMP_HEAD))
}

/// Blanks out what a frame carries that is not RoCE.
pub(super) fn blank(names: &Names, frame: &Frame<'_>, layers: &Layers<'_>, bytes: &mut [u8]) {
    let at = frame.content_offset();
    let Some(body) = bytes.get_mut(at..) else { return };
    match &frame.content {
        Content::Packet(..) => blank_packet(body),
        // Kept by whoever edits RoCE.
        Content::NoBth(_) => {}
        Content::Pfc(_) | Content::Pause(_) => {}
        Content::Rejected(reject) => {
            let keep = match reject {
                // A UDP header that is no layer of its own, or the beginning of one.
                Reject::Fragment => UDP_HEAD,
                Reject::TooShort => 4,
                _ => 0,
            };
            body.get_mut(keep..).unwrap_or_default().fill(0);
        }
        Content::Other(other) => blank_other(names, *other, layers, body),
    }
}

/// What bears the RoCE port and is not RoCE: those bits stay by which it is told.
fn blank_packet(body: &mut [u8]) {
    for (at, byte) in body.iter_mut().enumerate() {
        *byte &= match at {
            // Opcode; pad count and version; reserved bits.
            0 | 4 => 0xff,
            1 => 0x3f,
            8 => 0x7f,
            _ => 0,
        };
    }
}

fn blank_other(names: &Names, other: Other, layers: &Layers<'_>, body: &mut [u8]) {
    let has_udp = matches!(layers.iter().last(), Some((_, Layer::Udp(_))));
    let keep = match other.protocol {
        Some(TCP) => TCP_HEAD,
        Some(UDP) if !has_udp => UDP_HEAD,
        Some(ICMP) => ICMP_HEAD,
        // An extension header that is not there whole: next header and length.
        Some(0 | 43 | 44 | 51 | 60 | 135 | 139 | 140) => 2,
        Some(ICMPV6) => return blank_icmpv6(names, body),
        Some(IGMP) => return edit_igmp(names, body),
        None if other.ethertype == Some(EtherType::ARP) => return edit_arp(names, body),
        _ => 0,
    };
    // The version of IP tells what comes behind some headers, also where that is cut.
    let version = body.first().map_or(0, |first| first & 0xf0);
    body.get_mut(keep..).unwrap_or_default().fill(0);
    if keep == 0 {
        put(body, 0, &[version]);
    }
}

/// Neighbour discovery keeps its addresses under their new names.
fn blank_icmpv6(names: &Names, body: &mut [u8]) {
    let is_neighbour = body.first().is_some_and(|kind| NEIGHBOUR.contains(kind));
    let Some(rest) = body.get_mut(ICMP_HEAD..) else { return };
    if !is_neighbour {
        return rest.fill(0);
    }
    let Some((target, options)) = rest.split_first_chunk_mut::<16>() else { return rest.fill(0) };
    *target = names.gid(Gid(*target)).0;
    let mut options = options;
    // Each option: kind 1, length in words of 8 bytes 1, data.
    while let [kind, words, ..] = options {
        let (kind, len) = (*kind, usize::from(*words).saturating_mul(8));
        if len == 0 || len > options.len() {
            break;
        }
        let (option, behind) =
            std::mem::take(&mut options).split_at_mut_checked(len).unwrap_or_default();
        match option.get_mut(2..).and_then(<[u8]>::first_chunk_mut) {
            Some(mac) if matches!(kind, 1 | 2) && len == 8 => *mac = names.mac(MacAddr(*mac)).0,
            _ => option.get_mut(2..).unwrap_or_default().fill(0),
        }
        options = behind;
    }
    options.fill(0);
}

/// Groups under their new names: a message of IGMP has one, a report of version 3 any number.
fn edit_igmp(names: &Names, body: &mut [u8]) {
    const REPORT_V3: u8 = 0x22;
    let kind = body.first().copied();
    let Some((head, rest)) = body.split_at_mut_checked(8) else { return body.fill(0) };
    if kind != Some(REPORT_V3) {
        rename_ipv4(names, head, 4);
        return rest.fill(0);
    }
    let mut rest = rest;
    while let Some((len, addresses)) = igmp_record(rest) {
        let (record, behind) =
            std::mem::take(&mut rest).split_at_mut_checked(len).unwrap_or_default();
        for at in (1..addresses).map(|word| word.saturating_mul(4)) {
            rename_ipv4(names, record, at);
        }
        record.get_mut(addresses.saturating_mul(4)..).unwrap_or_default().fill(0);
        rest = behind;
    }
    rest.fill(0);
}

/// The length of a record, and of its part with addresses in words: kind 1, words of other data 1,
/// count of sources 2, group 4, sources, other data. `None` when it is not there whole.
fn igmp_record(rest: &[u8]) -> Option<(usize, usize)> {
    let &[_, words, high, low] = rest.first_chunk()?;
    let addresses = usize::from(u16::from_be_bytes([high, low])).saturating_add(2);
    let len = addresses.saturating_add(usize::from(words)).saturating_mul(4);
    (len <= rest.len()).then_some((len, addresses))
}

fn rename_ipv4(names: &Names, bytes: &mut [u8], at: usize) {
    if let Some(ip) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        let ip = names.ipv4(Ipv4Addr::from_octets(*ip)).octets();
        put(bytes, at, &ip);
    }
}

/// Addresses of ARP under their new names; what is no ARP as everybody speaks it is blanked out.
fn edit_arp(names: &Names, body: &mut [u8]) {
    let Some((arp, rest)) = body.split_first_chunk_mut::<ARP_LEN>() else { return body.fill(0) };
    rest.fill(0);
    if !arp.starts_with(&ARP_HEAD) {
        return arp.fill(0);
    }
    for at in [8, 18] {
        if let Some(mac) = arp.get(at..).and_then(<[u8]>::first_chunk) {
            let mac = names.mac(MacAddr(*mac)).0;
            put(arp, at, &mac);
        }
    }
    for at in [14, 24] {
        rename_ipv4(names, arp, at);
    }
}

/// Blanks out what stands behind the packet: padding, and what switches add.
pub(super) fn blank_trailer(frame: &Frame<'_>, bytes: &mut [u8]) {
    if matches!(frame.content, Content::Other(_) | Content::Rejected(_)) {
        return;
    }
    let at = bytes.len().saturating_sub(frame.trailer().len());
    bytes.get_mut(at..).unwrap_or_default().fill(0);
}

/// Where the headers of a frame end that are known here.
pub(super) fn headers_end(frame: &Frame<'_>) -> usize {
    let at = frame.content_offset();
    let rest = frame.bytes().get(at..).unwrap_or_default();
    let more = match &frame.content {
        Content::Packet(_, packet) => packet.header_len(),
        Content::Other(other) => match (other.protocol, rest.get(12)) {
            (Some(TCP), Some(offset)) => usize::from(offset >> 4).saturating_mul(4),
            (Some(ICMP | ICMPV6), _) => ICMP_HEAD,
            (None, _) => rest.len().min(64),
            _ => 0,
        },
        // What is no RoCE by its length would look like RoCE that was cut.
        Content::Rejected(_) => rest.len(),
        Content::NoBth(_) | Content::Pfc(_) | Content::Pause(_) => rest.len(),
    };
    at.saturating_add(more)
}
