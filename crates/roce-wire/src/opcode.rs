//! The opcode table: name, service, extended headers, payload rule and class of all 86 opcodes.
//!
//! Parser, encoder, listings and tests all read this one table. Sources: Linux
//! `sw/rxe/rxe_opcode.c` (60 codes), `include/rdma/ib_pack.h`, IBTA Annexes A14 (XRC), A17 (CNP)
//! and A19 (FLUSH, ATOMIC WRITE).

mod ext_headers;
mod names;

use core::fmt;

pub use ext_headers::ExtHeaders;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use Class::{Control, Request, Response};
use PayloadRule::{Exactly8, Exactly16, None, OneToPmtu, Pmtu, UpToPmtu};
use Service::{Cnp, Rc, Rd, Uc, Ud, Xrc};

/// The first byte of the BTH: the service in its top three bits, the operation below.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct Opcode(pub u8);

/// The transport service of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Service {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram.
    Rd,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification.
    Cnp,
    /// Extended reliable connection.
    Xrc,
}

impl Service {
    /// The usual abbreviation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Rc => "RC",
            Uc => "UC",
            Rd => "RD",
            Ud => "UD",
            Cnp => "CNP",
            Xrc => "XRC",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who sends a packet of this opcode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// The requester.
    Request,
    /// The responder.
    Response,
    /// Neither: congestion control.
    Control,
}

/// How long the payload may be, pad not counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PayloadRule {
    /// There is none.
    None,
    /// Exactly the path MTU.
    Pmtu,
    /// One byte up to the path MTU.
    OneToPmtu,
    /// Zero bytes up to the path MTU.
    UpToPmtu,
    /// Exactly 8 bytes.
    Exactly8,
    /// Exactly 16 bytes.
    Exactly16,
}

/// What the standard says of one opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpcodeInfo {
    /// The opcode.
    pub opcode: Opcode,
    /// The name as in Linux `ib_pack.h`, such as `RC_SEND_FIRST`.
    pub name: &'static str,
    /// The service.
    pub service: Service,
    /// The extended headers behind the BTH.
    pub headers: ExtHeaders,
    /// How long all of `headers` are together, in bytes.
    pub headers_len: u8,
    /// How long the payload may be.
    pub payload: PayloadRule,
    /// Who sends it.
    pub class: Class,
}

const NONE: ExtHeaders = ExtHeaders::NONE;
const RDETH: ExtHeaders = ExtHeaders::RDETH;
const DETH: ExtHeaders = ExtHeaders::DETH;
const XRCETH: ExtHeaders = ExtHeaders::XRCETH;
const FETH: ExtHeaders = ExtHeaders::FETH;
const RETH: ExtHeaders = ExtHeaders::RETH;
const ATOMIC_ETH: ExtHeaders = ExtHeaders::ATOMIC_ETH;
const AETH: ExtHeaders = ExtHeaders::AETH;
const ATOMIC_ACK_ETH: ExtHeaders = ExtHeaders::ATOMIC_ACK_ETH;
const IMM_DT: ExtHeaders = ExtHeaders::IMM_DT;
const IETH: ExtHeaders = ExtHeaders::IETH;

