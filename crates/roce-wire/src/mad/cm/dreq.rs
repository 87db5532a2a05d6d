//! Disconnection request, 232 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  | remote QPN or EECN                            | reserved      |
//! 12  | private data (220 bytes)                                      |
//! ```
//! Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 112.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::CommId;
use crate::mad::bits::Bits;
use crate::{Fields, Header, Qpn};

/// Disconnection request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Dreq {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    /// The receiver's.
    pub remote_comm_id: CommId,
    qp: U32,
    /// For the service.
    pub private_data: [u8; 220],
}

const _: () = assert!(size_of::<Dreq>() == 232);

const REMOTE_QPN: Bits = Bits(0xffff_ff00);
const RESERVED_11: Bits = Bits(0x0000_00ff);

impl Dreq {
    /// A request without private data; `remote_qpn` is the receiver's queue pair.
    #[must_use]
    pub const fn new(local_comm_id: CommId, remote_comm_id: CommId, remote_qpn: Qpn) -> Self {
        Self {
            local_comm_id,
            remote_comm_id,
            qp: REMOTE_QPN.put(U32::new(0), remote_qpn.get()),
            private_data: [0; 220],
        }
    }

    /// The receiver's queue pair; of reliable datagrams its end-to-end context.
    #[must_use]
    pub const fn remote_qpn(&self) -> Qpn {
        Qpn::new(REMOTE_QPN.of(self.qp))
    }

    /// The same for another queue pair.
    #[must_use]
    pub const fn with_remote_qpn(self, qpn: Qpn) -> Self {
        Self { qp: REMOTE_QPN.put(self.qp, qpn.get()), ..self }
    }
}

impl Header for Dreq {
    const NAME: &'static str = "CM DREQ";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.hex("remote_qpn", 24, self.remote_qpn().get());
        f.reserved(8, RESERVED_11.of(self.qp));
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Dreq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local_comm_id, remote_comm_id, .. } = self;
        write!(f, "{local_comm_id} to {remote_comm_id} remote qp {}", self.remote_qpn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::test_data::{RPING_DREQ, mad};

    #[test]
    fn the_dreq_of_rping_reads_as_tshark_reads_it() {
        let bytes = mad(RPING_DREQ);
        let (dreq, _) = Dreq::parse(&bytes[24..]).unwrap();
        assert_eq!(dreq.remote_qpn(), Qpn::new(0x75));
        assert_eq!(dreq.to_string(), "0xc0852c6d to 0xc3852c6d remote qp 0x000075");
        let (local, remote) = (CommId::new(0xc085_2c6d), CommId::new(0xc385_2c6d));
        assert_eq!(Dreq::new(local, remote, Qpn::new(0x75)).as_bytes(), &bytes[24..]);
    }

    #[test]
    fn a_setter_touches_its_own_bits_only() {
        let (all, _) = Dreq::parse(&[0xff; 232]).unwrap();
        assert_eq!(all.with_remote_qpn(Qpn::new(0)).as_bytes()[7..13], [0xff, 0, 0, 0, 0xff, 0xff]);
    }
}
