//! Keeps the truth about one connection while its frames go by.

mod counts;
mod listed;

use roce_wire::{AckKind, NakCode, Opcode, Psn, Syndrome};

use super::detail::{Detail, DetailKind, Details};
use super::samples::Samples;
use super::side::{MOST_OPEN, Side};
use super::{Cm, CmMessage, Direction, Rejected};
use crate::engine::{Again, Body, Cause, Tx};
use crate::plan::{Both, Dir};
use listed::direction_name;

/// What the capture has of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured {
    /// From 1.
    pub frame: u64,
    pub time: u64,
    pub wire_len: u64,
    /// Bytes of payload, by the packet's own account.
    pub payload: u64,
    pub psn: Psn,
    pub opcode: Opcode,
    /// Whether its ICRC is wrong, or is not there.
    pub icrc_bad: bool,
    /// Whether it says CE.
    pub ce: bool,
}

/// The truth about one connection.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The number of the connection in the run, from 0.
    index: u32,
    pub first_ns: u64,
    pub last_ns: u64,
    pub cm: Option<Cm>,
    sides: Both<Side>,
    /// How many frames of each end are remembered, for what may happen to them.
    memory: usize,
    pub rejected: Rejected,
    pub icmp: u64,
}

impl Recorder {
    /// For connection number `index` of `total`; remembers that many frames.
    pub(crate) fn new(index: u32, total: u64, memory: usize) -> Self {
        let side = || Side {
            ack_latency: Samples::shared_by(total),
            completion: Samples::shared_by(total),
            ..Side::default()
        };
        Self {
            index,
            first_ns: 0,
            last_ns: 0,
            cm: None,
            sides: Both::new(side(), side()),
            memory,
            rejected: Rejected::default(),
            icmp: 0,
        }
    }

    pub(crate) const fn side(&self, dir: Dir) -> &Side {
        self.sides.of(dir)
    }

    /// The counts of one end, complete; `can_tell` says that its PSNs tell losses, `is_silent` that
    /// its peer was given up.
    pub(crate) fn direction(&self, dir: Dir, can_tell: bool, is_silent: bool) -> Direction {
        let side = self.sides.of(dir);
        let mut counts = side.counts.clone();
        counts.missing_psns = side
            .requests
            .missing()
            .saturating_add(side.responses.missing())
            .saturating_add(side.evidence.missing_ends());
        counts.loss = (counts.packets > 0 && can_tell).then(|| side.evidence.shown(is_silent));
        counts.ack_latency_ns = side.ack_latency.percentiles();
        counts.completion_ns = side.completion.percentiles();
        counts
    }

    /// A message of connection management is in the capture.
    pub(crate) fn cm_message(&mut self, dir: Dir, message: &'static str, captured: &Captured) {
        self.touch(captured.time);
        let cm = self.cm.get_or_insert_default();
        let is_first = |first: &str| cm.messages.iter().all(|known| known.message != first);
        if matches!(message, "REQ" | "SIDR_REQ" | "REP" | "DREQ") && !is_first(message) {
            cm.retries = cm.retries.saturating_add(1);
        }
        cm.messages.push(CmMessage {
            message,
            direction: direction_name(dir),
            frame: captured.frame,
        });
    }

    fn touch(&mut self, time: u64) {
        if self.first_ns == 0 || time < self.first_ns {
            self.first_ns = time;
        }
        self.last_ns = self.last_ns.max(time);
    }

    /// A packet is in the capture.
    pub(crate) fn captured(&mut self, tx: &Tx, captured: &Captured, details: &mut Details) {
        if let Some(malformed) = tx.fate.malformed {
            self.detail(tx, captured, DetailKind::Malformed, details);
            if self.reject(malformed, tx.dir) {
                self.sides.of_mut(tx.dir).evidence.miss(tx);
                return;
            }
        }
        self.touch(captured.time);
        self.count(tx, captured);
        self.note_fate(tx, captured, details);
        let side = self.sides.of_mut(tx.dir);
        let is_late = side.last_order.is_some_and(|last| tx.order < last);
        if tx.fate.corrupt || captured.icrc_bad && tx.fate.malformed.is_some() {
            side.evidence.miss(tx);
            return;
        }
        if tx.fate.is_copy {
            side.counts.duplicate_packets = side.counts.duplicate_packets.saturating_add(1);
            self.detail_of(tx, captured, DetailKind::DuplicateInNetwork, None, details);
            return;
        }
        if is_late {
            side.counts.out_of_order_packets = side.counts.out_of_order_packets.saturating_add(1);
            self.detail(tx, captured, DetailKind::OutOfOrder, details);
        } else {
            side.last_order = Some(tx.order);
        }
        if let Some(again) = tx.again {
            self.note_again(tx, captured, again, details);
        }
        // What the capture has for the first time looks like a first transmission.
        let news;
        let tx = if tx.again.is_some() && self.is_news(tx) {
            news = Tx { again: None, ..*tx };
            &news
        } else {
            tx
        };
        let again = self.note_evidence(tx);
        if let Some(again) = again {
            self.count_again(tx.dir, again);
        }
        match tx.body {
            Body::Request(_) => self.request(tx, captured),
            Body::Response { .. } | Body::AtomicAck { .. } => self.response(tx, captured),
            Body::Ack { syndrome, is_unasked, .. } => {
                if is_unasked {
                    self.sides.of_mut(tx.dir.other()).resolve(tx.upsn);
                }
                self.ack(tx, captured, Syndrome(syndrome), details);
            }
            Body::Cnp => {
                let counts = &mut self.sides.of_mut(tx.dir).counts;
                counts.cnps = counts.cnps.saturating_add(1);
                self.detail(tx, captured, DetailKind::Cnp, details);
            }
            Body::Cm(_) | Body::Icmp(_) => {}
        }
        self.remember(tx, captured.frame);
    }

