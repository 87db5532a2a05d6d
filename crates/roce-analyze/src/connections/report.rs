//! What was found, for whoever prints it. Absent means unknown.

mod direction;
mod rare;
mod renumber;

use roce_wire::{Addr, Carrier, NakCode, Service};

pub use super::cm::{Exchange, Rejection};
use super::key::is_datagram;
pub use super::proof::{Event, Proof};
pub use super::reaction::CnpReaction;
pub use super::series::{Milliseconds, OverTime};
pub use super::src_ports::SrcPorts;
pub use super::timing::Percentiles;
pub use super::totals::Totals;
use super::wire::WireRates;
pub use direction::{
    DirectionReport, EcnReport, Loss, LostOrLate, MessageBytes, Messages, Naks, OtherKeys,
    Retransmissions,
};
pub use rare::{Counts, Rare};

/// Everything that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The connections, in the order of their first frame.
    pub connections: Vec<Connection>,
    /// What was counted of all frames.
    pub totals: Totals,
    /// The connections that had to give way to newer ones, and their packets.
    pub evicted: Evicted,
    /// Whether all proofs were asked for and there were more than are kept in all.
    pub lacks_proofs: bool,
    /// How busy the wire was. The tracker sees packets only and leaves this empty for whoever reads
    /// them.
    pub wire: Option<WireRates>,
    /// Bytes of one connection, the only one of the report, in milliseconds: from A to B and from B
    /// to A. The tracker leaves this empty for whoever reads its frames once more.
    pub milliseconds: Option<Box<[Option<OverTime>; 2]>>,
}

impl Report {
    /// How many packets are odd: lost, late, sent again, or of flows without another direction. The
    /// order that frames were sent in makes fewer of them than any other.
    #[must_use]
    pub fn oddity(&self) -> u64 {
        let connected = self.connections.iter().filter(|one| !is_datagram(one.service));
        // Clocks are set now and then, and never with every other frame.
        connected.map(Connection::oddity).fold(self.totals.disorder.steps / 2, u64::saturating_add)
    }
}

/// Connections that were forgotten because there were too many.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Evicted {
    /// How many.
    pub connections: u64,
    /// How many packets they had.
    pub packets: u64,
}

/// What made two flows one connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LearnedFrom {
    /// The exchange of the connection manager.
    Cm,
    /// Acknowledgements whose PSNs are those of the requests.
    Psn,
    /// The UDP source port, which Linux makes of both queue pairs.
    Port,
    /// The datagram header, which names the source queue pair.
    Datagram,
    /// The host of one end, which knows both queue pairs of its own.
    Host,
}

impl LearnedFrom {
    /// The name in machine-readable output.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Cm => "cm",
            Self::Psn => "psn",
            Self::Port => "port",
            Self::Datagram => "deth",
            Self::Host => "host",
        }
    }
}

/// How a connection ended, as far as the capture shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It was up when the capture ended.
    Open,
    /// It was ended by the connection manager or by a NAK that is final.
    Closed,
    /// The request for it was refused.
    Rejected,
    /// The request for it was not answered; or a request was repeated, and no answers of the other
    /// host were captured at all.
    Unanswered,
    /// The requester repeated itself until it gave up.
    RetryExceeded,
    /// Requests were waiting for an answer when the capture ended, and had waited for long.
    Stalled,
    /// Too little was seen.
    Unknown,
}

impl Outcome {
    /// The name in machine-readable output.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Rejected => "rejected",
            Self::Unanswered => "unanswered",
            Self::RetryExceeded => "retry_exceeded",
            Self::Stalled => "stalled",
            Self::Unknown => "unknown",
        }
    }
}

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The host.
    pub addr: Addr,
    /// Its queue pair.
    pub qpn: Option<u32>,
    /// The PSN of its first request: told by the connection manager, else the first one seen.
    pub start_psn: Option<u32>,
}

