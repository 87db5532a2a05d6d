//! Load alternate path, 232 bytes: another path to fall back to. Not used on RoCE.
//!
//! ```text
//!      0               1               2               3
//!  0  | local comm id                                                 |
//!  4  | remote comm id                                                |
//!  8  | reserved                                                      |
//! 12  | remote QPN or EECN                            | timeout |res  |
//! 16  | reserved                                                      |
//! 20  | local LID                     | remote LID                    |
//! 24  | local GID (16 bytes)                                          |
//! 40  | remote GID (16 bytes)                                         |
//! 56  | flow label (20 bits)                  | res   | traffic class |
//! 60  | hop limit     |res| rate      |  SL   |L|res  | ack timeo|res |
//! 64  | private data (168 bytes)                                      |
//! ```
//! L: both ports are in one subnet. Timeouts have 5 bits. The path's fields are those of a REQ in
//! another order. Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 115.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{AckTimeout, CmTimeout, CommId};
use crate::mad::bits::{Bits, ByteBits};
use crate::{Fields, Gid, Header, Lid, Qpn};

/// Load alternate path.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Lap {
    /// The sender's id of the connection.
    pub local_comm_id: CommId,
    /// The receiver's.
    pub remote_comm_id: CommId,
    reserved_8: U32,
    qp: U32,
    reserved_16: U32,
    /// LID of the sender.
    pub local_lid: Lid,
    /// LID of the receiver.
    pub remote_lid: Lid,
    /// GID of the sender.
    pub local_gid: Gid,
    /// GID of the receiver.
    pub remote_gid: Gid,
    flow: U32,
    /// Hop limit.
    pub hop_limit: u8,
    rate: u8,
    level: u8,
    timeout: u8,
    /// For the service.
    pub private_data: [u8; 168],
}

const _: () = assert!(size_of::<Lap>() == 232);

const REMOTE_QPN: Bits = Bits(0xffff_ff00);
const REMOTE_TIMEOUT: Bits = Bits(0x0000_00f8);
const RESERVED_15: Bits = Bits(0x0000_0007);
const FLOW_LABEL: Bits = Bits(0xffff_f000);
const RESERVED_58: Bits = Bits(0x0000_0f00);
const TRAFFIC_CLASS: Bits = Bits(0x0000_00ff);
const RESERVED_61: ByteBits = ByteBits(0xc0);
const PACKET_RATE: ByteBits = ByteBits(0x3f);
const SL: ByteBits = ByteBits(0xf0);
const SUBNET_LOCAL: ByteBits = ByteBits(0x08);
const RESERVED_62: ByteBits = ByteBits(0x07);
const ACK_TIMEOUT: ByteBits = ByteBits(0xf8);
const RESERVED_63: ByteBits = ByteBits(0x07);

impl Lap {
    /// A request between two GIDs; what is not named is zero.
    #[must_use]
    pub const fn new(
        local_comm_id: CommId,
        remote_comm_id: CommId,
        local_gid: Gid,
        remote_gid: Gid,
    ) -> Self {
        Self {
            local_comm_id,
            remote_comm_id,
            reserved_8: U32::new(0),
            qp: U32::new(0),
            reserved_16: U32::new(0),
            local_lid: Lid::new(0),
            remote_lid: Lid::new(0),
            local_gid,
            remote_gid,
            flow: U32::new(0),
            hop_limit: 0,
            rate: 0,
            level: 0,
            timeout: 0,
            private_data: [0; 168],
        }
    }

    /// The receiver's queue pair; of reliable datagrams its end-to-end context.
    #[must_use]
    pub const fn remote_qpn(&self) -> Qpn {
        Qpn::new(REMOTE_QPN.of(self.qp))
    }

    /// How soon the receiver is to answer.
    #[must_use]
    pub const fn remote_timeout(&self) -> CmTimeout {
        CmTimeout(REMOTE_TIMEOUT.byte_of(self.qp))
    }

    /// Flow label, 20 bits.
    #[must_use]
    pub const fn flow_label(&self) -> u32 {
        FLOW_LABEL.of(self.flow)
    }

