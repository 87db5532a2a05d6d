//! Alternate path response, 232 bytes: the answer to a LAP.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  | info length   | AP status     | reserved                      |
//! 12  | additional information (72 bytes)                             |
//! 84  | private data (148 bytes)                                      |
//! ```
//! Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 116.

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{AprStatus, CommId};
use crate::{Fields, Header};

/// Alternate path response.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Apr {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    /// The receiver's.
    pub remote_comm_id: CommId,
    /// How many bytes of the additional information count, by the sender's account.
    pub info_len: u8,
    /// Whether the path was loaded.
    pub status: AprStatus,
    reserved: U16,
    /// What would have been right.
    pub info: [u8; 72],
    /// For the service.
    pub private_data: [u8; 148],
}

const _: () = assert!(size_of::<Apr>() == 232);

impl Apr {
    /// A response without additional information.
    #[must_use]
    pub const fn new(local_comm_id: CommId, remote_comm_id: CommId, status: AprStatus) -> Self {
        Self {
            local_comm_id,
            remote_comm_id,
            info_len: 0,
            status,
            reserved: U16::new(0),
            info: [0; 72],
            private_data: [0; 148],
        }
    }
}

impl Header for Apr {
    const NAME: &'static str = "CM APR";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.uint("info_len", 8, self.info_len);
        f.named("status", 8, self.status.0, &self.status);
        f.reserved(16, self.reserved.get());
        f.bytes("info", &self.info);
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Apr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local_comm_id, remote_comm_id, status, .. } = self;
        write!(f, "{local_comm_id} to {remote_comm_id}: {status}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_the_standard_has_them() {
        // Offsets of IBTA table 116 as given in Linux `include/rdma/ibta_vol1_c12.h`.
        let apr = Apr {
            info_len: 72,
            info: [0xaa; 72],
            private_data: [0xbb; 148],
            ..Apr::new(CommId::new(1), CommId::new(2), AprStatus(5))
        };
        let bytes = apr.as_bytes();
        assert_eq!(bytes[..12], [0, 0, 0, 1, 0, 0, 0, 2, 72, 5, 0, 0]);
        assert_eq!((bytes[12], bytes[83], bytes[84]), (0xaa, 0xaa, 0xbb));
        assert_eq!(apr.to_string(), "0x00000001 to 0x00000002: path is the current one");
    }
}
