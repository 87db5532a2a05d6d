//! Mending a frame in place: lengths, checksums and ICRC of bytes that were edited.
//!
//! The frame is walked anew, so nobody has to say where its headers are. Wrong lengths can end the
//! walk early; then what was found is set right and the frame is walked again, each time at least
//! one header further.

use super::checksum;
use crate::{Content, Frame, Layer, Link, MAX_LAYERS, Ports};

/// What to mend. The pad count is never touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mend {
    /// The lengths of IPv4, IPv6, UDP, GRH and LRH, in tunnels too.
    pub lengths: bool,
    /// The checksums of IPv4, GRE and UDP, and the VCRC of native InfiniBand; one of UDP that is 0
    /// stays 0.
    pub checksums: bool,
    /// The ICRC, where there is room for it.
    pub icrc: bool,
}

impl Mend {
    /// Everything.
    pub const ALL: Self = Self { lengths: true, checksums: true, icrc: true };
    /// Everything but the ICRC, which stays as it is.
    pub const BUT_ICRC: Self = Self { icrc: false, ..Self::ALL };
}

/// Where the parts of a frame end, in bytes from its start, as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Behind the ICRC.
    pub packet_end: usize,
    /// Behind what the outermost tunnel carries; the same as `packet_end` unless the frame inside
    /// the tunnel has padding or a check sequence of its own.
    pub tunnel_end: usize,
    /// The length of the whole frame, trailer included.
    pub wire_len: usize,
}

impl Extent {
    /// A frame that ends with its packet.
    #[must_use]
    pub const fn exact(wire_len: usize) -> Self {
        Self { packet_end: wire_len, tunnel_end: wire_len, wire_len }
    }

    /// Where the parts of a frame end by its own account; `None` when it carries no packet.
    ///
    /// `wire_len` is how long the frame was on the wire.
    #[must_use]
    pub fn of(frame: &Frame<'_>, wire_len: usize) -> Option<Self> {
        let (_, packet) = frame.packet()?;
        let packet_end = frame.content_offset().saturating_add(packet.wire_len());
        let outer = Sites::of(frame).outer_end(frame.bytes());
        Some(Self { packet_end, tunnel_end: outer.unwrap_or(packet_end), wire_len })
    }
}

/// What became of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mended {
    /// Everything asked for is right now.
    Whole,
    /// The capture does not hold every byte: what sums up over the payload could not be made.
    Cut,
    /// The frame carries no packet; it was left alone.
    NoPacket,
}

/// Fills in what the headers say of lengths and checksums.
///
/// `extent` says where packet and frame end on the wire; `bytes` may be shorter when the capture
/// cut them. A datagram to the RoCE port that is not RoCE counts as a packet: ask
/// [`Frame::is_roce`] first where its last four bytes may be something else than an ICRC.
pub fn mend(bytes: &mut [u8], link: Link, extent: Extent, ports: &Ports, what: Mend) -> Mended {
    let mut before = Undo::default();
    let mut sites = Sites::of(&parse(bytes, link, extent, ports));
    if what.lengths {
        // Each round sets at least one more header right, and there are few.
        for _ in 0..=MAX_LAYERS {
            if !sites.set_lengths(bytes, extent, &mut before) {
                break;
            }
            sites = Sites::of(&parse(bytes, link, extent, ports));
        }
    }
    let frame = parse(bytes, link, extent, ports);
    let (is_whole, is_packet) = match &frame.content {
        Content::Packet(_, packet) => (!packet.is_cut(), true),
        Content::NoBth(_) => (false, true),
        _ => (false, false),
    };
    if !is_packet {
        before.restore(bytes);
        return Mended::NoPacket;
    }
    if what.checksums {
        sites.set_ipv4_checksums(bytes);
    }
    if !is_whole {
        return Mended::Cut;
    }
    if what.icrc {
        set_icrc(bytes, link, extent, ports);
    }
    if what.checksums {
        sites.set_vcrc(bytes, extent);
        sites.set_payload_checksums(bytes, extent);
    }
    Mended::Whole
}

fn parse<'b>(bytes: &'b [u8], link: Link, extent: Extent, ports: &Ports) -> Frame<'b> {
    Frame::parse(link, bytes, extent.wire_len, ports)
}

