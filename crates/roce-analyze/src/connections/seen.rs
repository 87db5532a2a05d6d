//! What the engine needs to know of a packet, taken out of its frame once.

use roce_wire::{AckKind, Ecn, Frame, IcrcState, Net, Opcode, Packet, Psn, Service, VlanTag};

use super::copies::Repeat;

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
    pub icrc: IcrcState,
    /// Whether a wrong ICRC is wrong in a way that a sender may have always.
    pub is_known_fault: bool,
    /// Whether the same frame was captured before, as far as that is looked up.
    pub repeat: Option<Repeat>,
    /// Whether the sender's peers are known to make the same mistake, and so take the packet.
    pub is_accepted_fault: bool,
}

impl Seen {
    /// `None` when the opcode is unknown to the table.
    #[inline]
    pub(super) fn of(
        frame: &Frame<'_>,
        (net, packet): (&Net<'_>, &Packet<'_>),
        (number, time): (u64, Option<u64>),
        icrc: IcrcState,
    ) -> Option<Self> {
        let bth = packet.bth;
        let (kind, place) = classify(bth.opcode);
        let info = bth.opcode.info()?;
        let payload = u32::try_from(packet.payload_wire_len()).unwrap_or(u32::MAX);
        let ip_id = match net {
            Net::V2Ipv4(ip, ..) => Some(ip.id()),
            _ => None,
        };
        Some(Self {
            frame: number,
            time,
            wire_len: u32::try_from(frame.wire_len()).unwrap_or(u32::MAX),
            service: info.service,
            kind,
            place,
            psn: bth.psn(),
            ack_req: bth.ack_req(),
            payload,
            dma_len: packet.reth.map(|reth| reth.dma_len()),
            answer: packet.aeth.map(|aeth| aeth.syndrome().kind()),
            p_key: bth.p_key.get(),
            q_key: packet.deth.map(|deth| deth.q_key.get()),
            src_port: net.udp().map(|udp| udp.src_port()),
            ip_id,
            mark: mark(packet, payload, ip_id),
            traffic_class: net.traffic_class(),
            pcp: frame.vlans.last().map(VlanTag::pcp),
            icrc,
            is_known_fault: false,
            repeat: None,
            is_accepted_fault: false,
        })
    }

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
fn mark(packet: &Packet<'_>, payload: u32, ip_id: Option<u16>) -> u32 {
    match packet.icrc {
        Some(icrc) => icrc.get(),
        None => payload << 16 ^ u32::from(packet.bth.opcode.0) << 8 ^ u32::from(ip_id.unwrap_or(0)),
    }
}
