//! Smallest, mean, largest and standard deviation of times, as `ping` prints them.

use std::fmt;

use serde::Serialize;

/// In nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Spread {
    min: u64,
    avg: u64,
    max: u64,
    /// The standard deviation of the whole population, as ping's `mdev`.
    mdev: u64,
}

impl Spread {
    /// Of these times; `None` when there are none.
    pub(super) fn of(times: &[u64]) -> Option<Self> {
        let (min, max) = (*times.iter().min()?, *times.iter().max()?);
        let count = u128::try_from(times.len()).ok()?;
        let sum = times.iter().fold(0_u128, |sum, time| sum.saturating_add(u128::from(*time)));
        let avg = u64::try_from(sum.checked_div(count)?).ok()?;
        let squares = times.iter().fold(0_u128, |sum, time| {
            let off = u128::from(time.abs_diff(avg));
            sum.saturating_add(off.saturating_mul(off))
        });
        let mdev = u64::try_from(squares.checked_div(count)?.isqrt()).ok()?;
        Some(Self { min, avg, max, mdev })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, avg, max, mdev } = *self;
        let [min, avg, max, mdev] = [min, avg, max, mdev].map(|ns| millis(u128::from(ns)));
        write!(f, "{min}/{avg}/{max}/{mdev}")
    }
}

/// Nanoseconds as milliseconds with three decimals.
pub(super) fn millis(nanos: u128) -> String {
    let micros = nanos / 1000;
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_ping_does_it() {
        assert_eq!(Spread::of(&[]), None);
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, standard deviation 2.
        let times = [2, 4, 4, 4, 5, 5, 7, 9].map(|ms| ms * 1_000_000);
        let spread = Spread::of(&times).unwrap();
        assert_eq!(spread.to_string(), "2.000/5.000/9.000/2.000");
        assert_eq!(Spread::of(&[u64::MAX, u64::MAX]).unwrap().mdev, 0);
        assert_eq!(millis(1_234_567), "1.234");
    }
}
