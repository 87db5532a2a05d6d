//! Connection reject, 232 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  |msg| reserved  | info length |r| reason                        |
//! 12  | additional reject information (72 bytes)                      |
//! 84  | private data (148 bytes)                                      |
//! ```
//! The information's length has 7 bits. Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table
//! 108.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommId, RejReason};
use crate::mad::bits::ByteBits;
use crate::{Fields, Header};

/// Connection reject.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Rej {
    /// The sender's id of the connection; 0 when it had given none yet.
    pub local_comm_id: CommId,
    /// The receiver's.
    pub remote_comm_id: CommId,
    message: u8,
    info_len: u8,
    /// Why.
    pub reason: RejReason,
    /// What would have been right; [`Self::info_len`] says how much of it counts.
    pub info: [u8; 72],
    /// For the service; where a [`RejReason::CONSUMER_DEFINED`] has its own reason.
    pub private_data: [u8; 148],
}

const _: () = assert!(size_of::<Rej>() == 232);

const MESSAGE: ByteBits = ByteBits(0xc0);
const RESERVED_8: ByteBits = ByteBits(0x3f);
const INFO_LEN: ByteBits = ByteBits(0xfe);
const RESERVED_9: ByteBits = ByteBits(0x01);

impl Rej {
    /// A rejection of `message` without additional information.
    #[must_use]
    pub const fn new(
        local_comm_id: CommId,
        remote_comm_id: CommId,
        message: RejectedMessage,
        reason: RejReason,
    ) -> Self {
        Self {
            local_comm_id,
            remote_comm_id,
            message: MESSAGE.put(0, message.0),
            info_len: 0,
            reason,
            info: [0; 72],
            private_data: [0; 148],
        }
    }

    /// Which message was rejected.
    #[must_use]
    pub const fn message(&self) -> RejectedMessage {
        RejectedMessage(MESSAGE.of(self.message))
    }

    /// How many bytes of the additional information count, by the sender's account: 0 to 127.
    #[must_use]
    pub const fn info_len(&self) -> u8 {
        INFO_LEN.of(self.info_len)
    }

    /// The same of another message, modulo 4.
    #[must_use]
    pub const fn with_message(self, message: RejectedMessage) -> Self {
        Self { message: MESSAGE.put(self.message, message.0), ..self }
    }

    /// The same with another length of additional information, modulo 128.
    #[must_use]
    pub const fn with_info_len(self, len: u8) -> Self {
        Self { info_len: INFO_LEN.put(self.info_len, len), ..self }
    }
}

impl Header for Rej {
    const NAME: &'static str = "CM REJ";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.named("message_rejected", 2, self.message().0, &self.message());
        f.reserved(6, RESERVED_8.of(self.message));
        f.uint("info_len", 7, self.info_len());
        f.reserved(1, RESERVED_9.of(self.info_len));
        f.named("reason", 16, self.reason.get(), &self.reason);
        f.bytes("info", &self.info);
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Rej {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local_comm_id, remote_comm_id, reason, .. } = self;
        if local_comm_id.get() != 0 {
            write!(f, "{local_comm_id} ")?;
        }
        write!(f, "to {remote_comm_id} of {}: {reason}", self.message())
    }
}

/// Which message a REJ rejects, 2 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RejectedMessage(pub u8);

impl RejectedMessage {
    /// A REQ.
    pub const REQ: Self = Self(0);
    /// A REP.
    pub const REP: Self = Self(1);
    /// None: an answer was waited for in vain.
    pub const NONE: Self = Self(2);

    /// The message's name; `None` for the reserved number.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::REQ => "REQ",
            Self::REP => "REP",
            Self::NONE => "no message",
            _ => return None,
        })
    }
}

impl fmt::Display for RejectedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "message {:#x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::test_data::{CONSUMER_REJ, NO_LISTENER_REJ, mad};

    #[test]
    fn the_rej_of_a_port_without_listener_reads_as_tshark_reads_it() {
        let bytes = mad(NO_LISTENER_REJ);
        let (rej, _) = Rej::parse(&bytes[24..]).unwrap();
        assert_eq!((rej.local_comm_id.get(), rej.remote_comm_id.get()), (0, 0xf485_2c6d));
        assert_eq!((rej.message(), rej.info_len()), (RejectedMessage::REQ, 0));
        assert_eq!(rej.reason, RejReason::INVALID_SERVICE_ID);
        assert_eq!(rej.to_string(), "to 0xf4852c6d of REQ: invalid service id");
        let built =
            Rej::new(rej.local_comm_id, rej.remote_comm_id, RejectedMessage::REQ, rej.reason);
        assert_eq!(built.as_bytes(), &bytes[24..]);
    }

    #[test]
    fn the_rej_of_an_application_says_so() {
        let bytes = mad(CONSUMER_REJ);
        let (rej, _) = Rej::parse(&bytes[24..]).unwrap();
        assert_eq!(rej.reason, RejReason::CONSUMER_DEFINED);
        assert_eq!(rej.to_string(), "0x85852c6d to 0x82852c6d of REQ: consumer defined");
    }

    #[test]
    fn a_setter_touches_its_own_bits_only() {
        let (all, _) = Rej::parse(&[0xff; 232]).unwrap();
        let none = all.with_message(RejectedMessage(0)).with_info_len(0);
        assert_eq!(none.as_bytes()[7..11], [0xff, 0x3f, 0x01, 0xff]);
        assert_eq!(none.with_info_len(72).as_bytes()[9], 0x91);
    }
}
