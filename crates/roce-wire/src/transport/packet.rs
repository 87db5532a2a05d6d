//! One packet: BTH, the extended headers its opcode calls for, payload, pad and ICRC.

use bytes::BufMut;

use super::{Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Ieth, ImmDt, Rdeth, Reth, XrcEth};
use crate::header::{AnyHeader, Header, TooShort, put};
use crate::icrc::Icrc;
use crate::opcode::ExtHeaders;

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
        let (bth, behind) = Bth::parse(bytes.get(..wire_len).unwrap_or(bytes))?;
        Self::behind(bth, behind, wire_len).ok_or(TooShort {
            header: Bth::NAME,
            offset: 0,
            needed: Bth::LEN,
            had: wire_len,
        })
    }

    /// The same with the bytes behind the BTH; `None` when there is no room for a BTH in
    /// `wire_len`.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a call would copy the packet, which costs as much as parsing it"
    )]
    pub(crate) fn behind(bth: &'a Bth, behind: &'a [u8], wire_len: usize) -> Option<Self> {
        let after_bth_len = wire_len.checked_sub(Bth::LEN)?;
        let after_bth = behind.get(..after_bth_len).unwrap_or(behind);
        let (ext, rest) = match bth.opcode.info() {
            Some(info) => Extended::parse(info.headers, after_bth),
            None => (Extended::default(), after_bth),
        };
        let ext_len = after_bth.len().saturating_sub(rest.len());
        let header_len = ext_len.saturating_add(Bth::LEN);
        let body = Body::parse(rest, after_bth.len() < after_bth_len, bth.pad_count());
        let after_bth = match (body.icrc, after_bth.split_last_chunk::<4>()) {
            (Some(_), Some((covered, _))) => covered,
            _ => after_bth,
        };
        let Extended { rdeth, deth, xrceth, feth, reth, atomic_eth, aeth, .. } = ext;
        let Extended { atomic_ack_eth, imm_dt, ieth, .. } = ext;
        let Body { payload, pad, icrc } = body;
        Some(Self {
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
            wire_len,
            header_len,
            after_bth,
        })
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
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would put the packet into memory")]
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
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would put the packet into memory")]
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

/// The headers between BTH and payload. The fields stand in wire order.
#[derive(Clone, Copy, Default)]
struct Extended<'a> {
    rdeth: Option<&'a Rdeth>,
    deth: Option<&'a Deth>,
    xrceth: Option<&'a XrcEth>,
    feth: Option<&'a Feth>,
    reth: Option<&'a Reth>,
    atomic_eth: Option<&'a AtomicEth>,
    aeth: Option<&'a Aeth>,
    atomic_ack_eth: Option<&'a AtomicAckEth>,
    imm_dt: Option<&'a ImmDt>,
    ieth: Option<&'a Ieth>,
}

impl<'a> Extended<'a> {
    /// Takes these headers off the front; also returns what follows the last whole one.
    ///
    /// Most packets have one or none. Asking for each of the ten costs more than the rest of the
    /// packet, and so does passing all of them through memory.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the headers through memory")]
    fn parse(headers: ExtHeaders, bytes: &'a [u8]) -> (Self, &'a [u8]) {
        let mut take = Take { rest: bytes, all_there: true };
        let some = match headers {
            ExtHeaders::NONE => Self::default(),
            ExtHeaders::AETH => Self { aeth: take.header(true), ..Self::default() },
            ExtHeaders::RETH => Self { reth: take.header(true), ..Self::default() },
            headers => return Self::any(headers, bytes),
        };
        (some, take.rest)
    }

    /// Takes any headers there can be, in wire order.
    #[inline(never)]
    fn any(has: ExtHeaders, bytes: &'a [u8]) -> (Self, &'a [u8]) {
        let mut take = Take { rest: bytes, all_there: true };
        let all = Self {
            rdeth: take.header(has.has(ExtHeaders::RDETH)),
            deth: take.header(has.has(ExtHeaders::DETH)),
            xrceth: take.header(has.has(ExtHeaders::XRCETH)),
            feth: take.header(has.has(ExtHeaders::FETH)),
            reth: take.header(has.has(ExtHeaders::RETH)),
            atomic_eth: take.header(has.has(ExtHeaders::ATOMIC_ETH)),
            aeth: take.header(has.has(ExtHeaders::AETH)),
            atomic_ack_eth: take.header(has.has(ExtHeaders::ATOMIC_ACK_ETH)),
            imm_dt: take.header(has.has(ExtHeaders::IMM_DT)),
            ieth: take.header(has.has(ExtHeaders::IETH)),
        };
        (all, take.rest)
    }
}

/// What follows the headers.
struct Body<'a> {
    payload: &'a [u8],
    pad: &'a [u8],
    icrc: Option<&'a Icrc>,
}

impl<'a> Body<'a> {
    /// Divides it into payload, pad and ICRC; what the capture `cut` is all payload.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would pass the slices through memory")]
    fn parse(bytes: &'a [u8], cut: bool, pad_count: u8) -> Self {
        let whole = if cut { None } else { bytes.split_last_chunk::<4>() };
        let Some((body, icrc)) = whole else {
            return Self { payload: bytes, pad: &[], icrc: None };
        };
        let split = body.len().checked_sub(usize::from(pad_count)).unwrap_or(body.len());
        let (payload, pad) = body.split_at(split);
        Self { payload, pad, icrc: Icrc::parse(icrc).ok().map(|(icrc, _)| icrc) }
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
