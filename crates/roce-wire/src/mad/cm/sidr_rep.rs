//! Service id resolution reply, 232 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  | request id                                                    |
//!  4  | status        | info length   | vendor id, high 16 bits       |
//!  8  | QPN                                           | vendor id, low|
//! 12  | service id (8 bytes)                                          |
//! 20  | Q_Key                                                         |
//! 24  | additional information (72 bytes)                             |
//! 96  | private data (136 bytes)                                      |
//! ```
//! Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 120.

use core::fmt;
use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommId, ServiceId, SidrStatus};
use crate::mad::bits::Bits;
use crate::{Fields, Header, QKey, Qpn};

/// Service id resolution reply.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SidrRep {
    /// The number of the request.
    pub request_id: CommId,
    /// Whether the service can be reached.
    pub status: SidrStatus,
    /// How many bytes of the additional information count, by the sender's account.
    pub info_len: u8,
    vendor_high: U16,
    qp: U32,
    /// The service.
    pub service_id: ServiceId,
    /// The Q_Key that datagrams to it need.
    pub q_key: QKey,
    /// For the status, such as where to ask instead.
    pub info: [u8; 72],
    /// For the service.
    pub private_data: [u8; 136],
}

const _: () = assert!(size_of::<SidrRep>() == 232);

const QPN: Bits = Bits(0xffff_ff00);
const VENDOR_ID_LOW: Bits = Bits(0x0000_00ff);

impl SidrRep {
    /// A reply; queue pair and Q_Key are zero.
    #[must_use]
    pub const fn new(request_id: CommId, status: SidrStatus, service_id: ServiceId) -> Self {
        Self {
            request_id,
            status,
            info_len: 0,
            vendor_high: U16::new(0),
            qp: U32::new(0),
            service_id,
            q_key: QKey::new(0),
            info: [0; 72],
            private_data: [0; 136],
        }
    }

    /// The queue pair that serves datagrams; it counts when the status is ok.
    #[must_use]
    pub const fn qpn(&self) -> Qpn {
        Qpn::new(QPN.of(self.qp))
    }

    /// Whose adapter it is, 24 bits in two pieces; of enhanced connection establishment.
    #[must_use]
    pub const fn vendor_id(&self) -> u32 {
        (self.vendor_high.get() as u32) << 8 | VENDOR_ID_LOW.of(self.qp)
    }

    /// The same with another queue pair.
    #[must_use]
    pub const fn with_qpn(self, qpn: Qpn) -> Self {
        Self { qp: QPN.put(self.qp, qpn.get()), ..self }
    }

    /// The same of another vendor, modulo 2^24.
    #[must_use]
    pub const fn with_vendor_id(self, id: u32) -> Self {
        let [_, high, middle, _] = id.to_be_bytes();
        Self {
            vendor_high: U16::from_bytes([high, middle]),
            qp: VENDOR_ID_LOW.put(self.qp, id),
            ..self
        }
    }
}

impl Header for SidrRep {
    const NAME: &'static str = "CM SIDR_REP";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("request_id", 32, self.request_id.get());
        f.named("status", 8, self.status.0, &self.status);
        f.uint("info_len", 8, self.info_len);
        f.hex("vendor_id_high", 16, self.vendor_high.get());
        f.hex("qpn", 24, self.qpn().get());
        f.hex("vendor_id_low", 8, VENDOR_ID_LOW.of(self.qp));
        f.named("service_id", 64, self.service_id.get(), &self.service_id);
        f.hex("q_key", 32, self.q_key.get());
        f.bytes("info", &self.info);
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for SidrRep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request_id, status, service_id, q_key, .. } = self;
        write!(f, "{request_id} {service_id}: {status}")?;
        if *status == SidrStatus::OK {
            write!(f, " qp {} q_key {q_key}", self.qpn())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::test_data::{NO_LISTENER_SIDR_REP, UDADDY_SIDR_REP, mad};

    #[test]
    fn the_sidr_rep_of_udaddy_names_queue_pair_and_key() {
        let bytes = mad(UDADDY_SIDR_REP);
        let (rep, _) = SidrRep::parse(&bytes[24..]).unwrap();
        assert_eq!(rep.status, SidrStatus::OK);
        // 0x01234567 is `RDMA_UDP_QKEY` of Linux `include/rdma/rdma_cm.h`; the datagrams that
        // follow in the capture go to queue pair 0x79.
        assert_eq!((rep.q_key.get(), rep.qpn()), (0x0123_4567, Qpn::new(0x79)));
        assert_eq!(rep.to_string(), "0xcd852c6d UDP port 7174: ok qp 0x000079 q_key 0x01234567");
        let mut built = SidrRep::new(rep.request_id, SidrStatus::OK, ServiceId::new(0x0111_1c06))
            .with_qpn(Qpn::new(0x79));
        built.q_key = QKey::new(0x0123_4567);
        assert_eq!(built.as_bytes(), &bytes[24..]);
    }

    #[test]
    fn a_port_without_listener_is_said_in_words() {
        let bytes = mad(NO_LISTENER_SIDR_REP);
        let (rep, _) = SidrRep::parse(&bytes[24..]).unwrap();
        assert_eq!(rep.status, SidrStatus::UNSUPPORTED);
        assert_eq!(rep.to_string(), "0xf6852c6d UDP port 7174: service id not supported");
    }

    #[test]
    fn the_vendor_id_stands_in_two_places() {
        let (all, _) = SidrRep::parse(&[0xff; 232]).unwrap();
        let rep = all.with_vendor_id(0x12_3456).with_qpn(Qpn::new(0));
        assert_eq!(rep.as_bytes()[4..12], [0xff, 0xff, 0x12, 0x34, 0, 0, 0, 0x56]);
        assert_eq!(rep.vendor_id(), 0x12_3456);
    }
}
