//! Service id resolution request, 232 bytes: which queue pair serves datagrams of a service?
//!
//! ```text
//!      0               1               2               3
//!  0  | request id                                                    |
//!  4  | P_Key                         | reserved                      |
//!  8  | service id (8 bytes)                                          |
//! 16  | private data (216 bytes)                                      |
//! ```
//! Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 119.

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommId, ServiceId};
use crate::mad::RdmaCmHeader;
use crate::{Fields, Header, PKey};

/// Service id resolution request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SidrReq {
    /// The sender's number for the request; the reply repeats it.
    pub request_id: CommId,
    /// The partition.
    pub p_key: PKey,
    reserved: U16,
    /// What the sender wants to reach.
    pub service_id: ServiceId,
    /// For the service; of RDMA_CM its first 36 bytes are an [`RdmaCmHeader`].
    pub private_data: [u8; 216],
}

const _: () = assert!(size_of::<SidrReq>() == 232);

impl SidrReq {
    /// A request in the default partition without private data.
    #[must_use]
    pub const fn new(request_id: CommId, service_id: ServiceId) -> Self {
        Self {
            request_id,
            p_key: PKey::DEFAULT,
            reserved: U16::new(0),
            service_id,
            private_data: [0; 216],
        }
    }

    /// RDMA_CM's header and its consumer's private data, when the service id is RDMA_CM's.
    #[must_use]
    pub fn rdma_cm(&self) -> Option<(&RdmaCmHeader, &[u8])> {
        RdmaCmHeader::of_service(self.service_id, &self.private_data)
    }
}

impl Header for SidrReq {
    const NAME: &'static str = "CM SIDR_REQ";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("request_id", 32, self.request_id.get());
        f.hex("p_key", 16, self.p_key.get());
        f.reserved(16, self.reserved.get());
        f.named("service_id", 64, self.service_id.get(), &self.service_id);
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for SidrReq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.request_id)?;
        RdmaCmHeader::describe(self.service_id, self.rdma_cm(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::test_data::{UDADDY_SIDR_REQ, mad};

    #[test]
    fn the_sidr_req_of_udaddy_asks_for_its_port() {
        let bytes = mad(UDADDY_SIDR_REQ);
        let (req, _) = SidrReq::parse(&bytes[24..]).unwrap();
        assert_eq!((req.request_id.get(), req.p_key), (0xcd85_2c6d, PKey::DEFAULT));
        // `udaddy` speaks to port 7174 from 10.77.0.1 to 10.77.0.2.
        assert_eq!(req.to_string(), "0xcd852c6d UDP 10.77.0.1:40961 > 10.77.0.2:7174");
        let (_, data) = req.rdma_cm().unwrap();
        assert_eq!(data, [0; 180]);
        let mut built = SidrReq::new(req.request_id, ServiceId::new(0x0111_1c06));
        built.private_data = req.private_data;
        assert_eq!(built.as_bytes(), &bytes[24..]);
    }
}
