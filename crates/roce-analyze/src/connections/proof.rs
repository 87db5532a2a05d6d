//! Which frames show what: a few of each kind of event, or many.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

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
    /// A request stands behind its answer: the answer.
    AheadOfRequest,
    /// A request or its response was lost: the packet that shows it.
    LostEither,
    /// PSNs before this packet were passed over, and nothing tells what became of them.
    PassedOver,
    /// A packet that no receiver takes, with the PSN that was missing then.
    ThrownAway,
    /// A retransmission after a NAK.
    RetransmittedOnNak,
    /// A retransmission after a gap in responses, which the requester takes for a NAK.
    RetransmittedOnGap,
    /// A retransmission after an RNR NAK.
    RetransmittedOnRnr,
    /// A retransmission that nothing asked for.
    RetransmittedOnTimeout,
    /// A retransmission whose cause does not show, as no answers to the requests were known then.
    Retransmitted,
    /// A packet behind one that was sent later.
    OutOfOrder,
    /// A NAK of a packet that arrived nevertheless, behind later ones.
    ReorderedAfterCapture,
    /// A packet was lost or only late, the capture does not tell: the frame that would prove a loss.
    LostOrLate,
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
    /// Another Q_Key than the first datagram to the queue pair has.
    QKeyChange,
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

impl Event {
    /// How many there are.
    const COUNT: usize = Self::Cnp as usize + 1;

    /// Whether it is about a packet that went the way of the direction, and not about the frame.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::LostBeforeCapture | Self::LostAfterCapture | Self::LostOrLate)
    }

    /// Whether it is told by what came before the frame, and not by the frame itself.
    pub(super) const fn is_of_order(self) -> bool {
        matches!(
            self,
            Self::LostBeforeCapture
                | Self::LostAfterCapture
                | Self::NotCaptured
                | Self::AheadOfRequest
                | Self::LostEither
                | Self::PassedOver
                | Self::RetransmittedOnNak
                | Self::RetransmittedOnGap
                | Self::RetransmittedOnRnr
                | Self::RetransmittedOnTimeout
                | Self::Retransmitted
                | Self::OutOfOrder
                | Self::ReorderedAfterCapture
                | Self::LostOrLate
                | Self::DuplicateAck
                | Self::OpcodeSequence
        )
    }

    /// What is left of it where no answers are known that could have told it: that something is
    /// sent again shows all the same.
    pub(super) const fn without_answers(self) -> Option<Self> {
        match self {
            Self::LostAfterCapture | Self::LostOrLate => None,
            Self::RetransmittedOnNak
            | Self::RetransmittedOnGap
            | Self::RetransmittedOnRnr
            | Self::RetransmittedOnTimeout => Some(Self::Retransmitted),
            other => Some(other),
        }
    }

    /// In words, what the packet itself does not say; `None` where it does.
    #[must_use]
    pub const fn text(self) -> Option<&'static str> {
        Some(match self {
            Self::LostBeforeCapture => "proves a loss before the capture point",
            Self::LostAfterCapture => "proves a loss behind the capture point",
            Self::NotCaptured => "acknowledges what was not captured",
            Self::AheadOfRequest => "stands before what it answers",
            Self::LostEither => "a request or its response was lost",
            Self::PassedOver => "something before it is missing",
            Self::ThrownAway => "its PSN was missing: no receiver takes it",
            Self::RetransmittedOnNak => "sent again: NAK",
            Self::RetransmittedOnGap => "sent again: gap in responses",
            Self::RetransmittedOnRnr => "sent again: RNR",
            Self::RetransmittedOnTimeout => "sent again: timeout",
            Self::Retransmitted => "sent again",
            Self::OutOfOrder => "out of order",
            Self::ReorderedAfterCapture => "asks for what came late behind the capture point",
            Self::LostOrLate => "asks for, or is, what was lost or late",
            Self::DuplicateFrame => "captured twice",
            Self::DuplicateAck => "acknowledged before",
            Self::Ghost => "nothing to do with this connection",
            Self::OpcodeSequence => "cannot follow the packet before",
            Self::Length => "impossible length",
            Self::PKeyChange => "another partition",
            Self::QKeyChange => "another Q_Key",
            _ => return None,
        })
    }
}

/// How many frames are kept of one kind of event.
pub const MAX_PROOFS_PER_EVENT: usize = 10;

/// How many frames are kept of one kind of event where [all](super::Config::with_all_proofs) are
/// asked for.
pub const MANY_PROOFS_PER_EVENT: usize = 10_000;

/// How far back a proof is looked for that is there already.
const LOOKED_AT: usize = 32;

/// How many frames are kept of one direction, all kinds together.
const MAX_PROOFS: usize = 96;

/// Room for the proofs beyond the first few, shared by all connections of a tracker.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<AtomicU32>);