/// Every known opcode, in ascending order.
#[rustfmt::skip]
pub static OPCODES: [OpcodeInfo; 86] = [
    row(0x00, "RC_SEND_FIRST", Rc, NONE, Pmtu, Request),
    row(0x01, "RC_SEND_MIDDLE", Rc, NONE, Pmtu, Request),
    row(0x02, "RC_SEND_LAST", Rc, NONE, OneToPmtu, Request),
    row(0x03, "RC_SEND_LAST_WITH_IMMEDIATE", Rc, IMM_DT, OneToPmtu, Request),
    row(0x04, "RC_SEND_ONLY", Rc, NONE, UpToPmtu, Request),
    row(0x05, "RC_SEND_ONLY_WITH_IMMEDIATE", Rc, IMM_DT, UpToPmtu, Request),
    row(0x06, "RC_RDMA_WRITE_FIRST", Rc, RETH, Pmtu, Request),
    row(0x07, "RC_RDMA_WRITE_MIDDLE", Rc, NONE, Pmtu, Request),
    row(0x08, "RC_RDMA_WRITE_LAST", Rc, NONE, OneToPmtu, Request),
    row(0x09, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", Rc, IMM_DT, OneToPmtu, Request),
    row(0x0a, "RC_RDMA_WRITE_ONLY", Rc, RETH, UpToPmtu, Request),
    row(0x0b, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", Rc, RETH.and(IMM_DT), UpToPmtu, Request),
    row(0x0c, "RC_RDMA_READ_REQUEST", Rc, RETH, None, Request),
    row(0x0d, "RC_RDMA_READ_RESPONSE_FIRST", Rc, AETH, Pmtu, Response),
    row(0x0e, "RC_RDMA_READ_RESPONSE_MIDDLE", Rc, NONE, Pmtu, Response),
    row(0x0f, "RC_RDMA_READ_RESPONSE_LAST", Rc, AETH, OneToPmtu, Response),
    row(0x10, "RC_RDMA_READ_RESPONSE_ONLY", Rc, AETH, UpToPmtu, Response),
    row(0x11, "RC_ACKNOWLEDGE", Rc, AETH, None, Response),
    row(0x12, "RC_ATOMIC_ACKNOWLEDGE", Rc, AETH.and(ATOMIC_ACK_ETH), None, Response),
    row(0x13, "RC_COMPARE_SWAP", Rc, ATOMIC_ETH, None, Request),
    row(0x14, "RC_FETCH_ADD", Rc, ATOMIC_ETH, None, Request),
    row(0x16, "RC_SEND_LAST_WITH_INVALIDATE", Rc, IETH, OneToPmtu, Request),
    row(0x17, "RC_SEND_ONLY_WITH_INVALIDATE", Rc, IETH, UpToPmtu, Request),
    row(0x1c, "RC_FLUSH", Rc, FETH.and(RETH), None, Request),
    row(0x1d, "RC_ATOMIC_WRITE", Rc, RETH, Exactly8, Request),
    row(0x20, "UC_SEND_FIRST", Uc, NONE, Pmtu, Request),
    row(0x21, "UC_SEND_MIDDLE", Uc, NONE, Pmtu, Request),
    row(0x22, "UC_SEND_LAST", Uc, NONE, OneToPmtu, Request),
    row(0x23, "UC_SEND_LAST_WITH_IMMEDIATE", Uc, IMM_DT, OneToPmtu, Request),
    row(0x24, "UC_SEND_ONLY", Uc, NONE, UpToPmtu, Request),
    row(0x25, "UC_SEND_ONLY_WITH_IMMEDIATE", Uc, IMM_DT, UpToPmtu, Request),
    row(0x26, "UC_RDMA_WRITE_FIRST", Uc, RETH, Pmtu, Request),
    row(0x27, "UC_RDMA_WRITE_MIDDLE", Uc, NONE, Pmtu, Request),
    row(0x28, "UC_RDMA_WRITE_LAST", Uc, NONE, OneToPmtu, Request),
    row(0x29, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", Uc, IMM_DT, OneToPmtu, Request),
    row(0x2a, "UC_RDMA_WRITE_ONLY", Uc, RETH, UpToPmtu, Request),
    row(0x2b, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", Uc, RETH.and(IMM_DT), UpToPmtu, Request),
    row(0x40, "RD_SEND_FIRST", Rd, RDETH.and(DETH), Pmtu, Request),
    row(0x41, "RD_SEND_MIDDLE", Rd, RDETH.and(DETH), Pmtu, Request),
    row(0x42, "RD_SEND_LAST", Rd, RDETH.and(DETH), OneToPmtu, Request),
    row(0x43, "RD_SEND_LAST_WITH_IMMEDIATE", Rd, RDETH.and(DETH).and(IMM_DT), OneToPmtu, Request),
    row(0x44, "RD_SEND_ONLY", Rd, RDETH.and(DETH), UpToPmtu, Request),
    row(0x45, "RD_SEND_ONLY_WITH_IMMEDIATE", Rd, RDETH.and(DETH).and(IMM_DT), UpToPmtu, Request),
    row(0x46, "RD_RDMA_WRITE_FIRST", Rd, RDETH.and(DETH).and(RETH), Pmtu, Request),
    row(0x47, "RD_RDMA_WRITE_MIDDLE", Rd, RDETH.and(DETH), Pmtu, Request),
    row(0x48, "RD_RDMA_WRITE_LAST", Rd, RDETH.and(DETH), OneToPmtu, Request),
    row(0x49, "RD_RDMA_WRITE_LAST_WITH_IMMEDIATE", Rd, RDETH.and(DETH).and(IMM_DT), OneToPmtu, Request),
    row(0x4a, "RD_RDMA_WRITE_ONLY", Rd, RDETH.and(DETH).and(RETH), UpToPmtu, Request),
    row(0x4b, "RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE", Rd, RDETH.and(DETH).and(RETH).and(IMM_DT), UpToPmtu, Request),
    row(0x4c, "RD_RDMA_READ_REQUEST", Rd, RDETH.and(DETH).and(RETH), None, Request),
    row(0x4d, "RD_RDMA_READ_RESPONSE_FIRST", Rd, RDETH.and(AETH), Pmtu, Response),
    row(0x4e, "RD_RDMA_READ_RESPONSE_MIDDLE", Rd, RDETH, Pmtu, Response),
    row(0x4f, "RD_RDMA_READ_RESPONSE_LAST", Rd, RDETH.and(AETH), OneToPmtu, Response),
    row(0x50, "RD_RDMA_READ_RESPONSE_ONLY", Rd, RDETH.and(AETH), UpToPmtu, Response),
    row(0x51, "RD_ACKNOWLEDGE", Rd, RDETH.and(AETH), None, Response),
    row(0x52, "RD_ATOMIC_ACKNOWLEDGE", Rd, RDETH.and(AETH).and(ATOMIC_ACK_ETH), None, Response),
    row(0x53, "RD_COMPARE_SWAP", Rd, RDETH.and(DETH).and(ATOMIC_ETH), None, Request),
    row(0x54, "RD_FETCH_ADD", Rd, RDETH.and(DETH).and(ATOMIC_ETH), None, Request),
    row(0x55, "RD_RESYNC", Rd, RDETH.and(DETH), None, Request),
    row(0x5c, "RD_FLUSH", Rd, RDETH.and(DETH).and(FETH).and(RETH), None, Request),
    row(0x64, "UD_SEND_ONLY", Ud, DETH, UpToPmtu, Request),
    row(0x65, "UD_SEND_ONLY_WITH_IMMEDIATE", Ud, DETH.and(IMM_DT), UpToPmtu, Request),
    row(0x81, "CNP", Cnp, NONE, Exactly16, Control),
    row(0xa0, "XRC_SEND_FIRST", Xrc, XRCETH, Pmtu, Request),
    row(0xa1, "XRC_SEND_MIDDLE", Xrc, XRCETH, Pmtu, Request),
    row(0xa2, "XRC_SEND_LAST", Xrc, XRCETH, OneToPmtu, Request),
    row(0xa3, "XRC_SEND_LAST_WITH_IMMEDIATE", Xrc, XRCETH.and(IMM_DT), OneToPmtu, Request),
    row(0xa4, "XRC_SEND_ONLY", Xrc, XRCETH, UpToPmtu, Request),
    row(0xa5, "XRC_SEND_ONLY_WITH_IMMEDIATE", Xrc, XRCETH.and(IMM_DT), UpToPmtu, Request),
    row(0xa6, "XRC_RDMA_WRITE_FIRST", Xrc, XRCETH.and(RETH), Pmtu, Request),
    row(0xa7, "XRC_RDMA_WRITE_MIDDLE", Xrc, XRCETH, Pmtu, Request),
    row(0xa8, "XRC_RDMA_WRITE_LAST", Xrc, XRCETH, OneToPmtu, Request),
    row(0xa9, "XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE", Xrc, XRCETH.and(IMM_DT), OneToPmtu, Request),
    row(0xaa, "XRC_RDMA_WRITE_ONLY", Xrc, XRCETH.and(RETH), UpToPmtu, Request),
    row(0xab, "XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", Xrc, XRCETH.and(RETH).and(IMM_DT), UpToPmtu, Request),
    row(0xac, "XRC_RDMA_READ_REQUEST", Xrc, XRCETH.and(RETH), None, Request),
    row(0xad, "XRC_RDMA_READ_RESPONSE_FIRST", Xrc, AETH, Pmtu, Response),
    row(0xae, "XRC_RDMA_READ_RESPONSE_MIDDLE", Xrc, NONE, Pmtu, Response),
    row(0xaf, "XRC_RDMA_READ_RESPONSE_LAST", Xrc, AETH, OneToPmtu, Response),
    row(0xb0, "XRC_RDMA_READ_RESPONSE_ONLY", Xrc, AETH, UpToPmtu, Response),
    row(0xb1, "XRC_ACKNOWLEDGE", Xrc, AETH, None, Response),
    row(0xb2, "XRC_ATOMIC_ACKNOWLEDGE", Xrc, AETH.and(ATOMIC_ACK_ETH), None, Response),
    row(0xb3, "XRC_COMPARE_SWAP", Xrc, XRCETH.and(ATOMIC_ETH), None, Request),
    row(0xb4, "XRC_FETCH_ADD", Xrc, XRCETH.and(ATOMIC_ETH), None, Request),
    row(0xb6, "XRC_SEND_LAST_WITH_INVALIDATE", Xrc, XRCETH.and(IETH), OneToPmtu, Request),
    row(0xb7, "XRC_SEND_ONLY_WITH_INVALIDATE", Xrc, XRCETH.and(IETH), UpToPmtu, Request),
];

const fn row(
    code: u8,
    name: &'static str,
    service: Service,
    headers: ExtHeaders,
    payload: PayloadRule,
    class: Class,
) -> OpcodeInfo {
    let headers_len = headers.len();
    OpcodeInfo { opcode: Opcode(code), name, service, headers, headers_len, payload, class }
}

/// The table by code: one load per packet.
static BY_CODE: [Option<&'static OpcodeInfo>; 256] = {
    let mut by_code = [Option::None; 256];
    let mut rows = OPCODES.as_slice();
    while let [row, rest @ ..] = rows {
        if let Some((_, [slot, ..])) = by_code.split_at_mut_checked(row.opcode.0 as usize) {
            *slot = Some(row);
        }
        rows = rest;
    }
    by_code
};

impl Opcode {
    /// What the standard says of it; `None` when it is reserved or a vendor's own.
    #[inline]
    #[must_use]
    pub fn info(self) -> Option<&'static OpcodeInfo> {
        BY_CODE.get(usize::from(self.0)).copied().flatten()
    }

    /// The name as in Linux `ib_pack.h`; `None` when it is not a known one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.info().map(|info| info.name)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            Option::None => write!(f, "{:#04x}", self.0),
        }
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opcode({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_says_each_code_once() {
        assert!(OPCODES.windows(2).all(|pair| pair[0].opcode < pair[1].opcode));
        assert_eq!((0..=255).filter(|&code| Opcode(code).info().is_some()).count(), 86);
    }

    #[test]
    fn the_service_is_the_top_three_bits() {
        let by_bits = [Rc, Uc, Rd, Ud, Cnp, Xrc];
        for info in &OPCODES {
            assert_eq!(info.service, by_bits[usize::from(info.opcode.0 >> 5)], "{}", info.name);
        }
    }

    #[test]
    fn header_lengths_are_those_of_linux() {
        // BTH included: rxe_opcode.c, offset of the payload.
        for (opcode, len) in [
            (Opcode::RC_SEND_FIRST, 12),
            (Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 32),
            (Opcode::RC_ATOMIC_ACKNOWLEDGE, 24),
            (Opcode::RC_COMPARE_SWAP, 40),
            (Opcode::RC_FLUSH, 32),
            (Opcode::RC_ATOMIC_WRITE, 28),
            (Opcode::RD_FETCH_ADD, 52),
            (Opcode::UD_SEND_ONLY_WITH_IMMEDIATE, 24),
        ] {
            assert_eq!(12 + opcode.info().unwrap().headers_len, len, "{opcode}");
        }
    }

    #[test]
    fn unknown_codes_print_as_hex() {
        // 0x80 is a service, not the CNP; 0x15 exists in RD only.
        for code in [0x15, 0x2c, 0x80, 0x82, 0xc0, 0xff] {
            assert_eq!(Opcode(code).to_string(), format!("{code:#04x}"));
        }
        assert_eq!(Opcode(0x81).to_string(), "CNP");
        assert_eq!(Opcode(0x55).to_string(), "RD_RESYNC");
    }
}
