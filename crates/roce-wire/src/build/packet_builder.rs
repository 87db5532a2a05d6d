//! A packet to be made: BTH, extended headers, payload; pad and ICRC come on their own.

use bytes::BufMut;
use crc32fast::Hasher;

use super::Gmp;
use crate::header::{Header, TooShort, put};
use crate::icrc::{self, Cover};
use crate::opcode::ExtHeaders;
use crate::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Icrc, Ieth, ImmDt, Msn, Opcode, PKey, Packet,
    Psn, QKey, Qpn, RKey, Rdeth, Reth, Syndrome, XrcEth,
};

/// A packet to be made.
///
/// [`new`](Self::new) puts in the extended headers that the opcode calls for, all zero; the
/// setters replace them, and also add ones that do not belong there. Pad count, pad and ICRC are
/// right unless asked otherwise.
///
/// ```
/// use roce_wire::{Opcode, PacketBuilder, Psn, Qpn, RKey, Reth, VirtAddr};
/// let write = PacketBuilder::new(Opcode::RC_RDMA_WRITE_ONLY, Qpn::new(0x118), Psn::new(8))
///     .reth(Reth::new(VirtAddr::new(0x1000), RKey::new(0x1234), 5))
///     .payload(b"hello");
/// // BTH 12, RETH 16, payload 5, pad 3, ICRC 4.
/// assert_eq!(write.len(), 40);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PacketBuilder<'p> {
    bth: Bth,
    has: ExtHeaders,
    /// Each extended header at a place of its own, in wire order.
    headers: [u8; LONGEST_HEADERS],
    payload: &'p [u8],
    pad: Pad<'p>,
    icrc: IcrcFill,
}

/// Where the pad comes from.
#[derive(Clone, Copy, Debug)]
enum Pad<'p> {
    /// As many zero bytes as bring the payload to a multiple of 4, and their number in the BTH.
    Right,
    /// These bytes; the count stays as it is in the BTH.
    Given(&'p [u8]),
}

/// What stands where the ICRC belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcrcFill {
    /// The right one.
    Right,
    /// The right one with these bits flipped.
    Flipped(u32),
    /// This one, right or wrong.
    Given(Icrc),
    /// Nothing: the packet ends before it, and lengths count no ICRC.
    Absent,
}

/// Every extended header at once: more than any opcode has.
const LONGEST_HEADERS: usize = ExtHeaders::LONGEST;
/// The longest pad.
const ZEROS: [u8; 3] = [0; 3];
/// Up to here a packet is brought together first, so that the ICRC takes one pass.
const SHORT: usize = 128;

impl<'p> PacketBuilder<'p> {
    /// A packet with the extended headers of its opcode, each all zero, and without payload.
    ///
    /// An unknown opcode has none.
    #[must_use]
    pub fn new(opcode: Opcode, dest_qp: Qpn, psn: Psn) -> Self {
        let has = opcode.info().map_or(ExtHeaders::NONE, |info| info.headers);
        let packet = Self {
            bth: Bth::new(opcode, dest_qp, psn),
            has,
            headers: [0; LONGEST_HEADERS],
            payload: &[],
            pad: Pad::Right,
            icrc: IcrcFill::Right,
        };
        if has.has(ExtHeaders::AETH) {
            return packet.aeth(Aeth::new(Syndrome::ACK_UNLIMITED, Msn::new(0)));
        }
        packet
    }

