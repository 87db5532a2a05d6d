//! Numbers as people read them.

use std::fmt;

/// A count with thousands separated by commas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouped(pub(crate) u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len().saturating_mul(2));
        for (at, digit) in digits.chars().enumerate() {
            let left = digits.len().saturating_sub(at);
            if at > 0 && left.is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

/// A number of bytes with a decimal unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.0, &["B", "kB", "MB", "GB", "TB", "PB", "EB"]))
    }
}

/// A number of bits per second with a decimal unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitRate(pub(crate) u64);

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(
            self.0,
            &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s", "Ebit/s"],
        ))
    }
}

/// The value in the first unit that leaves less than 1000, with one decimal below 100.
fn scaled(value: u64, units: &[&str]) -> String {
    let (mut whole, mut below) = (value, None);
    for (step, unit) in units.iter().enumerate() {
        if whole < 1000 || step.saturating_add(1) == units.len() {
            return match below {
                Some(rest) if whole < 100 => format!("{whole}.{} {unit}", rest / 100),
                _ => format!("{whole} {unit}"),
            };
        }
        (whole, below) = (whole / 1000, Some(whole % 1000));
    }
    value.to_string()
}

/// `1 packet`, `2 packets`.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", Grouped(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        let say = |n| Grouped(n).to_string();
        assert_eq!(
            [say(0), say(999), say(1000), say(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn sizes_have_units() {
        let say = |n| Bytes(n).to_string();
        assert_eq!([say(0), say(999), say(1000), say(1999)], ["0 B", "999 B", "1.0 kB", "1.9 kB"]);
        assert_eq!([say(123_456), say(20_000_000_000)], ["123 kB", "20.0 GB"]);
        assert_eq!(say(u64::MAX), "18.4 EB");
        assert_eq!(BitRate(48_000_000).to_string(), "48.0 Mbit/s");
    }
}
