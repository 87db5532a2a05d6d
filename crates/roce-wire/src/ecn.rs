//! Explicit congestion notification (RFC 3168): the low two bits of ToS and traffic class.

use core::fmt;

/// What a packet says of congestion on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ecn {
    /// 00: the sender takes no part.
    NotEct,
    /// 01: capable.
    Ect1,
    /// 10: capable.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    /// From a type of service or traffic class byte.
    #[must_use]
    pub const fn from_tos(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEct => "Not-ECT",
            Self::Ect1 => "ECT(1)",
            Self::Ect0 => "ECT(0)",
            Self::Ce => "CE",
        })
    }
}
