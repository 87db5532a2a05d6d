//! Numbers between whole ones, such as percents, without the surprises of floating point.

use core::fmt;

use serde::{Serialize, Serializer};

/// A number in thousandths: 2464 is 2.464.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Thousandths(pub u32);

impl Thousandths {
    /// How many percent `part` is of `whole`, rounded down; `None` when there is no whole.
    #[must_use]
    pub fn percent(part: u64, whole: u64) -> Option<Self> {
        let percent = u128::from(part).saturating_mul(100_000).checked_div(u128::from(whole))?;
        Some(Self(u32::try_from(percent).unwrap_or(u32::MAX)))
    }

    /// The nearest one; less than nothing is nothing.
    #[must_use]
    pub fn nearest(number: f64) -> Self {
        let thousandths = (number * 1000.0).round().clamp(0.0, f64::from(u32::MAX));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        Self(thousandths as u32)
    }
}

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        let text = format!("{whole}.{rest:03}");
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_rounded_down_and_short() {
        let told = |part, whole| Thousandths::percent(part, whole).map(|p| p.to_string());
        assert_eq!(told(1, 3).as_deref(), Some("33.333"));
        assert_eq!(told(1, 2).as_deref(), Some("50"));
        assert_eq!(told(1, 40).as_deref(), Some("2.5"));
        assert_eq!(told(10, 10).as_deref(), Some("100"));
        assert_eq!((told(0, 5).as_deref(), told(1, 0)), (Some("0"), None));
        let near = [-1.0, 0.0, 1.2346, f64::NAN, 1e30].map(|n| Thousandths::nearest(n).0);
        assert_eq!(near, [0, 0, 1_235, 0, u32::MAX]);
        let json = serde_json::to_string(&Thousandths(2_464)).unwrap();
        assert_eq!(json, "2.464");
    }
}
