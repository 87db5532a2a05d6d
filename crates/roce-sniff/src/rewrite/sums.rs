//! Checksums of bytes that were edited in place: brought along by what has changed (RFC 1624), so
//! that a right one stays right and a wrong one wrong, also where the capture lacks bytes.

use roce_wire::{Content, Frame, Layer};

use super::layers::Layers;
use super::shape::{put, word};

const ICMP: u8 = 1;
const IGMP: u8 = 2;
const TCP: u8 = 6;
const ICMPV6: u8 = 58;

/// Brings the checksums of all headers along; `old` is the frame before, `new` its bytes now.
pub(super) fn adjust(old: &Frame<'_>, layers: &Layers<'_>, new: &mut [u8]) {
    let before = old.bytes();
    if let Content::Other(other) = &old.content {
        let at = old.content_offset();
        let (field, has_pseudo) = match other.protocol {
            Some(TCP) => (16, true),
            Some(ICMPV6) => (2, true),
            Some(ICMP | IGMP) => (2, false),
            _ => (usize::MAX, false),
        };
        if field != usize::MAX && !matches!(layers.iter().last(), Some((_, Layer::Udp(_)))) {
            let pseudo = if has_pseudo { addresses(layers.as_slice()) } else { 0..0 };
            let end = ip_end(layers.as_slice(), before.len());
            carry(before, new, pseudo, at..end, at.saturating_add(field));
        }
    }
    // The outer ones cover the inner ones.
    for index in (0..layers.as_slice().len()).rev() {
        let Some((at, layer)) = layers.as_slice().get(index) else { continue };
        let end = |len: u16| at.saturating_add(usize::from(len)).min(before.len());
        match layer {
            Layer::Ipv4(ip) => {
                carry(before, new, 0..0, *at..end(ip.header_len().into()), at.saturating_add(10));
            }
            Layer::Udp(udp) if udp.checksum() != 0 => {
                let outer = addresses(layers.as_slice().get(..index).unwrap_or_default());
                carry(before, new, outer, *at..end(udp.length()), at.saturating_add(6));
            }
            Layer::Gre(gre) if gre.has_checksum() => {
                let outer = layers.as_slice().get(..index).unwrap_or_default();
                let end = ip_end(outer, before.len());
                carry(before, new, 0..0, *at..end, at.saturating_add(4));
            }
            _ => {}
        }
    }
}

/// By how much the checksum of the innermost IPv4 header is too high, in ones' complement; `None`
/// when it is right or there is none.
pub(super) fn ipv4_fault(frame: &Frame<'_>) -> Option<u16> {
    let header = frame.bytes().get(innermost_ipv4(frame)?)?;
    // Over a header with a right checksum the sum is all ones, which is zero.
    Some(fold(words(header, false))).filter(|sum| !matches!(sum, 0 | 0xffff))
}

/// What makes the checksum of the innermost IPv4 header wrong by so much where it was mended: where
/// it stands, and its bytes.
pub(super) fn spoil_ipv4(frame: &Frame<'_>, fault: u16) -> Option<(usize, [u8; 2])> {
    if ipv4_fault(frame).is_some() {
        return None;
    }
    let at = innermost_ipv4(frame)?.start.checked_add(10)?;
    let right = word(frame.bytes(), at)?;
    Some((at, fold(u64::from(right).saturating_add(u64::from(fault))).to_be_bytes()))
}

fn innermost_ipv4(frame: &Frame<'_>) -> Option<std::ops::Range<usize>> {
    let headers = frame.layers().filter_map(|(at, layer)| match layer {
        Layer::Ipv4(ip) => Some((at, usize::from(ip.header_len()))),
        _ => None,
    });
    let (at, len) = headers.last()?;
    Some(at..at.checked_add(len)?)
}

/// Where the last IP header says that its datagram ends, or the capture does.
fn ip_end(layers: &[(usize, Layer<'_>)], captured: usize) -> usize {
    let end = layers.iter().rev().find_map(|(at, layer)| match layer {
        Layer::Ipv4(ip) if ip.total_len() > 0 => {
            Some(at.saturating_add(usize::from(ip.total_len())))
        }
        Layer::Ipv6(ip) => {
            Some(at.saturating_add(40).saturating_add(usize::from(ip.payload_len())))
        }
        _ => None,
    });
    end.unwrap_or(captured).min(captured)
}

/// Where the addresses of the last IP header stand.
fn addresses(layers: &[(usize, Layer<'_>)]) -> std::ops::Range<usize> {
    let found = layers.iter().rev().find_map(|(at, layer)| match layer {
        Layer::Ipv4(_) => Some(at.saturating_add(12)..at.saturating_add(20)),
        Layer::Ipv6(_) => Some(at.saturating_add(8)..at.saturating_add(40)),
        _ => None,
    });
    found.unwrap_or(0..0)
}

/// Brings the checksum at `field` along, which covers both ranges.
fn carry(
    before: &[u8],
    new: &mut [u8],
    pseudo: std::ops::Range<usize>,
    covered: std::ops::Range<usize>,
    field: usize,
) {
    let Some(sum) = word(new, field).filter(|_| covered.contains(&field)) else { return };
    let mut total = u64::from(!sum);
    let mut has_changed = false;
    for range in [pseudo, covered] {
        let old = before.get(range.clone()).unwrap_or_default();
        let now = new.get(range).unwrap_or_default();
        if old != now {
            has_changed = true;
            total = total.saturating_add(words(old, true)).saturating_add(words(now, false));
        }
    }
    if has_changed {
        put(new, field, &(!fold(total)).to_be_bytes());
    }
}

/// The sum of the words, or of their complements.
fn words(bytes: &[u8], complement: bool) -> u64 {
    let flip = if complement { 0xffff } else { 0 };
    let (pairs, rest) = bytes.as_chunks::<2>();
    let sum = pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair) ^ flip));
    let last = rest.first().map_or(0, |byte| u64::from(u16::from_be_bytes([*byte, 0]) ^ flip));
    sum.fold(last, u64::saturating_add)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff).saturating_add(sum >> 16);
    }
    u16::try_from(sum).unwrap_or(0)
}

/// Makes the checksum of the IPv4 header without options at the start of `header` right.
pub(super) fn set_ipv4(header: &mut [u8]) {
    put(header, 10, &[0, 0]);
    let sum = !fold(words(header.get(..20).unwrap_or_default(), false));
    put(header, 10, &sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_rfc_1624() {
        // Section 4: a word changes from 0x5555 to 0x3285 under the checksum 0xdd2f.
        let mut new = vec![0xdd, 0x2f, 0x32, 0x85];
        carry(&[0xdd, 0x2f, 0x55, 0x55], &mut new, 0..0, 0..4, 0);
        assert_eq!(new[..2], [0, 0]);
    }

    #[test]
    fn an_ipv4_header_sums_up_to_nothing() {
        // The header of a CNP as scapy makes it.
        let mut header = vec![
            0x45, 0xc2, 0x00, 0x3c, 0x00, 0x01, 0x40, 0x00, 0x40, 0x11, 0, 0, 10, 0, 0, 1, 10, 0,
            0, 2,
        ];
        set_ipv4(&mut header);
        assert_eq!(header[10..12], [0x25, 0xec]);
    }
}
