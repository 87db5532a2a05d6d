//! One direction of a connection: what its packets were, and the PSNs of its requests.

use std::collections::VecDeque;

use roce_wire::{Ecn, Psn};

use super::holes::Holes;
use super::key::FlowKey;
use super::proof::{Event, Proofs};
use super::seen::{Kind, Seen};
use super::timing::Durations;

/// How many messages are followed at a time; the oldest give way. As many as a usual send queue.
pub(super) const MAX_OPEN: usize = 128;
/// Room for this many messages is kept when none is open.
pub(super) const KEPT_OPEN: usize = 8;
/// How many requests are remembered that call for a response with data. Responders are asked to
/// keep at most 16 open; repeated requests come on top.
const MAX_PENDING: usize = 64;
/// How many frames back a frame is looked for that was captured twice.
const RECENT: usize = 4;
/// How many UDP source ports of a flow are listed.
const MAX_PORTS: usize = 4;

/// Bits of [`Direction::flags`].
pub(super) mod flag {
    /// A request was seen.
    pub(in crate::connections) const STARTED: u16 = 1;
    /// The last request was part of a retransmission.
    pub(in crate::connections) const IN_ROUND: u16 = 1 << 1;
    /// A message is open: its First was seen, its Last was not.
    pub(in crate::connections) const MESSAGE_OPEN: u16 = 1 << 2;
    /// Whether a message is open is not known: the capture began inside one, or packets are missing.
    pub(in crate::connections) const MESSAGE_UNKNOWN: u16 = 1 << 3;
    /// A request that calls for an answer at once is without one.
    pub(in crate::connections) const ANSWER_DUE: u16 = 1 << 4;
    /// The open message is an RDMA WRITE.
    pub(in crate::connections) const MESSAGE_IS_WRITE: u16 = 1 << 5;
    /// More source ports than are listed.
    pub(in crate::connections) const MORE_PORTS: u16 = 1 << 6;
    /// The first PSN is known: the connection manager told it.
    pub(in crate::connections) const START_KNOWN: u16 = 1 << 7;
    /// A packet had a right ICRC, or one that could not be checked.
    pub(in crate::connections) const GOOD_ICRC: u16 = 1 << 8;
    /// The responder has said NAK or RNR NAK since it last went on.
    pub(in crate::connections) const NAKED: u16 = 1 << 9;
}

/// One direction of a connection. What most connections never need is in boxes.
///
/// The fields stand in the order of their use: every packet touches the upper ones, so they share
/// cache lines.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Direction {
    pub key: Option<FlowKey>,
    pub packets: u64,
    pub bytes: u64,
    pub payload: u64,
    /// Payload that was seen for the first time.
    pub goodput: u64,
    pub last_time: Option<u64>,
    pub last_frame: u64,
    pub rate: Rate,

    // The PSNs of the requests that go this way.
    /// Behind the highest request seen.
    pub next: Psn,
    /// What the responder waits for, if all that was captured arrived.
    pub arrived: Psn,
    /// Everything before it was answered.
    pub answered: Psn,
    /// Behind the last request that calls for an answer at once.
    pub due: Psn,
    /// The first of these that has none.
    pub first_due: Psn,
    /// Behind the highest response with data.
    pub responded: Psn,
    pub flags: u16,
    /// Of the newest packet.
    pub ip_id: u16,
    /// Steps of the IP identification: forward, backward.
    pub ip_id_steps: (u8, u8),
    pub pcps: u8,
    pub ports_len: u8,
    pub p_key: Option<u16>,
    pub ports: [u16; MAX_PORTS],
    pub trouble: Option<Box<Trouble>>,
    pub times: Option<Box<Times>>,
    /// Messages not answered yet.
    pub open: OpenMessages,
    /// Bytes of the messages that are followed and not answered yet, and the most there were.
    pub in_flight: (u32, u32),
    pub message_bytes: u64,
    /// send, write, read, atomic, flush.
    pub messages: [u32; 5],
    pub acks: u32,
    /// By ECN codepoint, of packets with data.
    pub ecn: [u32; 4],
    /// One bit for each DSCP: of data, of acknowledgements, of CNPs.
    pub dscps: [u64; 3],
    pub max_idle: u64,
    recent: [(u32, u32); RECENT],
    recent_at: u8,

    /// Behind the last request of a retransmission.
    pub round: Psn,
    pub start: Psn,
    pub first_time: Option<u64>,
    pub first_frame: u64,
    /// Requests whose responses with data are not all there yet.
    pub pending: PendingRequests,
}

