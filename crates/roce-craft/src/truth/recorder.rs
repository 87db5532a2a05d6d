//! Keeps the truth about one connection while its frames go by.

use roce_wire::{AckKind, NakCode, Opcode, Psn, Syndrome};

use super::detail::{Detail, DetailKind, Details};
use super::samples::Samples;
use super::side::{MOST_OPEN, Side};
use super::stream::Seen;
use super::{Cm, CmMessage, Direction, Rejected};
use crate::engine::{Again, Body, Cause, OpKind, Place, Tx};
use crate::plan::{Both, Dir, Malformed};

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
        let tx = &if self.is_news(tx) { Tx { again: None, ..*tx } } else { *tx };
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
                let tx = &side.evidence.as_it_looks(tx, side.answered, begins);
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

    /// What is not RoCE counts apart; says whether it is such. No receiver takes it, nor what has
    /// no ICRC.
    const fn reject(&mut self, malformed: Malformed, dir: Dir) -> bool {
        if crate::engine::is_fatal(malformed) {
            let loss = &mut self.sides.of_mut(dir).counts.lost;
            loss.before_capture = loss.before_capture.saturating_add(1);
        }
        let count = match malformed {
            Malformed::Opcode => &mut self.rejected.unknown_opcode,
            Malformed::Tver => &mut self.rejected.bad_tver,
            Malformed::Length => &mut self.rejected.too_short,
            Malformed::Pad | Malformed::Reserved | Malformed::NoIcrc => return false,
        };
        *count = count.saturating_add(1);
        true
    }

    fn count(&mut self, tx: &Tx, captured: &Captured) {
        let counts = &mut self.sides.of_mut(tx.dir).counts;
        counts.packets = counts.packets.saturating_add(1);
        counts.bytes = counts.bytes.saturating_add(captured.wire_len);
        counts.payload_bytes = counts.payload_bytes.saturating_add(captured.payload);
        counts.icrc_bad = counts.icrc_bad.saturating_add(u64::from(captured.icrc_bad));
        counts.ecn_ce = counts.ecn_ce.saturating_add(u64::from(captured.ce));
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

    /// What is known of a packet by what becomes of it.
    fn note_fate(&mut self, tx: &Tx, captured: &Captured, details: &mut Details) {
        let loss = &mut self.sides.of_mut(tx.dir).counts.lost;
        if tx.fate.corrupt {
            loss.before_capture = loss.before_capture.saturating_add(1);
        } else if tx.fate.lost_after {
            loss.after_capture = loss.after_capture.saturating_add(1);
            self.detail(tx, captured, DetailKind::LostAfterCapture, details);
        }
        if captured.icrc_bad && tx.fate.corrupt {
            self.detail(tx, captured, DetailKind::BadIcrc, details);
        }
        if tx.fate.late > 0 {
            self.detail(tx, captured, DetailKind::ReorderedAfterCapture, details);
        }
        if tx.fate.ce_before {
            self.detail(tx, captured, DetailKind::MarkedCe, details);
        }
        if tx.fate.ce_after {
            self.detail(tx, captured, DetailKind::MarkedCeAfterCapture, details);
        }
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

    fn note_again(&mut self, tx: &Tx, captured: &Captured, again: Again, details: &mut Details) {
        let proof = self.sides.of(tx.dir.other()).last_nak;
        let kind = match again.cause {
            Cause::Nak => DetailKind::RetransmittedOnNak,
            Cause::Timeout => DetailKind::RetransmittedOnTimeout,
            Cause::Rnr => DetailKind::RetransmittedOnRnr,
            Cause::Gap => DetailKind::RetransmittedOnGap,
            Cause::Replay => DetailKind::RetransmittedResponse,
        };
        let is_asked = matches!(again.cause, Cause::Nak | Cause::Rnr);
        let detail = self.detail_at(tx, captured, kind);
        let repeats_frame = self.frame_of(tx);
        details.add(Detail { repeats_frame, proof_frame: proof.filter(|_| is_asked), ..detail });
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

    fn count_again(&mut self, dir: Dir, again: Again) {
        let side = self.sides.of_mut(dir);
        let counts = &mut side.counts;
        counts.retransmitted_packets = counts.retransmitted_packets.saturating_add(1);
        let rounds = &mut counts.retransmissions;
        let round = match again.cause {
            Cause::Nak => &mut rounds.nak_driven,
            Cause::Timeout => &mut rounds.timeout_driven,
            Cause::Rnr => &mut rounds.rnr_driven,
            Cause::Gap => &mut rounds.gap_driven,
            Cause::Replay => return,
        };
        if again.round > side.last_round {
            side.last_round = again.round;
            *round = round.saturating_add(1);
        }
    }

    fn request(&mut self, tx: &Tx, captured: &Captured) {
        let Some(request) = tx.request() else { return };
        let side = self.sides.of_mut(tx.dir);
        if side.first.is_none() || tx.again.is_none() {
            side.began_with(tx.upsn, captured.psn.get());
        }
        side.shows_pmtu |= shows_pmtu(request.place, captured);
        if side.requests.take(tx.ordinal, tx.again.is_none()) == Seen::Again {
            for open in side.open.iter_mut().filter(|open| tx.upsn < open.end) {
                open.is_repeated = true;
            }
            return;
        }
        let is_whole = request.place.ends();
        let counts = &mut side.counts;
        counts.goodput_bytes = counts.goodput_bytes.saturating_add(captured.payload);
        let payload = u32::try_from(captured.payload).unwrap_or(u32::MAX);
        let bytes = match request.kind {
            OpKind::Send | OpKind::Write => payload,
            OpKind::Read => request.length,
            OpKind::CompareSwap | OpKind::FetchAdd | OpKind::AtomicWrite => 8,
            OpKind::Flush => 0,
        };
        counts.message_bytes = counts.message_bytes.saturating_add(u64::from(bytes));
        if is_whole {
            let messages = &mut counts.messages;
            let count = match request.kind {
                OpKind::Send => &mut messages.send,
                OpKind::Write => &mut messages.write,
                OpKind::Read => &mut messages.read,
                OpKind::CompareSwap | OpKind::FetchAdd | OpKind::AtomicWrite => {
                    &mut messages.atomic
                }
                OpKind::Flush => &mut messages.flush,
            };
            *count = count.saturating_add(1);
        }
        side.follow(tx, request.place.begins(), is_whole, captured.time);
    }

    fn response(&mut self, tx: &Tx, captured: &Captured) {
        let side = self.sides.of_mut(tx.dir);
        if let Body::Response { place, .. } = tx.body {
            side.shows_pmtu |= shows_pmtu(place, captured);
            if side.responses.take(tx.ordinal, tx.again.is_none()) == Seen::New {
                let counts = &mut side.counts;
                counts.goodput_bytes = counts.goodput_bytes.saturating_add(captured.payload);
            }
        } else {
            side.responses.take(tx.ordinal, tx.again.is_none());
        }
        self.sides.of_mut(tx.dir.other()).answered(tx.upsn.saturating_add(1), captured.time);
    }

    fn ack(&mut self, tx: &Tx, captured: &Captured, syndrome: Syndrome, details: &mut Details) {
        let side = self.sides.of_mut(tx.dir);
        let counts = &mut side.counts;
        let (count, kind) = match syndrome.kind() {
            AckKind::RnrNak(_) => (&mut counts.rnr_naks, DetailKind::RnrNak),
            AckKind::Nak(NakCode::PSN_SEQUENCE_ERROR) => {
                (&mut counts.naks.psn_sequence_error, DetailKind::NakSequence)
            }
            AckKind::Nak(NakCode::INVALID_REQUEST) => {
                (&mut counts.naks.invalid_request, DetailKind::NakInvalidRequest)
            }
            AckKind::Nak(NakCode::REMOTE_ACCESS_ERROR) => {
                (&mut counts.naks.remote_access_error, DetailKind::NakRemoteAccess)
            }
            AckKind::Nak(_) => {
                (&mut counts.naks.remote_operational_error, DetailKind::NakRemoteOperational)
            }
            AckKind::Ack(_) | AckKind::Reserved => {
                counts.acks = counts.acks.saturating_add(1);
                let behind = tx.upsn.saturating_add(1);
                let asked = self.sides.of_mut(tx.dir.other());
                if asked.answered == behind {
                    asked.resolve(tx.upsn);
                }
                self.sides.of_mut(tx.dir.other()).answered(behind, captured.time);
                return;
            }
        };
        *count = count.saturating_add(1);
        side.last_nak = Some(captured.frame);
        let asked = self.sides.of_mut(tx.dir.other());
        if asked.answered == 0 && asked.first.is_some() {
            asked.began_with(tx.upsn, captured.psn.get());
        }
        // What it refuses is the first that it has not executed.
        asked.answered = asked.answered.max(tx.upsn);
        self.detail(tx, captured, kind, details);
    }

    fn remember(&mut self, tx: &Tx, frame: u64) {
        if self.memory == 0 {
            return;
        }
        let frames = &mut self.sides.of_mut(tx.dir).frames;
        let (frames, number) = match tx.body {
            Body::Request(_) => (&mut frames.forth, tx.upsn),
            Body::Response { .. } | Body::AtomicAck { .. } => (&mut frames.back, tx.ordinal),
            _ => return,
        };
        frames.insert(number, frame);
        if frames.len() > self.memory {
            frames.pop_first();
        }
    }

    /// The last frame of the same packet.
    fn frame_of(&self, tx: &Tx) -> Option<u64> {
        let frames = &self.sides.of(tx.dir).frames;
        match tx.body {
            Body::Request(_) => frames.forth.get(&tx.upsn).copied(),
            Body::Response { .. } | Body::AtomicAck { .. } => frames.back.get(&tx.ordinal).copied(),
            _ => None,
        }
    }

    fn detail_at(&self, tx: &Tx, captured: &Captured, event: DetailKind) -> Detail {
        Detail {
            time: captured.time,
            event,
            connection: u64::from(self.index),
            direction: direction_name(tx.dir),
            psn: captured.psn.get(),
            opcode: captured.opcode.name().unwrap_or("unknown"),
            frame: Some(captured.frame),
            repeats_frame: None,
            proof_frame: None,
        }
    }

    fn detail(&self, tx: &Tx, captured: &Captured, event: DetailKind, details: &mut Details) {
        details.add(self.detail_at(tx, captured, event));
    }

    fn detail_of(
        &self,
        tx: &Tx,
        captured: &Captured,
        event: DetailKind,
        of: Option<u64>,
        details: &mut Details,
    ) {
        let repeats_frame = of.or_else(|| self.frame_of(tx));
        details.add(Detail { repeats_frame, ..self.detail_at(tx, captured, event) });
    }
}

/// Whether the payload is the path MTU, or there is but one that has room for it: 4096.
fn shows_pmtu(place: Place, captured: &Captured) -> bool {
    !place.ends() || captured.payload > 2048
}

pub(crate) const fn direction_name(dir: Dir) -> &'static str {
    match dir {
        Dir::Forth => "a_to_b",
        Dir::Back => "b_to_a",
    }
}
