//! What a requester waits for: messages without an answer, and requests whose responses carry data.

use std::collections::VecDeque;

use roce_wire::Psn;

/// How many messages are followed at a time; the oldest give way. As many as a usual send queue.
const MAX_OPEN: usize = 128;
/// How many are followed before the first answer: one direction of a hundred thousand connections
/// is not to take 4 KiB each.
const MAX_UNANSWERED: usize = 32;
/// Room for this many messages is kept when none is open.
const KEPT_OPEN: usize = 8;
/// How many requests are remembered that call for a response with data. Responders are asked to
/// keep at most 16 open; repeated requests come on top.
const MAX_PENDING: usize = 64;

/// Requests whose responses with data are not all there yet, oldest first.
#[derive(Clone, Default, Debug)]
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
#[derive(Clone, Default, Debug)]
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

    /// Something of the memory that a list of many has for itself.
    #[inline]
    pub(super) fn fetch(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.len() as u64)
    }

    /// How many there are; `None` where not all may be followed.
    pub(super) fn count(&self) -> Option<usize> {
        let rest = self.rest.as_ref().map_or(0, |rest| rest.len());
        (self.first.is_some() && rest < MAX_OPEN).then(|| rest.saturating_add(1))
    }

    /// Whether there are too many to follow where none was ever answered.
    #[inline]
    pub(super) fn are_hopeless(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.len() >= MAX_UNANSWERED)
    }

    #[inline]
    pub(super) const fn front(&self) -> Option<&Open> {
        self.first.as_ref()
    }

    pub(super) fn second(&self) -> Option<&Open> {
        self.rest.as_ref()?.front()
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
