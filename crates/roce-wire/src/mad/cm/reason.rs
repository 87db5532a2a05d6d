//! Why a connection was rejected.

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The reason of a REJ, as numbered in Linux `include/rdma/ib_cm.h`.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct RejReason(U16);

impl RejReason {
    /// The sender waited for an answer long enough.
    pub const TIMEOUT: Self = Self::new(4);
    /// Nobody listens on that service id.
    pub const INVALID_SERVICE_ID: Self = Self::new(8);
    /// The other side believes the queue pair to be connected already.
    pub const STALE_CONNECTION: Self = Self::new(10);
    /// The path MTU is more than the other side takes.
    pub const INVALID_MTU: Self = Self::new(26);
    /// The application said no; its reason is in the private data.
    pub const CONSUMER_DEFINED: Self = Self::new(28);

    /// From the number.
    #[must_use]
    pub const fn new(reason: u16) -> Self {
        Self(U16::new(reason))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }

    /// The reason in words; `None` for a reserved number.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.get() {
            1 => "no queue pair",
            2 => "no end-to-end context",
            3 => "no resources",
            4 => "timeout",
            5 => "unsupported request",
            6 => "invalid communication id",
            7 => "invalid communication instance",
            8 => "invalid service id",
            9 => "invalid transport type",
            10 => "stale connection",
            11 => "reliable datagram channel does not exist",
            12 => "invalid GID",
            13 => "invalid LID",
            14 => "invalid service level",
            15 => "invalid traffic class",
            16 => "invalid hop limit",
            17 => "invalid packet rate",
            18 => "invalid alternate GID",
            19 => "invalid alternate LID",
            20 => "invalid alternate service level",
            21 => "invalid alternate traffic class",
            22 => "invalid alternate hop limit",
            23 => "invalid alternate packet rate",
            24 => "port and CM redirection",
            25 => "port redirection",
            26 => "invalid MTU",
            27 => "insufficient responder resources",
            28 => "consumer defined",
            29 => "invalid RNR retry count",
            30 => "duplicate local communication id",
            31 => "invalid class version",
            32 => "invalid flow label",
            33 => "invalid alternate flow label",
            35 => "vendor option not supported",
            _ => return None,
        })
    }
}

impl fmt::Display for RejReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "reason {:#06x}", self.get()),
        }
    }
}

impl fmt::Debug for RejReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RejReason({})", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_that_operators_meet_are_in_words() {
        // Numbers of `enum ib_cm_rej_reason`.
        assert_eq!(RejReason::new(8).to_string(), "invalid service id");
        assert_eq!(RejReason::new(10).to_string(), "stale connection");
        assert_eq!(RejReason::new(28).to_string(), "consumer defined");
        assert_eq!(RejReason::new(34).to_string(), "reason 0x0022");
        let named = (0..=u16::MAX).filter(|&n| RejReason::new(n).name().is_some());
        assert!(named.eq((1..=33).chain([35])));
    }
}
