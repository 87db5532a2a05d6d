//! One direction of a connection: what its packets were, and the PSNs of its requests.

use roce_wire::Psn;

use super::key::FlowKey;
use super::marks::Unusual;
use super::moment::Moment;
use super::order::RECENT;
use super::proof::Event;
use super::rate::{IDLE_GAP, Rate};
use super::reaction::Reaction;
use super::seen::{Kind, Seen};
use super::series::Series;
use super::src_ports::SrcPorts;
use super::timing::Durations;
use super::trouble::Trouble;
use super::waiting::{OpenMessages, PendingRequests};

/// How far ahead of the newest request the PSN of one may be that is next, where others before it
/// are missing too.
const AHEAD: i32 = 64;

/// Bits of [`Direction::flags`].
pub(super) mod flag {
    /// A request was seen.
    pub(in crate::connections) const STARTED: u16 = 1;
    /// The last request was part of a retransmission.
    pub(in crate::connections) const IN_ROUND: u16 = 1 << 1;
    /// A message is open: its First was seen, its Last was not.
    pub(in crate::connections) const MESSAGE_OPEN: u16 = 1 << 2;
    /// Whether a message is open is known: the capture did not begin inside one, and no packets are
    /// missing.
    pub(in crate::connections) const MESSAGE_KNOWN: u16 = 1 << 3;
    /// A request that calls for an answer at once is without one.
    pub(in crate::connections) const ANSWER_DUE: u16 = 1 << 4;
    /// The open message is an RDMA WRITE.
    pub(in crate::connections) const MESSAGE_IS_WRITE: u16 = 1 << 5;
    /// No other flow waits for the answer that comes now, or it is not looked for one.
    pub(in crate::connections) const SETTLED: u16 = 1 << 6;
    /// The first PSN is known: the connection manager told it.
    pub(in crate::connections) const START_KNOWN: u16 = 1 << 7;
    /// A packet had a right ICRC, or one that could not be checked.
    pub(in crate::connections) const GOOD_ICRC: u16 = 1 << 8;
    /// The responder has said NAK or RNR NAK since it last went on.
    pub(in crate::connections) const NAKED: u16 = 1 << 9;
    /// Many messages are open, and none was ever answered: none is followed until one is.
    pub(in crate::connections) const UNANSWERED: u16 = 1 << 10;
    /// Answers were seen while the requests that they answer were not known.
    pub(in crate::connections) const UNMATCHED: u16 = 1 << 11;
    /// The other side has told of congestion: what follows is measured.
    pub(in crate::connections) const NOTIFIED: u16 = 1 << 12;
    /// A packet has told the partition.
    pub(in crate::connections) const P_KEY_KNOWN: u16 = 1 << 13;
    /// A datagram has told its Q_Key.
    pub(in crate::connections) const Q_KEY_KNOWN: u16 = 1 << 14;
    /// The answers that go this way count messages: not every stack does.
    pub(in crate::connections) const COUNTS: u16 = 1 << 15;
}

/// One direction of a connection. What most connections never need is in boxes.
///
/// The fields stand in the order of their use, in six cache lines: a packet waits for memory once
/// for each line that it touches, and most packets are the next request or its acknowledgement.
#[derive(Clone, Default, Debug)]
#[repr(C)]
pub(super) struct Direction {
    // Every packet touches these three lines.
    pub key: Option<FlowKey>,
    pub packets: u64,
    pub bytes: u64,

    pub payload: u64,
    pub last_time: Moment,
    pub last_frame: u64,
    pub max_idle: u64,
    /// When the millisecond ends that is open, in nanoseconds; 0 before the first packet.
    pub millisecond_end: u64,
    pub rate: Rate,
    pub acks: u32,
    pub flags: u16,
    /// Of the newest packet.
    pub ip_id: u16,
    /// Steps of the IP identification: near ones, others.
    pub ip_id_steps: (u8, u8),
    pub pcps: u8,
    pub recent_at: u8,

    pub recent: [u16; RECENT],
    pub src_ports: SrcPorts,
    /// Of the first packet, where the flag says that it is known.
    p_key: u16,
    /// Behind the highest response with data.
    pub responded: Psn,
    /// Silences of 10 ms and more.
    pub idle_gaps: u32,
    /// Most bytes of frames in a second of the clock, in units of 256 bytes.
    pub peak_second: u32,
    /// Packets with data of the usual traffic class.
    pub usually: u32,
    /// The traffic class of the first packet with data, which nearly all others have.
    pub usual: Option<u8>,

    // Requests touch these two lines, and answers to them do: the PSNs of the requests that go
    // this way.
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
    /// Behind the last request of a retransmission.
    pub round: Psn,
    pub trouble: Option<Box<Trouble>>,
    pub times: Option<Box<Times>>,
    /// Requests whose responses with data are not all there yet.
    pub pending: PendingRequests,
    /// Bytes of the messages that are followed and not answered yet, and the most there were.
    pub in_flight: (u32, u32),
    /// Payload that was seen for the first time.
    pub goodput: u64,

    /// Messages not answered yet.
    pub open: OpenMessages,
    /// Of SEND and WRITE.
    pub message_bytes: [u64; 2],
    /// SEND, WRITE and READ.
    pub messages: [u32; 3],
    /// How many frames behind the first one the first data came that cannot be marked, plus one.
    pub first_not_ect: u32,

    // Few packets touch the last.
    /// What READs asked for.
    pub read_bytes: u64,
    pub first_frame: u64,
    pub first_time: Moment,
    /// When the millisecond began that had the most bytes, in nanoseconds.
    pub peak_at: u64,
    /// Bytes and goodput when the second began that is open.
    pub second_at: (u64, u64),
    pub more: Option<Box<More>>,
    pub start: Psn,
    /// Of the first datagram, where the flag says that there was one.
    q_key: u32,
}

