//! Connection request, 232 bytes: the one message that tells all about a connection to be.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | reserved      | vendor id                                     |
//!  8  | service id (8 bytes)                                          |
//! 16  | local CA GUID (8 bytes)                                       |
//! 24  | reserved                                                      |
//! 28  | local Q_Key                                                   |
//! 32  | local QPN                                     | resp resources|
//! 36  | local EECN                                    | init depth    |
//! 40  | remote EECN                                   | r timeout|ts|E|
//! 44  | starting PSN                                  | l timeout|retr|
//! 48  | P_Key                         | MTU   |R|rnr  | max CM|S| ext |
//! 52  | primary path (44 bytes)                                       |
//! 96  | alternate path (44 bytes; its last three bits: A, reserved)   |
//!140  | private data (92 bytes)                                       |
//! ```
//! Timeouts have 5 bits. ts transport service, E end-to-end flow control, R RDC exists, rnr RNR
//! retry count, S SRQ, ext extended transport, A suggests alternate paths (SAP supported).
//! "Local" is the sender. Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 106.

#[cfg(test)]
mod tests;
mod with;

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::path::{ALTERNATE, PRIMARY};
use super::{CmTimeout, CommId, Guid, Path, PathMtu, ServiceId};
use crate::mad::RdmaCmHeader;
use crate::mad::bits::{Bits, ByteBits};
use crate::{Fields, Header, PKey, Psn, QKey, Qpn, Service};

/// Connection request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Req {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    vendor: U32,
    /// What the sender wants to reach.
    pub service_id: ServiceId,
    /// The sender's adapter.
    pub local_ca_guid: Guid,
    reserved_24: U32,
    /// The sender's Q_Key; of reliable datagrams.
    pub local_q_key: QKey,
    qp: U32,
    ee: U32,
    remote: U32,
    psn: U32,
    /// The partition.
    pub p_key: PKey,
    mtu: u8,
    retries: u8,
    /// The path to use.
    pub primary: Path,
    /// The path to fall back to; [`Path::NONE`] on RoCE.
    pub alternate: Path,
    /// For the service; of RDMA_CM its first 36 bytes are an [`RdmaCmHeader`].
    pub private_data: [u8; 92],
}

const _: () = assert!(size_of::<Req>() == 232);

const RESERVED_4: Bits = Bits(0xff00_0000);
const VENDOR_ID: Bits = Bits(0x00ff_ffff);
const LOCAL_QPN: Bits = Bits(0xffff_ff00);
const RESPONDER_RESOURCES: Bits = Bits(0x0000_00ff);
const LOCAL_EECN: Bits = Bits(0xffff_ff00);
const INITIATOR_DEPTH: Bits = Bits(0x0000_00ff);
const REMOTE_EECN: Bits = Bits(0xffff_ff00);
const REMOTE_TIMEOUT: Bits = Bits(0x0000_00f8);
const TRANSPORT: Bits = Bits(0x0000_0006);
const FLOW_CONTROL: Bits = Bits(0x0000_0001);
const STARTING_PSN: Bits = Bits(0xffff_ff00);
const LOCAL_TIMEOUT: Bits = Bits(0x0000_00f8);
const RETRY_COUNT: Bits = Bits(0x0000_0007);
const MTU: ByteBits = ByteBits(0xf0);
const RDC_EXISTS: ByteBits = ByteBits(0x08);
const RNR_RETRY_COUNT: ByteBits = ByteBits(0x07);
const MAX_CM_RETRIES: ByteBits = ByteBits(0xf0);
const SRQ: ByteBits = ByteBits(0x08);
const EXTENDED_TRANSPORT: ByteBits = ByteBits(0x07);
const SAP_SUPPORTED: ByteBits = ByteBits(0x04);
const RESERVED_139: ByteBits = ByteBits(0x03);

