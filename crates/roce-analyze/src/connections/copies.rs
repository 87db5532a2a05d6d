//! Frames that the capture has twice, because both sides of a port are mirrored.
//!
//! The second copy of a frame may come hundreds of frames behind the first, too far for what a
//! direction remembers. So the newest frames of all connections are remembered together: at the
//! beginning of the capture and of every flow, as long as copies come, and after something was
//! sent again. Otherwise nothing is looked up, and a packet costs nothing here.

use super::beginning::look_at_beginning;
use super::direction::{Direction, flag};
use super::key::{FlowKey, is_datagram};
use super::pairs::{Before, Lag, Pairs};
use super::requests::note_copy;
use super::seen::{Kind, Seen};
use super::trouble::Trouble;
use super::waiting::Pending;
use roce_wire::{IcrcState, Psn, Service};

/// How many frames are compared at the beginning of the capture, and after every copy.
const LONG: u64 = 1 << 16;
/// How many are compared after a new flow, and after something that was sent before.
const SHORT: u64 = 1 << 12;
/// How far apart two copies may be when only time tells them from a retransmission, in
/// nanoseconds. Timeouts are longer, nearly always.
const COPY: u64 = 500_000;
/// The same of what is never sent again, or only after seconds.
const NEVER_AGAIN: u64 = 100_000_000;

/// How many transmissions of a frame are remembered.
const SENT: usize = 4;

/// A frame that was captured before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Repeat {
    /// Its transmissions of which no copy was captured yet, the oldest first. There are none when it
    /// was not captured before.
    sent: [Option<Before>; SENT],
    /// How late copies are in this capture, where all frames have one.
    lag: Option<Lag>,
    /// When the first frame was captured.
    began: Option<u64>,
}

impl Repeat {
    /// Whether there is anything that the frame may be a copy of.
    pub(super) const fn is_any(self) -> bool {
        let [oldest, ..] = self.sent;
        oldest.is_some()
    }

    fn list(self) -> impl Iterator<Item = (usize, Before)> {
        self.sent.into_iter().enumerate().filter_map(|(at, before)| Some((at, before?)))
    }

    /// The transmission that this is a copy of, if it is of one that nobody repeats so soon.
    pub(super) fn soon(self) -> Option<usize> {
        self.list().find(|(_, before)| before.is_within(NEVER_AGAIN)).map(|(at, _)| at)
    }
}

/// The transmissions of one frame of which no copy was captured yet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The lower half of their numbers, and their times; the oldest first.
    sent: [Option<(u32, u64)>; SENT],
}

/// Where the capture does not say the time.
const NO_TIME: u64 = u64::MAX;

impl Entry {
    const NONE: Self = Self { sent: [None; SENT] };

    fn sent(&self, seen: &Seen) -> [Option<Before>; SENT] {
        self.sent.map(|sent| {
            let (frame, time) = sent?;
            let distance = low(seen.frame).wrapping_sub(frame);
            let now = seen.time.filter(|_| time != NO_TIME);
            Some(Before {
                ns: now.map(|now| now.saturating_sub(time)),
                frame: seen.frame.saturating_sub(u64::from(distance)),
            })
        })
    }

    /// It was sent, once more.
    fn add(&mut self, seen: &Seen) {
        if self.sent.iter().all(Option::is_some) {
            self.take(0);
        }
        if let Some(free) = self.sent.iter_mut().find(|sent| sent.is_none()) {
            *free = Some((low(seen.frame), seen.time.unwrap_or(NO_TIME)));
        }
    }

    /// The transmission has found its copy.
    fn take(&mut self, at: usize) {
        if let Some(rest) = self.sent.get_mut(at..) {
            rest.rotate_left(1);
        }
        let [.., last] = &mut self.sent;
        *last = None;
    }
}

/// The lower half of the number of a frame.
#[allow(clippy::cast_possible_truncation, reason = "half of it is wanted")]
const fn low(frame: u64) -> u32 {
    frame as u32
}

/// How many frames are remembered that fall together; a power of two.
const WAYS: usize = 8;
/// A power of two.
const SETS: usize = 1 << 11;

/// Frames that fall together. What tells them apart is in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Set {
    fingerprints: [u32; WAYS],
    /// Where the oldest of them is.
    oldest: usize,
    entries: [Entry; WAYS],
}

impl Set {
    const NONE: Self = Self { fingerprints: [0; WAYS], oldest: 0, entries: [Entry::NONE; WAYS] };

