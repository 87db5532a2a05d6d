//! Durations, and their percentiles while they are few enough to keep.

use serde::Serialize;

/// Percentiles by nearest rank, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Percentiles {
    /// How many durations there were.
    pub count: u64,
    /// Half are not longer.
    pub p50: u64,
    /// Nine in ten are not longer.
    pub p90: u64,
    /// All but one in a hundred are not longer.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// Durations of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    kept: Vec<u64>,
    most: usize,
    is_full: bool,
}

/// How many are kept of all connections together, of one kind; with more, percentiles are unknown.
const MOST: u64 = 1 << 20;
/// The most of one connection.
const MOST_OF_ONE: u64 = 4096;

impl Samples {
    /// For one of `total` connections.
    pub(super) fn shared_by(total: u64) -> Self {
        let most = MOST.checked_div(total).unwrap_or(0).min(MOST_OF_ONE);
        Self { kept: Vec::new(), most: usize::try_from(most).unwrap_or(0), is_full: false }
    }

    pub(super) fn record(&mut self, nanos: u64) {
        if self.kept.len() < self.most && !self.is_full {
            self.kept.push(nanos);
        } else {
            self.is_full = true;
            self.kept = Vec::new();
        }
    }

    /// `None` when there are none, or more than are kept.
    pub(super) fn percentiles(&self) -> Option<Percentiles> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let rank = sorted.len().saturating_mul(percent).div_ceil(100);
            sorted.get(rank.checked_sub(1)?).copied()
        };
        Some(Percentiles {
            count: u64::try_from(sorted.len()).ok()?,
            p50: at(50)?,
            p90: at(90)?,
            p99: at(99)?,
            max: *sorted.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut samples = Samples::shared_by(1);
        assert_eq!(samples.percentiles(), None);
        (1..=10).rev().for_each(|n| samples.record(n));
        let expected = Percentiles { count: 10, p50: 5, p90: 9, p99: 10, max: 10 };
        assert_eq!(samples.percentiles(), Some(expected));
        (0..5000).for_each(|n| samples.record(n));
        assert_eq!(samples.percentiles(), None);
    }
}
