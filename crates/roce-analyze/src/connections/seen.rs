//! What the engine needs to know of a packet, taken out of its frame once.

use roce_wire::{
    AckKind, Aeth, Bth, Deth, Ecn, ExtHeaders, Frame, Header as _, Icrc, IcrcState, Msn, Net,
    Opcode, Packet, Plain, PlainNet, Psn, Reth, Service, Sound, VlanTag,
};

/// What a packet does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    Send,
    Write,
    /// READ request.
    Read,
    /// CmpSwap, FetchAdd, ATOMIC WRITE: executed once, answered with data.
    Atomic,
    Flush,
    ReadResponse,
    AtomicAck,
    Ack,
    Cnp,
    /// What no rule here knows: RESYNC, and the opcodes of other vendors on InfiniBand.
    Other,
}

impl Kind {
    pub(super) const fn is_request(self) -> bool {
        matches!(self, Self::Send | Self::Write | Self::Read | Self::Atomic | Self::Flush)
    }

    /// Whether the answer is more than an acknowledgement, so that its loss shows.
    pub(super) const fn has_data_response(self) -> bool {
        matches!(self, Self::Read | Self::Atomic | Self::Flush)
    }
}

/// Where in its message a packet stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    First,
    Middle,
    Last,
    Only,
}

impl Place {
    pub(super) const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    pub(super) const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// What every opcode is, so that no packet pays for finding out.
static CLASSES: [(Kind, Place); 256] = {
    let mut classes = [(Kind::Other, Place::Only); 256];
    let mut code = 0;
    while code < 256 {
        #[allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "at build")]
        {
            classes[code] = classify(Opcode(code as u8));
        }
        code = code.saturating_add(1);
    }
    classes
};

/// Kind and place by the operation, the low five bits of the opcode.
const fn classify(opcode: Opcode) -> (Kind, Place) {
    use Kind::{Ack, Atomic, AtomicAck, Flush, Other, Read, ReadResponse, Send, Write};
    use Place::{First, Last, Middle, Only};
    if opcode.0 == Opcode::CNP.0 {
        return (Kind::Cnp, Only);
    }
    match opcode.0 & 0x1f {
        0x00 => (Send, First),
        0x01 => (Send, Middle),
        0x02 | 0x03 | 0x16 => (Send, Last),
        0x04 | 0x05 | 0x17 => (Send, Only),
        0x06 => (Write, First),
        0x07 => (Write, Middle),
        0x08 | 0x09 => (Write, Last),
        0x0a | 0x0b => (Write, Only),
        0x0c => (Read, Only),
        0x0d => (ReadResponse, First),
        0x0e => (ReadResponse, Middle),
        0x0f => (ReadResponse, Last),
        0x10 => (ReadResponse, Only),
        0x11 => (Ack, Only),
        0x12 => (AtomicAck, Only),
        0x13 | 0x14 | 0x1d => (Atomic, Only),
        0x1c => (Flush, Only),
        _ => (Other, Only),
    }
}

/// The headers of all but rare packets. Of RETH, AETH and DETH none has two, and the one that it has
/// comes first.
const USUAL: ExtHeaders = ExtHeaders::RETH
    .and(ExtHeaders::AETH)
    .and(ExtHeaders::DETH)
    .and(ExtHeaders::ATOMIC_ETH)
    .and(ExtHeaders::ATOMIC_ACK_ETH)
    .and(ExtHeaders::IMM_DT)
    .and(ExtHeaders::IETH);

/// One packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub frame: u64,
    /// Nanoseconds; `None` when the capture does not say.
    pub time: Option<u64>,
    /// Bytes of the frame on the wire.
    pub wire_len: u32,
    pub service: Service,
    pub kind: Kind,
    pub place: Place,
    pub psn: Psn,
    pub ack_req: bool,
    /// Bytes of payload, by the packet's own account.
    pub payload: u32,
    /// Of RETH.
    pub dma_len: Option<u32>,
    /// Of AETH.
    pub answer: Option<AckKind>,
    /// Of AETH: how many messages the responder has completed.
    pub msn: Option<Msn>,
    pub p_key: u16,
    pub q_key: Option<u32>,
    pub src_port: Option<u16>,
    /// Of IPv4, where the sender counts it up.
    pub ip_id: Option<u16>,
    /// Tells a frame captured twice from one that was sent twice.
    pub mark: u32,
    pub traffic_class: Option<u8>,
    /// Priority of the VLAN tag.
    pub pcp: Option<u8>,
    /// Whether the capture holds less than the frame had on the wire.
    pub is_cut: bool,
    pub icrc: IcrcState,
    /// Whether a wrong ICRC is wrong in a way that a sender may have always.
    pub is_known_fault: bool,
    /// Whether it was compared with the newest frames of the capture.
    pub is_compared: bool,
    /// Whether the sender's peers are known to make the same mistake, and so take the packet.
    pub is_accepted_fault: bool,
}