    /// A frame that was not there gives the oldest one its place.
    fn add(&mut self, fingerprint: u32, seen: &Seen) {
        let at = self.oldest % WAYS;
        self.oldest = at.wrapping_add(1);
        if let (Some(known), Some(entry)) =
            (self.fingerprints.get_mut(at), self.entries.get_mut(at))
        {
            (*known, *entry) = (fingerprint, Entry::NONE);
            entry.add(seen);
        }
    }
}

/// The newest frames of the capture. Takes 1.7 MB, whatever the number of connections.
#[derive(Clone, Default, Debug)]
pub(super) struct Copies {
    sets: Vec<Set>,
    /// Frames before this one are compared.
    until: u64,
    /// Where the frame is that was compared last.
    newest: (usize, usize),
    /// When the first frame was captured.
    began: Option<u64>,
    pairs: Pairs,
}

impl Copies {
    /// Whether the frame is to be compared.
    #[inline]
    pub(super) const fn are_watched(&self, frame: u64) -> bool {
        frame < self.until
    }

    /// Something new begins with this frame: from now on frames are compared for a while.
    pub(super) fn begin(&mut self, key: &FlowKey, seen: &Seen) -> Option<Repeat> {
        if self.sets.is_empty() {
            self.began = seen.time;
        }
        self.watch(seen.frame, SHORT);
        self.compare(key, seen)
    }

    /// Something was sent before: perhaps its next frames are copies.
    pub(super) fn suspect(&mut self, frame: u64) {
        self.watch(frame, SHORT);
    }

    fn watch(&mut self, frame: u64, more: u64) {
        if self.sets.is_empty() {
            self.sets = vec![Set::NONE; SETS];
        }
        self.until = self.until.max(frame.saturating_add(more));
    }

    /// Says whether the frame was there before. If it was not, it is remembered; if it was,
    /// [`Self::settle`] must be told what came of it.
    #[inline(never)]
    pub(super) fn compare(&mut self, key: &FlowKey, seen: &Seen) -> Option<Repeat> {
        let (fingerprint, hash) = fingerprint(key, seen);
        let at = usize::try_from(hash).unwrap_or(0) % SETS;
        let set = self.sets.get_mut(at)?;
        if let Some(way) = set.fingerprints.iter().position(|known| *known == fingerprint) {
            self.newest = (at, way);
            let sent = set.entries.get(way)?.sent(seen);
            self.pairs.note_again(seen, fingerprint, &sent);
            return Some(Repeat { sent, lag: self.pairs.rule(), began: self.began });
        }
        self.pairs.note_first(fingerprint);
        set.add(fingerprint, seen);
        None
    }

    /// The frame that was compared last is the copy of this transmission, or was sent again.
    pub(super) fn settle(&mut self, seen: &Seen, copied: Option<usize>) {
        let (set, way) = self.newest;
        let set = self.sets.get_mut(set);
        let Some(entry) = set.and_then(|set| set.entries.get_mut(way)) else { return };
        match copied {
            Some(at) => {
                entry.take(at);
                self.watch(seen.frame, LONG);
            }
            None => entry.add(seen),
        }
    }
}

