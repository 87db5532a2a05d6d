//! What is recorded of the frames of a connection when their numbers are known.

use roce_wire::{Ecn, Opcode, Psn};

use super::batch::{Entry, What};
use super::connection::Connection;
use super::group::{Stage, Turn};
use super::tx::{Body, Tx, wire_psn};
use crate::plan::{Dir, IcrcFault, Malformed};
use crate::truth::{Captured, DetailKind, Details};

/// Missed frames that are remembered until they have arrived.
const MOST_MISSED: usize = 4096;

impl Connection {
    /// Records what happened; of a frame its turn is known.
    pub(super) fn settle(&mut self, entry: &Entry, turn: Option<&Turn>, stage: &mut Stage<'_>) {
        let Entry { time, what, tx, .. } = entry;
        let epoch = stage.plan.epoch;
        match (what, turn) {
            (What::Frame, Some(turn)) if turn.number > 0 => {
                let captured = self.captured(tx, turn, epoch, stage.snaplen());
                self.record(tx, &captured, stage.details);
            }
            (What::Frame, _) => {
                if tx.is_data_path() {
                    let what = (DetailKind::NotCaptured, epoch.saturating_add(*time));
                    self.recorder.absent(tx, self.wire(tx), what, stage.details);
                }
                self.missed.push_back((tx.dir, tx.order));
                if self.missed.len() > MOST_MISSED {
                    self.missed.pop_front();
                }
            }
            (What::Absent(kind), _) => {
                let what = (*kind, epoch.saturating_add(*time));
                self.recorder.absent(tx, self.wire(tx), what, stage.details);
            }
            (What::Duplicate, _) => {
                if !tx.fate.missed && !self.missed.contains(&(tx.dir, tx.order)) {
                    self.recorder.duplicate_request(tx);
                }
            }
        }
    }

    fn record(&mut self, tx: &Tx, captured: &Captured, details: &mut Details) {
        match tx.body {
            Body::Cm(cm) => self.recorder.cm_message(tx.dir, cm.message.name(), captured),
            Body::Icmp(_) => self.recorder.icmp = self.recorder.icmp.saturating_add(1),
            _ => self.recorder.captured(tx, captured, details),
        }
    }

    /// What the capture has of a frame.
    pub(crate) fn captured(&self, tx: &Tx, turn: &Turn, epoch: u64, snaplen: usize) -> Captured {
        let plan = &self.plan;
        let (psn, opcode) = self.wire(tx);
        let has_fault = plan.icrc_fault.is_some() && tx.dir == Dir::Forth
            || tx.fate.corrupt
            || tx.fate.malformed == Some(Malformed::NoIcrc);
        let is_data = !matches!(tx.body, Body::Cnp | Body::Cm(_) | Body::Icmp(_));
        let class = if tx.fate.ce_before { 3 } else { plan.traffic_class };
        let is_whole = usize::try_from(turn.len).is_ok_and(|len| len <= snaplen);
        let lacks_icrc = plan.icrc_fault == Some(IcrcFault::Missing) && tx.dir == Dir::Forth;
        Captured {
            frame: turn.number,
            time: epoch.saturating_add(turn.time),
            wire_len: u64::from(turn.len),
            payload: u64::from(tx.payload_told(lacks_icrc)),
            psn,
            opcode,
            icrc_bad: is_data && has_fault && is_whole,
            ce: is_data && Ecn::from_tos(class) == Ecn::Ce,
        }
    }

    /// PSN and opcode as on the wire.
    pub(crate) fn wire(&self, tx: &Tx) -> (Psn, Opcode) {
        let opcode = tx.opcode(self.plan.service);
        let psn = match tx.body {
            Body::Cnp => Psn::new(0),
            Body::Cm(cm) | Body::Icmp(cm) => Psn::new(cm.psn),
            Body::Request(_) => wire_psn(*self.identity.psn.of(tx.dir), tx.upsn),
            _ => wire_psn(*self.identity.psn.of(tx.dir.other()), tx.upsn),
        };
        (psn, opcode)
    }
}
