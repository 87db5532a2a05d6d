//! The headers in front of packets as bytes: what does not change is put together once.

use bytes::BufMut;
use zerocopy::IntoBytes;

use super::checksum;
use super::packet_builder::PacketBuilder;
use super::part::Part;
use crate::header::{Header, TooShort, put};
use crate::icrc::{self, Cover};
use crate::{Bth, Grh, Icrc, Ipv4, Ipv6, Lrh, Udp};

/// How many headers there are at most.
pub(super) const MAX_PARTS: usize = 16;
/// The longest, those of IPv6 and GRH, as often as there can be one.
const ROOM: usize = MAX_PARTS * 40;

/// The headers in front of the packets of a flow, ready to be put in front of each.
///
/// [`FrameBuilder::head`](super::FrameBuilder::head) makes it; lengths, IPv4 checksums and the ICRC
/// are filled on emit, as there. What changes from packet to packet can be set in place.
#[derive(Clone, Debug)]
pub struct Head {
    bytes: [u8; ROOM],
    len: usize,
    /// What is filled on emit, in order.
    fills: [Fill; MAX_PARTS],
    count: usize,
    /// The last network header, and where it stands: what the ICRC covers.
    net: Option<(Net, usize)>,
    /// The UDP header behind it.
    udp: Option<usize>,
}

/// Fields of one header that are filled on emit.
#[derive(Clone, Copy, Debug)]
struct Fill {
    of: Net,
    at: usize,
    length: bool,
    checksum: bool,
    /// Of IPv4: the sum of its words but for what is filled.
    sum: u32,
}

/// Headers that have such fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Net {
    Ipv4,
    Ipv6,
    Udp,
    Grh,
    Lrh,
}

impl Head {
    pub(super) fn new(parts: &[Part]) -> Self {
        let nothing = Fill { of: Net::Udp, at: 0, length: false, checksum: false, sum: 0 };
        let mut head = Self {
            bytes: [0; ROOM],
            len: 0,
            fills: [nothing; MAX_PARTS],
            count: 0,
            net: None,
            udp: None,
        };
        parts.iter().for_each(|part| head.push(part));
        head
    }

    fn push(&mut self, part: &Part) {
        let (bytes, at) = (part.bytes(), self.len);
        let end = at.saturating_add(bytes.len());
        // There is room for as many as a builder holds.
        let Some(room) = self.bytes.get_mut(at..end) else { return };
        room.copy_from_slice(bytes);
        self.len = end;
        let (of, auto) = match part {
            Part::Ipv4(_, auto) => (Net::Ipv4, auto),
            Part::Ipv6(_, auto) => (Net::Ipv6, auto),
            Part::Udp(_, auto) => (Net::Udp, auto),
            Part::Grh(_, auto) => (Net::Grh, auto),
            Part::Lrh(_, auto) => (Net::Lrh, auto),
            _ => return,
        };
        if of == Net::Udp {
            self.udp = Some(at);
        } else {
            // An LRH is covered unless a GRH follows.
            (self.net, self.udp) = (Some((of, at)), None);
        }
        if let Some(slot) = self.fills.get_mut(self.count) {
            let sum = if of == Net::Ipv4 { sum_of_rest(bytes, auto.length) } else { 0 };
            *slot = Fill { of, at, length: auto.length, checksum: auto.checksum, sum };
            self.count = self.count.saturating_add(1);
        }
    }

    /// The UDP source port.
    pub fn set_udp_src_port(&mut self, port: u16) {
        if let Some(at) = self.udp {
            patch(&mut self.bytes, at, port);
        }
    }

    /// DSCP and ECN together, in the last network header.
    pub fn set_traffic_class(&mut self, class: u8) {
        match self.net {
            Some((Net::Ipv4, at)) => {
                // Version and header length share its word.
                let first = self.bytes.get(at).copied().unwrap_or_default();
                self.set_ipv4_word(at, 0, u16::from_be_bytes([first, class]));
            }
            Some((Net::Ipv6, at)) => {
                edit(&mut self.bytes, at, |ip: Ipv6| ip.with_traffic_class(class));
            }
            Some((Net::Grh, at)) => {
                edit(&mut self.bytes, at, |grh: Grh| grh.with_traffic_class(class));
            }
            _ => {}
        }
    }

    /// Identification of the last network header, if that is IPv4.
    pub fn set_ip_id(&mut self, id: u16) {
        if let Some((Net::Ipv4, at)) = self.net {
            self.set_ipv4_word(at, 4, id);
        }
    }

    /// Sets a word of the IPv4 header that stands at `at`, and keeps its sum right.
    #[inline]
    fn set_ipv4_word(&mut self, at: usize, offset: usize, word: u16) {
        let place = at.saturating_add(offset);
        let before = self.bytes.get(place..).and_then(<[u8]>::first_chunk::<2>);
        let before = before.map_or(0, |bytes| u16::from_be_bytes(*bytes));
        patch(&mut self.bytes, place, word);
        // The last header is that of the last such fill; behind it there may be UDP's.
        let fills = self.fills.get_mut(..self.count).unwrap_or_default();
        if let Some(fill) = fills.iter_mut().rev().find(|fill| fill.at == at) {
            let sum = fill.sum.wrapping_add(u32::from(word));
            fill.sum = sum.wrapping_sub(u32::from(before));
        }
    }

