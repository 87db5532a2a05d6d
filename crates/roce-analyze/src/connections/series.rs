//! How much went over the wire in each second or millisecond, in bounded memory.

use serde::Serialize;

use super::rate::NANOS_PER_MILLISECOND;

/// What bins are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unit {
    nanos: u64,
    /// How many bins there are at most; when more are needed, two become one.
    max_bins: usize,
}

const SECONDS: Unit = Unit { nanos: NANOS_PER_SECOND, max_bins: 600 };
const MILLISECONDS: Unit = Unit { nanos: NANOS_PER_MILLISECOND, max_bins: 2_000 };

/// Bytes in bins of a unit of time, or of 2, 4, 8 … units when the time got long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Series {
    unit: Unit,
    /// The unit of the clock that the first bin begins with.
    start: u64,
    /// Units of a bin.
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
        Self { unit: SECONDS, start, width: 1, bins: Vec::new() }
    }

    /// Adds what went over the wire in a unit of the clock.
    pub(super) fn add(&mut self, now: u64, bytes: u64, goodput: u64) {
        let mut at = self.place(now);
        while at >= self.unit.max_bins {
            self.halve();
            at = self.place(now);
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
    fn place(&self, now: u64) -> usize {
        let since = now.saturating_sub(self.start).checked_div(self.width).unwrap_or(0);
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
        let Self { unit, start, width, bins } = self;
        OverTime {
            start_ns: start.saturating_mul(unit.nanos),
            bin_ns: width.saturating_mul(unit.nanos),
            bytes: bins.iter().map(|(bytes, _)| *bytes).collect(),
            goodput_bytes: has_goodput.then(|| bins.iter().map(|(_, new)| *new).collect()),
        }
    }
}

/// Counts bytes over time, millisecond by millisecond: for whoever looks at few frames of many.
#[derive(Clone, Default, Debug)]
pub struct Milliseconds(Option<Series>);

impl Milliseconds {
    /// Takes a frame: its time in nanoseconds since the epoch, and its bytes on the wire.
    pub fn record(&mut self, time_ns: Option<u64>, wire_len: u32) {
        let Some(now) = time_ns.map(|time| time / NANOS_PER_MILLISECOND) else { return };
        let new = || Series { unit: MILLISECONDS, start: now, width: 1, bins: Vec::new() };
        self.0.get_or_insert_with(new).add(now, u64::from(wire_len), 0);
    }

    /// What was counted, from the millisecond of the first frame on: 2,000 bins at most, of 1 ms or
    /// of 2, 4, 8 … ms where these do not reach. `None` when no frame had a time.
    #[must_use]
    pub fn finish(self) -> Option<OverTime> {
        self.0.map(|series| series.told(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_told_up_to_two_seconds_and_coarser_beyond() {
        let count = |frames: u64| {
            let mut counted = Milliseconds::default();
            // Two in each millisecond but the first, which begins in its middle.
            for n in 0..frames {
                counted.record(Some(7_000_500_000 + n * 500_000), 100);
            }
            counted.finish()
        };
        assert_eq!(count(0), None);
        let told = count(3_999).unwrap();
        assert_eq!((told.start_ns, told.bin_ns), (7_000_000_000, 1_000_000));
        assert_eq!((told.bytes.len(), &told.bytes[..3]), (2_000, &[100, 200, 200][..]));
        assert_eq!(told.goodput_bytes, None);
        let told = count(4_000).unwrap();
        assert_eq!((told.bin_ns, told.bytes.len()), (2_000_000, 1_001));
        assert_eq!(told.bytes.iter().sum::<u64>(), 400_000);
        let mut counted = Milliseconds::default();
        counted.record(None, 100);
        assert_eq!(counted.finish(), None);
    }

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
        assert!(told.bytes.len() <= SECONDS.max_bins);
        assert_eq!(told.bytes.iter().sum::<u64>(), 7);
    }
}
