//! Connection reply, 232 bytes: the other half of what a connection needs.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  | local Q_Key                                                   |
//! 12  | local QPN                                     | vendor id, hi |
//! 16  | local EECN                                    | vendor id, mid|
//! 20  | starting PSN                                  | vendor id, low|
//! 24  | resp resources| init depth    | delay   |fo |E|rnr  |S| res   |
//! 28  | local CA GUID (8 bytes)                                       |
//! 36  | private data (196 bytes)                                      |
//! ```
//! delay target ACK delay, fo failover accepted, E end-to-end flow control, rnr RNR retry count,
//! S SRQ. "Local" is the sender. Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 110.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CmTimeout, CommId, Guid};
use crate::mad::bits::{Bits, ByteBits};
use crate::{Fields, Header, Psn, QKey, Qpn};

/// Connection reply.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Rep {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    /// The receiver's, from its REQ.
    pub remote_comm_id: CommId,
    /// The sender's Q_Key; of reliable datagrams.
    pub local_q_key: QKey,
    qp: U32,
    ee: U32,
    psn: U32,
    /// How many READ and atomic requests the sender takes at a time.
    pub responder_resources: u8,
    /// How many READ and atomic requests the sender wants to have open at a time.
    pub initiator_depth: u8,
    delay: u8,
    retry: u8,
    /// The sender's adapter.
    pub local_ca_guid: Guid,
    /// For the service.
    pub private_data: [u8; 196],
}

const _: () = assert!(size_of::<Rep>() == 232);

const LOCAL_QPN: Bits = Bits(0xffff_ff00);
const LOCAL_EECN: Bits = Bits(0xffff_ff00);
const STARTING_PSN: Bits = Bits(0xffff_ff00);
const VENDOR_ID_PART: Bits = Bits(0x0000_00ff);
const ACK_DELAY: ByteBits = ByteBits(0xf8);
const FAILOVER: ByteBits = ByteBits(0x06);
const FLOW_CONTROL: ByteBits = ByteBits(0x01);
const RNR_RETRY_COUNT: ByteBits = ByteBits(0xe0);
const SRQ: ByteBits = ByteBits(0x10);
const RESERVED_27: ByteBits = ByteBits(0x0f);

impl Rep {
    /// A reply; what is not named is zero.
    #[must_use]
    pub const fn new(
        local_comm_id: CommId,
        remote_comm_id: CommId,
        local_qpn: Qpn,
        starting_psn: Psn,
    ) -> Self {
        Self {
            local_comm_id,
            remote_comm_id,
            local_q_key: QKey::new(0),
            qp: LOCAL_QPN.put(U32::new(0), local_qpn.get()),
            ee: U32::new(0),
            psn: STARTING_PSN.put(U32::new(0), starting_psn.get()),
            responder_resources: 0,
            initiator_depth: 0,
            delay: 0,
            retry: 0,
            local_ca_guid: Guid::new(0),
            private_data: [0; 196],
        }
    }

    /// The sender's queue pair.
    #[must_use]
    pub const fn local_qpn(&self) -> Qpn {
        Qpn::new(LOCAL_QPN.of(self.qp))
    }

    /// The sender's end-to-end context, 24 bits; of XRC its queue pair.
    #[must_use]
    pub const fn local_eecn(&self) -> u32 {
        LOCAL_EECN.of(self.ee)
    }

    /// The PSN of the first request that the other side is to send.
    #[must_use]
    pub const fn starting_psn(&self) -> Psn {
        Psn::new(STARTING_PSN.of(self.psn))
    }

    /// Whose adapter it is, 24 bits in three pieces; of enhanced connection establishment.
    #[must_use]
    pub const fn vendor_id(&self) -> u32 {
        let (high, middle) = (VENDOR_ID_PART.of(self.qp), VENDOR_ID_PART.of(self.ee));
        high << 16 | middle << 8 | VENDOR_ID_PART.of(self.psn)
    }

