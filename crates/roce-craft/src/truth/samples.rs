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
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    kept: Kept,
    most: u32,
    /// Where the last length was found.
    last: u32,
    count: u64,
    sum: u64,
    max: u64,
}

/// What is kept of them.
#[derive(Clone, Debug)]
enum Kept {
    /// The first, as they are.
    Exact(Vec<u64>),
    /// When there are too many: how many there were of each length, to eight significant bits, in
    /// order.
    Rounded(Vec<(u64, u32)>),
    /// Nothing, when even these are too many.
    Nothing,
}

impl Default for Kept {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
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
        Self { most: u32::try_from(most).unwrap_or(0), ..Self::default() }
    }

    pub(super) fn record(&mut self, nanos: u64) {
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
        match &mut self.kept {
            Kept::Nothing => {}
            Kept::Rounded(_) => self.add(rounded(nanos)),
            Kept::Exact(exact) if exact.len() < as_len(self.most) => {
                if exact.len() == exact.capacity() {
                    // With many connections every byte counts.
                    let left = as_len(self.most).saturating_sub(exact.len());
                    exact.reserve_exact(exact.len().max(4).min(left));
                }
                exact.push(nanos);
            }
            Kept::Exact(exact) => {
                let exact = core::mem::take(exact);
                self.kept = Kept::Rounded(Vec::new());
                exact.into_iter().for_each(|nanos| self.add(rounded(nanos)));
                self.add(rounded(nanos));
            }
        }
    }

    /// One more of this length.
    fn add(&mut self, nanos: u64) {
        let Kept::Rounded(lengths) = &mut self.kept else { return };
        // What one acknowledgement ends began one after the other, each a little later.
        let last = as_len(self.last);
        let is_at = |at: &usize| lengths.get(*at).is_some_and(|(length, _)| *length == nanos);
        let near = [last.wrapping_sub(1), last].into_iter().find(is_at);
        let found = near.map_or_else(|| lengths.binary_search_by_key(&nanos, |(at, _)| *at), Ok);
        let (Ok(at) | Err(at)) = found;
        if found.is_ok() {
            if let Some((_, count)) = lengths.get_mut(at) {
                *count = count.saturating_add(1);
            }
        } else if lengths.len() < as_len(self.most) {
            lengths.insert(at, (nanos, 1));
        } else {
            self.kept = Kept::Nothing;
        }
        self.last = u32::try_from(at).unwrap_or(0);
    }

    /// `None` when there are none, or too many different ones to keep.
    pub(super) fn percentiles(&self) -> Option<Percentiles> {
        let mut sorted = match &self.kept {
            Kept::Exact(exact) => exact.iter().map(|nanos| (*nanos, 1)).collect(),
            Kept::Rounded(lengths) => lengths.clone(),
            Kept::Nothing => Vec::new(),
        };
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

fn as_len(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
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
        assert!(matches!(&samples.kept, Kept::Rounded(lengths) if lengths.len() <= 4096));
        // Room for one only.
        let mut samples = Samples::shared_by(MOST);
        (1..=2u64).for_each(|n| samples.record(n * 1000));
        assert_eq!(samples.percentiles(), None);
    }
}
