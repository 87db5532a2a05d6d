//! Whether what bears the RoCE port or Ethertype is RoCE.
//!
//! The rules, in the order in which they are asked: fragments and packets *from* the port are not;
//! then lengths that cannot be; then, once there is a BTH, an unknown opcode (before any arithmetic
//! with its header length), a transport version other than 0, a packet that ends inside its own
//! headers, and a length that is no multiple of 4 when something else is wrong as well. A wrong
//! ICRC alone proves nothing: soft-RoCE fills it late and home-made stacks leave it out.

use core::fmt;

use super::{Content, Frame, IcrcState};
use crate::opcode::{OpcodeInfo, PayloadRule};
use crate::{Carrier, Packet};

/// Why something with the RoCE port or Ethertype is not RoCE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reject {
    /// A fragment of a larger datagram; RoCE v2 is never fragmented.
    Fragment,
    /// A datagram from the RoCE port to another port.
    FromPort,
    /// A GRH whose version or next header is not that of InfiniBand.
    BadGrh,
    /// The packet ends inside its headers by its own length.
    TooShort,
    /// The opcode is reserved or a vendor's own.
    UnknownOpcode,
    /// The transport header version is not 0.
    BadTver,
    /// A length that cannot be.
    BadLength,
    /// Both reserved fields of the BTH are set and the ICRC is wrong: random bytes look like this.
    Implausible,
}

impl Reject {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Fragment,
        Self::FromPort,
        Self::BadGrh,
        Self::TooShort,
        Self::UnknownOpcode,
        Self::BadTver,
        Self::BadLength,
        Self::Implausible,
    ];

    /// The name used in machine-readable output.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Fragment => "fragment",
            Self::FromPort => "from_port",
            Self::BadGrh => "bad_grh",
            Self::TooShort => "too_short",
            Self::UnknownOpcode => "unknown_opcode",
            Self::BadTver => "bad_tver",
            Self::BadLength => "bad_length",
            Self::Implausible => "implausible",
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fragment => "IP fragment",
            Self::FromPort => "from the RoCE port to another port",
            Self::BadGrh => "GRH version or next header wrong",
            Self::TooShort => "ends inside its headers",
            Self::UnknownOpcode => "unknown opcode",
            Self::BadTver => "transport version not 0",
            Self::BadLength => "impossible length",
            Self::Implausible => "reserved bits set and ICRC wrong",
        })
    }
}

impl Frame<'_> {
    /// Why this is not RoCE although it bears its port or Ethertype; `None` when it is RoCE, or
    /// InfiniBand, or has nothing to do with either.
    #[must_use]
    #[inline]
    pub fn rejection(&self) -> Option<Reject> {
        match &self.content {
            Content::Rejected(reject) => Some(*reject),
            Content::Packet(net, packet) => match judge(packet, net.carrier()) {
                // The frame was shorter on the wire than its headers say.
                Ok(()) if packet.lacks_headers() && !self.is_cut() => Some(Reject::BadLength),
                Ok(()) => None,
                Err(Doubt::No(reject)) => Some(reject),
                Err(Doubt::UnlessIcrcIsRight) => {
                    (self.icrc_state() == Some(IcrcState::Bad)).then_some(Reject::Implausible)
                }
            },
            _ => None,
        }
    }

    /// Whether this is a RoCE packet, or one of native InfiniBand.
    #[must_use]
    #[inline]
    pub fn is_roce(&self) -> bool {
        matches!(self.content, Content::Packet(..) | Content::NoBth(_))
            && self.rejection().is_none()
    }
}

enum Doubt {
    No(Reject),
    UnlessIcrcIsRight,
}

#[inline]
fn judge(packet: &Packet<'_>, carrier: Carrier) -> Result<(), Doubt> {
    // Nothing else travels on InfiniBand: there the link layer vouches for the packet.
    if carrier == Carrier::InfiniBand {
        return Ok(());
    }
    let bth = packet.bth;
    let Some(info) = bth.opcode.info() else {
        return Err(Doubt::No(Reject::UnknownOpcode));
    };
    if bth.tver() != 0 {
        return Err(Doubt::No(Reject::BadTver));
    }
    let headers = usize::from(info.headers_len).saturating_add(size_of::<crate::Bth>());
    if packet.wire_len() < headers {
        return Err(Doubt::No(Reject::TooShort));
    }
    let reserved = (bth.reserved_6() != 0, bth.reserved_7() != 0);
    if !packet.wire_len().is_multiple_of(4)
        && (reserved != (false, false) || !payload_fits(packet, info))
    {
        return Err(Doubt::No(Reject::BadLength));
    }
    if reserved == (true, true) {
        return Err(Doubt::UnlessIcrcIsRight);
    }
    Ok(())
}

/// Whether the payload is of a length that the opcode allows with some path MTU.
fn payload_fits(packet: &Packet<'_>, info: &OpcodeInfo) -> bool {
    let len = packet.payload_wire_len();
    match info.payload {
        PayloadRule::None => len == 0,
        PayloadRule::Pmtu => matches!(len, 256 | 512 | 1024 | 2048 | 4096),
        PayloadRule::OneToPmtu => (1..=4096).contains(&len),
        PayloadRule::UpToPmtu => len <= 4096,
        PayloadRule::Exactly8 => len == 8,
        PayloadRule::Exactly16 => len == 16,
    }
}