/// A cache line has 64 bytes. With other sizes the second direction would begin inside a line.
const _: () = assert!(size_of::<Direction>() == 6 * 64);

/// What few directions need.
#[derive(Clone, Default, Debug)]
pub(super) struct More {
    pub series: Option<Box<Series>>,
    pub reaction: Option<Box<Reaction>>,
    pub unusual: Unusual,
    /// Messages that are neither SEND nor WRITE nor READ: atomic, flush.
    pub rare_messages: [u32; 2],
}

/// What only connections with times need.
#[derive(Clone, Default, Debug)]
pub(super) struct Times {
    pub ack_latency: Durations,
    pub completion: Durations,
    /// Few connections READ.
    pub read_response: Option<Box<Durations>>,
}

impl Times {
    /// Something of each cache line that answers touch.
    #[inline]
    pub(super) const fn fetch(&self) -> u64 {
        self.ack_latency.fetch() ^ self.completion.fetch()
    }
}

impl Direction {
    pub(super) fn new(key: Option<FlowKey>) -> Self {
        Self { key, ..Self::default() }
    }

    /// Something of each cache line that every packet touches: whoever reads it need not wait later.
    #[inline]
    pub(super) fn fetch(&self) -> u64 {
        self.packets ^ self.last_frame ^ u64::from(self.responded.get())
    }

    /// The same of the lines that requests and their answers touch.
    #[inline]
    pub(super) fn fetch_requests(&self) -> u64 {
        let [bytes, _] = self.message_bytes;
        self.goodput ^ bytes
    }

    /// The P_Key of the first packet.
    pub(super) fn p_key(&self) -> Option<u16> {
        self.has(flag::P_KEY_KNOWN).then_some(self.p_key)
    }

    /// The Q_Key of the first datagram.
    pub(super) fn q_key(&self) -> Option<u32> {
        self.has(flag::Q_KEY_KNOWN).then_some(self.q_key)
    }

    /// Keeps the Q_Key of the first datagram.
    pub(super) const fn keep_q_key(&mut self, q_key: Option<u32>) {
        if let Some(q_key) = q_key {
            self.q_key = q_key;
            self.set(flag::Q_KEY_KNOWN, true);
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

    pub(super) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    #[inline]
    pub(super) fn times(&mut self) -> &mut Times {
        self.times.get_or_insert_default()
    }

    /// How long ago, in nanoseconds, the newest packet was sent when this one is.
    #[inline]
    pub(super) fn since_last(&self, seen: &Seen) -> Option<u64> {
        Some(seen.time?.saturating_sub(self.last_time.get()?))
    }

    /// How long an acknowledgement took at most, in nanoseconds; 0 when there was none.
    pub(super) fn longest_answer(&self) -> u64 {
        self.times.as_ref().map_or(0, |times| times.ack_latency.longest())
    }

    /// Answers went by that nobody held to the requests of this direction: which of these still
    /// wait is not known.
    pub(super) fn forget_waiting(&mut self) {
        self.open = OpenMessages::default();
        self.pending = PendingRequests::default();
        self.in_flight.0 = 0;
    }

    /// What is counted of a packet whose content cannot be trusted.
    #[inline]
    pub(super) fn count_only(&mut self, seen: &Seen) {
        if self.packets == 0 {
            self.first_frame = seen.frame;
            self.first_time = seen.time.into();
        }
        // None of them can wrap: it would take 2^32 packets of 4 GiB.
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(u64::from(seen.wire_len));
        self.payload = self.payload.wrapping_add(u64::from(seen.payload));
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
            match self.last_time.get() {
                Some(last) if time > last => {
                    self.count_idle(time.saturating_sub(last));
                    self.last_time = Some(time).into();
                }
                Some(_) => {}
                None => self.last_time = Some(time).into(),
            }
        }
        self.count_marks(seen);
    }

    #[inline]
    fn count_idle(&mut self, idle: u64) {
        if idle > self.max_idle {
            self.max_idle = idle;
        }
        if idle >= IDLE_GAP {
            self.idle_gaps = self.idle_gaps.saturating_add(1);
        }
    }

    #[inline]
    fn count_p_key(&mut self, seen: &Seen) {
        if !self.has(flag::P_KEY_KNOWN) {
            self.p_key = seen.p_key;
            self.set(flag::P_KEY_KNOWN, true);
        }
        // The top bit is the membership of the sender, not part of the partition.
        if (self.p_key ^ seen.p_key) & 0x7fff != 0 {
            let trouble = self.trouble();
            trouble.p_key_changes = trouble.p_key_changes.saturating_add(1);
            trouble.proofs.note(Event::PKeyChange, seen.frame);
            trouble.other_keys.get_or_insert_default().add_p_key(seen.p_key);
        }
    }

    /// A datagram has another Q_Key than the first one.
    #[cold]
    pub(super) fn note_q_key(&mut self, seen: &Seen) {
        let Some(q_key) = seen.q_key else { return };
        let trouble = self.trouble();
        trouble.proofs.note(Event::QKeyChange, seen.frame);
        trouble.other_keys.get_or_insert_default().add_q_key(q_key);
    }

    /// Whether a request with that PSN is missing, or is the next one.
    pub(super) fn misses(&mut self, psn: Psn) -> bool {
        let is_next = (0..AHEAD).contains(&psn.distance_from(self.next));
        if !self.has(flag::STARTED) || !is_next {
            return false;
        }
        let last = &mut self.trouble().thrown_away;
        last.replace(psn) != Some(psn)
    }
}
