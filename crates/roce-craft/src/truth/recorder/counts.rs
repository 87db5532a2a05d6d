//! What a packet in the capture counts as.

use roce_wire::{AckKind, NakCode, Syndrome};

use super::{Captured, Recorder};
use crate::engine::{Again, Body, Cause, OpKind, Place, Tx};
use crate::plan::{Dir, Malformed};
use crate::truth::detail::{DetailKind, Details};
use crate::truth::stream::Seen;

impl Recorder {
    /// What is not RoCE counts apart; says whether it is such. No receiver takes it, nor what has
    /// no ICRC.
    pub(super) const fn reject(&mut self, malformed: Malformed, dir: Dir) -> bool {
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

    pub(super) fn count(&mut self, tx: &Tx, captured: &Captured) {
        let counts = &mut self.sides.of_mut(tx.dir).counts;
        counts.packets = counts.packets.saturating_add(1);
        counts.bytes = counts.bytes.saturating_add(captured.wire_len);
        counts.payload_bytes = counts.payload_bytes.saturating_add(captured.payload);
        counts.icrc_bad = counts.icrc_bad.saturating_add(u64::from(captured.icrc_bad));
        counts.ecn_ce = counts.ecn_ce.saturating_add(u64::from(captured.ce));
    }

    pub(super) fn count_again(&mut self, dir: Dir, again: Again) {
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

    pub(super) fn request(&mut self, tx: &Tx, captured: &Captured) {
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

    pub(super) fn response(&mut self, tx: &Tx, captured: &Captured) {
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

    pub(super) fn ack(
        &mut self,
        tx: &Tx,
        captured: &Captured,
        syndrome: Syndrome,
        details: &mut Details,
    ) {
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
}

/// Whether the payload is the path MTU, or there is but one that has room for it: 4096.
fn shows_pmtu(place: Place, captured: &Captured) -> bool {
    !place.ends() || captured.payload > 2048
}