/// Requests whose responses with data are not all there yet, oldest first.
#[derive(Default, Debug)]
#[allow(clippy::box_collection, reason = "few connections have one: 8 bytes, not 32")]
pub(super) struct PendingRequests(Option<Box<VecDeque<Pending>>>);

impl PendingRequests {
    pub(super) fn push(&mut self, pending: Pending) {
        let list = self.0.get_or_insert_default();
        if list.len() >= MAX_PENDING {
            list.pop_front();
        }
        list.push_back(pending);
    }

    pub(super) fn pop(&mut self) -> Option<Pending> {
        self.0.as_mut()?.pop_front()
    }

    /// Takes the oldest that is `wanted` out.
    #[inline]
    pub(super) fn take(&mut self, wanted: impl Fn(&Pending) -> bool) -> Option<Pending> {
        let list = self.0.as_mut()?;
        let at = list.iter().position(wanted)?;
        list.remove(at)
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.0.iter().flat_map(|list| list.iter())
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Pending> {
        self.0.as_mut()?.front_mut()
    }

    pub(super) fn back_mut(&mut self) -> Option<&mut Pending> {
        self.0.as_mut()?.back_mut()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Pending) -> bool) {
        if let Some(list) = &mut self.0 {
            list.retain(keep);
        }
    }
}

/// The messages that are not answered yet, oldest first. Most connections have one at a time: it
/// is kept in place.
#[derive(Default, Debug)]
#[allow(clippy::box_collection, reason = "few connections have one: 8 bytes, not 32")]
pub(super) struct OpenMessages {
    first: Option<Open>,
    rest: Option<Box<VecDeque<Open>>>,
}

impl OpenMessages {
    #[inline]
    pub(super) fn push(&mut self, open: Open) {
        if self.first.is_none() {
            self.first = Some(open);
            return;
        }
        let rest = self.rest.get_or_insert_default();
        if rest.len() >= MAX_OPEN {
            self.first = rest.pop_front();
        }
        rest.push_back(open);
    }

    #[inline]
    pub(super) const fn front(&self) -> Option<&Open> {
        self.first.as_ref()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Open> {
        let open = self.first.take();
        if let Some(rest) = &mut self.rest {
            self.first = rest.pop_front();
        }
        open
    }

    /// From the newest to the oldest.
    #[inline]
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.rest.iter_mut().flat_map(|rest| rest.iter_mut().rev()).chain(&mut self.first)
    }

    /// Gives back what a burst has used.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.first.is_none() && self.rest.as_ref().is_some_and(|r| r.capacity() > KEPT_OPEN) {
            self.rest = None;
        }
    }
}

/// A message that was requested and is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Behind its last PSN.
    pub end: Psn,
    pub bytes: u32,
    pub first_time: u64,
    /// From the first to the last request packet, in nanoseconds.
    pub sending: u32,
    /// Whether its last packet was seen.
    pub is_whole: bool,
    /// Sent again, so that an answer may be to either.
    pub is_repeated: bool,
    pub is_read: bool,
    /// Whether its answer is more than an acknowledgement.
    pub wants_data: bool,
}

/// A request whose responses carry data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// The next response expected.
    pub next: Psn,
    /// Behind the last one.
    pub end: Psn,
    /// Whether a response to it was seen: then it was executed.
    pub is_begun: bool,
    /// Whether it repeats an earlier one: then nothing but a response proves that it arrived.
    pub is_repeat: bool,
}