    /// The length of the frame with this packet, in bytes, without Ethernet padding and FCS.
    #[inline]
    #[must_use]
    pub fn len(&self, packet: &PacketBuilder<'_>) -> usize {
        self.len.saturating_add(packet.len())
    }

    /// Appends the whole frame to `out`.
    pub(super) fn emit(
        &mut self,
        packet: &PacketBuilder<'_>,
        out: &mut impl BufMut,
    ) -> Result<(), TooShort> {
        let (needed, had) = (self.len(packet), out.remaining_mut());
        if had < needed {
            return Err(TooShort { header: "frame", offset: 0, needed, had });
        }
        let mut bytes = self.bytes;
        self.fill(&mut bytes, needed);
        let head = bytes.get(..self.len).unwrap_or_default();
        put("frame", head, out)?;
        packet.emit(self.cover(head), out)
    }

    /// Makes the whole frame in `frame`, which must have its [length](Self::len).
    ///
    /// # Errors
    /// [`TooShort`] when `frame` has another length; what is in it then means nothing.
    #[inline]
    pub fn emit_to(&self, packet: &PacketBuilder<'_>, frame: &mut [u8]) -> Result<(), TooShort> {
        let (at, had) = (self.len, frame.len());
        let wrong = || TooShort { header: "frame", offset: 0, needed: self.len(packet), had };
        let room = frame.get_mut(..at).zip(self.bytes.get(..at));
        let (room, head) = room.ok_or_else(wrong)?;
        room.copy_from_slice(head);
        self.fill(frame, had);
        let (bth, end) = packet.place(frame, at)?;
        let right = || {
            let cover = self.cover(frame)?;
            let rest = || frame.get(at.saturating_add(Bth::LEN)..end).unwrap_or_default();
            icrc::in_place(cover, frame, at, end)
                .or_else(|| Some(icrc::compute(cover, &bth, rest())))
        };
        let icrc = packet.fill(right);
        let icrc = icrc.as_ref().map_or(&[][..], Icrc::as_bytes);
        let room = frame.get_mut(end..).filter(|room| room.len() == icrc.len());
        room.ok_or_else(wrong)?.copy_from_slice(icrc);
        Ok(())
    }

    /// Fills what depends on the length of the frame.
    #[inline]
    fn fill(&self, frame: &mut [u8], needed: usize) {
        for fill in self.fills.get(..self.count).unwrap_or_default() {
            let at = fill.at;
            let from_here = needed.saturating_sub(at);
            if fill.length {
                match fill.of {
                    Net::Ipv4 => patch(frame, at.saturating_add(2), u16_or_max(from_here)),
                    Net::Udp => patch(frame, at.saturating_add(4), u16_or_max(from_here)),
                    Net::Ipv6 | Net::Grh => {
                        let behind = from_here.saturating_sub(Ipv6::LEN);
                        patch(frame, at.saturating_add(4), u16_or_max(behind));
                    }
                    Net::Lrh => {
                        edit(frame, at, |lrh: Lrh| lrh.with_pkt_len(u16_or_max(from_here) / 4));
                    }
                }
            }
            if fill.of == Net::Ipv4 && fill.checksum {
                // By the kept sum: to read what was just written would make a processor wait.
                let length = if fill.length { u16_or_max(from_here) } else { 0 };
                let sum = fill.sum.wrapping_add(u32::from(length));
                patch(frame, at.saturating_add(10), checksum::finish(sum));
            }
        }
    }

    /// What the ICRC covers in front of the packet; `frame` begins with these headers.
    #[inline]
    fn cover<'f>(&self, frame: &'f [u8]) -> Option<Cover<'f>> {
        let (net, at) = self.net?;
        let udp = || Some(Udp::parse(frame.get(self.udp?..)?).ok()?.0);
        let net_bytes = frame.get(at..)?;
        Some(match net {
            Net::Ipv4 => Cover::V2Ipv4(Ipv4::parse(net_bytes).ok()?.0, &[], udp()?),
            Net::Ipv6 => Cover::V2Ipv6(Ipv6::parse(net_bytes).ok()?.0, &[], udp()?),
            Net::Grh => Cover::Global(Grh::parse(net_bytes).ok()?.0),
            Net::Lrh => Cover::Local(Lrh::parse(net_bytes).ok()?.0),
            Net::Udp => return None,
        })
    }
}

/// The sum of the words of an IPv4 header without its checksum, and without its length if that is
/// filled.
fn sum_of_rest(header: &[u8], is_length_filled: bool) -> u32 {
    let mut header = header.first_chunk::<{ Ipv4::LEN }>().copied().unwrap_or_default();
    patch(&mut header, 10, 0);
    if is_length_filled {
        patch(&mut header, 2, 0);
    }
    checksum::sum(0, &header)
}

/// Writes a number at its place.
#[inline]
fn patch(bytes: &mut [u8], at: usize, number: u16) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(2)) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// Changes the header that stands at `at`.
#[inline]
fn edit<H: Header>(bytes: &mut [u8], at: usize, edit: impl FnOnce(H) -> H) {
    if let Some(place) = bytes.get_mut(at..)
        && let Ok((header, _)) = H::mut_from_prefix(place)
    {
        *header = edit(*header);
    }
}

/// What does not fit a length field is too long for the wire anyway; the field shows its most.
fn u16_or_max(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}
