//! A path of a REQ, 44 bytes: how packets get from one port to the other.
//!
//! ```text
//!      0               1               2               3
//!  0  | local LID                     | remote LID                    |
//!  4  | local GID (16 bytes)                                          |
//! 20  | remote GID (16 bytes)                                         |
//! 36  | flow label (20 bits)                  | reserved  | rate      |
//! 40  | traffic class | hop limit     |  SL   |L|res  | timeout |  *  |
//! ```
//! L: both ports are in one subnet. The last three bits (*) are reserved in the primary path; in
//! the alternate path the first of them is REQ's own. LAP orders the same fields differently.
//! Source: Linux `include/rdma/ibta_vol1_c12.h`, IBTA table 106.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::AckTimeout;
use crate::mad::bits::{Bits, ByteBits};
use crate::{Fields, Gid, Lid};

/// The primary or alternate path of a REQ.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Path {
    /// LID of the sender; Linux writes the permissive one on routed RoCE.
    pub local_lid: Lid,
    /// LID of the receiver.
    pub remote_lid: Lid,
    /// GID of the sender.
    pub local_gid: Gid,
    /// GID of the receiver.
    pub remote_gid: Gid,
    flow: U32,
    /// Traffic class.
    pub traffic_class: u8,
    /// Hop limit.
    pub hop_limit: u8,
    level: u8,
    timeout: u8,
}

const _: () = assert!(size_of::<Path>() == 44);

const FLOW_LABEL: Bits = Bits(0xffff_f000);
const RESERVED_6: Bits = Bits(0x0000_0fc0);
const PACKET_RATE: Bits = Bits(0x0000_003f);
const SL: ByteBits = ByteBits(0xf0);
const SUBNET_LOCAL: ByteBits = ByteBits(0x08);
const RESERVED_3: ByteBits = ByteBits(0x07);
const ACK_TIMEOUT: ByteBits = ByteBits(0xf8);
const LAST_3: ByteBits = ByteBits(0x07);

impl Path {
    /// The path that is none: every byte zero.
    pub const NONE: Self = Self {
        local_lid: Lid::new(0),
        remote_lid: Lid::new(0),
        local_gid: Gid([0; 16]),
        remote_gid: Gid([0; 16]),
        flow: U32::new(0),
        traffic_class: 0,
        hop_limit: 0,
        level: 0,
        timeout: 0,
    };

    /// A routed path as Linux describes it on RoCE: permissive LIDs and hop limit 64.
    #[must_use]
    pub const fn new(local_gid: Gid, remote_gid: Gid) -> Self {
        Self {
            local_lid: Lid::new(0xffff),
            remote_lid: Lid::new(0xffff),
            local_gid,
            remote_gid,
            hop_limit: 64,
            ..Self::NONE
        }
    }

    /// Whether there is such a path: both GIDs of an unused alternate path are zero.
    #[must_use]
    pub const fn is_used(&self) -> bool {
        !self.local_gid.is_zero() || !self.remote_gid.is_zero()
    }

    /// Flow label, 20 bits.
    ///
    /// On RoCE v2 Linux derives the UDP source port of the data from it.
    #[must_use]
    pub const fn flow_label(&self) -> u32 {
        FLOW_LABEL.of(self.flow)
    }

    /// The rate limit as InfiniBand's code of 6 bits; 0 on soft-RoCE.
    #[must_use]
    pub const fn packet_rate(&self) -> u8 {
        PACKET_RATE.byte_of(self.flow)
    }

    /// Service level, 4 bits.
    #[must_use]
    pub const fn sl(&self) -> u8 {
        SL.of(self.level)
    }

    /// Whether both ports are in one subnet; Linux says so when the hop limit is at most 1.
    #[must_use]
    pub const fn subnet_local(&self) -> bool {
        SUBNET_LOCAL.is_set(self.level)
    }

    /// How long the sender waits for an acknowledgement.
    #[must_use]
    pub const fn ack_timeout(&self) -> AckTimeout {
        AckTimeout(ACK_TIMEOUT.of(self.timeout))
    }

    /// The same with another flow label, modulo 2^20.
    #[must_use]
    pub const fn with_flow_label(self, label: u32) -> Self {
        Self { flow: FLOW_LABEL.put(self.flow, label), ..self }
    }

    /// The same with another packet rate, modulo 64.
    #[must_use]
    pub const fn with_packet_rate(self, rate: u8) -> Self {
        Self { flow: PACKET_RATE.put(self.flow, rate as u32), ..self }
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

    /// The three bits behind the acknowledgement timeout.
    pub(super) const fn last_3(&self) -> u8 {
        LAST_3.of(self.timeout)
    }

    pub(super) const fn with_last_3(self, bits: u8) -> Self {
        Self { timeout: LAST_3.put(self.timeout, bits), ..self }
    }

    /// Walks the fields up to the last three bits, which are the REQ's.
    pub(super) fn fields(&self, names: &PathNames, f: &mut Fields<'_>) {
        f.uint(names.local_lid, 16, self.local_lid.get());
        f.uint(names.remote_lid, 16, self.remote_lid.get());
        f.gid(names.local_gid, self.local_gid);
        f.gid(names.remote_gid, self.remote_gid);
        f.hex(names.flow_label, 20, self.flow_label());
        f.reserved(6, RESERVED_6.of(self.flow));
        f.uint(names.packet_rate, 6, self.packet_rate());
        f.uint(names.traffic_class, 8, self.traffic_class);
        f.uint(names.hop_limit, 8, self.hop_limit);
        f.uint(names.sl, 4, self.sl());
        f.flag(names.subnet_local, self.subnet_local());
        f.reserved(3, RESERVED_3.of(self.level));
        f.named(names.ack_timeout, 5, self.ack_timeout().0, &self.ack_timeout());
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_used() {
            return f.write_str("none");
        }
        write!(f, "{} > {} ack timeout {}", self.local_gid, self.remote_gid, self.ack_timeout())
    }
}

/// What the fields of a path are called: a REQ has two.
pub(super) struct PathNames {
    local_lid: &'static str,
    remote_lid: &'static str,
    local_gid: &'static str,
    remote_gid: &'static str,
    flow_label: &'static str,
    packet_rate: &'static str,
    traffic_class: &'static str,
    hop_limit: &'static str,
    sl: &'static str,
    subnet_local: &'static str,
    ack_timeout: &'static str,
}

pub(super) const PRIMARY: PathNames = PathNames {
    local_lid: "primary_local_lid",
    remote_lid: "primary_remote_lid",
    local_gid: "primary_local_gid",
    remote_gid: "primary_remote_gid",
    flow_label: "primary_flow_label",
    packet_rate: "primary_packet_rate",
    traffic_class: "primary_traffic_class",
    hop_limit: "primary_hop_limit",
    sl: "primary_sl",
    subnet_local: "primary_subnet_local",
    ack_timeout: "primary_ack_timeout",
};

pub(super) const ALTERNATE: PathNames = PathNames {
    local_lid: "alternate_local_lid",
    remote_lid: "alternate_remote_lid",
    local_gid: "alternate_local_gid",
    remote_gid: "alternate_remote_gid",
    flow_label: "alternate_flow_label",
    packet_rate: "alternate_packet_rate",
    traffic_class: "alternate_traffic_class",
    hop_limit: "alternate_hop_limit",
    sl: "alternate_sl",
    subnet_local: "alternate_subnet_local",
    ack_timeout: "alternate_ack_timeout",
};