/// A NAK for a PSN sequence error that was not followed by a retransmission yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenNak {
    pub psn: Psn,
    /// Its frame, when it was taken for a loss behind the capture point.
    pub loss: Option<u64>,
    /// Whether what it asks for was acknowledged since.
    pub is_void: bool,
}

/// How many NAKs of one direction are kept.
pub(super) const MAX_NAKS: usize = 4;

/// How much goes over the wire in how short a time.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rate {
    millisecond: u64,
    in_millisecond: u32,
    in_second: u32,
    /// Most bytes of frames in a millisecond of the clock.
    pub peak_millisecond: u32,
    /// Most bytes of frames in a second of the clock, in units of 256 bytes.
    pub peak_second: u32,
}

const NANOS_PER_MILLISECOND: u64 = 1_000_000;
const MILLISECONDS_PER_SECOND: u64 = 1_000;
/// So that 400 Gbit/s for a second fit into 32 bits.
pub(super) const SECOND_UNIT: u32 = 256;

impl Rate {
    #[inline]
    fn record(&mut self, time: u64, bytes: u32) {
        let millisecond = time / NANOS_PER_MILLISECOND;
        if millisecond != self.millisecond {
            if millisecond / MILLISECONDS_PER_SECOND != self.millisecond / MILLISECONDS_PER_SECOND {
                self.in_second = 0;
            }
            (self.millisecond, self.in_millisecond) = (millisecond, 0);
        }
        self.in_millisecond = self.in_millisecond.saturating_add(bytes);
        self.in_second = self.in_second.saturating_add(bytes.div_ceil(SECOND_UNIT));
        self.peak_millisecond = self.peak_millisecond.max(self.in_millisecond);
        self.peak_second = self.peak_second.max(self.in_second);
    }
}

/// What only connections with trouble need.
#[derive(Default, Debug)]
pub(super) struct Trouble {
    pub request_holes: Holes,
    pub response_holes: Holes,
    pub proofs: Proofs,
    /// NAKs that were not followed by a retransmission yet.
    pub open_naks: Vec<OpenNak>,
    /// The receiver's RNR NAK that was not followed by a retransmission yet.
    pub rnr: Option<(Psn, Option<u64>)>,
    /// PSN and number of transmissions without an answer in between.
    pub tries: Option<(Psn, u32)>,
    /// The PSN that was RNR NAKed last, and how often in a row.
    pub rnr_tries: Option<(Psn, u32)>,
    pub wild: Option<Psn>,
    /// Behind the end of the message whose open READ has an unknown number of PSNs.
    pub unknown_span: Option<(Psn, u32)>,
    pub retransmitted: u64,
    pub duplicate_requests: u64,
    /// Of these, those since the responder last went on.
    pub unproven_duplicates: u64,
    pub duplicate_frame_requests: u64,
    pub duplicate_frames: u64,
    pub out_of_order: u64,
    pub max_reorder_depth: u32,
    /// Packets that overtook one another behind the capture point.
    pub reordered_after: u64,
    pub lost_before: u64,
    pub lost_after: u64,
    /// Responses that were asked for again while the request before may have been lost.
    pub lost_either: u64,
    /// Retransmitted packets that were lost before the capture, as far as that is proven.
    pub lost_again: u64,
    /// What was passed over in the retransmission that goes on.
    pub skipped: Option<Psn>,
    pub not_captured: u64,
    /// Missing, and it is not known where they went.
    pub lost_somewhere: u64,
    pub rounds_nak: u32,
    pub rounds_gap: u32,
    pub rounds_rnr: u32,
    pub rounds_timeout: u32,
    /// Retransmissions that went on to the end of what had been sent, and those that did not.
    pub go_back_n: u32,
    pub selective: u32,
    pub naks: [u32; 5],
    pub rnr_naks: u32,
    /// The timer of the last one, in microseconds.
    pub rnr_timer: Option<u32>,
    pub rnr_stall: u64,
    pub duplicate_acks: u32,
    pub ghosts: u32,
    pub sequence_errors: u32,
    pub length_errors: u32,
    pub p_key_changes: u32,
    pub icrc_bad: u32,
    pub cnps: u32,
    pub ecn_ce_acks: u32,
    pub ecn_ce_cnps: u32,
    /// When the first CE arrived that no CNP has answered yet.
    pub ce_since: Option<u64>,
    pub cnp_delay: Durations,
}