    /// How long the sender may take to acknowledge a packet.
    #[must_use]
    pub const fn target_ack_delay(&self) -> CmTimeout {
        CmTimeout(ACK_DELAY.of(self.delay))
    }

    /// What the sender says of the alternate path, 2 bits: 0 accepted or none.
    #[must_use]
    pub const fn failover_accepted(&self) -> u8 {
        FAILOVER.of(self.delay)
    }

    /// Whether the sender does end-to-end flow control, which is by credits in ACKs.
    #[must_use]
    pub const fn flow_control(&self) -> bool {
        FLOW_CONTROL.is_set(self.delay)
    }

    /// How often a packet is sent again after an RNR NAK, 0 to 6; 7 is without end.
    #[must_use]
    pub const fn rnr_retry_count(&self) -> u8 {
        RNR_RETRY_COUNT.of(self.retry)
    }

    /// Whether the sender's queue pair has a shared receive queue.
    #[must_use]
    pub const fn srq(&self) -> bool {
        SRQ.is_set(self.retry)
    }

    /// The same from another queue pair.
    #[must_use]
    pub const fn with_local_qpn(self, qpn: Qpn) -> Self {
        Self { qp: LOCAL_QPN.put(self.qp, qpn.get()), ..self }
    }

    /// The same with another end-to-end context, modulo 2^24.
    #[must_use]
    pub const fn with_local_eecn(self, eecn: u32) -> Self {
        Self { ee: LOCAL_EECN.put(self.ee, eecn), ..self }
    }

    /// The same with another starting PSN.
    #[must_use]
    pub const fn with_starting_psn(self, psn: Psn) -> Self {
        Self { psn: STARTING_PSN.put(self.psn, psn.get()), ..self }
    }

    /// The same of another vendor, modulo 2^24.
    #[must_use]
    pub const fn with_vendor_id(self, id: u32) -> Self {
        Self {
            qp: VENDOR_ID_PART.put(self.qp, id >> 16),
            ee: VENDOR_ID_PART.put(self.ee, id >> 8),
            psn: VENDOR_ID_PART.put(self.psn, id),
            ..self
        }
    }

    /// The same with another acknowledgement delay, modulo 32.
    #[must_use]
    pub const fn with_target_ack_delay(self, delay: CmTimeout) -> Self {
        Self { delay: ACK_DELAY.put(self.delay, delay.0), ..self }
    }

    /// The same with another answer on the alternate path, modulo 4.
    #[must_use]
    pub const fn with_failover_accepted(self, code: u8) -> Self {
        Self { delay: FAILOVER.put(self.delay, code), ..self }
    }

    /// The same with another end-to-end flow control.
    #[must_use]
    pub const fn with_flow_control(self, on: bool) -> Self {
        Self { delay: FLOW_CONTROL.put(self.delay, on as u8), ..self }
    }

    /// The same with another RNR retry count, modulo 8.
    #[must_use]
    pub const fn with_rnr_retry_count(self, count: u8) -> Self {
        Self { retry: RNR_RETRY_COUNT.put(self.retry, count), ..self }
    }

    /// The same with another SRQ bit.
    #[must_use]
    pub const fn with_srq(self, on: bool) -> Self {
        Self { retry: SRQ.put(self.retry, on as u8), ..self }
    }
}

