//! How much went over the wire in each second, in bounded memory.

use serde::Serialize;

/// How many bins there are at most; when more are needed, two become one.
const MAX_BINS: usize = 600;

/// Bytes in bins of a second, or of 2, 4, 8 … seconds when the time got long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Series {
    /// The second of the clock that the first bin begins with.
    start: u64,
    /// Seconds of a bin.
    width: u64,
    /// Bytes of frames, and of payload that was seen for the first time.
    bins: Vec<(u64, u64)>,
}

/// Bytes over time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct OverTime {
    /// When the first bin begins, in nanoseconds since the epoch.
    pub start_ns: u64,
    /// How long each bin is, in nanoseconds.
    pub bin_ns: u64,
    /// Bytes of frames in each bin.
    pub bytes: Vec<u64>,
    /// Bytes of payload that was seen for the first time; absent where nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bytes: Option<Vec<u64>>,
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Series {
    /// Nothing yet; bins begin with this second of the clock.
    pub(super) const fn new(start: u64) -> Self {
        Self { start, width: 1, bins: Vec::new() }
    }

    /// Adds what went over the wire in a second.
    pub(super) fn add(&mut self, second: u64, bytes: u64, goodput: u64) {
        let mut at = self.place(second);
        while at >= MAX_BINS {
            self.halve();
            at = self.place(second);
        }
        if at >= self.bins.len() {
            self.bins.resize(at.saturating_add(1), (0, 0));
        }
        if let Some((all, new)) = self.bins.get_mut(at) {
            *all = all.saturating_add(bytes);
            *new = new.saturating_add(goodput);
        }
    }

    /// What lies before the first bin counts for it: clocks may be set back.
    fn place(&self, second: u64) -> usize {
        let since = second.saturating_sub(self.start).checked_div(self.width).unwrap_or(0);
        usize::try_from(since).unwrap_or(usize::MAX)
    }

    /// Makes one of each two bins.
    fn halve(&mut self) {
        self.width = self.width.saturating_mul(2);
        let sum = |pair: &[(u64, u64)]| {
            pair.iter().fold((0_u64, 0_u64), |(all, new), (bytes, goodput)| {
                (all.saturating_add(*bytes), new.saturating_add(*goodput))
            })
        };
        self.bins = self.bins.chunks(2).map(sum).collect();
    }

    /// For the report, with or without goodput.
    pub(super) fn told(&self, has_goodput: bool) -> OverTime {
        let Self { start, width, bins } = self;
        OverTime {
            start_ns: start.saturating_mul(NANOS_PER_SECOND),
            bin_ns: width.saturating_mul(NANOS_PER_SECOND),
            bytes: bins.iter().map(|(bytes, _)| *bytes).collect(),
            goodput_bytes: has_goodput.then(|| bins.iter().map(|(_, new)| *new).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_however_long_it_takes() {
        let mut series = Series::new(1_000);
        for second in 0..5_000 {
            series.add(1_000 + second, second, 1);
        }
        let told = series.told(true);
        assert_eq!(told.start_ns, 1_000_000_000_000);
        assert_eq!(told.bin_ns, 16_000_000_000);
        assert_eq!(told.bytes.len(), 313);
        assert_eq!(told.bytes.first(), Some(&(0..16).sum()));
        assert_eq!(told.bytes.iter().sum::<u64>(), (0..5_000).sum::<u64>());
        assert_eq!(told.goodput_bytes.unwrap().iter().sum::<u64>(), 5_000);
    }

    #[test]
    fn a_leap_of_the_clock_costs_no_memory() {
        let mut series = Series::new(0);
        series.add(0, 1, 0);
        series.add(u64::MAX, 2, 0);
        series.add(5, 4, 0);
        let told = series.told(false);
        assert!(told.bytes.len() <= MAX_BINS);
        assert_eq!(told.bytes.iter().sum::<u64>(), 7);
    }
}
