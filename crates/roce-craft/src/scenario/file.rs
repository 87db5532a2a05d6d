//! A scenario as it stands in its file: what can be written, and what holds when it is not.

use core::net::{Ipv4Addr, Ipv6Addr};
use serde::Deserialize;
use toml::Spanned;

pub(crate) use super::file_event::{Event, EventKind, Malformed, NakKind, Of, Where, Which};
use super::values::{BitRate, Mac, Span};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// What an operator would ask.
    #[serde(default)]
    pub question: String,
    /// What there is to see in the frames.
    #[serde(default)]
    pub answer: String,
    #[serde(default = "one")]
    pub seed: u64,
    /// Nanoseconds since the epoch of the first moment; 2026-01-01 by default.
    #[serde(default = "start_of_2026")]
    pub epoch_ns: u64,
    #[serde(default)]
    pub capture: Capture,
    #[serde(default)]
    pub host: Vec<Host>,
    pub connection: Vec<Connection>,
    #[serde(default)]
    pub event: Vec<Spanned<Event>>,
    #[serde(default)]
    pub pause: Vec<Pause>,
}

const fn one() -> u64 {
    1
}

const fn start_of_2026() -> u64 {
    1_767_225_600_000_000_000
}

/// Where and how the frames are captured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Capture {
    pub at: At,
    /// Bytes kept of each frame.
    pub snaplen: Option<Spanned<u32>>,
    /// Every frame is captured a second time this much later, as by a mirror of both directions.
    pub mirror_delay: Option<Span>,
    /// The part of the frames that the capture misses though they were there.
    pub miss_rate: Option<Spanned<f64>>,
    /// Frames that the capture misses, by the number they would have.
    pub miss: Vec<Spanned<u64>>,
    /// The capture begins this late.
    pub start: Span,
    /// The capture ends here.
    pub stop: Option<Span>,
}

/// The point between the two ends where frames are captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum At {
    /// At the end that a connection is `from`.
    #[default]
    From,
    /// Half way.
    Middle,
    /// At the end that a connection goes `to`.
    To,
}

/// A host; what is not said is made up from its place in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    pub name: Spanned<String>,
    pub mac: Option<Mac>,
    pub ipv4: Option<Ipv4Addr>,
    pub ipv6: Option<Ipv6Addr>,
}

/// How a connection is carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Carrier {
    V1,
    #[default]
    V2Ipv4,
    V2Ipv6,
}

/// The transport service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Service {
    #[default]
    Rc,
    Uc,
    Ud,
    Xrc,
}

/// ECN of what the ends send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ecn {
    #[default]
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

/// How a requester sends again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Retransmit {
    #[default]
    GoBackN,
    Selective,
}

/// A mistake that `from` makes in every ICRC; its peer does not check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IcrcFault {
    /// Most significant byte first.
    ByteOrder,
    Zero,
    /// The packet ends without one.
    Missing,
}

/// A connection and what is done on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub name: Option<String>,
    pub from: Spanned<String>,
    pub to: Spanned<String>,
    /// As many connections like it.
    #[serde(default = "once")]
    pub repeat: Spanned<u32>,
    #[serde(default)]
    pub carrier: Carrier,
    #[serde(default)]
    pub service: Service,
    pub vlan: Option<Spanned<u16>>,
    #[serde(default)]
    pub pcp: Option<Spanned<u8>>,
    /// The frames travel in this VXLAN network.
    pub vxlan: Option<Spanned<u32>>,
    #[serde(default)]
    pub dscp: Option<Spanned<u8>>,
    #[serde(default)]
    pub ecn: Ecn,
    pub hop_limit: Option<u8>,
    pub pmtu: Option<Spanned<u32>>,
    /// Queue pair of `from` and of `to`.
    pub qpn: Option<Spanned<[u32; 2]>>,
    /// First PSN of `from` and of `to`.
    pub psn: Option<Spanned<[u32; 2]>>,
    pub p_key: Option<u16>,
    pub srqn: Option<Spanned<u32>>,
    #[serde(default)]
    pub mig_req: bool,
    pub udp_src_port: Option<u16>,
    #[serde(default)]
    pub ip_id: IpId,
    pub icrc_fault: Option<IcrcFault>,

    #[serde(default)]
    pub start: Span,
    pub rate: Option<BitRate>,
    /// The least time between two packets of one end.
    #[serde(default)]
    pub gap: Span,
    pub rtt: Option<Span>,
    #[serde(default)]
    pub jitter: Span,
    pub ack_delay: Option<Span>,
    /// Packets in flight, in PSNs.
    pub window: Option<Spanned<u32>>,
    /// READ and atomic requests in flight.
    pub max_reads: Option<Spanned<u32>>,
    #[serde(default)]
    pub retransmit: Retransmit,
    /// 4.096 µs times two to this power.
    pub timeout: Option<Spanned<u8>>,
    pub retries: Option<Spanned<u8>>,
    pub rnr_retries: Option<Spanned<u8>>,
    /// Whether a receiver of marked packets sends congestion notifications.
    #[serde(default = "yes")]
    pub cnp: bool,
    /// The least time between two notifications.
    pub cnp_interval: Option<Span>,
    /// The requester asks for an acknowledgement every so many packets, and at the end of a message.
    pub ack_every: Option<Spanned<u32>>,

    pub cm: Option<Cm>,
    #[serde(default)]
    pub op: Vec<Op>,
}