impl Room {
    /// 16 MB.
    const PROOFS: u32 = 1_000_000;

    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU32::new(Self::PROOFS)))
    }

    fn take(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Whether nothing is left.
    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// The proofs of one direction.
#[derive(Clone, Default, Debug)]
pub(super) struct Proofs {
    list: Vec<Proof>,
    many: Option<Box<Many>>,
}

/// What is needed to keep many.
#[derive(Clone, Debug)]
struct Many {
    room: Room,
    /// How many there are of each kind.
    counts: [u32; Event::COUNT],
}

impl Proofs {
    /// With room for more than the first few.
    pub(super) fn with_room(room: Room) -> Self {
        let many = Many { room, counts: [0; Event::COUNT] };
        Self { list: Vec::new(), many: Some(Box::new(many)) }
    }

    pub(super) fn note(&mut self, event: Event, frame: u64) {
        // A frame may show the same more than once; what is new is near the end.
        let newest = self.list.iter().rev().take(LOOKED_AT);
        if newest.into_iter().any(|proof| *proof == Proof { event, frame }) {
            return;
        }
        if let Some(many) = &mut self.many {
            if many.takes(event) {
                self.list.push(Proof { event, frame });
            }
        } else if self.list.len() < MAX_PROOFS
            && self.list.iter().filter(|proof| proof.event == event).count() < MAX_PROOFS_PER_EVENT
        {
            self.list.push(Proof { event, frame });
        }
    }

    /// Takes back what turned out to be something else.
    pub(super) fn replace(&mut self, frame: u64, old: Event, new: Event) {
        let wanted = Proof { event: old, frame };
        if let Some(proof) = self.list.iter_mut().rfind(|proof| **proof == wanted) {
            proof.event = new;
        }
    }

    /// Takes back that the frame shows it.
    pub(super) fn remove(&mut self, frame: u64, event: Event) {
        let wanted = Proof { event, frame };
        if let Some(at) = self.list.iter().rposition(|proof| *proof == wanted) {
            self.list.remove(at);
        }
    }

    /// Keeps only what is wanted.
    pub(super) fn keep(&mut self, is_wanted: impl Fn(Event) -> bool) {
        self.list.retain(|proof| is_wanted(proof.event));
    }

    /// Takes back what only answers could tell.
    pub(super) fn forget_causes(&mut self) {
        self.list = without_answers(self.list.iter().copied()).collect();
    }

    /// Takes the last few of a kind for another.
    pub(super) fn turn_last(&mut self, old: Event, new: Event, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let last = self.list.iter_mut().rev().filter(|proof| proof.event == old);
        last.take(count).for_each(|proof| proof.event = new);
    }

    /// Takes back the first few of a kind.
    pub(super) fn drop_first(&mut self, event: Event, mut count: u64) {
        self.list.retain(|proof| {
            let is_it = proof.event == event && count > 0;
            count = count.saturating_sub(u64::from(is_it));
            !is_it
        });
    }

    /// Takes back the last few of a kind.
    pub(super) fn drop_last(&mut self, event: Event, count: u64) {
        for _ in 0..count {
            let Some(at) = self.list.iter().rposition(|proof| proof.event == event) else {
                return;
            };
            self.list.remove(at);
        }
    }

    pub(super) fn into_list(self) -> Box<[Proof]> {
        self.list.into_boxed_slice()
    }
}

/// What is left of the proofs where no answers are known.
pub(super) fn without_answers(
    proofs: impl IntoIterator<Item = Proof>,
) -> impl Iterator<Item = Proof> {
    let left = |proof: Proof| Some(Proof { event: proof.event.without_answers()?, ..proof });
    proofs.into_iter().filter_map(left)
}

impl Many {
    /// Whether there is room for one more of the kind.
    fn takes(&mut self, event: Event) -> bool {
        let Some(count) = self.counts.get_mut(event as usize) else { return false };
        let kept = usize::try_from(*count).unwrap_or(usize::MAX);
        let takes =
            kept < MANY_PROOFS_PER_EVENT && (kept < MAX_PROOFS_PER_EVENT || self.room.take());
        *count = count.saturating_add(u32::from(takes));
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_kept_unless_all_are_asked_for() {
        let mut few = Proofs::default();
        let mut many = Proofs::with_room(Room::new());
        for frame in 1..=20_000 {
            few.note(Event::Ce, frame);
            many.note(Event::Ce, frame);
        }
        assert_eq!((few.list.len(), many.list.len()), (10, 10_000));
    }

    #[test]
    fn room_is_shared_and_ten_of_a_kind_need_none() {
        let room = Room(Arc::new(AtomicU32::new(5)));
        let mut kept = 0;
        for _ in 0..3 {
            let mut proofs = Proofs::with_room(room.clone());
            (0..20).for_each(|frame| proofs.note(Event::Ghost, frame));
            kept += proofs.into_list().len();
        }
        assert_eq!((kept, room.is_used_up()), (35, true));
    }
}
