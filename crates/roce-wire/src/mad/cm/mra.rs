//! Message receipt acknowledgement, 232 bytes: the answer takes longer, do not ask again so soon.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  |msg| reserved  | timeout |res  | private data (222 bytes) ...  |
//! ```
//! The service timeout has 5 bits. Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 107.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CmTimeout, CommId};
use crate::mad::bits::ByteBits;
use crate::{Fields, Header};

/// Message receipt acknowledgement.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Mra {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    /// The receiver's.
    pub remote_comm_id: CommId,
    message: u8,
    timeout: u8,
    /// For the service.
    pub private_data: [u8; 222],
}

const _: () = assert!(size_of::<Mra>() == 232);

const MESSAGE: ByteBits = ByteBits(0xc0);
const RESERVED_8: ByteBits = ByteBits(0x3f);
const TIMEOUT: ByteBits = ByteBits(0xf8);
const RESERVED_9: ByteBits = ByteBits(0x07);

impl Mra {
    /// An acknowledgement of `message` that asks for `timeout` to answer.
    #[must_use]
    pub const fn new(
        local_comm_id: CommId,
        remote_comm_id: CommId,
        message: MraMessage,
        timeout: CmTimeout,
    ) -> Self {
        Self {
            local_comm_id,
            remote_comm_id,
            message: MESSAGE.put(0, message.0),
            timeout: TIMEOUT.put(0, timeout.0),
            private_data: [0; 222],
        }
    }

    /// Which message arrived.
    #[must_use]
    pub const fn message(&self) -> MraMessage {
        MraMessage(MESSAGE.of(self.message))
    }

    /// How long the sender may take to answer it.
    #[must_use]
    pub const fn service_timeout(&self) -> CmTimeout {
        CmTimeout(TIMEOUT.of(self.timeout))
    }

    /// The same of another message, modulo 4.
    #[must_use]
    pub const fn with_message(self, message: MraMessage) -> Self {
        Self { message: MESSAGE.put(self.message, message.0), ..self }
    }

    /// The same with another time, modulo 32.
    #[must_use]
    pub const fn with_service_timeout(self, timeout: CmTimeout) -> Self {
        Self { timeout: TIMEOUT.put(self.timeout, timeout.0), ..self }
    }
}

impl Header for Mra {
    const NAME: &'static str = "CM MRA";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.named("message_mraed", 2, self.message().0, &self.message());
        f.reserved(6, RESERVED_8.of(self.message));
        f.named("service_timeout", 5, self.service_timeout().0, &self.service_timeout());
        f.reserved(3, RESERVED_9.of(self.timeout));
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Mra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local_comm_id, remote_comm_id, .. } = self;
        write!(f, "{local_comm_id} to {remote_comm_id} of {}", self.message())?;
        write!(f, " service timeout {}", self.service_timeout())
    }
}

/// Which message an MRA acknowledges, 2 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MraMessage(pub u8);

impl MraMessage {
    /// A REQ.
    pub const REQ: Self = Self(0);
    /// A REP.
    pub const REP: Self = Self(1);
    /// A LAP.
    pub const LAP: Self = Self(2);

    /// The message's name; `None` for the reserved number.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::REQ => "REQ",
            Self::REP => "REP",
            Self::LAP => "LAP",
            _ => return None,
        })
    }
}

impl fmt::Display for MraMessage {
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

    use crate::mad::test_data::{STOPPED_SERVER_MRA, mad};

    #[test]
    fn the_mra_of_a_stopped_server_asks_for_the_time_linux_asks_for() {
        let bytes = mad(STOPPED_SERVER_MRA);
        let (mra, _) = Mra::parse(&bytes[24..]).unwrap();
        assert_eq!(mra.remote_comm_id, CommId::new(0xfb85_2c6d));
        // 24 is `CMA_CM_MRA_SETTING` of Linux `drivers/infiniband/core/cma.c`.
        assert_eq!((mra.message(), mra.service_timeout()), (MraMessage::REQ, CmTimeout(24)));
        assert_eq!(mra.to_string(), "0xfa852c6d to 0xfb852c6d of REQ service timeout 68.7 s");
        let (local, remote) = (mra.local_comm_id, mra.remote_comm_id);
        let built = Mra::new(local, remote, MraMessage::REQ, CmTimeout(24));
        assert_eq!(built.as_bytes(), &bytes[24..]);
    }

    #[test]
    fn a_setter_touches_its_own_bits_only() {
        let (all, _) = Mra::parse(&[0xff; 232]).unwrap();
        let none = all.with_message(MraMessage(0)).with_service_timeout(CmTimeout(0));
        assert_eq!(none.as_bytes()[7..11], [0xff, 0x3f, 0x07, 0xff]);
        assert_eq!(none.with_message(MraMessage::LAP).as_bytes()[8], 0xbf);
    }
}
