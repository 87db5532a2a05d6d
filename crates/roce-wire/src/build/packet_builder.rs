//! A packet to be made: BTH, extended headers, payload; pad and ICRC come on their own.

use bytes::BufMut;
use crc32fast::Hasher;

use super::Gmp;
use crate::header::{Header, TooShort, put};
use crate::icrc::{self, Cover};
use crate::opcode::ExtHeaders;
use crate::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Icrc, Ieth, ImmDt, Msn, Opcode, PKey, Packet,
    Psn, QKey, Qpn, RKey, Rdeth, Reth, Syndrome, VirtAddr, XrcEth,
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
    rdeth: Option<Rdeth>,
    deth: Option<Deth>,
    xrceth: Option<XrcEth>,
    feth: Option<Feth>,
    reth: Option<Reth>,
    atomic_eth: Option<AtomicEth>,
    aeth: Option<Aeth>,
    atomic_ack_eth: Option<AtomicAckEth>,
    imm_dt: Option<ImmDt>,
    ieth: Option<Ieth>,
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
const LONGEST_HEADERS: usize = 84;
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
        let nobody = RKey::new(0);
        let nowhere = VirtAddr::new(0);
        Self {
            bth: Bth::new(opcode, dest_qp, psn),
            rdeth: has.has(ExtHeaders::RDETH).then(|| Rdeth::new(0)),
            deth: has.has(ExtHeaders::DETH).then(|| Deth::new(QKey::new(0), Qpn::new(0))),
            xrceth: has.has(ExtHeaders::XRCETH).then(|| XrcEth::new(0)),
            feth: has.has(ExtHeaders::FETH).then(|| Feth::new(0, 0)),
            reth: has.has(ExtHeaders::RETH).then(|| Reth::new(nowhere, nobody, 0)),
            atomic_eth: has
                .has(ExtHeaders::ATOMIC_ETH)
                .then(|| AtomicEth::new(nowhere, nobody, 0, 0)),
            aeth: has
                .has(ExtHeaders::AETH)
                .then(|| Aeth::new(Syndrome::ACK_UNLIMITED, Msn::new(0))),
            atomic_ack_eth: has.has(ExtHeaders::ATOMIC_ACK_ETH).then(|| AtomicAckEth::new(0)),
            imm_dt: has.has(ExtHeaders::IMM_DT).then_some(ImmDt { data: [0; 4] }),
            ieth: has.has(ExtHeaders::IETH).then_some(Ieth { r_key: nobody }),
            payload: &[],
            pad: Pad::Right,
            icrc: IcrcFill::Right,
        }
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
    pub fn edit_bth(self, edit: impl FnOnce(Bth) -> Bth) -> Self {
        Self { bth: edit(self.bth), ..self }
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
    pub const fn rdeth(mut self, header: Rdeth) -> Self {
        self.rdeth = Some(header);
        self
    }

    /// The same with this DETH.
    #[must_use]
    pub const fn deth(mut self, header: Deth) -> Self {
        self.deth = Some(header);
        self
    }

    /// The same with this XRCETH.
    #[must_use]
    pub const fn xrceth(mut self, header: XrcEth) -> Self {
        self.xrceth = Some(header);
        self
    }

    /// The same with this FETH.
    #[must_use]
    pub const fn feth(mut self, header: Feth) -> Self {
        self.feth = Some(header);
        self
    }

    /// The same with this RETH.
    #[must_use]
    pub const fn reth(mut self, header: Reth) -> Self {
        self.reth = Some(header);
        self
    }

    /// The same with this AtomicETH.
    #[must_use]
    pub const fn atomic_eth(mut self, header: AtomicEth) -> Self {
        self.atomic_eth = Some(header);
        self
    }

    /// The same with this AETH.
    #[must_use]
    pub const fn aeth(mut self, header: Aeth) -> Self {
        self.aeth = Some(header);
        self
    }

    /// The same with this AtomicAckETH.
    #[must_use]
    pub const fn atomic_ack_eth(mut self, header: AtomicAckEth) -> Self {
        self.atomic_ack_eth = Some(header);
        self
    }

    /// The same with this immediate data.
    #[must_use]
    pub const fn imm_dt(mut self, data: [u8; 4]) -> Self {
        self.imm_dt = Some(ImmDt { data });
        self
    }

    /// The same with this key to invalidate.
    #[must_use]
    pub const fn ieth(mut self, r_key: RKey) -> Self {
        self.ieth = Some(Ieth { r_key });
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
        let mut len = Bth::LEN.saturating_add(icrc);
        self.each_header(|bytes| len = len.saturating_add(bytes.len()));
        len.saturating_add(self.payload.len()).saturating_add(self.pad_bytes().len())
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
        let Self {
            bth: _,
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
            payload: _,
            pad: _,
            icrc: _,
        } = self;
        show(rdeth, &mut visit);
        show(deth, &mut visit);
        show(xrceth, &mut visit);
        show(feth, &mut visit);
        show(reth, &mut visit);
        show(atomic_eth, &mut visit);
        show(aeth, &mut visit);
        show(atomic_ack_eth, &mut visit);
        show(imm_dt, &mut visit);
        show(ieth, &mut visit);
    }

    /// Appends the packet; `cover` is what stands in front of it as far as the ICRC covers it.
    pub(super) fn emit(
        &self,
        cover: Option<Cover<'_>>,
        out: &mut impl BufMut,
    ) -> Result<(), TooShort> {
        let bth = match self.pad {
            // At most 3, so nothing is lost.
            Pad::Right => self.bth.with_pad_count(u8::try_from(self.right_pad()).unwrap_or(0)),
            Pad::Given(_) => self.bth,
        };
        bth.emit(out)?;
        let mut head = Stage::<LONGEST_HEADERS>::new();
        self.each_header(|bytes| head.push(bytes));
        let parts = [head.bytes(), self.payload, self.pad_bytes()];
        for part in parts {
            put("packet", part, out)?;
        }
        match self.fill(cover, &bth, parts) {
            Some(icrc) => icrc.emit(out),
            None => Ok(()),
        }
    }

    fn fill(&self, cover: Option<Cover<'_>>, bth: &Bth, parts: [&[u8]; 3]) -> Option<Icrc> {
        let right = |cover| right_icrc(cover, bth, parts);
        // Without headers in front nothing is covered, and an ICRC would mean nothing.
        match self.icrc {
            IcrcFill::Right => Some(cover.map_or(Icrc::new(0), right)),
            IcrcFill::Flipped(bits) => {
                Some(Icrc::new(cover.map_or(Icrc::new(0), right).get() ^ bits))
            }
            IcrcFill::Given(icrc) => Some(icrc),
            IcrcFill::Absent => None,
        }
    }
}