    /// What the packet tells of losses; why it is sent again, as it looks.
    fn note_evidence(&mut self, tx: &Tx) -> Option<Again> {
        let dir = tx.dir;
        let Both { forth, back } = &mut self.sides;
        let (side, peer) = if dir == Dir::Forth { (forth, back) } else { (back, forth) };
        match tx.body {
            Body::Request(_) => {
                let begins = tx.again.is_some_and(|again| again.round > side.last_round);
                let looks = side.evidence.as_it_looks(tx, side.answered, begins);
                let tx = looks.as_ref().unwrap_or(tx);
                let (answered, peer) = (side.answered, &mut peer.evidence);
                side.evidence.request(tx, peer, answered, begins);
                return tx.again;
            }
            Body::Ack { syndrome, .. } if !matches!(Syndrome(syndrome).kind(), AckKind::Ack(_)) => {
                match Syndrome(syndrome).kind() {
                    AckKind::Nak(NakCode::PSN_SEQUENCE_ERROR) => peer.evidence.nak(tx.upsn),
                    AckKind::RnrNak(_) => peer.evidence.rnr_nak(tx.upsn),
                    _ => {}
                }
            }
            Body::Response { .. } | Body::AtomicAck { .. } | Body::Ack { .. } => {
                side.evidence.answer(tx, &mut peer.evidence);
            }
            Body::Cnp | Body::Cm(_) | Body::Icmp(_) => {}
        }
        tx.again
    }

    /// The same frame is in the capture once more.
    pub(crate) fn duplicate(
        &mut self,
        tx: &Tx,
        captured: &Captured,
        of: u64,
        details: &mut Details,
    ) {
        self.touch(captured.time);
        if !tx.is_data_path() {
            return;
        }
        self.count(tx, &Captured { icrc_bad: false, ..*captured });
        let counts = &mut self.sides.of_mut(tx.dir).counts;
        counts.duplicate_packets = counts.duplicate_packets.saturating_add(1);
        self.detail_of(tx, captured, DetailKind::DuplicateInCapture, Some(of), details);
    }

    /// A packet did not come to the capture point, or the capture misses it.
    pub(crate) fn absent(
        &mut self,
        tx: &Tx,
        (psn, opcode): (Psn, Opcode),
        (kind, time): (DetailKind, u64),
        details: &mut Details,
    ) {
        let loss = &mut self.sides.of_mut(tx.dir).counts.lost;
        let count = if kind == DetailKind::NotCaptured {
            &mut loss.not_captured
        } else {
            &mut loss.before_capture
        };
        *count = count.saturating_add(1);
        self.sides.of_mut(tx.dir).evidence.miss(tx);
        details.add(Detail {
            time,
            event: kind,
            connection: u64::from(self.index),
            direction: direction_name(tx.dir),
            psn: psn.get(),
            opcode: opcode.name().unwrap_or("unknown"),
            frame: None,
            repeats_frame: None,
            proof_frame: None,
        });
    }

    /// The responder had executed this request before.
    pub(crate) fn duplicate_request(&mut self, tx: &Tx) {
        let answered = self.sides.of(tx.dir).answered;
        let was_begun = self.sides.of(tx.dir.other()).evidence.has_begun(tx.message);
        if tx.again.is_some_and(|again| again.cause == Cause::Timeout)
            && tx.upsn >= answered
            && !was_begun
        {
            // Without an answer in the capture nobody knows whether the request or the answer
            // was lost. Perhaps an acknowledgement will tell.
            let side = self.sides.of_mut(tx.dir);
            if side.doubtful.len() >= MOST_OPEN {
                side.doubtful.pop_front();
            }
            side.doubtful.push_back(tx.upsn);
            return;
        }
        let counts = &mut self.sides.of_mut(tx.dir).counts;
        counts.duplicate_requests = counts.duplicate_requests.saturating_add(1);
    }

    /// Whether the capture has nothing of this packet, nor of a later one of its kind.
    fn is_news(&self, tx: &Tx) -> bool {
        let side = self.sides.of(tx.dir);
        match tx.body {
            Body::Request(_) => side.requests.is_ahead(tx.ordinal),
            Body::Response { .. } | Body::AtomicAck { .. } => side.responses.is_ahead(tx.ordinal),
            _ => false,
        }
    }
}
