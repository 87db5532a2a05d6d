//! What was found, for whoever prints it. Absent means unknown.

use roce_wire::{Addr, Carrier, NakCode, Service};
use serde::Serialize;

use super::json;

pub use super::cm::{Exchange, Rejection};
pub use super::proof::{Event, Proof};
pub use super::reaction::CnpReaction;
pub use super::series::OverTime;
pub use super::timing::Percentiles;
pub use super::totals::Totals;
use super::wire::WireRates;

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
    /// The request for it was not answered.
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
    pub a_to_b: DirectionReport,
    /// From B to A.
    pub b_to_a: DirectionReport,
}

/// Messages by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Messages {
    /// SEND.
    pub send: u64,
    /// RDMA WRITE.
    pub write: u64,
    /// RDMA READ, by their requests.
    pub read: u64,
    /// Atomics and ATOMIC WRITE.
    pub atomic: u64,
    /// FLUSH.
    pub flush: u64,
}

/// Bytes of messages by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct MessageBytes {
    /// SEND.
    pub send: u64,
    /// RDMA WRITE.
    pub write: u64,
    /// RDMA READ, by what their requests ask for.
    pub read: u64,
    /// Atomics and ATOMIC WRITE.
    pub atomic: u64,
}

impl MessageBytes {
    /// Of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self { send, write, read, atomic } = *self;
        [send, write, read, atomic].into_iter().fold(0, u64::saturating_add)
    }
}

/// Beginnings of retransmissions, by what caused them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Retransmissions {
    /// A NAK for a PSN sequence error.
    pub nak_driven: u64,
    /// A gap in the responses, which the requester takes for a NAK.
    pub gap_driven: u64,
    /// An RNR NAK.
    pub rnr_driven: u64,
    /// Nothing: the requester waited in vain.
    pub timeout_driven: u64,
    /// How many of them sent everything again up to the newest packet.
    pub go_back_n: u64,
    /// How many sent less.
    pub selective: u64,
}

/// NAKs by code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Naks {
    /// PSN sequence error: something is missing.
    pub psn_sequence_error: u64,
    /// Invalid request.
    pub invalid_request: u64,
    /// Remote access error.
    pub remote_access_error: u64,
    /// Remote operational error.
    pub remote_operational_error: u64,
    /// Any other code.
    pub other: u64,
}

/// Where packets of one direction were lost, in packets, as far as the capture tells.
///
/// What was lost behind another loss and is sent again together with it does not show, nor does an
/// acknowledgement that a later one makes good for: there may have been more.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Loss {
    /// Between the sender and the capture point: missing at the capture, and sent again. Packets
    /// that were lost once more when they were sent again are counted again, where that shows.
    pub before_capture: u64,
    /// Between the capture point and the receiver: captured, and asked for or sent again. One for
    /// each NAK and each timeout. After a timeout it may have been the answer of the receiver that
    /// was lost before it came to the capture point.
    pub after_capture: u64,
    /// By the capture only: the receiver had them.
    pub not_captured: u64,
    /// Missing at the capture; where they went does not show.
    pub unknown: u64,
}

/// Explicit congestion notification by packet kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct EcnReport {
    /// Packets with data, by codepoint: Not-ECT, ECT(1), ECT(0), CE.
    #[serde(serialize_with = "json::by_ecn")]
    pub data: [u64; 4],
    /// Acknowledgements, NAKs and requests without data that were marked CE.
    pub ack_ce: u64,
    /// CNPs that were marked CE.
    pub cnp_ce: u64,
}

