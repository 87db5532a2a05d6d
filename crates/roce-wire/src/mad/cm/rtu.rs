//! Ready to use, 232 bytes: the third step, the connection is open.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  | private data (224 bytes)                                      |
//! ```
//! Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 111.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::CommId;
use crate::{Fields, Header};

/// Ready to use.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Rtu {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    /// The receiver's.
    pub remote_comm_id: CommId,
    /// For the service.
    pub private_data: [u8; 224],
}

const _: () = assert!(size_of::<Rtu>() == 232);

impl Rtu {
    /// A message without private data.
    #[must_use]
    pub const fn new(local_comm_id: CommId, remote_comm_id: CommId) -> Self {
        Self { local_comm_id, remote_comm_id, private_data: [0; 224] }
    }
}

impl Header for Rtu {
    const NAME: &'static str = "CM RTU";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Rtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.local_comm_id, self.remote_comm_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::test_data::{RPING_RTU, mad};

    #[test]
    fn the_rtu_of_rping_reads_as_tshark_reads_it() {
        let bytes = mad(RPING_RTU);
        let (rtu, _) = Rtu::parse(&bytes[24..]).unwrap();
        assert_eq!(rtu.to_string(), "0xc0852c6d to 0xc3852c6d");
        let built = Rtu::new(CommId::new(0xc085_2c6d), CommId::new(0xc385_2c6d));
        assert_eq!(built.as_bytes(), &bytes[24..]);
    }
}