pub(super) fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

const fn yes() -> bool {
    true
}

/// Identification of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IpId {
    /// One more with every packet of a queue pair.
    #[default]
    Count,
    Zero,
}

/// The exchange of connection management around a connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cm {
    /// RDMA_CM port that the connection goes to.
    #[serde(default = "rping_port")]
    pub port: u16,
    pub src_port: Option<u16>,
    #[serde(default)]
    pub answer: CmAnswer,
    /// Reason of a REJ, or status of a SIDR_REP.
    pub reason: Option<Spanned<u16>>,
    /// How often an unanswered message is sent again.
    #[serde(default = "cm_retries")]
    pub retries: Spanned<u8>,
    /// How long an answer is waited for: 4.096 µs times two to this power.
    #[serde(default = "cm_timeout")]
    pub timeout: Spanned<u8>,
    /// The passive side takes this long to answer.
    pub think: Option<Span>,
    /// The passive side says at once that its answer will take longer.
    #[serde(default)]
    pub mra: bool,
    /// The RTU comes this late.
    #[serde(default)]
    pub rtu_delay: Span,
    /// Which end disconnects at the end, if any.
    pub disconnect: Option<Side>,
    /// Whether the other end answers that.
    #[serde(default = "yes")]
    pub drep: bool,
    /// Whether the other end loads an alternate path once.
    #[serde(default)]
    pub alternate_path: bool,
    /// The unanswered REQ is answered by ICMP "port unreachable".
    #[serde(default)]
    pub icmp: bool,
    /// The client's private data, behind RDMA_CM's header.
    #[serde(default)]
    pub private_data: Option<Spanned<String>>,
}

const fn rping_port() -> u16 {
    7174
}

fn cm_retries() -> Spanned<u8> {
    Spanned::new(0..0, 15)
}

fn cm_timeout() -> Spanned<u8> {
    Spanned::new(0..0, 20)
}

/// What the passive side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CmAnswer {
    #[default]
    Accept,
    Reject,
    Silence,
}

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    #[default]
    From,
    To,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OpKind {
    Send,
    Write,
    Read,
    CompareSwap,
    FetchAdd,
    AtomicWrite,
    Flush,
}

/// Operations of one kind, one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Op {
    pub kind: Spanned<OpKind>,
    #[serde(default)]
    pub by: Side,
    pub size: Option<Spanned<u32>>,
    /// Sizes taken in turn, or at random between two.
    #[serde(default)]
    pub sizes: Vec<u32>,
    #[serde(default)]
    pub random_sizes: bool,
    #[serde(default = "once_u64")]
    pub count: u64,
    #[serde(default)]
    pub immediate: bool,
    #[serde(default)]
    pub invalidate: bool,
    #[serde(default)]
    pub solicited: bool,
    /// Time from one operation to the next.
    #[serde(default)]
    pub interval: Span,
    /// The first one is not before this.
    #[serde(default)]
    pub start: Span,
    /// How many may be unanswered; as many as the window takes by default.
    pub depth: Option<Spanned<u32>>,
}

const fn once_u64() -> u64 {
    1
}

/// Frames of priority flow control or PAUSE.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pause {
    /// The port that sends them, and the host that has to stop.
    pub from: Mac,
    pub stops: Option<Spanned<String>>,
    /// Priorities; none for 802.3x PAUSE of the whole link.
    #[serde(default)]
    pub priorities: Vec<Spanned<u8>>,
    #[serde(default = "most_quanta")]
    pub quanta: u16,
    pub link: Option<BitRate>,
    #[serde(default)]
    pub start: Span,
    #[serde(default = "once_u64")]
    pub count: u64,
    #[serde(default = "storm_interval")]
    pub interval: Span,
    /// Whether a last frame with time 0 lets the host go on.
    #[serde(default)]
    pub resume: bool,
}

const fn most_quanta() -> u16 {
    0xffff
}

const fn storm_interval() -> Span {
    Span(100_000)
}