fn set_icrc(bytes: &mut [u8], link: Link, extent: Extent, ports: &Ports) {
    let frame = parse(bytes, link, extent, ports);
    let (Some((_, packet)), Some(icrc)) = (frame.packet(), frame.right_icrc()) else { return };
    let end = frame.content_offset().saturating_add(packet.wire_len());
    let icrc = icrc.get().to_le_bytes();
    put(bytes, end.saturating_sub(icrc.len()), icrc);
}

/// A header with a length or a checksum, and where it begins.
#[derive(Clone, Copy)]
enum Site {
    Ipv4 {
        at: usize,
        header_len: usize,
    },
    Ipv6 {
        at: usize,
    },
    Udp {
        at: usize,
    },
    Gre {
        at: usize,
        has_checksum: bool,
    },
    Grh {
        at: usize,
    },
    Lrh {
        at: usize,
    },
    /// Nothing to mend, but where a tunnel's frame begins when another header is in front.
    Ethernet,
}

/// The headers of a frame that [`mend`] looks at, in wire order.
struct Sites {
    list: [Site; MAX_LAYERS],
    count: usize,
    /// Headers before this one belong to tunnels.
    inner: usize,
}

impl Sites {
    fn of(frame: &Frame<'_>) -> Self {
        let mut sites = Self { list: [Site::Ethernet; MAX_LAYERS], count: 0, inner: 0 };
        for (at, layer) in frame.layers() {
            let site = match layer {
                Layer::Ipv4(ip) => Site::Ipv4 { at, header_len: usize::from(ip.header_len()) },
                Layer::Ipv6(_) => Site::Ipv6 { at },
                Layer::Udp(_) => Site::Udp { at },
                Layer::Gre(gre) => Site::Gre { at, has_checksum: gre.has_checksum() },
                Layer::Grh(_) => Site::Grh { at },
                Layer::Lrh(_) => Site::Lrh { at },
                Layer::Ethernet(_) => Site::Ethernet,
                _ => continue,
            };
            sites.push(site);
        }
        sites
    }

    fn push(&mut self, site: Site) {
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = site;
            if matches!(site, Site::Ethernet) {
                self.inner = self.count;
            }
            self.count = self.count.saturating_add(1);
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, Site)> + ExactSizeIterator {
        let sites = self.list.get(..self.count).unwrap_or_default();
        sites.iter().copied().enumerate()
    }

    /// Where what belongs to header `index` ends.
    const fn end(&self, index: usize, extent: Extent) -> usize {
        if index < self.inner { extent.tunnel_end } else { extent.packet_end }
    }

    /// Where the outermost IP header of a tunnel ends by its own length.
    fn outer_end(&self, bytes: &[u8]) -> Option<usize> {
        self.iter().take(self.inner).find_map(|(_, site)| match site {
            Site::Ipv4 { at, .. } => Some(at.saturating_add(word(bytes, at.saturating_add(2))?)),
            Site::Ipv6 { at } => {
                Some(at.saturating_add(40).saturating_add(word(bytes, at.saturating_add(4))?))
            }
            _ => None,
        })
    }

    /// Sets every length; says whether any was another.
    fn set_lengths(&self, bytes: &mut [u8], extent: Extent, before: &mut Undo) -> bool {
        let mut changed = false;
        for (index, site) in self.iter() {
            let len_from = |at: usize| self.end(index, extent).saturating_sub(at);
            let (field, len) = match site {
                Site::Ipv4 { at, .. } => (at.saturating_add(2), len_from(at)),
                Site::Ipv6 { at } => (at.saturating_add(4), len_from(at.saturating_add(40))),
                Site::Udp { at } => (at.saturating_add(4), len_from(at)),
                Site::Grh { at } => (at.saturating_add(4), len_from(at.saturating_add(40))),
                Site::Lrh { at } => (at.saturating_add(4), len_from(at) >> 2),
                Site::Gre { .. } | Site::Ethernet => continue,
            };
            let Some(old) = bytes.get(field..).and_then(|rest| rest.first_chunk::<2>()) else {
                continue;
            };
            let (old, Ok(mut new)) = (u16::from_be_bytes(*old), u16::try_from(len)) else {
                continue;
            };
            if matches!(site, Site::Lrh { .. }) {
                // Five reserved bits share the word.
                new = old & 0xf800 | new & 0x07ff;
            }
            if old != new {
                before.note(field, old);
                put(bytes, field, new.to_be_bytes());
                changed = true;
            }
        }
        changed
    }

