//! Frames that come in pairs: how late the second copies are, and whether all frames have one.

use std::collections::VecDeque;

use super::seen::Seen;

/// One time that a frame was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Before {
    /// Nanoseconds since; `None` when the capture does not say.
    pub ns: Option<u64>,
    pub frame: u64,
}

impl Before {
    pub(super) fn is_within(self, most: u64) -> bool {
        self.ns.is_none_or(|ns| ns < most)
    }
}

/// How far apart in time the copies of a direction are, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lag {
    mean: u64,
    /// The mean distance from that.
    deviation: u64,
}

impl Lag {
    pub(super) const fn new(ns: u64) -> Self {
        Self { mean: ns, deviation: ns / 16 }
    }

    /// Whether a copy may come so late: switches are not always equally fast.
    pub(super) fn fits(self, before: Before) -> bool {
        let Self { mean, deviation } = self;
        let most = deviation.saturating_mul(4).saturating_add(mean / 64).saturating_add(200);
        before.ns.is_some_and(|ns| ns.abs_diff(mean) <= most)
    }

    /// Whether it was held to many copies that were as late as each other.
    pub(super) const fn is_settled(self) -> bool {
        self.deviation.saturating_mul(64) <= self.mean
    }

    /// Another copy was so late. The past counts for less and less, as in the estimate of round
    /// trips of RFC 6298.
    pub(super) const fn with(self, ns: u64) -> Self {
        let Self { mean, deviation } = self;
        let distance = ns.abs_diff(mean) / 4;
        Self {
            mean: mean.saturating_sub(mean / 8).saturating_add(ns / 8),
            deviation: deviation.saturating_sub(deviation / 4).saturating_add(distance),
        }
    }
}

/// So many requests and so many answers come twice before all frames are taken to do.
const SURE: u32 = 8;
/// How many frames a second copy may overtake: those of others, or some that were not mirrored.
const OVERTAKEN: usize = 3;
/// How many frames wait for their copies.
const WAITING: usize = 1 << 12;

/// Finds out whether all frames of the capture come twice, the second always as late as the others.
///
/// Whoever goes back and sends again repeats what was sent before that, all in one row, and nobody
/// repeats the answers. So only those frames count that came after the first repeated one: of a
/// mirrored port they are repeated as well, one after another, and those of both directions.
#[derive(Clone, Default, Debug)]
pub(super) struct Pairs {
    lag: Option<Lag>,
    /// The frame that was the first repeated one.
    since: Option<u64>,
    /// The frames since that were not there before and did not come again yet, the oldest first.
    firsts: VecDeque<u32>,
    /// How many requests and how many answers came again.
    seconds: [u32; 2],
    are_the_rule: bool,
}

impl Pairs {
    /// How late copies are, where all frames have one.
    pub(super) fn rule(&self) -> Option<Lag> {
        self.lag.filter(|_| self.are_the_rule)
    }

    pub(super) fn note_first(&mut self, fingerprint: u32) {
        if self.since.is_none() || self.are_the_rule {
            return;
        }
        if self.firsts.len() >= WAITING {
            *self = Self::default();
        } else {
            self.firsts.push_back(fingerprint);
        }
    }

    pub(super) fn note_again(&mut self, seen: &Seen, fingerprint: u32, sent: &[Option<Before>]) {
        let fits = |before: &&Before| self.lag.is_some_and(|lag| lag.fits(**before));
        let fitting = sent.iter().flatten().find(fits);
        if let (Some(Before { ns: Some(ns), frame }), Some(lag)) = (fitting, self.lag) {
            self.lag = Some(lag.with(*ns));
            if self.are_the_rule || self.since.is_some_and(|since| *frame <= since) {
                return;
            }
            let at = self.firsts.iter().take(OVERTAKEN).position(|first| *first == fingerprint);
            if let Some(at) = at {
                self.firsts.remove(at);
                let [requests, answers] = &mut self.seconds;
                let count = if seen.kind.is_request() { requests } else { answers };
                *count = count.saturating_add(1);
                self.are_the_rule = self.seconds.iter().all(|seconds| *seconds >= SURE);
                if self.are_the_rule {
                    self.firsts = VecDeque::new();
                }
                return;
            }
        }
        let newest = sent.iter().flatten().last().and_then(|before| before.ns);
        if let Some(ns) = newest.filter(|_| !self.are_the_rule) {
            // Then another lag is the rule, if there is one.
            *self = Self { lag: Some(Lag::new(ns)), since: Some(seen.frame), ..Self::default() };
        }
    }
}
