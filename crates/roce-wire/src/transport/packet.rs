//! One packet: BTH, the extended headers its opcode calls for, payload, pad and ICRC.

use bytes::BufMut;

use super::{Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Ieth, ImmDt, Rdeth, Reth, XrcEth};
use crate::header::{AnyHeader, Header, TooShort, put};
use crate::icrc::Icrc;
use crate::opcode::{ExtHeaders, OpcodeInfo};

/// A packet from BTH to ICRC. The fields stand in wire order.
///
/// Nothing is judged here. An unknown opcode is a BTH and a payload; a packet that the capture cut
/// has a shorter payload and no ICRC; so has one that [`lacks_headers`](Self::lacks_headers).
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Base transport header.
    pub bth: &'a Bth,
    /// Of reliable datagrams.
    pub rdeth: Option<&'a Rdeth>,
    /// Of datagrams.
    pub deth: Option<&'a Deth>,
    /// Of XRC requests.
    pub xrceth: Option<&'a XrcEth>,
    /// Of FLUSH.
    pub feth: Option<&'a Feth>,
    /// Of RDMA requests.
    pub reth: Option<&'a Reth>,
    /// Of atomic requests.
    pub atomic_eth: Option<&'a AtomicEth>,
    /// Of acknowledgements and READ responses.
    pub aeth: Option<&'a Aeth>,
    /// Of atomic acknowledgements.
    pub atomic_ack_eth: Option<&'a AtomicAckEth>,
    /// Immediate data.
    pub imm_dt: Option<&'a ImmDt>,
    /// Of SEND with Invalidate.
    pub ieth: Option<&'a Ieth>,
    /// What the message carries in this packet, as far as captured.
    pub payload: &'a [u8],
    /// As many bytes as the pad count says, when there are as many before the ICRC.
    pub pad: &'a [u8],
    /// The invariant CRC; absent when cut off or when the length leaves no room for it.
    pub icrc: Option<&'a Icrc>,
    wire_len: usize,
    header_len: usize,
    after_bth: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Lays a packet over `bytes`, which begin at the BTH and end with the ICRC or with the cut.
    ///
    /// `wire_len` is how long the packet is by its own account; `bytes` may be shorter when the
    /// capture cut it, and what they have beyond it is not looked at.
    ///
    /// # Errors
    /// [`TooShort`] when there is no whole BTH.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a call would copy the packet, which costs as much as parsing it"
    )]
    pub fn parse(bytes: &'a [u8], wire_len: usize) -> Result<Self, TooShort> {
        let bytes = bytes.get(..wire_len).unwrap_or(bytes);
        let (bth, rest) = Bth::parse(bytes)?;
        let mut packet = Self::bare(bth, wire_len);
        packet.after_bth = rest;
        let rest = match bth.opcode.info() {
            Some(info) => packet.extended_headers(info, rest),
            None => rest,
        };
        packet.body(rest, bytes.len());
        Ok(packet)
    }

    /// Only a BTH.
    #[inline]
    const fn bare(bth: &'a Bth, wire_len: usize) -> Self {
        Self {
            bth,
            rdeth: None,
            deth: None,
            xrceth: None,
            feth: None,
            reth: None,
            atomic_eth: None,
            aeth: None,
            atomic_ack_eth: None,
            imm_dt: None,
            ieth: None,
            payload: &[],
            pad: &[],
            icrc: None,
            wire_len,
            header_len: Bth::LEN,
            after_bth: &[],
        }
    }

    /// Takes the headers of the opcode off the front; returns what follows the last whole one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the packet through memory")]
    fn extended_headers(&mut self, info: &OpcodeInfo, bytes: &'a [u8]) -> &'a [u8] {
        let mut take = Take { rest: bytes, all_there: true };
        // Most packets have one of these or none; asking for each of the ten costs more than the
        // rest of the packet.
        match info.headers {
            ExtHeaders::NONE => return bytes,
            ExtHeaders::AETH => self.aeth = take.header(true),
            ExtHeaders::RETH => self.reth = take.header(true),
            headers => self.all_headers(headers, &mut take),
        }
        let taken = bytes.len().saturating_sub(take.rest.len());
        self.header_len = Bth::LEN.saturating_add(taken);
        take.rest
    }

    /// Takes any headers there can be, in wire order.
    #[inline(never)]
    fn all_headers(&mut self, has: ExtHeaders, take: &mut Take<'a>) {
        self.rdeth = take.header(has.has(ExtHeaders::RDETH));
        self.deth = take.header(has.has(ExtHeaders::DETH));
        self.xrceth = take.header(has.has(ExtHeaders::XRCETH));
        self.feth = take.header(has.has(ExtHeaders::FETH));
        self.reth = take.header(has.has(ExtHeaders::RETH));
        self.atomic_eth = take.header(has.has(ExtHeaders::ATOMIC_ETH));
        self.aeth = take.header(has.has(ExtHeaders::AETH));
        self.atomic_ack_eth = take.header(has.has(ExtHeaders::ATOMIC_ACK_ETH));
        self.imm_dt = take.header(has.has(ExtHeaders::IMM_DT));
        self.ieth = take.header(has.has(ExtHeaders::IETH));
    }

    /// Divides what follows the headers into payload, pad and ICRC; `had` bytes were captured.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the packet through memory")]
    fn body(&mut self, rest: &'a [u8], had: usize) {
        self.payload = rest;
        if had < self.wire_len {
            return;
        }
        if let Some((body, icrc)) = rest.split_last_chunk::<4>() {
            self.icrc = Icrc::parse(icrc).ok().map(|(icrc, _)| icrc);
            let covered = self.after_bth.len().saturating_sub(Icrc::LEN);
            self.after_bth = self.after_bth.get(..covered).unwrap_or_default();
            let pad = usize::from(self.bth.pad_count());
            let split = body.len().checked_sub(pad).unwrap_or(body.len());
            (self.payload, self.pad) = body.split_at(split);
        }
    }

    /// Appends the packet as it is, byte for byte.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room; what was written before stays.
    pub fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        let Self {
            bth,
            rdeth,
            deth,
            xrceth,
            feth,
            reth,
            atomic_eth,
            aeth,
            atomic_ack_eth,
            imm_dt,
            ieth,
            payload,
            pad,
            icrc,
            wire_len: _,
            header_len: _,
            after_bth: _,
        } = *self;
        bth.emit(out)?;
        emit_if(rdeth, out)?;
        emit_if(deth, out)?;
        emit_if(xrceth, out)?;
        emit_if(feth, out)?;
        emit_if(reth, out)?;
        emit_if(atomic_eth, out)?;
        emit_if(aeth, out)?;
        emit_if(atomic_ack_eth, out)?;
        emit_if(imm_dt, out)?;
        emit_if(ieth, out)?;
        put("payload", payload, out)?;
        put("pad", pad, out)?;
        emit_if(icrc, out)
    }

    /// Whether an extended header that the opcode calls for is not there whole. What there is of
    /// it stands in the payload.
    #[must_use]
    pub fn lacks_headers(&self) -> bool {
        let wanted = self.bth.opcode.info().map_or(0, |info| usize::from(info.headers_len));
        self.header_len < Bth::LEN.saturating_add(wanted)
    }

    /// The length from BTH to ICRC by the account of the headers below, in bytes.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        self.wire_len
    }

    /// The length of BTH and of the extended headers that are there, in bytes.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        self.header_len
    }

    /// The length of the payload by the packet's own account, in bytes, cut off or not. Headers
    /// that the opcode calls for are none of it, even where the capture ends inside them.
    #[must_use]
    pub fn payload_wire_len(&self) -> usize {
        let wanted = self.bth.opcode.info().map_or(0, |info| usize::from(info.headers_len));
        let headers = self.header_len.max(Bth::LEN.saturating_add(wanted));
        let body = self.wire_len.saturating_sub(headers);
        let Some(body) = body.checked_sub(Icrc::LEN) else { return body };
        body.checked_sub(usize::from(self.bth.pad_count())).unwrap_or(body)
    }

    /// What stands between BTH and ICRC, or between BTH and the end when there is no ICRC.
    #[must_use]
    pub const fn after_bth(&self) -> &'a [u8] {
        self.after_bth
    }

    /// Whether the capture holds less than the packet had.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let icrc = if self.icrc.is_some() { Icrc::LEN } else { 0 };
        let there = Bth::LEN.saturating_add(self.after_bth.len()).saturating_add(icrc);
        there < self.wire_len
    }

    /// Calls `visit` for BTH and each extended header that is there, in wire order.
    pub fn for_each_header(&self, visit: &mut dyn FnMut(&dyn AnyHeader)) {
        visit(self.bth);
        visit_if(self.rdeth, visit);
        visit_if(self.deth, visit);
        visit_if(self.xrceth, visit);
        visit_if(self.feth, visit);
        visit_if(self.reth, visit);
        visit_if(self.atomic_eth, visit);
        visit_if(self.aeth, visit);
        visit_if(self.atomic_ack_eth, visit);
        visit_if(self.imm_dt, visit);
        visit_if(self.ieth, visit);
    }
}

fn emit_if<H: Header>(header: Option<&H>, out: &mut impl BufMut) -> Result<(), TooShort> {
    header.map_or(Ok(()), |header| header.emit(out))
}

fn visit_if<H: Header>(header: Option<&H>, visit: &mut dyn FnMut(&dyn AnyHeader)) {
    if let Some(header) = header {
        visit(header);
    }
}

/// Takes headers off the front of `rest` until one is not there whole.
struct Take<'a> {
    rest: &'a [u8],
    all_there: bool,
}

impl<'a> Take<'a> {
    #[inline]
    fn header<H: Header>(&mut self, wanted: bool) -> Option<&'a H> {
        if !wanted || !self.all_there {
            return None;
        }
        match H::parse(self.rest) {
            Ok((header, rest)) => {
                self.rest = rest;
                Some(header)
            }
            Err(_) => {
                self.all_there = false;
                None
            }
        }
    }
}
