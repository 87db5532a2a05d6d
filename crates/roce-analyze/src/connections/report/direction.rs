//! What went one way.

use core::num::{NonZeroU32, NonZeroU64};

use serde::Serialize;

use super::{CnpReaction, Counts, Event, OverTime, Percentiles, Proof, Rare, SrcPorts};
use crate::connections::json;

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
    /// Of these, how many sent again what had arrived: the answers were lost between the receiver and
    /// the capture point, or late.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub answers_lost_or_late: u64,
    /// What it was does not show: no answers were captured, or it was not known then which are to
    /// these requests.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub unknown: u64,
    /// How many of them sent everything again up to the newest packet.
    pub go_back_n: u64,
    /// How many sent less.
    pub selective: u64,
}

impl Counts for Retransmissions {
    const ZERO: &'static Self = &Self {
        nak_driven: 0,
        gap_driven: 0,
        rnr_driven: 0,
        timeout_driven: 0,
        answers_lost_or_late: 0,
        unknown: 0,
        go_back_n: 0,
        selective: 0,
    };
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

impl Counts for Naks {
    const ZERO: &'static Self = &Self {
        psn_sequence_error: 0,
        invalid_request: 0,
        remote_access_error: 0,
        remote_operational_error: 0,
        other: 0,
    };
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
    /// each NAK and each timeout.
    pub after_capture: u64,
    /// By the capture only: the receiver had them.
    pub not_captured: u64,
    /// Missing at the capture; where they went does not show.
    pub unknown: u64,
    /// Of those after the capture point, how many may have been the answer just as well, lost between
    /// the receiver and the capture point: of a request that is sent again after a timeout it does not
    /// show whether it had arrived.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub perhaps_answers: u32,
    /// Whether there may have been more before the capture point.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub before_is_at_least: bool,
    /// Whether there may have been more after it: a receiver asks for the first that is missing, and
    /// throws away what comes behind.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub after_is_at_least: bool,
}

/// Packets that were asked for where packets overtake each other: lost, or only late. The capture
/// does not tell, so they count neither as lost nor as late.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct LostOrLate {
    /// Missing at the capture where their turn was, and there later: late, or sent again.
    pub before_capture: u64,
    /// Captured, and asked for.
    pub after_capture: u64,
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
    pub max_reorder_depth: u32,
    /// Packets that overtook one another between the capture point and the receiver.
    pub reordered_after_capture: u64,
    /// Packets that were lost or late; `None` where the capture tells one from the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_or_late: Option<Box<LostOrLate>>,
    /// Packets whose original is missing at the capture: lost before it, or not captured.
    pub missing_psns: u64,
    /// Where packets were lost. `None` when nothing can tell: nothing of this direction was
    /// captured, or it is datagrams, whose PSNs count those to all peers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Beginnings of retransmissions.
    pub retransmissions: Rare<Retransmissions>,
    /// NAKs that went this way.
    pub naks: Rare<Naks>,
    /// RNR NAKs that went this way.
    pub rnr_naks: u64,
    /// The waiting time in the last of them, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnr_timer_ns: Option<u64>,
    /// How long requests of this direction waited after RNR NAKs, in nanoseconds.
    pub rnr_stall_ns: u64,
    /// Acknowledgements that went this way.
    pub acks: u64,
    /// Whether answers went this way to requests that are not known.
    #[serde(skip)]
    pub has_strange_answers: bool,
    /// Acknowledgements of what was acknowledged before.
    pub duplicate_acks: u64,
    /// Congestion notifications that went this way.
    pub cnps: u64,
    /// Congestion marks.
    pub ecn: EcnReport,
    /// Packets that were marked CE.
    pub ecn_ce: u64,
    /// How long the first mark on data that no CNP has answered is past, in microseconds, when the
    /// connection or the capture ends; at most 71 minutes.
    #[serde(skip)]
    pub unanswered_ce_us: Option<NonZeroU32>,
    /// The first frame with data that cannot be marked: Not-ECT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_not_ect_frame: Option<NonZeroU64>,
    /// The first frame that went this way; absent when its number has more than 32 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_frame: Option<NonZeroU32>,
    /// From the first CE mark to the CNP that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_delay_ns: Option<Box<Percentiles>>,
    /// Packets with a wrong or missing ICRC. They are counted in `packets` and nowhere else.
    pub icrc_bad: u64,
    /// Packets that have nothing to do with the connection as it is.
    pub ghost_packets: u64,
    /// Requests that stand behind the answers to them: then the capture is not in order.
    pub requests_behind_answers: u32,
    /// Opcodes that cannot follow one another.
    pub opcode_sequence_errors: u32,
    /// Payloads and DMA lengths that cannot be.
    pub length_errors: u32,
    /// Packets of another partition than the first one.
    pub p_key_changes: u32,
    /// The P_Key of the first packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_key: Option<u16>,
    /// Keys other than the first ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_keys: Option<Box<OtherKeys>>,
    /// The Q_Key of the first datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_key: Option<u32>,
    /// From the last packet of a message to its acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_latency_ns: Option<Box<Percentiles>>,
    /// From the first packet of a message to its last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_ns: Option<Box<Percentiles>>,
    /// From a READ request to its last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_response_ns: Option<Box<Percentiles>>,
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
    pub over_time: Option<Box<OverTime>>,
    /// How much was sent this way before and after the other side sent a CNP: windows of 1 ms and
    /// of 10 ms, those of them that the capture holds.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub cnp_reaction: Box<[CnpReaction]>,
    /// The UDP source ports, up to four.
    pub udp_src_ports: SrcPorts,
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
    pub proofs: Box<[Proof]>,
}