    /// Traffic class.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        TRAFFIC_CLASS.byte_of(self.flow)
    }

    /// The rate limit as InfiniBand's code of 6 bits.
    #[must_use]
    pub const fn packet_rate(&self) -> u8 {
        PACKET_RATE.of(self.rate)
    }

    /// Service level, 4 bits.
    #[must_use]
    pub const fn sl(&self) -> u8 {
        SL.of(self.level)
    }

    /// Whether both ports are in one subnet.
    #[must_use]
    pub const fn subnet_local(&self) -> bool {
        SUBNET_LOCAL.is_set(self.level)
    }

    /// How long the sender waits for an acknowledgement.
    #[must_use]
    pub const fn ack_timeout(&self) -> AckTimeout {
        AckTimeout(ACK_TIMEOUT.of(self.timeout))
    }

    /// The same for another queue pair.
    #[must_use]
    pub const fn with_remote_qpn(self, qpn: Qpn) -> Self {
        Self { qp: REMOTE_QPN.put(self.qp, qpn.get()), ..self }
    }

    /// The same with another time for the receiver, modulo 32.
    #[must_use]
    pub const fn with_remote_timeout(self, timeout: CmTimeout) -> Self {
        Self { qp: REMOTE_TIMEOUT.put(self.qp, timeout.0 as u32), ..self }
    }

    /// The same with another flow label, modulo 2^20.
    #[must_use]
    pub const fn with_flow_label(self, label: u32) -> Self {
        Self { flow: FLOW_LABEL.put(self.flow, label), ..self }
    }

    /// The same with another traffic class.
    #[must_use]
    pub const fn with_traffic_class(self, class: u8) -> Self {
        Self { flow: TRAFFIC_CLASS.put(self.flow, class as u32), ..self }
    }

    /// The same with another packet rate, modulo 64.
    #[must_use]
    pub const fn with_packet_rate(self, rate: u8) -> Self {
        Self { rate: PACKET_RATE.put(self.rate, rate), ..self }
    }

    /// The same on another service level, modulo 16.
    #[must_use]
    pub const fn with_sl(self, sl: u8) -> Self {
        Self { level: SL.put(self.level, sl), ..self }
    }

    /// The same with another subnet-local bit.
    #[must_use]
    pub const fn with_subnet_local(self, on: bool) -> Self {
        Self { level: SUBNET_LOCAL.put(self.level, on as u8), ..self }
    }

    /// The same with another acknowledgement timeout, modulo 32.
    #[must_use]
    pub const fn with_ack_timeout(self, timeout: AckTimeout) -> Self {
        Self { timeout: ACK_TIMEOUT.put(self.timeout, timeout.0), ..self }
    }
}

impl Header for Lap {
    const NAME: &'static str = "CM LAP";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("local_comm_id", 32, self.local_comm_id.get());
        f.hex("remote_comm_id", 32, self.remote_comm_id.get());
        f.reserved(32, self.reserved_8.get());
        f.hex("remote_qpn", 24, self.remote_qpn().get());
        f.named("remote_timeout", 5, self.remote_timeout().0, &self.remote_timeout());
        f.reserved(3, RESERVED_15.of(self.qp));
        f.reserved(32, self.reserved_16.get());
        f.uint("alternate_local_lid", 16, self.local_lid.get());
        f.uint("alternate_remote_lid", 16, self.remote_lid.get());
        f.gid("alternate_local_gid", self.local_gid);
        f.gid("alternate_remote_gid", self.remote_gid);
        f.hex("alternate_flow_label", 20, self.flow_label());
        f.reserved(4, RESERVED_58.of(self.flow));
        f.uint("alternate_traffic_class", 8, self.traffic_class());
        f.uint("alternate_hop_limit", 8, self.hop_limit);
        f.reserved(2, RESERVED_61.of(self.rate));
        f.uint("alternate_packet_rate", 6, self.packet_rate());
        f.uint("alternate_sl", 4, self.sl());
        f.flag("alternate_subnet_local", self.subnet_local());
        f.reserved(3, RESERVED_62.of(self.level));
        f.named("alternate_ack_timeout", 5, self.ack_timeout().0, &self.ack_timeout());
        f.reserved(3, RESERVED_63.of(self.timeout));
        f.bytes("private_data", &self.private_data);
    }
}

impl fmt::Display for Lap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local_comm_id, remote_comm_id, local_gid, remote_gid, .. } = self;
        write!(f, "{local_comm_id} to {remote_comm_id}")?;
        write!(f, " remote qp {} path {local_gid} > {remote_gid}", self.remote_qpn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_the_standard_has_them() {
        // Offsets of IBTA table 115 as given in Linux `include/rdma/ibta_vol1_c12.h`.
        let lap = Lap::new(CommId::new(1), CommId::new(2), Gid([0xaa; 16]), Gid([0xbb; 16]))
            .with_remote_qpn(Qpn::new(0x12_3456))
            .with_remote_timeout(CmTimeout(0x1f))
            .with_flow_label(0xf_ffff)
            .with_traffic_class(0x68)
            .with_packet_rate(0x3f)
            .with_sl(5)
            .with_subnet_local(true)
            .with_ack_timeout(AckTimeout(0x11));
        let bytes = lap.as_bytes();
        assert_eq!(
            bytes[..20],
            [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0xf8, 0, 0, 0, 0]
        );
        assert_eq!((&bytes[24..40], &bytes[40..56]), (&[0xaa; 16][..], &[0xbb; 16][..]));
        assert_eq!(bytes[56..64], [0xff, 0xff, 0xf0, 0x68, 0, 0x3f, 0x58, 0x88]);
    }

    #[test]
    fn a_setter_touches_its_own_bits_only() {
        let (all, _) = Lap::parse(&[0xff; 232]).unwrap();
        let none = all
            .with_remote_qpn(Qpn::new(0))
            .with_remote_timeout(CmTimeout(0))
            .with_flow_label(0)
            .with_traffic_class(0)
            .with_packet_rate(0)
            .with_sl(0)
            .with_subnet_local(false)
            .with_ack_timeout(AckTimeout(0));
        assert_eq!(none.as_bytes()[12..16], [0, 0, 0, 0x07]);
        assert_eq!(none.as_bytes()[56..64], [0, 0, 0x0f, 0, 0xff, 0xc0, 0x07, 0x07]);
    }

    #[test]
    fn it_prints_the_path() {
        let lap = Lap::new(CommId::new(1), CommId::new(2), Gid([0; 16]), Gid([0; 16]));
        assert_eq!(lap.to_string(), "0x00000001 to 0x00000002 remote qp 0x000000 path :: > ::");
    }
}