/// Tells a frame from all others. The ICRC covers all that does not change on the way; what stands
/// beside it is for captures without one.
fn fingerprint(key: &FlowKey, seen: &Seen) -> (u32, u32) {
    let id = u64::from(seen.ip_id.unwrap_or(0)) << 1 | u64::from(seen.icrc == IcrcState::Bad);
    let words = [u64::from(seen.mark) << 32 | u64::from(seen.psn.get()), id, key.digest()];
    let mixed = words.into_iter().fold(0u64, |mixed, word| {
        (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    // That of nothing is 0.
    (low(mixed) | 1, low(mixed >> 32))
}

/// Takes a frame that was captured before; says of which transmission it is a copy, if it is one:
/// that is counted and means nothing else.
#[cold]
pub(super) fn take_copy(
    this: &mut Direction,
    other: &mut Direction,
    seen: &Seen,
    repeat: Repeat,
) -> Option<usize> {
    let first = this.first_frame;
    if repeat.list().any(|(_, before)| before.frame == first) {
        this.trouble().first_is_copied = true;
    }
    let (at, before) = original(this, other, seen, repeat)?;
    look_at_beginning(this, other, (repeat.began, repeat.lag), before);
    let executed = seen.kind.is_request() && seen.psn.is_before(this.arrived);
    note_copy(this, seen);
    let trouble = this.trouble();
    if let Some(ns) = before.ns {
        trouble.lag = Some(trouble.lag.map_or(Lag::new(ns), |lag| lag.with(ns)));
    }
    if executed && !is_datagram(seen.service) {
        trouble.duplicate_frame_requests = trouble.duplicate_frame_requests.saturating_add(1);
    }
    // Its IP identification says nothing.
    this.count(&Seen { ip_id: None, ..*seen });
    Some(at)
}

/// Where the IP identification counts, what is sent again has another. Elsewhere a copy is what
/// comes as late as other copies, or soon, and without a reason to be sent again.
fn original(
    this: &Direction,
    other: &Direction,
    seen: &Seen,
    repeat: Repeat,
) -> Option<(usize, Before)> {
    let within = |most: u64| repeat.list().find(|(_, before)| before.is_within(most));
    if is_datagram(seen.service) || seen.service == Service::Uc {
        return within(NEVER_AGAIN);
    }
    let is_cnp = seen.kind == Kind::Cnp;
    // The ICRC of what was corrupted is that of all transmissions of the packet.
    let is_corrupted = seen.icrc == IcrcState::Bad && !seen.is_known_fault;
    if seen.ip_id.is_some() && !is_cnp && this.ip_id_counts() {
        return repeat.list().next();
    }
    if repeat.lag.is_none() && is_behind_late(this, seen) {
        return None;
    }
    // The other direction may have just begun to have copies: then it knows less.
    let [own, others] =
        [this, other].map(|dir| dir.trouble.as_ref().and_then(|trouble| trouble.lag));
    let others = others.filter(|lag| own.is_none() || lag.is_settled());
    let lags = [own, others, repeat.lag];
    let fits = |before: Before| lags.into_iter().flatten().any(|lag| lag.fits(before));
    if let Some(original) = repeat.list().find(|(_, before)| fits(*before)) {
        return Some(original);
    }
    let is_unlike = is_cnp || is_corrupted;
    within(COPY).filter(|(_, before)| !is_unlike && is_uncalled(this, other, seen, *before))
}

/// Whether the packet goes on behind one that filled a gap right before.
fn is_behind_late(this: &Direction, seen: &Seen) -> bool {
    let late = this.trouble.as_ref().and_then(|trouble| trouble.late.as_ref());
    seen.kind.is_request() && late.is_some_and(|late| late.is_right_before(this.last_frame, seen))
}

/// Whether nothing has called for sending the packet again.
fn is_uncalled(this: &Direction, other: &Direction, seen: &Seen, before: Before) -> bool {
    if !seen.kind.is_request() {
        return other.trouble.as_ref().is_none_or(|trouble| trouble.retransmitted == 0);
    }
    if before.frame == this.first_frame {
        // Copies begin with the first frame; retransmissions seldom do.
        // Where one asks for something before, that may be lost once more.
        let is_asked = |t: &Trouble| t.open_naks.iter().any(|nak| !seen.psn.is_before(nak.psn));
        let has_gap = |t: &Trouble| t.response_holes.at(seen.psn).is_some();
        let goes_on = this.has(flag::IN_ROUND) && !seen.psn.is_before(this.round);
        return !goes_on
            && !this.trouble.as_ref().is_some_and(|trouble| is_asked(trouble))
            && !other.trouble.as_ref().is_some_and(|trouble| has_gap(trouble));
    }
    let is_likely = before.frame == this.last_frame
        || !seen.kind.has_data_response()
        || is_unanswered(this, seen.psn);
    is_likely && is_untroubled(this, other)
}

/// Whether so far nothing that went this way was missing, late or sent again, and the other side
/// has refused nothing.
pub(super) fn is_untroubled(this: &Direction, other: &Direction) -> bool {
    let quiet =
        |t: &Trouble| t.retransmitted == 0 && t.late_packets() == 0 && t.request_holes.is_empty();
    let content = |t: &Trouble| t.naks == [0; 5] && t.rnr_naks == 0;
    this.trouble.as_ref().is_none_or(|trouble| quiet(trouble))
        && other.trouble.as_ref().is_none_or(|trouble| content(trouble))
}

/// Whether nothing has come of the responses to the request.
fn is_unanswered(this: &Direction, psn: Psn) -> bool {
    let is_begun = |p: &Pending| p.is_begun && !p.next.is_before(psn) && psn.is_before(p.end);
    !psn.is_before(this.answered) && !this.pending.iter().any(is_begun)
}
