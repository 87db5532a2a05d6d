//! When each frame is due.

/// How fast to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// As fast as the interface takes them.
    Max,
    /// With the gaps that the source has.
    Original,
    /// Frames in each second.
    Frames(u64),
    /// Bits in each second: those of the frames from the Ethernet header on, without check
    /// sequence, preamble and gap.
    Bits(u64),
}

/// The schedule of a run, in nanoseconds from its start. It knows no clock.
#[derive(Clone, Debug)]
pub struct Pace {
    rate: Rate,
    /// Frames or bits before the next frame.
    before: u128,
    /// When the last frame was due.
    last: u64,
    /// The time of a pass's first frame in the source, and when that one was due.
    origin: Option<(u64, u64)>,
}

const SECOND: u128 = 1_000_000_000;

impl Pace {
    /// A schedule that begins now.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate, before: 0, last: 0, origin: None }
    }

    /// When the next frame is due: `time_ns` is its time in the source, `len` its length in bytes.
    /// Never earlier than the frame before it. A frame without a time is due with the one before.
    pub fn due(&mut self, time_ns: Option<u64>, len: usize) -> u64 {
        let due = match self.rate {
            Rate::Max => 0,
            Rate::Original => self.original(time_ns),
            Rate::Frames(per_second) => self.steady(1, per_second),
            Rate::Bits(per_second) => {
                let bits = u128::try_from(len).unwrap_or(u128::MAX).saturating_mul(8);
                self.steady(bits, per_second)
            }
        };
        self.last = due.max(self.last);
        self.last
    }

    /// The source begins again: its first frame is due with the last one of the pass before.
    pub const fn next_pass(&mut self) {
        self.origin = None;
    }

    fn original(&mut self, time_ns: Option<u64>) -> u64 {
        let Some(time) = time_ns else { return self.last };
        let (first, due) = *self.origin.get_or_insert((time, self.last));
        due.saturating_add(time.saturating_sub(first))
    }

    fn steady(&mut self, step: u128, per_second: u64) -> u64 {
        let due = self.before.saturating_mul(SECOND).checked_div(u128::from(per_second));
        self.before = self.before.saturating_add(step);
        due.and_then(|due| u64::try_from(due).ok()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(rate: Rate, frames: &[(Option<u64>, usize)]) -> Vec<u64> {
        let mut pace = Pace::new(rate);
        frames.iter().map(|(time, len)| pace.due(*time, *len)).collect()
    }

    #[test]
    fn a_frame_waits_for_the_bits_before_it() {
        let frames = [(None, 125), (None, 250), (None, 125)];
        assert_eq!(dues(Rate::Bits(1_000_000), &frames), [0, 1_000_000, 3_000_000]);
        assert_eq!(dues(Rate::Frames(3), &frames), [0, 333_333_333, 666_666_666]);
        assert_eq!(dues(Rate::Max, &frames), [0, 0, 0]);
    }

    #[test]
    fn original_gaps_are_kept_and_time_does_not_run_backwards() {
        let times = [Some(1000), Some(1010), Some(1005), None, Some(1020), Some(0)];
        let frames: Vec<_> = times.iter().map(|time| (*time, 60)).collect();
        assert_eq!(dues(Rate::Original, &frames), [0, 10, 10, 10, 20, 20]);
    }

    #[test]
    fn passes_follow_one_another() {
        let mut pace = Pace::new(Rate::Original);
        let mut all = Vec::new();
        for _ in 0..3 {
            all.extend([pace.due(Some(5), 60), pace.due(Some(8), 60)]);
            pace.next_pass();
        }
        assert_eq!(all, [0, 3, 3, 6, 6, 9]);
    }
}
