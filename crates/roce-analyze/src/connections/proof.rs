//! Which frames show what: a few of each kind of event.

/// Something that happened on a connection and that frames prove.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A packet was missing at the capture and was sent again: the frame that filled the gap.
    LostBeforeCapture,
    /// A captured packet did not arrive: the NAK or the retransmission that says so.
    LostAfterCapture,
    /// The receiver acknowledged what was never captured: the acknowledgement.
    NotCaptured,
    /// A retransmission after a NAK.
    RetransmittedOnNak,
    /// A retransmission after a gap in responses, which the requester takes for a NAK.
    RetransmittedOnGap,
    /// A retransmission after an RNR NAK.
    RetransmittedOnRnr,
    /// A retransmission that nothing asked for.
    RetransmittedOnTimeout,
    /// A packet behind one that was sent later.
    OutOfOrder,
    /// A NAK of a packet that arrived nevertheless, behind later ones.
    ReorderedAfterCapture,
    /// A frame that was captured before.
    DuplicateFrame,
    /// A NAK: PSN sequence error.
    NakSequence,
    /// A NAK: invalid request.
    NakInvalidRequest,
    /// A NAK: remote access error.
    NakRemoteAccess,
    /// A NAK: remote operational error.
    NakRemoteOperational,
    /// A NAK of a reserved code.
    NakOther,
    /// An RNR NAK.
    RnrNak,
    /// An acknowledgement of what was acknowledged before.
    DuplicateAck,
    /// A packet whose PSN has nothing to do with the connection, or that comes after its end.
    Ghost,
    /// A wrong or missing ICRC.
    BadIcrc,
    /// Middle or Last without First, or First inside a message.
    OpcodeSequence,
    /// A payload or a DMA length that cannot be.
    Length,
    /// Another partition than the connection began with.
    PKeyChange,
    /// Congestion experienced.
    Ce,
    /// Congestion notification.
    Cnp,
}

/// One frame and what it shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Proof {
    /// What it shows.
    pub event: Event,
    /// Its number, from 1.
    pub frame: u64,
}

/// How many frames are kept of one kind of event.
pub const MAX_PROOFS_PER_EVENT: usize = 10;

/// How many frames are kept of one direction, all kinds together.
const MAX_PROOFS: usize = 96;

/// The proofs of one direction.
#[derive(Clone, Default, Debug)]
pub(super) struct Proofs {
    list: Vec<Proof>,
}

impl Proofs {
    pub(super) fn note(&mut self, event: Event, frame: u64) {
        if self.list.len() < MAX_PROOFS
            && self.list.iter().filter(|proof| proof.event == event).count() < MAX_PROOFS_PER_EVENT
        {
            self.list.push(Proof { event, frame });
        }
    }

    /// Takes back what turned out to be something else.
    pub(super) fn replace(&mut self, frame: u64, old: Event, new: Event) {
        let wanted = Proof { event: old, frame };
        if let Some(proof) = self.list.iter_mut().find(|proof| **proof == wanted) {
            proof.event = new;
        }
    }

    /// Takes back the last few of a kind.
    pub(super) fn drop_last(&mut self, event: Event, count: u32) {
        for _ in 0..count {
            if let Some(at) = self.list.iter().rposition(|proof| proof.event == event) {
                self.list.remove(at);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<Proof> {
        self.list
    }
}
