//! Values as they are written in a scenario: times, rates, addresses, names.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use roce_wire::MacAddr;

/// A time span such as `"250ns"`, `"1.5us"`, `"10ms"`, `"2s"`; in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Span(pub u64);

/// The longest span: a day. Everything added up then stays far from overflow.
const LONGEST: u64 = 86_400_000_000_000;

impl Span {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text)?;
        let unit = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return None,
        };
        scaled(number, unit).filter(|nanos| *nanos <= LONGEST).map(Self)
    }
}

/// A rate such as `"25Gbit"` or `"800Mbit"`; in bits per second, never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BitRate(pub u64);

impl BitRate {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text)?;
        let unit = match unit {
            "kbit" | "Kbit" => 1_000,
            "Mbit" => 1_000_000,
            "Gbit" => 1_000_000_000,
            _ => return None,
        };
        scaled(number, unit).filter(|bits| (1_000..=10_000_000_000_000).contains(bits)).map(Self)
    }
}

/// An Ethernet address such as `"02:00:00:00:00:01"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mac(pub MacAddr);

impl Mac {
    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next()?;
            if part.len() != 2 {
                return None;
            }
            *byte = u8::from_str_radix(part, 16).ok()?;
        }
        parts.next().is_none().then_some(Self(MacAddr(bytes)))
    }
}

/// The number and the unit behind it.
fn split_unit(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    text.split_at_checked(end)
}

/// `number` times `unit`, where the number may have decimals that the unit makes whole.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut part = 0u64;
    let mut place = unit;
    for digit in decimals.bytes() {
        if !place.is_multiple_of(10) {
            return None;
        }
        place /= 10;
        part = part.checked_add(u64::from(digit.checked_sub(b'0')?).checked_mul(place)?)?;
    }
    whole.checked_add(part)
}

/// A string that is read by a function, and what it should have been.
struct Text<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "a time of at most a day, such as \"10us\" (units ns, us, ms, s)";
        from.deserialize_str(Text { expected, parse: Self::parse })
    }
}

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected =
            "a rate of 1 kbit to 10 000 Gbit, such as \"25Gbit\" (units kbit, Mbit, Gbit)";
        from.deserialize_str(Text { expected, parse: Self::parse })
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "an Ethernet address, such as \"02:00:00:00:00:01\"";
        from.deserialize_str(Text { expected, parse: Self::parse })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_decimals() {
        for (text, nanos) in [
            ("0ns", 0),
            ("250ns", 250),
            ("1.5us", 1_500),
            ("4.294967296s", 4_294_967_296),
            ("10ms", 10_000_000),
            ("86400s", LONGEST),
        ] {
            assert_eq!(Span::parse(text), Some(Span(nanos)), "{text}");
        }
        for text in ["", "1", "us", "1.5ns", "86401s", "1 us", "-1us", "1..2us", "99999999999999s"]
        {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }

    #[test]
    fn rates_and_addresses_are_checked() {
        assert_eq!(BitRate::parse("2.5Gbit"), Some(BitRate(2_500_000_000)));
        assert_eq!(BitRate::parse("0Gbit"), None);
        assert_eq!(Mac::parse("02:00:00:00:00:0a").unwrap().0.0, [2, 0, 0, 0, 0, 10]);
        for text in ["02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "gg:00:00:00:00:01"] {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
    }
}