impl Seen {
    /// `None` when the opcode is unknown to the table.
    pub(super) fn of(
        frame: &Frame<'_>,
        (net, packet): (&Net<'_>, &Packet<'_>),
        (number, time): (u64, Option<u64>),
        icrc: IcrcState,
    ) -> Option<Self> {
        let bth = packet.bth;
        let info = bth.opcode.info()?;
        let payload = u32::try_from(packet.payload_wire_len()).unwrap_or(u32::MAX);
        let ip_id = match net {
            Net::V2Ipv4(ip, ..) => Some(ip.id()),
            _ => None,
        };
        let seen = Self::new(bth, info.service, (number, time))?;
        Some(Self {
            wire_len: u32::try_from(frame.wire_len()).unwrap_or(u32::MAX),
            payload,
            dma_len: packet.reth.map(|reth| reth.dma_len()),
            answer: packet.aeth.map(|aeth| aeth.syndrome().kind()),
            msn: packet.aeth.map(|aeth| aeth.msn()),
            q_key: packet.deth.map(|deth| deth.q_key.get()),
            src_port: net.udp().map(|udp| udp.src_port()),
            ip_id,
            mark: mark(packet.icrc, bth, payload, ip_id),
            traffic_class: net.traffic_class(),
            pcp: frame.vlans.last().map(VlanTag::pcp),
            is_cut: frame.is_cut(),
            icrc,
            ..seen
        })
    }

    /// The same of a plain frame whose ICRC was not looked at, put into its place; the source queue
    /// pair that it names, or 0. `None` where its headers are rare ones.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    pub(super) fn put_plain<N: PlainNet>(
        &mut self,
        plain: &Plain<'_, N>,
        Sound { info, headers, payload }: Sound<'_>,
        (number, time): (u64, Option<u64>),
    ) -> Option<u32> {
        let payload = u32::try_from(payload).unwrap_or(u32::MAX);
        let ip_id = plain.net.ip_id();
        *self = Self {
            wire_len: u32::try_from(plain.wire_len()).unwrap_or(u32::MAX),
            payload,
            src_port: Some(plain.udp.src_port()),
            ip_id,
            mark: mark(plain.icrc(), plain.bth, payload, ip_id),
            traffic_class: Some(plain.net.traffic_class()),
            pcp: plain.vlans.last().map(VlanTag::pcp),
            is_cut: plain.is_cut(),
            ..Self::new(plain.bth, info.service, (number, time))?
        };
        if !USUAL.has(info.headers) {
            return None;
        }
        if info.headers.has(ExtHeaders::RETH) {
            self.dma_len = Some(Reth::parse(headers).ok()?.0.dma_len());
        } else if info.headers.has(ExtHeaders::AETH) {
            let (aeth, _) = Aeth::parse(headers).ok()?;
            (self.answer, self.msn) = (Some(aeth.syndrome().kind()), Some(aeth.msn()));
        } else if info.headers.has(ExtHeaders::DETH) {
            let (deth, _) = Deth::parse(headers).ok()?;
            self.q_key = Some(deth.q_key.get());
            return Some(deth.src_qp().get());
        }
        Some(0)
    }

    /// What the BTH says, and nothing else yet.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    fn new(bth: &Bth, service: Service, (frame, time): (u64, Option<u64>)) -> Option<Self> {
        let (kind, place) = *CLASSES.get(usize::from(bth.opcode.0))?;
        Some(Self {
            frame,
            time,
            service,
            kind,
            place,
            psn: bth.psn(),
            ack_req: bth.ack_req(),
            p_key: bth.p_key.get(),
            ..Self::NOTHING
        })
    }

    /// Nothing that was ever seen.
    pub(super) const NOTHING: Self = Self {
        frame: 0,
        time: None,
        wire_len: 0,
        service: Service::Rc,
        kind: Kind::Other,
        place: Place::Only,
        psn: Psn::new(0),
        ack_req: false,
        payload: 0,
        dma_len: None,
        answer: None,
        msn: None,
        p_key: 0,
        q_key: None,
        src_port: None,
        ip_id: None,
        mark: 0,
        traffic_class: None,
        pcp: None,
        is_cut: false,
        icrc: IcrcState::Unchecked,
        is_known_fault: false,
        is_compared: false,
        is_accepted_fault: false,
    };

    pub(super) const fn ecn(&self) -> Option<Ecn> {
        match self.traffic_class {
            Some(class) => Some(Ecn::from_tos(class)),
            None => None,
        }
    }

    /// Whether the packet brings data of the consumer: what congestion control is about.
    pub(super) const fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Send | Kind::Write | Kind::ReadResponse)
    }
}

/// The ICRC covers all that does not change on the way, the IP identification included; without
/// it the little that is left must do.
#[inline]
fn mark(icrc: Option<&Icrc>, bth: &Bth, payload: u32, ip_id: Option<u16>) -> u32 {
    match icrc {
        Some(icrc) => icrc.get(),
        None => payload << 16 ^ u32::from(bth.opcode.0) << 8 ^ u32::from(ip_id.unwrap_or(0)),
    }
}
