//! Rates as typed and as told.

use roce_capture::Rate;

use crate::text::number::{BitRate, Grouped};

/// `10kpps`, `1.5Gbps`, `original`, `max`.
pub(super) fn parse(text: &str) -> Result<Rate, String> {
    match text {
        "max" => return Ok(Rate::Max),
        "original" => return Ok(Rate::Original),
        _ => {}
    }
    let wrong = || "expected `original`, `max`, or a rate such as 10kpps or 1Gbps".to_owned();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at_checked(unit_at).ok_or_else(wrong)?;
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let (scale, unit) = match unit.as_bytes().first() {
        Some(b'k' | b'K') => (1e3, unit.get(1..)),
        Some(b'm' | b'M') => (1e6, unit.get(1..)),
        Some(b'g' | b'G') => (1e9, unit.get(1..)),
        _ => (1.0, Some(unit)),
    };
    let per_second = whole(number * scale).ok_or("the rate must be from 1 to 10^15 a second")?;
    match unit {
        Some("pps") => Ok(Rate::Frames(per_second)),
        Some("bps") => Ok(Rate::Bits(per_second)),
        _ => Err(wrong()),
    }
}

/// The nearest whole number, if it is a sensible rate.
fn whole(number: f64) -> Option<u64> {
    let text = format!("{number:.0}");
    text.parse().ok().filter(|rate| (1..=1_000_000_000_000_000).contains(rate))
}

/// In words, for the reader.
pub(super) fn describe(rate: Rate) -> String {
    match rate {
        Rate::Max => "as fast as it goes".to_owned(),
        Rate::Original => "with the gaps of the source".to_owned(),
        Rate::Frames(rate) => format!("at {} frames/s", Grouped(rate)),
        Rate::Bits(rate) => format!("at {}", BitRate(rate)),
    }
}

/// In a word, for programs.
pub(super) fn name(rate: Rate) -> String {
    match rate {
        Rate::Max => "max".to_owned(),
        Rate::Original => "original".to_owned(),
        Rate::Frames(rate) => format!("{rate}pps"),
        Rate::Bits(rate) => format!("{rate}bps"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(parse("10kpps"), Ok(Rate::Frames(10_000)));
        assert_eq!(parse("2.5Mpps"), Ok(Rate::Frames(2_500_000)));
        assert_eq!(parse("1Gbps"), Ok(Rate::Bits(1_000_000_000)));
        assert_eq!(parse("7pps"), Ok(Rate::Frames(7)));
        assert_eq!((parse("max"), parse("original")), (Ok(Rate::Max), Ok(Rate::Original)));
        for wrong in ["", "10", "10k", "pps", "0pps", "0.1pps", "-1pps", "1e9pps", "9e99bps"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["1Tbps", "1kbit", "1 kpps", "1..2pps", "1µpps", "999999999999999Gbps"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_is_named_as_it_may_be_typed() {
        for rate in [Rate::Max, Rate::Original, Rate::Frames(5), Rate::Bits(1_000_000)] {
            assert_eq!(parse(&name(rate)), Ok(rate));
        }
    }
}
