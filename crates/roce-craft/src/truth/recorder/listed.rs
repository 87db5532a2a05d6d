//! What is listed of single frames, and the frames that are remembered for it.

use super::{Captured, Recorder};
use crate::engine::{Again, Body, Cause, Tx};
use crate::plan::Dir;
use crate::truth::detail::{Detail, DetailKind, Details};

impl Recorder {
    /// What is known of a packet by what becomes of it.
    pub(super) fn note_fate(&mut self, tx: &Tx, captured: &Captured, details: &mut Details) {
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

    pub(super) fn note_again(
        &mut self,
        tx: &Tx,
        captured: &Captured,
        again: Again,
        details: &mut Details,
    ) {
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

    pub(super) fn remember(&mut self, tx: &Tx, frame: u64) {
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
    pub(super) fn frame_of(&self, tx: &Tx) -> Option<u64> {
        let frames = &self.sides.of(tx.dir).frames;
        match tx.body {
            Body::Request(_) => frames.forth.get(&tx.upsn).copied(),
            Body::Response { .. } | Body::AtomicAck { .. } => frames.back.get(&tx.ordinal).copied(),
            _ => None,
        }
    }

    pub(super) fn detail_at(&self, tx: &Tx, captured: &Captured, event: DetailKind) -> Detail {
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

    pub(super) fn detail(
        &self,
        tx: &Tx,
        captured: &Captured,
        event: DetailKind,
        details: &mut Details,
    ) {
        details.add(self.detail_at(tx, captured, event));
    }

    pub(super) fn detail_of(
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

pub(super) const fn direction_name(dir: Dir) -> &'static str {
    match dir {
        Dir::Forth => "a_to_b",
        Dir::Back => "b_to_a",
    }
}
