//! The ground truth: what an ideal observer at the capture point knows of the frames.
//!
//! It is written in the words of `roce-sniff connections --format json`, so that an analysis can
//! be scored field by field. What the words mean here:
//!
//! - A direction counts the packets of its connection that are in the capture, without those of
//!   connection management. A frame that only the capture has twice counts in `packets`, `bytes`,
//!   `payload_bytes` and `duplicate_packets` and nowhere else; one that was corrupted on the way
//!   counts in the first three and in `icrc_bad`, and as lost before the capture point. Where a
//!   sender makes every ICRC wrong and its peer does not care, `icrc_bad` comes on top.
//! - `missing_psns` counts packets whose first transmission is not in the capture in good order
//!   although a later packet of the same end is, or although it is the end of a READ of which the
//!   beginning was answered.
//! - `retransmitted_packets` are packets that their sender had sent before, as far as it shows:
//!   the capture has the packet from before, or a later one. The same holds for all that is told
//!   of retransmissions.
//! - `retransmissions` counts rounds: what was sent again for one and the same reason. What begins
//!   with the packet that a captured NAK asks for is driven by it, even if the NAK was lost behind
//!   the capture point and a timeout did it; what begins with a response behind which others were
//!   captured, by a gap.
//! - `duplicate_requests` are captured requests that the responder had executed before, without
//!   those sent again after a timeout of which the capture has no answer: nobody can tell then
//!   whether the request was lost or the answer, unless an acknowledgement comes that no request
//!   asked for, or the same one twice.
//! - `lost` tells for every transmission that did not arrive on which side of the capture point it
//!   was lost, whether or not that shows; `loss` counts what the capture tells of it, by the rules
//!   in `evidence.rs`.
//! - `completion_ns` and `ack_latency_ns` have no time of a message whose packets were not captured
//!   in order up to its last one, as when one was lost before the capture point.
//! - `details` lists what happened to single frames, in the order of the capture.

mod detail;
mod evidence;
mod recorder;
mod samples;
mod side;
mod stream;

use serde::Serialize;

pub(crate) use detail::Details;
pub use detail::{Detail, DetailKind};
pub(crate) use recorder::{Captured, Recorder};
pub use samples::Percentiles;

/// The truth about a whole capture.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Truth {
    /// `roce-sniff/truth/1`.
    pub schema: &'static str,
    /// What an operator would ask of this capture.
    pub question: String,
    /// What there is to see.
    pub answer: String,
    /// The seed it was made with.
    pub seed: u64,
    /// Frames in the capture.
    pub frames: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Nanoseconds since the epoch; absent when there is no frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<u64>,
    /// The same for the last frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ns: Option<u64>,
    /// Frames of flow control.
    pub congestion: FlowControlCount,
    /// What bears the RoCE port or Ethertype and is not RoCE, by reason.
    pub rejected: Rejected,
    /// ICMP "port unreachable" that quotes RoCE.
    pub icmp_unreachable: u64,
    /// In the order of their first frame; those without any frame are left out.
    pub connections: Vec<Connection>,
    /// What happened to single frames.
    pub details: Vec<Detail>,
    /// Details beyond the most that are listed.
    pub details_omitted: u64,
}

/// Frames of flow control.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct FlowControlCount {
    /// Priority flow control.
    pub pfc: u64,
    /// 802.3x PAUSE.
    pub pause: u64,
}

/// Packets that are not RoCE, by the first reason that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Rejected {
    /// Reserved opcode.
    pub unknown_opcode: u64,
    /// Transport version other than 0.
    pub bad_tver: u64,
    /// It ends inside its headers.
    pub too_short: u64,
}

/// One end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// IP address, or GID where that is no mapped IPv4 address.
    pub addr: String,
    /// Its queue pair; absent when nothing in the capture names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qpn: Option<u32>,
    /// PSN of its first request, told by connection management or seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_psn: Option<u32>,
}

