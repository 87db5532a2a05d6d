//! What happened to single frames.

use serde::Serialize;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DetailKind {
    /// Lost between sender and capture point: no frame.
    LostBeforeCapture,
    /// Captured, and lost on the way to the receiver.
    LostAfterCapture,
    /// It passed; the capture misses it: no frame.
    NotCaptured,
    /// Sent again after a NAK.
    RetransmittedOnNak,
    /// Sent again because nothing was heard.
    RetransmittedOnTimeout,
    /// Sent again after an RNR NAK.
    RetransmittedOnRnr,
    /// Sent again because responses were missing.
    RetransmittedOnGap,
    /// A response that was sent before, to a request that was made before.
    RetransmittedResponse,
    /// Behind a frame that was sent later.
    OutOfOrder,
    /// Held back behind the capture point: in order here, late at the receiver.
    ReorderedAfterCapture,
    /// The same frame once more, in the capture only.
    DuplicateInCapture,
    /// The same frame once more on the wire; the receiver has both.
    DuplicateInNetwork,
    /// A request that the responder had executed before.
    DuplicateRequest,
    /// Congestion experienced, as captured.
    MarkedCe,
    /// Marked behind the capture point: not marked here, but the receiver saw it.
    MarkedCeAfterCapture,
    /// Wrong or missing ICRC.
    BadIcrc,
    /// A packet that no receiver takes, or with odd bits.
    Malformed,
    /// NAK: PSN sequence error.
    NakSequence,
    /// NAK: invalid request.
    NakInvalidRequest,
    /// NAK: remote access error.
    NakRemoteAccess,
    /// NAK: remote operational error.
    NakRemoteOperational,
    /// Receiver not ready.
    RnrNak,
    /// Congestion notification.
    Cnp,
}

/// What happened to one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Detail {
    /// Nanoseconds since the epoch; what comes first stands first.
    #[serde(skip)]
    pub(crate) time: u64,
    /// What happened.
    pub event: DetailKind,
    /// [`Connection::id`](super::Connection::id).
    pub connection: u64,
    /// Who sent it: `a_to_b` or `b_to_a`.
    pub direction: &'static str,
    /// As on the wire.
    pub psn: u32,
    /// The standard's name.
    pub opcode: &'static str,
    /// Its number in the capture, from 1; absent when the capture has it not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<u64>,
    /// The frame that it repeats, when the capture has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_frame: Option<u64>,
    /// The NAK or RNR NAK that asked for it, when the capture has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof_frame: Option<u64>,
}

/// The list, up to a most.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub list: Vec<Detail>,
    pub omitted: u64,
}

/// How many details are listed: what is beyond is only counted, so that memory stays bounded.
const MOST: usize = 100_000;

impl Details {
    pub(crate) fn add(&mut self, detail: Detail) {
        if self.list.len() < MOST {
            self.list.push(detail);
        } else {
            self.omitted = self.omitted.saturating_add(1);
        }
    }
}
