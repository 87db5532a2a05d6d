//! Durations and their percentiles, in bounded memory.

use serde::Serialize;

/// Percentiles by nearest rank, in nanoseconds: right to one in 256 when there were many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Percentiles {
    /// How many durations there were.
    pub count: u64,
    /// Their mean.
    pub mean: u64,
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
///
/// The first are kept as they are. When there are too many, what is kept is how many there were of
/// each length, to eight significant bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Lengths and how many there were of each, in order once there are too many.
    kept: Vec<(u64, u32)>,
    most: usize,
    count: u64,
    sum: u64,
    max: u64,
    is_rounded: bool,
    /// Even rounded there are too many.
    is_full: bool,
}

/// How many are kept of all connections together, of one kind.
const MOST: u64 = 1 << 20;
/// The most of one connection.
const MOST_OF_ONE: u64 = 4096;
/// Significant bits of a length among many.
const BITS: u32 = 8;

/// The middle of the lengths that are taken for one.
const fn rounded(nanos: u64) -> u64 {
    let significant = u64::BITS.saturating_sub(nanos.leading_zeros());
    match significant.checked_sub(BITS) {
        None | Some(0) => nanos,
        // At most 56.
        Some(shift) => nanos >> shift << shift | 1 << shift.saturating_sub(1),
    }
}

impl Samples {
    /// For one of `total` connections.
    pub(super) fn shared_by(total: u64) -> Self {
        let most = MOST.checked_div(total).unwrap_or(0).min(MOST_OF_ONE);
        Self { most: usize::try_from(most).unwrap_or(0), ..Self::default() }
    }

    pub(super) fn record(&mut self, nanos: u64) {
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
        if self.is_full {
            return;
        }
        if !self.is_rounded {
            if self.kept.len() < self.most {
                self.kept.push((nanos, 1));
                return;
            }
            self.round();
        }
        self.add(rounded(nanos), 1);
    }

    /// From now on only lengths are kept.
    fn round(&mut self) {
        self.is_rounded = true;
        for (nanos, count) in core::mem::take(&mut self.kept) {
            self.add(rounded(nanos), count);
        }
    }

    fn add(&mut self, nanos: u64, more: u32) {
        match self.kept.binary_search_by_key(&nanos, |(length, _)| *length) {
            Ok(at) => {
                if let Some((_, count)) = self.kept.get_mut(at) {
                    *count = count.saturating_add(more);
                }
            }
            Err(at) if self.kept.len() < self.most => self.kept.insert(at, (nanos, more)),
            Err(_) => {
                self.is_full = true;
                self.kept = Vec::new();
            }
        }
    }

    /// `None` when there are none, or too many different ones to keep.
    pub(super) fn percentiles(&self) -> Option<Percentiles> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let at = |percent: u64| {
            let rank = self.count.saturating_mul(percent).div_ceil(100);
            let mut before = 0u64;
            let is_it = |(_, count): &&(u64, u32)| {
                before = before.saturating_add(u64::from(*count));
                before >= rank
            };
            sorted.iter().find(is_it).map(|(nanos, _)| (*nanos).min(self.max))
        };
        Some(Percentiles {
            count: self.count,
            mean: self.sum.checked_div(self.count)?,
            p50: at(50)?,
            p90: at(90)?,
            p99: at(99)?,
            max: self.max,
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
        let expected = Percentiles { count: 10, mean: 5, p50: 5, p90: 9, p99: 10, max: 10 };
        assert_eq!(samples.percentiles(), Some(expected));
    }

    #[test]
    fn many_are_rounded_and_too_many_are_unknown() {
        let mut samples = Samples::shared_by(1);
        (1..=100_000u64).rev().for_each(|n| samples.record(n * 10));
        let many = samples.percentiles().unwrap();
        let near = |value: u64, wanted: u64| value.abs_diff(wanted) * 256 <= wanted;
        assert!(near(many.p50, 500_000) && near(many.p90, 900_000) && near(many.p99, 990_000));
        assert_eq!((many.count, many.mean, many.max), (100_000, 500_005, 1_000_000));
        assert!(samples.kept.len() <= 4096);
        // Room for one only.
        let mut samples = Samples::shared_by(MOST);
        (1..=2u64).for_each(|n| samples.record(n * 1000));
        assert_eq!(samples.percentiles(), None);
    }
}
