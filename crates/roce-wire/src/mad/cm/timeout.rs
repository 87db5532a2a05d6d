//! Times as exponents of 5 bits: n stands for 4.096 µs × 2^n.

use core::fmt;
use core::time::Duration;

/// A time of connection management: 4.096 µs (n = 0) to 8796 s (n = 31).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CmTimeout(pub u8);

impl CmTimeout {
    /// The time; bits above the fifth do not count.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(4096u64.wrapping_shl((self.0 & 0x1f) as u32))
    }
}

impl fmt::Display for CmTimeout {
    /// Three digits and a unit, such as `4.29 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.duration().as_nanos();
        // Hundredths of the unit, rounded.
        let (hundredths, unit) = match nanos {
            0..1_000_000 => (nanos.saturating_add(5) / 10, "µs"),
            1_000_000..1_000_000_000 => (nanos.saturating_add(5_000) / 10_000, "ms"),
            _ => (nanos.saturating_add(5_000_000) / 10_000_000, "s"),
        };
        match hundredths {
            0..1_000 => write!(f, "{}.{:02} {unit}", hundredths / 100, hundredths % 100),
            1_000..10_000 => {
                let tenths = hundredths.saturating_add(5) / 10;
                write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
            }
            _ => write!(f, "{} {unit}", hundredths.saturating_add(50) / 100),
        }
    }
}

/// How long a sender waits for an acknowledgement before it sends again; 0 is for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AckTimeout(pub u8);

impl AckTimeout {
    /// The time; `None` when there is no limit.
    #[must_use]
    pub const fn duration(self) -> Option<Duration> {
        if self.0 & 0x1f == 0 { None } else { Some(CmTimeout(self.0).duration()) }
    }
}

impl fmt::Display for AckTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.duration() {
            Some(_) => fmt::Display::fmt(&CmTimeout(self.0), f),
            None => f.write_str("infinite"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_with_three_digits() {
        // 4.096 µs × 2^n, by hand.
        for (n, text) in [
            (0, "4.10 µs"),
            (1, "8.19 µs"),
            (2, "16.4 µs"),
            (7, "524 µs"),
            (8, "1.05 ms"),
            (14, "67.1 ms"),
            (17, "537 ms"),
            (18, "1.07 s"),
            (20, "4.29 s"),
            (24, "68.7 s"),
            (31, "8796 s"),
        ] {
            assert_eq!(CmTimeout(n).to_string(), text, "n = {n}");
        }
    }

    #[test]
    fn no_ack_timeout_is_for_ever() {
        assert_eq!(AckTimeout(0).to_string(), "infinite");
        assert_eq!(AckTimeout(17).to_string(), "537 ms");
        assert_eq!(CmTimeout(20).duration(), Duration::from_nanos(4_294_967_296));
    }
}