impl DirectionReport {
    /// Leaves out what depends on the times of frames.
    pub(in crate::connections) fn forget_durations(&mut self) {
        (self.ack_latency_ns, self.completion_ns, self.read_response_ns) = (None, None, None);
        (self.cnp_delay_ns, self.max_idle_ns, self.over_time) = (None, None, None);
        self.unanswered_ce_us = None;
        (self.peak_millisecond_bytes, self.peak_millisecond_ns) = (None, None);
        self.peak_second_bytes = None;
        self.cnp_reaction = Box::default();
    }

    /// How many packets are odd: lost, late, or sent again.
    pub(super) fn oddity(&self) -> u64 {
        [
            self.retransmitted_packets,
            self.duplicate_requests,
            self.out_of_order_packets,
            self.reordered_after_capture,
            self.missing_psns,
            self.ghost_packets,
            self.requests_behind_answers.into(),
            self.opcode_sequence_errors.into(),
            self.loss.map_or(0, |loss| loss.not_captured),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// The frames that prove one kind of event, up to ten unless all were asked for.
    pub fn frames(&self, event: Event) -> impl Iterator<Item = u64> + '_ {
        self.proofs.iter().filter(move |proof| proof.event == event).map(|proof| proof.frame)
    }
}

/// Partition and queue keys other than the first ones of a direction.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
#[non_exhaustive]
pub struct OtherKeys {
    /// P_Keys of another partition, up to four.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_keys: Vec<u16>,
    /// Q_Keys, up to four.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub q_keys: Vec<u32>,
    /// Datagrams with another Q_Key than the first one.
    #[serde(skip_serializing_if = "json::is_zero")]
    pub q_key_changes: u64,
}

const MAX_KEYS: usize = 4;

impl OtherKeys {
    pub(in crate::connections) fn add_p_key(&mut self, key: u16) {
        if self.p_keys.len() < MAX_KEYS && !self.p_keys.contains(&key) {
            self.p_keys.push(key);
        }
    }

    pub(in crate::connections) fn add_q_key(&mut self, key: u32) {
        self.q_key_changes = self.q_key_changes.saturating_add(1);
        if self.q_keys.len() < MAX_KEYS && !self.q_keys.contains(&key) {
            self.q_keys.push(key);
        }
    }
}