impl Header for Rep {
    const NAME: &'static str = "CM REP";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.hex("local_q_key", 32, self.local_q_key.get());
        f.hex("local_qpn", 24, self.local_qpn().get());
        f.hex("vendor_id_high", 8, VENDOR_ID_PART.of(self.qp));
        f.hex("local_eecn", 24, self.local_eecn());
        f.hex("vendor_id_middle", 8, VENDOR_ID_PART.of(self.ee));
        f.uint("starting_psn", 24, self.starting_psn().get());
        f.hex("vendor_id_low", 8, VENDOR_ID_PART.of(self.psn));
        f.uint("responder_resources", 8, self.responder_resources);
        f.uint("initiator_depth", 8, self.initiator_depth);
        f.named("target_ack_delay", 5, self.target_ack_delay().0, &self.target_ack_delay());
        f.uint("failover_accepted", 2, self.failover_accepted());
        f.flag("flow_control", self.flow_control());
        f.uint("rnr_retry_count", 3, self.rnr_retry_count());
        f.flag("srq", self.srq());
        f.reserved(4, RESERVED_27.of(self.retry));
        f.hex("local_ca_guid", 64, self.local_ca_guid.get());
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Rep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local_comm_id, remote_comm_id, .. } = self;
        write!(f, "{local_comm_id} to {remote_comm_id}")?;
        write!(f, " qp {} psn {}", self.local_qpn(), self.starting_psn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mad::test_data::{RPING_REP, mad};

    #[test]
    fn the_rep_of_rping_reads_as_tshark_reads_it() {
        let bytes = mad(RPING_REP);
        let (rep, _) = Rep::parse(&bytes[24..]).unwrap();
        assert_eq!(rep.local_comm_id, CommId::new(0xc385_2c6d));
        assert_eq!(rep.remote_comm_id, CommId::new(0xc085_2c6d));
        assert_eq!((rep.local_q_key.get(), rep.local_qpn()), (0, Qpn::new(0x75)));
        assert_eq!((rep.local_eecn(), rep.vendor_id()), (0, 0));
        assert_eq!(rep.starting_psn(), Psn::new(0xac_30e9));
        assert_eq!((rep.responder_resources, rep.initiator_depth), (1, 1));
        assert_eq!((rep.target_ack_delay(), rep.failover_accepted()), (CmTimeout(15), 0));
        assert_eq!((rep.flow_control(), rep.rnr_retry_count(), rep.srq()), (false, 7, false));
        assert_eq!(rep.local_ca_guid, Guid::new(0x0000_00ff_fe77_0002));
        assert_eq!(rep.to_string(), "0xc3852c6d to 0xc0852c6d qp 0x000075 psn 11284713");
    }

    #[test]
    fn it_is_built_as_captured() {
        let (local, remote) = (CommId::new(0xc385_2c6d), CommId::new(0xc085_2c6d));
        let mut rep = Rep::new(local, remote, Qpn::new(0x75), Psn::new(0xac_30e9))
            .with_target_ack_delay(CmTimeout(15))
            .with_rnr_retry_count(7);
        (rep.responder_resources, rep.initiator_depth) = (1, 1);
        rep.local_ca_guid = Guid::new(0x0000_00ff_fe77_0002);
        assert_eq!(rep.as_bytes(), &mad(RPING_REP)[24..]);
    }

    #[test]
    fn a_setter_touches_its_own_bits_only() {
        let (all, _) = Rep::parse(&[0xff; 232]).unwrap();
        let none = all
            .with_local_qpn(Qpn::new(0))
            .with_local_eecn(0)
            .with_starting_psn(Psn::new(0))
            .with_target_ack_delay(CmTimeout(0))
            .with_rnr_retry_count(0);
        assert_eq!(none.as_bytes()[12..24], [0, 0, 0, 0xff, 0, 0, 0, 0xff, 0, 0, 0, 0xff]);
        assert_eq!(none.as_bytes()[26..28], [0x07, 0x1f]);
        let vendor = none.with_vendor_id(0x12_3456);
        assert_eq!(vendor.as_bytes()[12..24], [0, 0, 0, 0x12, 0, 0, 0, 0x34, 0, 0, 0, 0x56]);
        assert_eq!(vendor.vendor_id(), 0x12_3456);
        let rest = none.with_failover_accepted(0).with_flow_control(false).with_srq(false);
        assert_eq!(rest.as_bytes()[26..28], [0x00, 0x0f]);
    }
}
