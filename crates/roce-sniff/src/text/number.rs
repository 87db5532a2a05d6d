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

/// A time in nanoseconds, in the unit that leaves less than a thousand, or seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nanos(pub(crate) u64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.0;
        let (whole, rest, digits, name) = match time {
            0..1_000 => return f.pad(&format!("{time} ns")),
            1_000..1_000_000 => (time / 1_000, time % 1_000, 3, "µs"),
            1_000_000..1_000_000_000 => (time / 1_000_000, time % 1_000_000, 6, "ms"),
            _ => (time / 1_000_000_000, time % 1_000_000_000, 9, "s"),
        };
        // Three digits behind the point are enough, and none that are zero at the end.
        let rest: String = format!("{rest:0digits$}").chars().take(3).collect();
        match rest.trim_end_matches('0') {
            "" => f.pad(&format!("{} {name}", Grouped(whole))),
            rest => f.pad(&format!("{}.{rest} {name}", Grouped(whole))),
        }
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
    fn times_are_in_the_unit_that_fits() {
        let say = |n| Nanos(n).to_string();
        assert_eq!(
            [say(0), say(999), say(1_000), say(10_240)],
            ["0 ns", "999 ns", "1 µs", "10.24 µs"]
        );
        assert_eq!([say(536_976_000), say(67_000_000)], ["536.976 ms", "67 ms"]);
        assert_eq!([say(4_294_967_296), say(7_200_000_000_000)], ["4.294 s", "7,200 s"]);
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
