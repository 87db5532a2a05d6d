//! A scenario that was checked: what the engine runs on.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use roce_wire::MacAddr;

use crate::rng::Chance;
pub(crate) use crate::scenario::file::{
    Carrier, CmAnswer, EventKind, IcrcFault, IpId, Malformed, OpKind, Retransmit, Service,
};

/// The two ends of a connection; also the direction of what each of them sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dir {
    /// `from`, and what it sends.
    Forth,
    /// `to`, and what it sends.
    Back,
}

impl Dir {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Forth => Self::Back,
            Self::Back => Self::Forth,
        }
    }
}

/// One of something for each end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Both<T> {
    pub forth: T,
    pub back: T,
}

impl<T> Both<T> {
    pub(crate) const fn new(forth: T, back: T) -> Self {
        Self { forth, back }
    }

    pub(crate) const fn of(&self, dir: Dir) -> &T {
        match dir {
            Dir::Forth => &self.forth,
            Dir::Back => &self.back,
        }
    }

    pub(crate) const fn of_mut(&mut self, dir: Dir) -> &mut T {
        match dir {
            Dir::Forth => &mut self.forth,
            Dir::Back => &mut self.back,
        }
    }
}

/// The whole scenario.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub question: String,
    pub answer: String,
    pub seed: u64,
    pub epoch: u64,
    pub capture: CapturePlan,
    pub connections: Vec<Arc<ConnectionPlan>>,
    pub pauses: Vec<Arc<PausePlan>>,
    /// The run ends after so many frames.
    pub max_frames: Option<u64>,
}

/// What the capture does to the frames.
#[derive(Clone, Debug)]
pub(crate) struct CapturePlan {
    pub snaplen: Option<usize>,
    pub mirror_delay: Option<u64>,
    pub miss_chance: Chance,
    pub miss: Vec<u64>,
    pub start: u64,
    pub stop: Option<u64>,
}

/// A host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPlan {
    pub mac: MacAddr,
    pub ipv4: Ipv4Addr,
    pub ipv6: Ipv6Addr,
}

/// Connections that are alike. All times are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPlan {
    pub name: Option<String>,
    pub hosts: Both<HostPlan>,
    pub repeat: u32,
    pub carrier: Carrier,
    pub service: Service,
    pub vlan: Option<(u8, u16)>,
    pub vxlan: Option<u32>,
    /// DSCP and ECN together.
    pub traffic_class: u8,
    pub hop_limit: u8,
    pub pmtu: u32,
    pub qpn: Option<Both<u32>>,
    pub psn: Option<Both<u32>>,
    pub p_key: u16,
    pub srqn: u32,
    pub mig_req: bool,
    pub udp_src_port: Option<u16>,
    pub ip_id: IpId,
    pub icrc_fault: Option<IcrcFault>,

    pub start: u64,
    /// Picoseconds that a byte takes on the wire.
    pub ps_per_byte: u64,
    pub gap: u64,
    /// One way, from sender to receiver.
    pub latency: u64,
    /// The part of it before the capture point.
    pub leg: Both<u64>,
    pub jitter: u64,
    pub ack_delay: u64,
    pub limits: Limits,
    pub cnp: bool,
    pub cnp_interval: u64,

    pub cm: Option<CmPlan>,
    pub ops: Both<Vec<OpPlan>>,
    pub rules: Both<Vec<Rule>>,
    /// Frames that stop what an end sends.
    pub stopped: Both<Vec<Arc<PausePlan>>>,
}

/// How far a requester goes without an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In PSNs.
    pub window: u64,
    pub max_reads: u32,
    pub ack_every: u64,
    pub retransmit: Retransmit,
    pub timeout: u64,
    pub timeout_code: u8,
    pub retries: u8,
    pub rnr_retries: u8,
}

impl ConnectionPlan {
    /// Whether what is sent is acknowledged.
    pub(crate) const fn is_reliable(&self) -> bool {
        matches!(self.service, Service::Rc | Service::Xrc)
    }