    fn set_ipv4_checksums(&self, bytes: &mut [u8]) {
        for (_, site) in self.iter() {
            let Site::Ipv4 { at, header_len } = site else { continue };
            let field = at.saturating_add(10);
            put(bytes, field, [0, 0]);
            let header = bytes.get(at..at.saturating_add(header_len)).unwrap_or_default();
            let sum = checksum::finish(checksum::sum(0, header));
            put(bytes, field, sum.to_be_bytes());
        }
    }

    /// UDP and GRE, the innermost first: the outer ones cover the inner ones.
    fn set_payload_checksums(&self, bytes: &mut [u8], extent: Extent) {
        for (index, site) in self.iter().rev() {
            match site {
                Site::Udp { at } => {
                    let ip = self.iter().take(index).rev().find_map(|(_, site)| match site {
                        Site::Ipv4 { .. } | Site::Ipv6 { .. } => Some(site),
                        _ => None,
                    });
                    if let Some(ip) = ip {
                        set_udp_checksum(bytes, ip, at);
                    }
                }
                Site::Gre { at, has_checksum: true } => {
                    set_checksum(bytes, at, self.end(index, extent), at.saturating_add(4), 0);
                }
                _ => {}
            }
        }
    }

    fn set_vcrc(&self, bytes: &mut [u8], extent: Extent) {
        for (_, site) in self.iter() {
            if let Site::Lrh { at } = site
                && let Some(covered) = bytes.get(at..extent.packet_end)
            {
                let vcrc = checksum::vcrc(covered);
                put(bytes, extent.packet_end, vcrc);
            }
        }
    }
}

/// Makes the checksum of the datagram at `udp` right, unless it has none.
fn set_udp_checksum(bytes: &mut [u8], ip: Site, udp: usize) {
    let field = udp.saturating_add(6);
    let Some(len) = word(bytes, udp.saturating_add(4)) else { return };
    if word(bytes, field).is_none_or(|old| old == 0) {
        return;
    }
    let addrs = match ip {
        Site::Ipv4 { at, .. } => at.saturating_add(12)..at.saturating_add(20),
        Site::Ipv6 { at } => at.saturating_add(8)..at.saturating_add(40),
        _ => return,
    };
    let pseudo = checksum::sum(0, bytes.get(addrs).unwrap_or_default());
    // The protocol and the length, which is a word already.
    let pseudo = checksum::sum(pseudo, &[0, 17]).wrapping_add(u32::try_from(len).unwrap_or(0));
    set_checksum(bytes, udp, udp.saturating_add(len), field, pseudo);
}

/// Sums up `from..end` with the field at `field` zero and puts the checksum there.
fn set_checksum(bytes: &mut [u8], from: usize, end: usize, field: usize, pseudo: u32) {
    if bytes.len() < end {
        return;
    }
    put(bytes, field, [0, 0]);
    let covered = bytes.get(from..end).unwrap_or_default();
    let sum = match checksum::finish(checksum::sum(pseudo, covered)) {
        // 0 says that there is none (RFC 768); its complement says the same sum.
        0 => 0xffff,
        sum => sum,
    };
    put(bytes, field, sum.to_be_bytes());
}

/// The big-endian word at `at`.
fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..)?.first_chunk::<2>()?;
    Some(usize::from(u16::from_be_bytes(*word)))
}

/// Writes `value` at `at`, if there is room.
fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(room) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
        *room = value;
    }
}

/// The lengths as they were, for a frame that turns out to carry no packet.
#[derive(Default)]
struct Undo {
    words: [Option<(usize, u16)>; MAX_LAYERS],
}

impl Undo {
    /// Notes the word at `at`, the first time.
    fn note(&mut self, at: usize, old: u16) {
        for slot in &mut self.words {
            match slot {
                Some((noted, _)) if *noted == at => return,
                Some(_) => {}
                None => {
                    *slot = Some((at, old));
                    return;
                }
            }
        }
    }

    fn restore(self, bytes: &mut [u8]) {
        for (at, old) in self.words.into_iter().flatten() {
            put(bytes, at, old.to_be_bytes());
        }
    }
}
