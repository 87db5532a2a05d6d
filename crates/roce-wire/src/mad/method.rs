//! Methods: what a datagram asks or answers (Linux `include/rdma/ib_mad.h`).

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A method; bit 7 marks a response.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct Method(pub u8);

impl Method {
    /// Ask for an attribute.
    pub const GET: Self = Self(0x01);
    /// Change an attribute.
    pub const SET: Self = Self(0x02);
    /// Send a message: what connection management does.
    pub const SEND: Self = Self(0x03);
    /// Tell of an event.
    pub const TRAP: Self = Self(0x05);
    /// Forward an event.
    pub const REPORT: Self = Self(0x06);
    /// Acknowledge a trap.
    pub const TRAP_REPRESS: Self = Self(0x07);
    /// Ask for a table.
    pub const GET_TABLE: Self = Self(0x12);
    /// Answer to Get and Set.
    pub const GET_RESP: Self = Self(0x81);
    /// Answer to Report.
    pub const REPORT_RESP: Self = Self(0x86);

    /// The standard's name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::GET => "Get",
            Self::SET => "Set",
            Self::SEND => "Send",
            Self::TRAP => "Trap",
            Self::REPORT => "Report",
            Self::TRAP_REPRESS => "TrapRepress",
            Self::GET_TABLE => "GetTable",
            Self::GET_RESP => "GetResp",
            Self::REPORT_RESP => "ReportResp",
            _ => return None,
        })
    }

    /// Whether it is a response (bit 7).
    #[must_use]
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "method {:#04x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_print_as_hex() {
        assert_eq!(Method(0x03).to_string(), "Send");
        assert_eq!(Method(0x93).to_string(), "method 0x93");
        assert!(Method(0x93).is_response() && !Method(0x03).is_response());
    }
}