/// One connection.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Connection {
    /// From 1, in the order of the first frames.
    pub id: u64,
    /// The name in the scenario, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `v1`, `v2_ipv4`, `v2_ipv6`.
    pub version: &'static str,
    /// `RC`, `UC`, `UD`, `XRC`.
    pub service: &'static str,
    /// The end that the scenario calls `from`.
    pub a: End,
    /// The end that the scenario calls `to`.
    pub b: End,
    /// The best evidence for the pairing: `cm`, `psn`, `port`, `deth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned_from: Option<&'static str>,
    /// 1: the truth is sure.
    pub confidence: u8,
    /// In bytes, when the capture tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmtu: Option<u32>,
    /// Nanoseconds since the epoch of its first frame, connection management included.
    pub first_ns: u64,
    /// The same for its last frame.
    pub last_ns: u64,
    /// `open`, `closed`, `rejected`, `unanswered`, `retry_exceeded`, `stalled`. Where a request was
    /// repeated and the capture has nothing that the other host sent, `unanswered`.
    pub outcome: &'static str,
    /// The exchange of connection management, when any of it is in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cm: Option<Cm>,
    /// What `a` sent.
    pub a_to_b: Direction,
    /// What `b` sent.
    pub b_to_a: Direction,
}

/// The exchange of connection management.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cm {
    /// RDMA_CM port of the passive end, when the request that names it is in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Transactions of retried requests are one.
    pub retries: u64,
    /// Reason of the REJ, or status of the SIDR_REP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<u16>,
    /// Its messages in the order of the capture.
    pub messages: Vec<CmMessage>,
}

/// One message of connection management.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CmMessage {
    /// `REQ`, `REP` …
    pub message: &'static str,
    /// `a_to_b` or `b_to_a`.
    pub direction: &'static str,
    /// Frame number, from 1.
    pub frame: u64,
}

/// Messages by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Messages {
    /// SEND.
    pub send: u64,
    /// RDMA WRITE.
    pub write: u64,
    /// RDMA READ.
    pub read: u64,
    /// Atomics and ATOMIC WRITE.
    pub atomic: u64,
    /// FLUSH.
    pub flush: u64,
}

/// Rounds of retransmission, by what caused them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Retransmissions {
    /// A NAK for a PSN sequence error.
    pub nak_driven: u64,
    /// Nothing was heard.
    pub timeout_driven: u64,
    /// An RNR NAK.
    pub rnr_driven: u64,
    /// A gap in the responses.
    pub gap_driven: u64,
    /// The capture does not tell: it has nothing that the other host sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// NAKs by code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Naks {
    /// Something is missing.
    pub psn_sequence_error: u64,
    /// The request is not one the responder can take.
    pub invalid_request: u64,
    /// Key, address or access right is wrong.
    pub remote_access_error: u64,
    /// The responder failed.
    pub remote_operational_error: u64,
}

/// What did not arrive, by where it was lost, in transmissions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Lost {
    /// Between sender and capture point, or corrupted there.
    pub before_capture: u64,
    /// Between capture point and receiver.
    pub after_capture: u64,
    /// It arrived; only the capture has it not.
    pub not_captured: u64,
}

/// What the capture tells of that.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Loss {
    /// Between sender and capture point, or corrupted there.
    pub before_capture: u64,
    /// Between capture point and receiver.
    pub after_capture: u64,
    /// It arrived; only the capture has it not.
    pub not_captured: u64,
    /// The capture has it not, and nothing tells where it went.
    pub unknown: u64,
}

/// What one end sent.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the keys of the interface, defined in the module documentation")]
pub struct Direction {
    pub packets: u64,
    pub bytes: u64,
    pub payload_bytes: u64,
    pub goodput_bytes: u64,
    pub messages: Messages,
    pub message_bytes: u64,
    pub retransmitted_packets: u64,
    pub duplicate_requests: u64,
    pub duplicate_packets: u64,
    pub out_of_order_packets: u64,
    pub missing_psns: u64,
    /// Absent when nothing tells: the capture has nothing of this end, or it sends datagrams,
    /// whose PSNs count those to all peers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    pub lost: Lost,
    pub retransmissions: Retransmissions,
    pub naks: Naks,
    pub rnr_naks: u64,
    pub acks: u64,
    pub cnps: u64,
    pub ecn_ce: u64,
    pub icrc_bad: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_latency_ns: Option<Percentiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_ns: Option<Percentiles>,
    pub udp_src_ports: Vec<u16>,
}