/// The same packet to be made anew: pad and ICRC are right, whatever they were.
impl<'p> From<&Packet<'p>> for PacketBuilder<'p> {
    fn from(packet: &Packet<'p>) -> Self {
        Self {
            bth: *packet.bth,
            rdeth: packet.rdeth.copied(),
            deth: packet.deth.copied(),
            xrceth: packet.xrceth.copied(),
            feth: packet.feth.copied(),
            reth: packet.reth.copied(),
            atomic_eth: packet.atomic_eth.copied(),
            aeth: packet.aeth.copied(),
            atomic_ack_eth: packet.atomic_ack_eth.copied(),
            imm_dt: packet.imm_dt.copied(),
            ieth: packet.ieth.copied(),
            payload: packet.payload,
            pad: Pad::Right,
            icrc: IcrcFill::Right,
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

/// Most packets lack most headers: nothing is done for those.
#[inline]
fn show<H: Header>(header: &Option<H>, visit: &mut impl FnMut(&[u8])) {
    if let Some(header) = header {
        visit(header.as_bytes());
    }
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

// Every header at once fits the stage, so that none is ever left out.
const _: () = assert!(
    size_of::<Rdeth>()
        + size_of::<Deth>()
        + size_of::<XrcEth>()
        + size_of::<Feth>()
        + size_of::<Reth>()
        + size_of::<AtomicEth>()
        + size_of::<Aeth>()
        + size_of::<AtomicAckEth>()
        + size_of::<ImmDt>()
        + size_of::<Ieth>()
        <= LONGEST_HEADERS
);