/// What only connections with times need.
#[derive(Default, Debug)]
pub(super) struct Times {
    pub ack_latency: Durations,
    pub completion: Durations,
    /// Few connections READ.
    pub read_response: Option<Box<Durations>>,
}

impl Direction {
    pub(super) fn new(key: Option<FlowKey>) -> Self {
        Self {
            key,
            packets: 0,
            bytes: 0,
            payload: 0,
            goodput: 0,
            last_time: None,
            last_frame: 0,
            rate: Rate::default(),
            next: Psn::default(),
            arrived: Psn::default(),
            answered: Psn::default(),
            due: Psn::default(),
            first_due: Psn::default(),
            responded: Psn::default(),
            flags: flag::MESSAGE_UNKNOWN,
            ip_id: 0,
            ip_id_steps: (0, 0),
            pcps: 0,
            ports_len: 0,
            p_key: None,
            ports: [0; MAX_PORTS],
            trouble: None,
            times: None,
            open: OpenMessages::default(),
            in_flight: (0, 0),
            message_bytes: 0,
            messages: [0; 5],
            acks: 0,
            ecn: [0; 4],
            dscps: [0; 3],
            max_idle: 0,
            recent: [(0, 0); RECENT],
            recent_at: 0,
            round: Psn::default(),
            start: Psn::default(),
            first_time: None,
            first_frame: 0,
            pending: PendingRequests::default(),
        }
    }

    #[inline]
    pub(super) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(super) const fn set(&mut self, flag: u16, on: bool) {
        if on {
            self.flags |= flag;
        } else {
            self.flags &= !flag;
        }
    }

    #[inline]
    pub(super) fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    #[inline]
    pub(super) fn times(&mut self) -> &mut Times {
        self.times.get_or_insert_default()
    }