impl Req {
    /// A request for a reliable connection over `primary`; what is not named is zero, but the
    /// default partition.
    #[must_use]
    pub const fn new(local_comm_id: CommId, service_id: ServiceId, primary: Path) -> Self {
        Self {
            local_comm_id,
            vendor: U32::new(0),
            service_id,
            local_ca_guid: Guid::new(0),
            reserved_24: U32::new(0),
            local_q_key: QKey::new(0),
            qp: U32::new(0),
            ee: U32::new(0),
            remote: U32::new(0),
            psn: U32::new(0),
            p_key: PKey::DEFAULT,
            mtu: 0,
            retries: 0,
            primary,
            alternate: Path::NONE,
            private_data: [0; 92],
        }
    }

    /// Whose adapter it is, 24 bits; of enhanced connection establishment, 0 without.
    #[must_use]
    pub const fn vendor_id(&self) -> u32 {
        VENDOR_ID.of(self.vendor)
    }

    /// The sender's queue pair.
    #[must_use]
    pub const fn local_qpn(&self) -> Qpn {
        Qpn::new(LOCAL_QPN.of(self.qp))
    }

    /// How many READ and atomic requests the sender takes at a time.
    #[must_use]
    pub const fn responder_resources(&self) -> u8 {
        RESPONDER_RESOURCES.byte_of(self.qp)
    }

    /// The sender's end-to-end context, 24 bits; of reliable datagrams.
    #[must_use]
    pub const fn local_eecn(&self) -> u32 {
        LOCAL_EECN.of(self.ee)
    }

    /// How many READ and atomic requests the sender wants to have open at a time.
    #[must_use]
    pub const fn initiator_depth(&self) -> u8 {
        INITIATOR_DEPTH.byte_of(self.ee)
    }

    /// The receiver's end-to-end context, 24 bits; of reliable datagrams.
    #[must_use]
    pub const fn remote_eecn(&self) -> u32 {
        REMOTE_EECN.of(self.remote)
    }

    /// How soon the receiver is to answer.
    #[must_use]
    pub const fn remote_timeout(&self) -> CmTimeout {
        CmTimeout(REMOTE_TIMEOUT.byte_of(self.remote))
    }

    /// The transport service, 2 bits: 0 RC, 1 UC, 2 RD, 3 as the extended transport says.
    #[must_use]
    pub const fn transport(&self) -> u8 {
        TRANSPORT.byte_of(self.remote)
    }

    /// Whether the sender does end-to-end flow control, which is by credits in ACKs.
    #[must_use]
    pub const fn flow_control(&self) -> bool {
        FLOW_CONTROL.of(self.remote) != 0
    }

    /// The PSN of the first request that the other side is to send.
    #[must_use]
    pub const fn starting_psn(&self) -> Psn {
        Psn::new(STARTING_PSN.of(self.psn))
    }

    /// How soon the sender will answer.
    #[must_use]
    pub const fn local_timeout(&self) -> CmTimeout {
        CmTimeout(LOCAL_TIMEOUT.byte_of(self.psn))
    }

    /// How often a packet is sent again without an answer, 0 to 7.
    #[must_use]
    pub const fn retry_count(&self) -> u8 {
        RETRY_COUNT.byte_of(self.psn)
    }

    /// The largest payload of a packet.
    #[must_use]
    pub const fn path_mtu(&self) -> PathMtu {
        PathMtu(MTU.of(self.mtu))
    }

    /// Whether the reliable datagram channel exists.
    #[must_use]
    pub const fn rdc_exists(&self) -> bool {
        RDC_EXISTS.is_set(self.mtu)
    }

    /// How often a packet is sent again after an RNR NAK, 0 to 6; 7 is without end.
    #[must_use]
    pub const fn rnr_retry_count(&self) -> u8 {
        RNR_RETRY_COUNT.of(self.mtu)
    }

    /// How often either side sends a CM message again, 0 to 15.
    #[must_use]
    pub const fn max_cm_retries(&self) -> u8 {
        MAX_CM_RETRIES.of(self.retries)
    }

