//! What a sender does when it is told of congestion: how much it sent before and after.

use core::num::NonZeroU64;

use serde::Serialize;

/// Bytes that were sent before and after notifications of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct CnpReaction {
    /// How long before and after was looked at, in nanoseconds.
    pub window_ns: u64,
    /// How many windows with one CNP or more were looked at. One whose next window the capture does
    /// not hold to its end is none.
    pub windows: u64,
    /// Bytes of frames in the windows before them.
    pub bytes_before: u64,
    /// Bytes of frames in the windows after them.
    pub bytes_after: u64,
    /// How much less was sent, in percent: negative when it was more, absent when nothing was sent
    /// before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease_percent: Option<i64>,
}

/// Windows of one length. They follow one another by the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// In milliseconds.
    width: NonZeroU64,
    /// The window that is open, by number since the epoch, and its bytes.
    open: (u64, u64),
    /// Whether it was watched from its beginning.
    is_whole: bool,
    /// Bytes of the window before it, where that was.
    before: Option<u64>,
    /// Whether there was a CNP in the open window.
    is_notified: bool,
    /// Of the window before: what its own predecessor had, if there was a CNP in it.
    waits: Option<u64>,
    windows: u64,
    bytes_before: u64,
    bytes_after: u64,
}

const ONE: NonZeroU64 = NonZeroU64::MIN;
const TEN: NonZeroU64 = ONE.saturating_add(9);

/// Windows of a millisecond and of ten.
#[derive(Clone, Debug)]
pub(super) struct Reaction([Windows; 2]);

impl Reaction {
    /// Begins in this millisecond of the clock, which had so many bytes so far; `last` are those of
    /// the one before.
    pub(super) fn new(millisecond: u64, last: u64) -> Self {
        Self([Windows::new(ONE, millisecond, Some(last)), Windows::new(TEN, millisecond, None)])
    }

    /// A millisecond is over. `next` is the one that is open now.
    pub(super) fn close(&mut self, millisecond: u64, bytes: u64, next: u64) {
        for windows in &mut self.0 {
            windows.close(millisecond, bytes, next);
        }
    }

    /// A CNP has arrived in the open millisecond.
    pub(super) fn notify(&mut self) {
        for windows in &mut self.0 {
            windows.is_notified = true;
        }
    }

    /// For the report: those that say something.
    pub(super) fn told(&self) -> Box<[CnpReaction]> {
        self.0.iter().filter(|windows| windows.windows > 0).map(Windows::told).collect()
    }
}

impl Windows {
    fn new(width: NonZeroU64, millisecond: u64, before: Option<u64>) -> Self {
        Self {
            width,
            open: (millisecond / width, 0),
            is_whole: millisecond.is_multiple_of(width.get()),
            before,
            is_notified: false,
            waits: None,
            windows: 0,
            bytes_before: 0,
            bytes_after: 0,
        }
    }

    fn close(&mut self, millisecond: u64, bytes: u64, next: u64) {
        let number = |millisecond: u64| millisecond / self.width;
        let (done, next) = (number(millisecond), number(next));
        let (open, sum) = &mut self.open;
        if done == *open {
            *sum = sum.saturating_add(bytes);
        }
        if next == *open {
            return;
        }
        let (open, sum) = core::mem::replace(&mut self.open, (next, 0));
        if let Some(before) = self.waits.take() {
            self.count(before, sum);
        }
        let is_next = open.checked_add(1) == Some(next);
        if core::mem::take(&mut self.is_notified)
            && let Some(before) = self.before
        {
            if is_next {
                self.waits = Some(before);
            } else {
                self.count(before, 0);
            }
        }
        let is_whole = core::mem::replace(&mut self.is_whole, true);
        self.before = if is_next { Some(sum).filter(|_| is_whole) } else { Some(0) };
    }

    fn count(&mut self, before: u64, after: u64) {
        self.windows = self.windows.saturating_add(1);
        self.bytes_before = self.bytes_before.saturating_add(before);
        self.bytes_after = self.bytes_after.saturating_add(after);
    }

    fn told(&self) -> CnpReaction {
        let &Self { width, windows, bytes_before, bytes_after, .. } = self;
        let less = i128::from(bytes_before).saturating_sub(i128::from(bytes_after));
        let percent = less.saturating_mul(100).checked_div(i128::from(bytes_before));
        CnpReaction {
            window_ns: width.get().saturating_mul(1_000_000),
            windows,
            bytes_before,
            bytes_after,
            decrease_percent: percent.and_then(|percent| i64::try_from(percent).ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes a millisecond, a CNP in millisecond 25, then 400.
    #[test]
    fn what_is_sent_after_a_notification_is_held_to_what_was_sent_before() {
        let mut reaction = Reaction::new(4, 1_000);
        for millisecond in 4..60 {
            if millisecond == 25 {
                reaction.notify();
            }
            let bytes = if millisecond <= 25 { 1_000 } else { 400 };
            reaction.close(millisecond, bytes, millisecond + 1);
        }
        let one = CnpReaction {
            window_ns: 1_000_000,
            windows: 1,
            bytes_before: 1_000,
            bytes_after: 400,
            decrease_percent: Some(60),
        };
        let ten =
            CnpReaction { window_ns: 10_000_000, bytes_before: 10_000, bytes_after: 4_000, ..one };
        assert_eq!(*reaction.told(), [one, ten]);
    }

    #[test]
    fn the_end_of_the_capture_is_no_silence_and_silence_is() {
        let mut reaction = Reaction::new(7, 500);
        reaction.notify();
        reaction.close(7, 100, 8);
        assert_eq!(*reaction.told(), []);
        // Nothing for three milliseconds.
        reaction.close(8, 0, 12);
        let [one] = reaction.told()[..] else { panic!() };
        assert_eq!((one.windows, one.bytes_before, one.bytes_after), (1, 500, 0));
    }

    #[test]
    fn notifications_in_a_row_count_each() {
        let mut reaction = Reaction::new(0, 0);
        for (millisecond, bytes) in (0..).zip([800, 400, 200, 100]) {
            reaction.notify();
            reaction.close(millisecond, bytes, millisecond + 1);
        }
        let [one] = reaction.told()[..] else { panic!() };
        // 0 → 400, 800 → 200, 400 → 100.
        assert_eq!((one.windows, one.bytes_before, one.bytes_after), (3, 1_200, 700));
    }
}
