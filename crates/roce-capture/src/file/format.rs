//! What kind of file a capture is.

use std::{fmt, io};

/// What kind of file a capture is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// The capture format.
    pub container: Container,
    /// What is wrapped around it.
    pub compression: Compression,
    /// The finest step of its time stamps; pcapng has one for each interface, and none before
    /// the first interface has been read.
    pub resolution: Option<Resolution>,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.container)?;
        match self.compression {
            Compression::None => Ok(()),
            compression => write!(f, " in {compression}"),
        }
    }
}

/// A capture format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Container {
    /// libpcap's own, with microseconds or nanoseconds.
    Pcap,
    /// pcapng.
    Pcapng,
    /// Endace's Extensible Record Format.
    Erf,
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
            Self::Erf => "ERF",
        })
    }
}

/// A compression around a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// A plain file.
    None,
    /// gzip, of one or more members.
    Gzip,
    /// Zstandard, of one or more frames.
    Zstd,
}

impl Compression {
    /// A decompressor's complaint in words that help.
    pub(super) fn explain(self, e: &io::Error) -> String {
        let message = e.to_string();
        if e.kind() == io::ErrorKind::UnexpectedEof {
            return format!("the {self} stream ends early");
        }
        if self == Self::Zstd && message.contains("too much memory") {
            return "it needs a window of more than 32 MiB; \
                    use `zstd -dc --long=31 FILE | roce-sniff -`"
                .to_owned();
        }
        format!("{self}: {message}")
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no compression",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The step of a clock, as pcapng's `if_tsresol` puts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// 10 to the minus this many seconds.
    Decimal(u8),
    /// 2 to the minus this many seconds.
    Binary(u8),
}

impl Resolution {
    /// Microseconds, what a pcapng interface has that does not say.
    pub const MICROSECONDS: Self = Self::Decimal(6);
    /// Nanoseconds.
    pub const NANOSECONDS: Self = Self::Decimal(9);

    /// From the `if_tsresol` byte: the top bit tells 2 from 10.
    pub(super) const fn from_tsresol(byte: u8) -> Self {
        match byte & 0x80 {
            0 => Self::Decimal(byte),
            _ => Self::Binary(byte & 0x7f),
        }
    }

    /// Whether microseconds cannot hold every time of this clock.
    #[must_use]
    pub const fn needs_nanoseconds(self) -> bool {
        match self {
            Self::Decimal(n) => n > 6,
            Self::Binary(n) => n > 6,
        }
    }

    /// The step in picoseconds, rounded down, to compare clocks by.
    fn step_ps(self) -> u128 {
        let second = 1_000_000_000_000_u128;
        match self {
            Self::Decimal(n) => {
                10_u128.checked_pow(n.into()).and_then(|d| second.checked_div(d)).unwrap_or(0)
            }
            Self::Binary(n) => second.checked_shr(n.into()).unwrap_or(0),
        }
    }

    /// Whether this clock has smaller steps than the other.
    pub(super) fn is_finer_than(self, other: Self) -> bool {
        self.step_ps() < other.step_ps()
    }

    /// Nanoseconds in a tick, where that is a whole number.
    pub(super) fn tick_ns(self) -> Option<u64> {
        match self {
            Self::Decimal(n) => 10_u64.checked_pow(9_u32.checked_sub(n.into())?),
            Self::Binary(0) => Some(1_000_000_000),
            Self::Binary(_) => None,
        }
    }

    /// `ticks` of this clock in nanoseconds, rounded down; `None` when that is beyond 64 bits.
    pub(super) fn to_ns(self, ticks: u64) -> Option<u64> {
        if let Some(tick) = self.tick_ns() {
            return ticks.checked_mul(tick);
        }
        match self {
            Self::Decimal(n) => {
                let divisor = 10_u64.checked_pow(u32::from(n).checked_sub(9)?);
                divisor.map_or(Some(0), |d| ticks.checked_div(d))
            }
            Self::Binary(n) => {
                let ns = u128::from(ticks).checked_mul(1_000_000_000)?;
                u64::try_from(ns.checked_shr(n.into())?).ok()
            }
        }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal(0) => f.write_str("seconds"),
            Self::Decimal(3) => f.write_str("milliseconds"),
            Self::Decimal(6) => f.write_str("microseconds"),
            Self::Decimal(9) => f.write_str("nanoseconds"),
            Self::Decimal(n) => write!(f, "10^-{n} seconds"),
            Self::Binary(n) => write!(f, "2^-{n} seconds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_any_clock_become_nanoseconds() {
        assert_eq!(Resolution::from_tsresol(6).to_ns(1_500_000), Some(1_500_000_000));
        assert_eq!(Resolution::from_tsresol(9).to_ns(7), Some(7));
        assert_eq!(Resolution::from_tsresol(0).to_ns(2), Some(2_000_000_000));
        assert_eq!(Resolution::from_tsresol(12).to_ns(1_999), Some(1));
        assert_eq!(Resolution::from_tsresol(127).to_ns(u64::MAX), Some(0));
        assert_eq!(Resolution::from_tsresol(0x80 | 10).to_ns(1536), Some(1_500_000_000));
        assert_eq!(Resolution::from_tsresol(0xff).to_ns(u64::MAX), Some(0));
        assert_eq!(Resolution::from_tsresol(0).to_ns(u64::MAX), None);
    }

    #[test]
    fn clocks_compare_by_their_step() {
        assert!(Resolution::NANOSECONDS.is_finer_than(Resolution::MICROSECONDS));
        assert!(Resolution::Binary(32).is_finer_than(Resolution::NANOSECONDS));
        assert!(!Resolution::Binary(10).is_finer_than(Resolution::Decimal(6)));
    }
}
