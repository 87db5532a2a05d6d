//! The status of SIDR_REP and of APR, as numbered in Linux `include/rdma/ib_cm.h`.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The answer to a SIDR_REQ.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct SidrStatus(pub u8);

impl SidrStatus {
    /// The queue pair and the Q_Key are valid.
    pub const OK: Self = Self(0);
    /// Nobody listens on that service id.
    pub const UNSUPPORTED: Self = Self(1);
    /// The application said no.
    pub const REJECTED: Self = Self(2);

    /// The status in words; `None` for a reserved number.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "ok",
            1 => "service id not supported",
            2 => "rejected by the service",
            3 => "no queue pair",
            4 => "redirected",
            5 => "version not supported",
            _ => return None,
        })
    }
}

impl fmt::Display for SidrStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "status {:#04x}", self.0),
        }
    }
}

/// The answer to a LAP.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct AprStatus(pub u8);

impl AprStatus {
    /// The alternate path is loaded.
    pub const OK: Self = Self(0);

    /// The status in words; `None` for a reserved number.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "ok",
            1 => "invalid communication id",
            2 => "alternate paths not supported",
            3 => "rejected",
            4 => "redirected",
            5 => "path is the current one",
            6 => "invalid QPN or EECN",
            7 => "invalid LID",
            8 => "invalid GID",
            9 => "invalid flow label",
            10 => "invalid traffic class",
            11 => "invalid hop limit",
            12 => "invalid packet rate",
            13 => "invalid service level",
            _ => return None,
        })
    }
}

impl fmt::Display for AprStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "status {:#04x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_standard_has_words_and_no_other() {
        // `enum ib_cm_sidr_status` ends at 5, `enum ib_cm_apr_status` at 13.
        assert!((0..=255).filter(|&n| SidrStatus(n).name().is_some()).eq(0..=5));
        assert!((0..=255).filter(|&n| AprStatus(n).name().is_some()).eq(0..=13));
        assert_eq!(SidrStatus(9).to_string(), "status 0x09");
        assert_eq!(AprStatus(14).to_string(), "status 0x0e");
    }
}
