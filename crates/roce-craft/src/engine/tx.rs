//! A packet on its way: what it says, and what is to become of it.

use roce_wire::mad::cm::CmAttribute;
use roce_wire::{Opcode, Psn};

use crate::plan::{Dir, Malformed, OpKind, Service};

/// A packet that one end has sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tx {
    /// Who sent it.
    pub dir: Dir,
    pub body: Body,
    /// The PSN, counted on from the start instead of modulo 2^24.
    pub upsn: u64,
    /// How many PSNs a request takes.
    pub span: u32,
    /// The number of the message that it belongs to, from 1.
    pub message: u64,
    /// Its number among packets of its class from this end, from 1; sent again it keeps it.
    pub ordinal: u64,
    /// Grows with everything that this end sends.
    pub order: u64,
    /// Identification of IPv4.
    pub ip_id: u16,
    /// Why it is sent again, and the number of the round, when it is.
    pub again: Option<Again>,
    pub fate: Fate,
}

/// What a packet says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Request(Request),
    /// One packet of the answer to a READ, FLUSH or ATOMIC WRITE.
    Response {
        place: Place,
        payload: u32,
        msn: u32,
    },
    AtomicAck {
        msn: u32,
        original: u64,
    },
    Ack {
        syndrome: u8,
        msn: u32,
        /// Nothing asked for it: it answers a request that was executed before.
        is_unasked: bool,
    },
    Cnp,
    Cm(CmBody),
    /// "Port unreachable", quoting the packet of connection management that it answers.
    Icmp(CmBody),
}

/// What a request packet says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub kind: OpKind,
    pub place: Place,
    pub payload: u32,
    /// What is left of the message from here on.
    pub length: u32,
    pub immediate: bool,
    pub invalidate: bool,
    pub solicited: bool,
    pub ack_req: bool,
    /// Where the responses to it stand among all responses, from 0.
    pub response_base: u64,
}

/// Where in its message a packet stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    First,
    Middle,
    Last,
    Only,
}

impl Place {
    pub(crate) const fn of(is_first: bool, is_last: bool) -> Self {
        match (is_first, is_last) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }

    pub(crate) const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    pub(crate) const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// A message of connection management.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CmBody {
    pub message: CmAttribute,
    pub psn: u32,
}

/// Why a packet is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Again {
    pub cause: Cause,
    /// Rounds of one end are counted from 1.
    pub round: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// The receiver said that a packet is missing.
    Nak,
    /// Nothing was heard for too long.
    Timeout,
    /// The receiver was not ready.
    Rnr,
    /// A gap in the responses.
    Gap,
    /// The request was sent again.
    Replay,
}

/// What becomes of a packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fate {
    pub lost_after: bool,
    /// The receiver throws it away.
    pub corrupt: bool,
    pub malformed: Option<Malformed>,
    /// Marked before it is captured.
    pub ce_before: bool,
    /// Marked after it was captured.
    pub ce_after: bool,
    /// Nanoseconds that it stays behind after it was captured.
    pub late: u64,
    /// The network made it of another.
    pub is_copy: bool,
    /// It passed before the capture began. What is written to nearly every packet says nothing here:
    /// a byte written just before a packet is copied makes a processor wait.
    pub missed: bool,
}

impl Tx {
    /// A packet that has no place among requests and responses.
    pub(crate) fn aside(dir: Dir, body: Body) -> Self {
        Self {
            dir,
            body,
            upsn: 0,
            span: 0,
            message: 0,
            ordinal: 0,
            order: 0,
            ip_id: 0,
            again: None,
            fate: Fate::default(),
        }
    }

    /// Whether it is a request, and which.
    pub(crate) const fn request(&self) -> Option<&Request> {
        match &self.body {
            Body::Request(request) => Some(request),
            _ => None,
        }
    }

    /// Whether it is of the connection itself, and not of the management around it.
    pub(crate) const fn is_data_path(&self) -> bool {
        !matches!(self.body, Body::Cm(_) | Body::Icmp(_))
    }

    /// Bytes of payload, by the packet's own account: without an ICRC the end of the payload reads
    /// as one, unless the RETH of a WRITE in one packet says better.
    pub(crate) fn payload_told(&self, lacks_icrc: bool) -> u32 {
        let says_length = self
            .request()
            .is_some_and(|request| request.kind == OpKind::Write && request.place == Place::Only);
        let lacks_icrc = lacks_icrc || self.fate.malformed == Some(Malformed::NoIcrc);
        let lacks_icrc = lacks_icrc && !says_length;
        self.payload().saturating_sub(if lacks_icrc { 4 } else { 0 })
    }

    /// Bytes of payload.
    pub(crate) const fn payload(&self) -> u32 {
        match &self.body {
            Body::Request(request) => request.payload,
            Body::Response { payload, .. } => *payload,
            Body::Cnp => 16,
            _ => 0,
        }
    }

    /// The opcode on a connection of this service.
    pub(crate) const fn opcode(&self, service: Service) -> Opcode {
        let base = match service {
            Service::Rc => 0x00,
            Service::Uc => 0x20,
            Service::Ud => 0x60,
            Service::Xrc => 0xa0,
        };
        let operation = match &self.body {
            Body::Cnp => return Opcode::CNP,
            Body::Cm(_) | Body::Icmp(_) => return Opcode::UD_SEND_ONLY,
            Body::Request(request) => request_operation(request),
            Body::Response { place, .. } => match place {
                Place::First => 0x0d,
                Place::Middle => 0x0e,
                Place::Last => 0x0f,
                Place::Only => 0x10,
            },
            Body::Ack { .. } => 0x11,
            Body::AtomicAck { .. } => 0x12,
        };
        Opcode(base | operation)
    }
}

/// The low five bits of the opcode of a request.
const fn request_operation(request: &Request) -> u8 {
    let is_write = match request.kind {
        OpKind::Send => false,
        OpKind::Write => true,
        OpKind::Read => return 0x0c,
        OpKind::CompareSwap => return 0x13,
        OpKind::FetchAdd => return 0x14,
        OpKind::Flush => return 0x1c,
        OpKind::AtomicWrite => return 0x1d,
    };
    match (request.place, is_write, request.immediate, request.invalidate) {
        (Place::First, false, ..) => 0x00,
        (Place::Middle, false, ..) => 0x01,
        (Place::Last, false, _, true) => 0x16,
        (Place::Last, false, false, _) => 0x02,
        (Place::Last, false, true, _) => 0x03,
        (Place::Only, false, _, true) => 0x17,
        (Place::Only, false, false, _) => 0x04,
        (Place::Only, false, true, _) => 0x05,
        (Place::First, true, ..) => 0x06,
        (Place::Middle, true, ..) => 0x07,
        (Place::Last, true, false, _) => 0x08,
        (Place::Last, true, true, _) => 0x09,
        (Place::Only, true, false, _) => 0x0a,
        (Place::Only, true, true, _) => 0x0b,
    }
}

/// The PSN as it stands on the wire.
pub(crate) fn wire_psn(start: u32, upsn: u64) -> Psn {
    // Modulo 2^24, so the low half is enough.
    let [.., a, b, c, d] = upsn.to_be_bytes();
    Psn::new(start).add(u32::from_be_bytes([a, b, c, d]))
}