    /// A congestion notification to the sender's queue pair: BECN set, 16 zero bytes behind the
    /// BTH (IBTA Annex A17, and as ConnectX sends it).
    ///
    /// ```
    /// use core::net::Ipv4Addr;
    /// use roce_wire::{FrameBuilder, MacAddr, PacketBuilder, Qpn};
    /// let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    /// let head = FrameBuilder::ethernet(mac, mac)
    ///     .ipv4(Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 1))
    ///     .traffic_class(48 << 2 | 2)
    ///     .udp(0);
    /// assert_eq!(head.len(&PacketBuilder::cnp(Qpn::new(0xd2))), 74);
    /// ```
    #[must_use]
    pub fn cnp(dest_qp: Qpn) -> PacketBuilder<'static> {
        let cnp = PacketBuilder::new(Opcode::CNP, dest_qp, Psn::new(0)).payload(&[0; 16]);
        PacketBuilder { bth: cnp.bth.with_becn(true), ..cnp }
    }

    /// A management datagram from QP1 to QP1, the general services queue pairs.
    #[must_use]
    pub fn gmp(psn: Psn, datagram: &'p Gmp) -> Self {
        Self::new(Opcode::UD_SEND_ONLY, Qpn::GSI, psn)
            .deth(Deth::new(QKey::GSI, Qpn::GSI))
            .payload(datagram.bytes())
    }

    /// The base header as it stands; the pad count is set on emit.
    #[must_use]
    pub const fn bth(&self) -> Bth {
        self.bth
    }

    /// The same with the base header edited: SE, MigReq, AckReq, FECN, and what no sender should
    /// set, such as the transport version or reserved bits.
    #[must_use]
    pub fn edit_bth(mut self, edit: impl FnOnce(Bth) -> Bth) -> Self {
        self.bth = edit(self.bth);
        self
    }

    /// The same with another partition.
    #[must_use]
    pub const fn p_key(mut self, p_key: PKey) -> Self {
        self.bth.p_key = p_key;
        self
    }

    /// The same with AckReq set.
    #[must_use]
    pub const fn ack_req(mut self) -> Self {
        self.bth = self.bth.with_ack_req(true);
        self
    }

    /// The same with this RDETH.
    #[must_use]
    pub fn rdeth(self, header: Rdeth) -> Self {
        self.with(ExtHeaders::RDETH, &header)
    }

    /// The same with this DETH.
    #[must_use]
    pub fn deth(self, header: Deth) -> Self {
        self.with(ExtHeaders::DETH, &header)
    }

    /// The same with this XRCETH.
    #[must_use]
    pub fn xrceth(self, header: XrcEth) -> Self {
        self.with(ExtHeaders::XRCETH, &header)
    }

    /// The same with this FETH.
    #[must_use]
    pub fn feth(self, header: Feth) -> Self {
        self.with(ExtHeaders::FETH, &header)
    }

    /// The same with this RETH.
    #[must_use]
    pub fn reth(self, header: Reth) -> Self {
        self.with(ExtHeaders::RETH, &header)
    }

    /// The same with this AtomicETH.
    #[must_use]
    pub fn atomic_eth(self, header: AtomicEth) -> Self {
        self.with(ExtHeaders::ATOMIC_ETH, &header)
    }

    /// The same with this AETH.
    #[must_use]
    pub fn aeth(self, header: Aeth) -> Self {
        self.with(ExtHeaders::AETH, &header)
    }

    /// The same with this AtomicAckETH.
    #[must_use]
    pub fn atomic_ack_eth(self, header: AtomicAckEth) -> Self {
        self.with(ExtHeaders::ATOMIC_ACK_ETH, &header)
    }

    /// The same with this immediate data.
    #[must_use]
    pub fn imm_dt(self, data: [u8; 4]) -> Self {
        self.with(ExtHeaders::IMM_DT, &ImmDt { data })
    }

    /// The same with this key to invalidate.
    #[must_use]
    pub fn ieth(self, r_key: RKey) -> Self {
        self.with(ExtHeaders::IETH, &Ieth { r_key })
    }

    /// The same with an extended header.
    #[inline]
    fn with<H: Header>(mut self, which: ExtHeaders, header: &H) -> Self {
        self.has = self.has.and(which);
        if let Some(place) = which.places().next().and_then(|place| self.headers.get_mut(place)) {
            place.copy_from_slice(header.as_bytes());
        }
        self
    }

    /// The same with this payload.
    #[must_use]
    pub const fn payload(mut self, payload: &'p [u8]) -> Self {
        self.payload = payload;
        self
    }

    /// The same with this pad count and these pad bytes instead of the right ones.
    #[must_use]
    pub const fn pad(mut self, count: u8, bytes: &'p [u8]) -> Self {
        self.bth = self.bth.with_pad_count(count);
        self.pad = Pad::Given(bytes);
        self
    }

    /// The same with another ICRC, or none.
    #[must_use]
    pub const fn icrc(mut self, fill: IcrcFill) -> Self {
        self.icrc = fill;
        self
    }

    /// The length from BTH through ICRC, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        let icrc = if self.icrc == IcrcFill::Absent { 0 } else { Icrc::LEN };
        let headers = self.has.places().map(|place| place.len()).fold(0, usize::saturating_add);
        Bth::LEN
            .saturating_add(headers)
            .saturating_add(self.payload.len())
            .saturating_add(self.pad_bytes().len())
            .saturating_add(icrc)
    }

    /// Never: there is always a BTH.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The pad as it will be emitted.
    fn pad_bytes(&self) -> &'p [u8] {
        match self.pad {
            Pad::Given(bytes) => bytes,
            Pad::Right => ZEROS.get(..self.right_pad()).unwrap_or_default(),
        }
    }

    /// How many bytes bring the payload to a multiple of 4.
    const fn right_pad(&self) -> usize {
        self.payload.len().wrapping_neg() & 3
    }

    /// Calls `visit` for each extended header, in wire order.
    fn each_header(&self, mut visit: impl FnMut(&[u8])) {
        for place in self.has.places() {
            visit(self.headers.get(place).unwrap_or_default());
        }
    }

    /// Appends the packet; `cover` is what stands in front of it as far as the ICRC covers it.
    pub(super) fn emit(
        &self,
        cover: Option<Cover<'_>>,
        out: &mut impl BufMut,
    ) -> Result<(), TooShort> {
        let bth = self.padded_bth();
        bth.emit(out)?;
        let mut head = Stage::<LONGEST_HEADERS>::new();
        self.each_header(|bytes| head.push(bytes));
        let parts = [head.bytes(), self.payload, self.pad_bytes()];
        for part in parts {
            put("packet", part, out)?;
        }
        let right = || cover.map(|cover| right_icrc(cover, &bth, parts));
        self.fill(right).map_or(Ok(()), |icrc| icrc.emit(out))
    }

    /// Writes all but the ICRC into a frame that has room for just this packet from `at` on; the
    /// base header, and where the ICRC stands.
    #[inline]
    pub(super) fn place(&self, frame: &mut [u8], at: usize) -> Result<(Bth, usize), TooShort> {
        let bth = self.padded_bth();
        let mut room = frame.get_mut(at..).unwrap_or_default();
        bth.emit(&mut room)?;
        let mut placed = Ok(());
        self.each_header(|bytes| placed = placed.and_then(|()| put("packet", bytes, &mut room)));
        placed?;
        put("packet", self.payload, &mut room)?;
        put("packet", self.pad_bytes(), &mut room)?;
        let left = room.len();
        Ok((bth, frame.len().saturating_sub(left)))
    }

    /// The base header with its pad count.
    #[inline]
    fn padded_bth(&self) -> Bth {
        match self.pad {
            // At most 3, so nothing is lost.
            Pad::Right => self.bth.with_pad_count(u8::try_from(self.right_pad()).unwrap_or(0)),
            Pad::Given(_) => self.bth,
        }
    }

    /// What stands at the end, by the right ICRC where there is one.
    #[inline]
    pub(super) fn fill(&self, right: impl FnOnce() -> Option<Icrc>) -> Option<Icrc> {
        // Without headers in front nothing is covered, and an ICRC would mean nothing.
        let right = || right().unwrap_or(Icrc::new(0));
        match self.icrc {
            IcrcFill::Right => Some(right()),
            IcrcFill::Flipped(bits) => Some(Icrc::new(right().get() ^ bits)),
            IcrcFill::Given(icrc) => Some(icrc),
            IcrcFill::Absent => None,
        }
    }
}