    /// Whether the sender's queue pair has a shared receive queue.
    #[must_use]
    pub const fn srq(&self) -> bool {
        SRQ.is_set(self.retries)
    }

    /// The extended transport, 3 bits: 1 XRC. It counts when [`transport`](Self::transport) is 3.
    #[must_use]
    pub const fn extended_transport(&self) -> u8 {
        EXTENDED_TRANSPORT.of(self.retries)
    }

    /// The transport service that both fields name together; `None` for a reserved combination.
    #[must_use]
    pub const fn service(&self) -> Option<Service> {
        match (self.transport(), self.extended_transport()) {
            (0, _) => Some(Service::Rc),
            (1, _) => Some(Service::Uc),
            (2, _) => Some(Service::Rd),
            (_, 1) => Some(Service::Xrc),
            _ => None,
        }
    }

    /// Whether the sender understands suggested alternate paths.
    #[must_use]
    pub const fn sap_supported(&self) -> bool {
        SAP_SUPPORTED.is_set(self.alternate.last_3())
    }

    /// RDMA_CM's header and its consumer's private data, when the service id is RDMA_CM's.
    #[must_use]
    pub fn rdma_cm(&self) -> Option<(&RdmaCmHeader, &[u8])> {
        RdmaCmHeader::of_service(self.service_id, &self.private_data)
    }

    fn fields_before_paths(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.reserved(8, RESERVED_4.of(self.vendor));
        f.hex("vendor_id", 24, self.vendor_id());
        f.named("service_id", 64, self.service_id.get(), &self.service_id);
        f.hex("local_ca_guid", 64, self.local_ca_guid.get());
        f.reserved(32, self.reserved_24.get());
        f.hex("local_q_key", 32, self.local_q_key.get());
        f.hex("local_qpn", 24, self.local_qpn().get());
        f.uint("responder_resources", 8, self.responder_resources());
        f.hex("local_eecn", 24, self.local_eecn());
        f.uint("initiator_depth", 8, self.initiator_depth());
        f.hex("remote_eecn", 24, self.remote_eecn());
        f.named("remote_timeout", 5, self.remote_timeout().0, &self.remote_timeout());
        match self.service() {
            Some(service) => f.named("transport", 2, self.transport(), &service),
            None => f.uint("transport", 2, self.transport()),
        }
        f.flag("flow_control", self.flow_control());
        f.uint("starting_psn", 24, self.starting_psn().get());
        f.named("local_timeout", 5, self.local_timeout().0, &self.local_timeout());
        f.uint("retry_count", 3, self.retry_count());
        f.hex("p_key", 16, self.p_key.get());
        f.named("path_mtu", 4, self.path_mtu().0, &self.path_mtu());
        f.flag("rdc_exists", self.rdc_exists());
        f.uint("rnr_retry_count", 3, self.rnr_retry_count());
        f.uint("max_cm_retries", 4, self.max_cm_retries());
        f.flag("srq", self.srq());
        f.uint("extended_transport", 3, self.extended_transport());
    }
}

impl Header for Req {
    const NAME: &'static str = "CM REQ";

    fn fields(&self, f: &mut Fields<'_>) {
        self.fields_before_paths(f);
        self.primary.fields(&PRIMARY, f);
        f.reserved(3, self.primary.last_3());
        self.alternate.fields(&ALTERNATE, f);
        f.flag("sap_supported", self.sap_supported());
        f.reserved(2, RESERVED_139.of(self.alternate.last_3()));
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Req {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.local_comm_id)?;
        RdmaCmHeader::describe(self.service_id, self.rdma_cm(), f)?;
        match self.service() {
            Some(service) => write!(f, " {service}")?,
            None => write!(f, " transport {}/{}", self.transport(), self.extended_transport())?,
        }
        write!(f, " qp {} psn {} mtu {}", self.local_qpn(), self.starting_psn(), self.path_mtu())
    }
}
