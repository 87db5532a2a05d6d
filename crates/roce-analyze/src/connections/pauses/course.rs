//! The pauses of one priority or link one after the other: for how long in all, for how long without
//! a break, and in which second.

use super::NANOS_PER_SECOND;

/// How long something was paused, as far as the capture goes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PausedTime {
    /// In all, in nanoseconds.
    pub total_ns: u64,
    /// The longest time without a break, in nanoseconds.
    pub longest_ns: u64,
    /// How many frames that took.
    pub longest_frames: u64,
    /// The most in one second of the clock, in nanoseconds.
    pub peak_second_ns: u64,
}

/// The pause that is open, and those that are over.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Course {
    pub(super) told: PausedTime,
    open: Option<Open>,
    /// The newest second in which something was paused, and for how long.
    second: (u64, u64),
}

/// A pause that is not over as far as was seen.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// When the priority was stopped; it did not go on since.
    first: u64,
    /// How many frames that took.
    frames: u64,
    /// When the newest of them came.
    since: u64,
    /// When its time is over.
    until: u64,
}

impl Course {
    /// A frame that stops it until `until`, or lets it go on.
    pub(super) fn follow(&mut self, quanta: u16, now: u64, until: u64) {
        let before = self.close(now).filter(|open| now <= open.until);
        if quanta > 0 {
            let (first, frames) = before.map_or((now, 0), |open| (open.first, open.frames));
            self.open = Some(Open { first, frames: frames.saturating_add(1), since: now, until });
        }
    }

    /// Nothing comes behind `last`.
    pub(super) fn end(&mut self, last: u64) {
        self.close(last);
    }

    /// Counts the open pause up to now, and returns it.
    fn close(&mut self, now: u64) -> Option<Open> {
        let open = self.open.take()?;
        let end = open.until.min(now);
        self.add(open.since, end);
        let length = end.saturating_sub(open.first);
        if length >= self.told.longest_ns {
            (self.told.longest_ns, self.told.longest_frames) = (length, open.frames);
        }
        Some(open)
    }

    /// It was paused from `from` to `to`.
    fn add(&mut self, from: u64, to: u64) {
        let Some(length) = to.checked_sub(from) else { return };
        self.told.total_ns = self.told.total_ns.saturating_add(length);
        let (first, last) = (from / NANOS_PER_SECOND, to / NANOS_PER_SECOND);
        if first == last {
            return self.add_within(last, length);
        }
        self.add_within(first, NANOS_PER_SECOND.saturating_sub(from % NANOS_PER_SECOND));
        if last.saturating_sub(first) > 1 {
            self.told.peak_second_ns = NANOS_PER_SECOND;
        }
        self.add_within(last, to % NANOS_PER_SECOND);
    }

    fn add_within(&mut self, second: u64, length: u64) {
        let (known, sum) = &mut self.second;
        if *known != second {
            (*known, *sum) = (second, 0);
        }
        *sum = sum.saturating_add(length);
        self.told.peak_second_ns = self.told.peak_second_ns.max(*sum);
    }
}