    /// What is counted of a packet whose content cannot be trusted.
    #[inline]
    pub(super) fn count_only(&mut self, seen: &Seen) {
        if self.packets == 0 {
            self.first_frame = seen.frame;
            self.first_time = seen.time;
        }
        self.packets = self.packets.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::from(seen.wire_len));
        self.payload = self.payload.saturating_add(u64::from(seen.payload));
        self.last_frame = seen.frame;
    }

    /// What is counted of every packet, whatever it means.
    #[inline]
    pub(super) fn count(&mut self, seen: &Seen) {
        self.count_only(seen);
        self.count_p_key(seen);
        // Notifications come from another part of the adapter, which counts for itself.
        if let Some(id) = seen.ip_id.filter(|_| seen.kind != Kind::Cnp) {
            self.follow_ip_id(id, seen);
        }
        if let Some(time) = seen.time {
            if let Some(last) = self.last_time {
                self.max_idle = self.max_idle.max(time.saturating_sub(last));
            }
            self.last_time = self.last_time.max(Some(time));
            self.rate.record(time, seen.wire_len);
        }
        self.count_marks(seen);
        self.note_congestion(seen);
    }

    #[inline]
    fn count_p_key(&mut self, seen: &Seen) {
        let Some(p_key) = self.p_key else {
            self.p_key = Some(seen.p_key);
            return;
        };
        // The top bit is the membership of the sender, not part of the partition.
        if (p_key ^ seen.p_key) & 0x7fff != 0 {
            let trouble = self.trouble();
            trouble.p_key_changes = trouble.p_key_changes.saturating_add(1);
            trouble.proofs.note(Event::PKeyChange, seen.frame);
        }
    }

    #[inline]
    fn count_marks(&mut self, seen: &Seen) {
        if let Some(class) = seen.traffic_class {
            let kind = match seen.kind {
                Kind::Cnp => 2,
                _ if seen.is_data() => 0,
                _ => 1,
            };
            if let Some(set) = self.dscps.get_mut(kind) {
                *set |= 1u64 << (class >> 2);
            }
            let ecn = Ecn::from_tos(class);
            if kind == 0 {
                if let Some(count) = self.ecn.get_mut(usize::from(ecn.bits())) {
                    *count = count.saturating_add(1);
                }
            } else if ecn == Ecn::Ce {
                let trouble = self.trouble();
                let count =
                    if kind == 1 { &mut trouble.ecn_ce_acks } else { &mut trouble.ecn_ce_cnps };
                *count = count.saturating_add(1);
            }
        }
        if let Some(pcp) = seen.pcp {
            self.pcps |= 1u8 << (pcp & 7);
        }
        if seen.kind != Kind::Cnp
            && let Some(port) = seen.src_port
        {
            self.count_port(port);
        }
    }

    #[inline]
    fn count_port(&mut self, port: u16) {
        let known = usize::from(self.ports_len);
        if self.ports.iter().take(known).any(|p| *p == port) {
            return;
        }
        match self.ports.get_mut(known) {
            Some(slot) => {
                *slot = port;
                self.ports_len = self.ports_len.saturating_add(1);
            }
            None => self.set(flag::MORE_PORTS, true),
        }
    }

    /// The UDP source ports seen, up to four.
    pub(super) fn src_ports(&self) -> &[u16] {
        self.ports.get(..usize::from(self.ports_len)).unwrap_or_default()
    }

    /// Remembers a frame, to know it again.
    #[inline]
    pub(super) fn remember(&mut self, seen: &Seen) {
        let at = usize::from(self.recent_at) % RECENT;
        if let Some(slot) = self.recent.get_mut(at) {
            *slot = (seen.psn.get() | 1 << 24, seen.mark);
        }
        self.recent_at = self.recent_at.wrapping_add(1);
    }

    /// How many frames back the same frame was captured, 0 for right before.
    pub(super) fn same_frame(&self, seen: &Seen) -> Option<usize> {
        let wanted = (seen.psn.get() | 1 << 24, seen.mark);
        (0..RECENT).find(|back| {
            let at = usize::from(self.recent_at).wrapping_sub(1).wrapping_sub(*back) % RECENT;
            self.recent.get(at) == Some(&wanted)
        })
    }

    /// Follows the IP identification, which most senders count up.
    #[inline]
    fn follow_ip_id(&mut self, id: u16, seen: &Seen) {
        let step = id.wrapping_sub(self.ip_id).cast_signed();
        let (forward, backward) = &mut self.ip_id_steps;
        if self.packets > 1 {
            if *forward == u8::MAX {
                // The past counts half.
                (*forward, *backward) = (*forward / 2, *backward / 2);
            }
            if step > 0 {
                *forward = forward.saturating_add(1);
            } else if self.same_frame(seen).is_none() {
                // What was captured twice says nothing.
                let (_, backward) = &mut self.ip_id_steps;
                *backward = backward.saturating_add(1);
            }
        }
        if step > 0 || self.packets <= 1 {
            self.ip_id = id;
        }
    }

    /// Whether the packet was sent before the newest one seen; `None` when that cannot be told.
    #[inline]
    pub(super) fn was_sent_before(&self, seen: &Seen) -> Option<bool> {
        let id = seen.ip_id.filter(|_| self.ip_id_counts())?;
        Some(id.wrapping_sub(self.ip_id).cast_signed() < 0)
    }

    /// Counts a packet that comes behind later ones.
    #[cold]
    pub(super) fn note_late(&mut self, seen: &Seen, depth: u32) {
        let trouble = self.trouble();
        trouble.out_of_order = trouble.out_of_order.saturating_add(1);
        trouble.max_reorder_depth = trouble.max_reorder_depth.max(depth);
        trouble.proofs.note(Event::OutOfOrder, seen.frame);
    }

    /// Whether the IP identification of this direction counts packets, so that it tells the order
    /// in which they were sent.
    pub(super) const fn ip_id_counts(&self) -> bool {
        let (forward, backward) = self.ip_id_steps;
        forward >= 1 && backward.saturating_mul(4) < forward
    }
}