/// What went one way.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct DirectionReport {
    /// Packets, those with a bad ICRC included.
    pub packets: u64,
    /// Bytes of their frames on the wire.
    pub bytes: u64,
    /// Bytes of their payload.
    pub payload_bytes: u64,
    /// Bytes of payload that was seen for the first time.
    pub goodput_bytes: u64,
    /// Messages whose last packet was seen.
    pub messages: Messages,
    /// Their bytes; of a READ what it asks for.
    pub message_bytes: u64,
    /// The same by kind.
    pub message_bytes_by_kind: MessageBytes,
    /// Packets that were sent before.
    pub retransmitted_packets: u64,
    /// Requests that the responder had executed before.
    pub duplicate_requests: u64,
    /// Frames that were captured twice.
    pub duplicate_packets: u64,
    /// Packets that came behind later ones.
    pub out_of_order_packets: u64,
    /// By how many PSNs at most.
    pub max_reorder_depth: u64,
    /// Packets that overtook one another between the capture point and the receiver.
    pub reordered_after_capture: u64,
    /// Packets whose original is missing at the capture: lost before it, or not captured.
    pub missing_psns: u64,
    /// Where packets were lost. `None` when nothing can tell: nothing of this direction was
    /// captured, or it is datagrams, whose PSNs count those to all peers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Beginnings of retransmissions.
    pub retransmissions: Retransmissions,
    /// NAKs that went this way.
    pub naks: Naks,
    /// RNR NAKs that went this way.
    pub rnr_naks: u64,
    /// The waiting time in the last of them, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnr_timer_ns: Option<u64>,
    /// How long requests of this direction waited after RNR NAKs, in nanoseconds.
    pub rnr_stall_ns: u64,
    /// Acknowledgements that went this way.
    pub acks: u64,
    /// Acknowledgements of what was acknowledged before.
    pub duplicate_acks: u64,
    /// Congestion notifications that went this way.
    pub cnps: u64,
    /// Congestion marks.
    pub ecn: EcnReport,
    /// Packets that were marked CE.
    pub ecn_ce: u64,
    /// From the first CE mark to the CNP that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_delay_ns: Option<Percentiles>,
    /// Packets with a wrong or missing ICRC. They are counted in `packets` and nowhere else.
    pub icrc_bad: u64,
    /// Packets that have nothing to do with the connection as it is.
    pub ghost_packets: u64,
    /// Opcodes that cannot follow one another.
    pub opcode_sequence_errors: u64,
    /// Payloads and DMA lengths that cannot be.
    pub length_errors: u64,
    /// Packets of another partition than the first one.
    pub p_key_changes: u64,
    /// The P_Key of the first packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_key: Option<u16>,
    /// The Q_Key of the first datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_key: Option<u32>,
    /// From the last packet of a message to its acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_latency_ns: Option<Percentiles>,
    /// From the first packet of a message to its last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_ns: Option<Percentiles>,
    /// From a READ request to its last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_response_ns: Option<Percentiles>,
    /// Silences of 10 ms and more between its packets.
    pub idle_gaps: u64,
    /// The longest silence, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_idle_ns: Option<u64>,
    /// The most bytes of requests that waited for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight_bytes: Option<u64>,
    /// The most bytes of frames in one millisecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_millisecond_bytes: Option<u64>,
    /// When that millisecond began, in nanoseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_millisecond_ns: Option<u64>,
    /// The most bytes of frames in one second, rounded up to 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_second_bytes: Option<u64>,
    /// Its bytes second by second, from the one on in which it had 16 packets; `None` when it was
    /// over sooner, or there were too many connections for a series each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// How much was sent this way before and after the other side sent a CNP: windows of 1 ms and
    /// of 10 ms, those of them that the capture holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cnp_reaction: Vec<CnpReaction>,
    /// The UDP source ports, up to four.
    pub udp_src_ports: Vec<u16>,
    /// Whether there were more.
    pub has_more_src_ports: bool,
    /// DSCPs of packets with data, one bit each.
    #[serde(serialize_with = "json::bits")]
    pub data_dscps: u64,
    /// DSCPs of CNPs, one bit each.
    #[serde(serialize_with = "json::bits")]
    pub cnp_dscps: u64,
    /// Priorities in VLAN tags, one bit each.
    #[serde(serialize_with = "json::bits_of_byte")]
    pub pcps: u8,
    /// How often the request was sent that had no answer when the capture ended; `None` when no
    /// retransmission was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered_tries: Option<u32>,
    /// Whether the last answer to it was an RNR NAK.
    pub is_rnr_pending: bool,
    /// The frames that prove what is said above, ten of each kind unless all were asked for.
    pub proofs: Vec<Proof>,
}

impl DirectionReport {
    /// The frames that prove one kind of event, up to ten unless all were asked for.
    pub fn frames(&self, event: Event) -> impl Iterator<Item = u64> + '_ {
        self.proofs.iter().filter(move |proof| proof.event == event).map(|proof| proof.frame)
    }
}

impl Connection {
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
        (!seen.is_empty()).then(|| *seen == [predicted] && !self.a_to_b.has_more_src_ports)
    }

    /// Whether the packets of both directions were seen.
    #[must_use]
    pub const fn is_two_way(&self) -> bool {
        self.a_to_b.packets > 0 && self.b_to_a.packets > 0
    }
}