/// The same packet to be made anew: pad and ICRC are right, whatever they were.
impl<'p> From<&Packet<'p>> for PacketBuilder<'p> {
    fn from(packet: &Packet<'p>) -> Self {
        let mut made = Self {
            bth: *packet.bth,
            has: ExtHeaders::NONE,
            headers: [0; LONGEST_HEADERS],
            payload: packet.payload,
            pad: Pad::Right,
            icrc: IcrcFill::Right,
        };
        made.copy(ExtHeaders::RDETH, packet.rdeth);
        made.copy(ExtHeaders::DETH, packet.deth);
        made.copy(ExtHeaders::XRCETH, packet.xrceth);
        made.copy(ExtHeaders::FETH, packet.feth);
        made.copy(ExtHeaders::RETH, packet.reth);
        made.copy(ExtHeaders::ATOMIC_ETH, packet.atomic_eth);
        made.copy(ExtHeaders::AETH, packet.aeth);
        made.copy(ExtHeaders::ATOMIC_ACK_ETH, packet.atomic_ack_eth);
        made.copy(ExtHeaders::IMM_DT, packet.imm_dt);
        made.copy(ExtHeaders::IETH, packet.ieth);
        made
    }
}

impl PacketBuilder<'_> {
    /// Takes over an extended header, if it is there.
    fn copy<H: Header>(&mut self, which: ExtHeaders, header: Option<&H>) {
        if let Some(header) = header {
            *self = self.with(which, header);
        }
    }
}

/// The right ICRC over what lies in three places.
fn right_icrc(cover: Cover<'_>, bth: &Bth, [head, payload, pad]: [&[u8]; 3]) -> Icrc {
    let len = head.len().saturating_add(payload.len()).saturating_add(pad.len());
    if len > SHORT {
        // A CRC goes on from where it stands.
        let mut hasher = Hasher::new_with_initial(icrc::compute(cover, bth, head).get());
        hasher.update(payload);
        hasher.update(pad);
        return Icrc::new(hasher.finalize());
    }
    let mut short = Stage::<SHORT>::new();
    for part in [head, payload, pad] {
        short.push(part);
    }
    icrc::compute(cover, bth, short.bytes())
}

/// Bytes brought together on the stack; what has no room is left out.
struct Stage<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Stage<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    fn push(&mut self, more: &[u8]) {
        let end = self.len.saturating_add(more.len());
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(more);
            self.len = end;
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
