//! Durations and their percentiles.

use hdrhistogram::Histogram;

/// Durations of one kind, in nanoseconds.
///
/// The first few are kept as they are; a histogram is made when there are more.
#[derive(Clone, Default, Debug)]
pub(super) struct Durations {
    count: u64,
    sum: u64,
    max: u64,
    many: Option<Box<Histogram<u32>>>,
    few: [u64; FEW],
}

/// How many are kept as they are.
const FEW: usize = 4;
/// Significant digits of a histogram: 1 %.
const DIGITS: u8 = 2;

/// How many histograms and series over time may still be made. All connections together share it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub histograms: u32,
    pub series: u32,
}

impl Durations {
    /// Something of the cache line that every record touches.
    #[inline]
    pub(super) const fn fetch(&self) -> u64 {
        self.count
    }

    #[inline]
    pub(super) fn record(&mut self, nanos: u64, budget: &mut Budget) {
        let at = self.count;
        self.count = at.saturating_add(1);
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
        if let Some(many) = &mut self.many {
            let _ = many.record(nanos);
        } else if let Some(slot) = usize::try_from(at).ok().and_then(|at| self.few.get_mut(at)) {
            *slot = nanos;
        } else if usize::try_from(at) == Ok(FEW) {
            self.make_histogram(nanos, budget);
        }
    }

    #[cold]
    fn make_histogram(&mut self, nanos: u64, budget: &mut Budget) {
        if let Some(left) = budget.histograms.checked_sub(1)
            && let Ok(mut many) = Histogram::new(DIGITS)
        {
            budget.histograms = left;
            for value in self.few.into_iter().chain([nanos]) {
                let _ = many.record(value);
            }
            self.many = Some(Box::new(many));
        }
    }

    /// The longest, in nanoseconds; 0 when there are none.
    pub(super) const fn longest(&self) -> u64 {
        self.max
    }

    /// The shortest of the first few; `None` when there are none.
    pub(super) fn shortest_of_few(&self) -> Option<u64> {
        let count = usize::try_from(self.count).map_or(FEW, |count| count.min(FEW));
        self.few.get(..count)?.iter().copied().min()
    }

    /// `None` when there are none. The percentiles are absent when there was no room for a
    /// histogram.
    pub(super) fn percentiles(&self) -> Option<Percentiles> {
        let few = usize::try_from(self.count).ok().and_then(|count| self.few.get(..count));
        let mut sorted = few.map(<[u64]>::to_vec);
        if let Some(sorted) = &mut sorted {
            sorted.sort_unstable();
        }
        let at = |percent: u8| -> Option<u64> {
            if let Some(many) = &self.many {
                return Some(many.value_at_quantile(f64::from(percent) / 100.0).min(self.max));
            }
            // Nearest rank.
            let sorted = sorted.as_ref()?;
            let rank = sorted.len().saturating_mul(usize::from(percent)).div_ceil(100).max(1);
            sorted.get(rank.saturating_sub(1)).copied()
        };
        Some(Percentiles {
            count: self.count,
            mean: self.sum.checked_div(self.count)?,
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: self.max,
        })
    }
}

/// Percentiles of durations, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Percentiles {
    /// How many there were.
    pub count: u64,
    /// Their mean.
    pub mean: u64,
    /// Half are not longer; `None` when there were too many connections for a histogram each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<u64>,
    /// Nine in ten are not longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<u64>,
    /// All but one in a hundred are not longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<u64>,
    /// The longest.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_exact_and_many_are_near() {
        let mut durations = Durations::default();
        let mut budget = Budget { histograms: 1, series: 0 };
        assert_eq!(durations.percentiles(), None);
        (1..=4).for_each(|n| durations.record(n * 1000, &mut budget));
        let few = durations.percentiles().unwrap();
        assert_eq!(
            (few.p50, few.p90, few.p99, few.max),
            (Some(2000), Some(4000), Some(4000), 4000)
        );
        (5..=1000).for_each(|n| durations.record(n * 1000, &mut budget));
        let many = durations.percentiles().unwrap();
        let near = |value: Option<u64>, want: u64| value.unwrap().abs_diff(want) * 100 <= want;
        assert!(near(many.p50, 500_000) && near(many.p90, 900_000) && near(many.p99, 990_000));
        assert_eq!((many.max, many.count, budget.histograms), (1_000_000, 1000, 0));
    }

    #[test]
    fn without_room_for_a_histogram_the_percentiles_are_absent() {
        let mut durations = Durations::default();
        let mut budget = Budget { histograms: 0, series: 0 };
        (1..=100).for_each(|n| durations.record(n, &mut budget));
        let percentiles = durations.percentiles().unwrap();
        assert_eq!((percentiles.p50, percentiles.max, percentiles.count), (None, 100, 100));
    }
}