/// Who has the queue pair of an end, as its host says. No packet tells it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Owner {
    /// The name of the process, or `[module]` for the kernel's own.
    pub process: Option<String>,
    /// The number of the process.
    pub pid: Option<u32>,
    /// The port that RDMA_CM has for it, in its own port space.
    pub cm_port: Option<u16>,
}

/// A connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connection {
    /// Its number, from 1, in the order of the first frames.
    pub id: u64,
    /// How it is carried.
    pub carrier: Carrier,
    /// The VLAN it is in.
    pub vlan: Option<u16>,
    /// The VXLAN or Geneve network it is in.
    pub tunnel_id: Option<u32>,
    /// `CNP` when nothing but congestion notifications was seen.
    pub service: Service,
    /// The side that asked for the connection, or that was seen first.
    pub a: End,
    /// The other side.
    pub b: End,
    /// Who has the queue pairs of A and of B. The tracker sees packets only and leaves this empty
    /// for whoever can ask the hosts.
    pub owners: [Option<Box<Owner>>; 2],
    /// What made the two flows one connection; `None` when only one flow was seen.
    pub learned_from: Option<LearnedFrom>,
    /// How sure that is, 0 to 100 percent; `None` when only one flow was seen.
    pub confidence: Option<u8>,
    /// In bytes: by packets, else by the connection manager.
    pub pmtu: Option<u32>,
    /// In bytes, by packets alone.
    pub pmtu_seen: Option<u32>,
    /// In nanoseconds since the epoch.
    pub first_ns: Option<u64>,
    /// In nanoseconds since the epoch.
    pub last_ns: Option<u64>,
    /// The number of its first frame.
    pub first_frame: u64,
    /// The number of its last frame.
    pub last_frame: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The NAK that ended it and its frame.
    pub fatal: Option<(NakCode, u64)>,
    /// What the connection manager said.
    pub cm: Option<Box<Exchange>>,
    /// Whether nearly every frame was captured twice, as when both sides of a port are mirrored.
    pub is_mirrored: bool,
    /// From A to B.
    pub a_to_b: Box<DirectionReport>,
    /// From B to A.
    pub b_to_a: Box<DirectionReport>,
}

impl Connection {
    /// Leaves out what depends on the times of frames, when these tell nothing.
    pub(super) fn forget_durations(&mut self) {
        self.a_to_b.forget_durations();
        self.b_to_a.forget_durations();
        if let Some(cm) = &mut self.cm {
            cm.setup = None;
        }
    }

    fn oddity(&self) -> u64 {
        if !self.is_two_way() {
            return self.packets();
        }
        self.directions().into_iter().map(DirectionReport::oddity).fold(0, u64::saturating_add)
    }

    /// Both directions.
    #[must_use]
    pub const fn directions(&self) -> [&DirectionReport; 2] {
        [&self.a_to_b, &self.b_to_a]
    }

    /// Packets of both directions.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.a_to_b.packets.saturating_add(self.b_to_a.packets)
    }

    /// Whether the requester sends from the UDP source port that the connection manager's exchange
    /// predicts, as Linux makes it; `None` without either.
    #[must_use]
    pub fn is_port_as_predicted(&self) -> Option<bool> {
        let predicted = self.cm.as_ref()?.predicted_src_port?;
        let seen = &self.a_to_b.udp_src_ports;
        (!seen.is_empty()).then(|| **seen == [predicted] && !self.a_to_b.has_more_src_ports)
    }

    /// Whether the packets of both directions were seen.
    #[must_use]
    pub const fn is_two_way(&self) -> bool {
        self.a_to_b.packets > 0 && self.b_to_a.packets > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_takes_little_more_than_the_connection_it_is_made_of() {
        let direction = size_of::<DirectionReport>();
        let all = size_of::<Connection>() + 2 * (direction + size_of::<Percentiles>());
        assert!(all <= 1600, "{all} {direction}");
    }
}