    /// How long a frame of `len` bytes keeps its sender busy: preamble, FCS and the gap between
    /// frames are 24 bytes more.
    pub(crate) fn wire_time(&self, len: u32) -> u64 {
        let bytes = u64::from(len).saturating_add(24);
        (bytes.saturating_mul(self.ps_per_byte) / 1000).max(self.gap).max(1)
    }

    /// How many packets of one end are remembered: older ones are not sent again.
    pub(crate) fn memory(&self) -> usize {
        let packets = self.limits.window.saturating_mul(2).clamp(256, 131_072);
        usize::try_from(packets).unwrap_or(usize::MAX)
    }

    /// Whether anything can happen to the packets that this end sends.
    pub(crate) const fn has_rules(&self, dir: Dir) -> bool {
        !self.rules.of(dir).is_empty()
    }
}

/// The exchange of connection management.
#[derive(Clone, Debug)]
pub(crate) struct CmPlan {
    pub port: u16,
    pub src_port: Option<u16>,
    pub answer: CmAnswer,
    pub reason: u16,
    pub retries: u8,
    pub timeout_code: u8,
    pub timeout: u64,
    pub think: u64,
    pub mra: bool,
    pub rtu_delay: u64,
    pub disconnect: Option<Dir>,
    pub drep: bool,
    pub alternate_path: bool,
    pub icmp: bool,
    pub private_data: Vec<u8>,
}

/// Operations of one kind.
#[derive(Clone, Debug)]
pub(crate) struct OpPlan {
    pub kind: OpKind,
    pub sizes: Sizes,
    pub count: u64,
    pub immediate: bool,
    pub invalidate: bool,
    pub solicited: bool,
    pub interval: u64,
    pub start: u64,
    pub depth: usize,
}

/// How large operations are, in bytes.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    InTurn(Vec<u32>),
    Between(u32, u32),
}

/// Something that happens to packets of one end.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub kind: EventKind,
    pub requests: bool,
    pub responses: bool,
    pub acks: bool,
    /// In rising order.
    pub at: Vec<u64>,
    pub every: Option<u64>,
    pub chance: Chance,
    pub times: u32,
    pub before_capture: bool,
    pub by: u32,
    pub timer: u8,
    pub nak: u8,
    pub malformed: Option<Malformed>,
}

/// Frames of flow control.
#[derive(Clone, Debug)]
pub(crate) struct PausePlan {
    pub from: MacAddr,
    /// Bit n for priority n; `None` for PAUSE of the whole link.
    pub priorities: Option<u8>,
    pub quanta: u16,
    pub start: u64,
    pub count: u64,
    pub interval: u64,
    pub resume: bool,
    /// How long one frame stops the host.
    pub length: u64,
}

impl PausePlan {
    /// When frame number `index`, from 0, is sent; `None` when there is no such frame.
    pub(crate) fn frame_time(&self, index: u64) -> Option<u64> {
        let total = self.count.saturating_add(u64::from(self.resume));
        (index < total).then(|| self.start.saturating_add(self.interval.saturating_mul(index)))
    }

    /// The first moment from `time` on at which the host may send.
    pub(crate) fn free_at(&self, time: u64) -> u64 {
        let (Some(since), Some(last)) = (time.checked_sub(self.start), self.count.checked_sub(1))
        else {
            return time;
        };
        let index = since.checked_div(self.interval).unwrap_or(last).min(last);
        let frame = self.start.saturating_add(self.interval.saturating_mul(index));
        let end = frame.saturating_add(self.length);
        if time >= end {
            return time;
        }
        if self.length < self.interval {
            return end;
        }
        // Each frame renews the pause before it ends: only the last one counts.
        let last = self.start.saturating_add(self.interval.saturating_mul(last));
        let end = last.saturating_add(if self.resume { self.interval } else { self.length });
        time.max(end)
    }
}
