//! ACK Extended Transport Header, 4 bytes.
//!
//! ```text
//!      0               1               2               3
//!  0  |0|typ| value   | MSN                                           |
//! ```
//! Sources: Linux `sw/rxe/rxe_hdr.h`, `sw/rdmavt/rc.c` (credits), `include/rdma/ib_verbs.h`
//! (RNR timer).

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, Msn};

/// ACK Extended Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Aeth {
    word: U32,
}

const _: () = assert!(size_of::<Aeth>() == 4);

impl Aeth {
    /// From syndrome and MSN.
    #[must_use]
    pub const fn new(syndrome: Syndrome, msn: Msn) -> Self {
        Self { word: U32::new((syndrome.0 as u32) << 24 | msn.get()) }
    }

    /// What the responder says.
    #[must_use]
    pub const fn syndrome(&self) -> Syndrome {
        Syndrome((self.word.get() >> 24) as u8)
    }

    /// How many messages the responder has completed.
    #[must_use]
    pub const fn msn(&self) -> Msn {
        Msn::new(self.word.get())
    }
}

impl Header for Aeth {
    const NAME: &'static str = "AETH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.named("syndrome", 8, self.syndrome().0, &self.syndrome());
        f.uint("msn", 24, self.msn().get());
    }
}

impl fmt::Display for Aeth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} msn {}", self.syndrome(), self.msn())
    }
}

/// The syndrome byte of an AETH.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Syndrome(pub u8);

/// What a [`Syndrome`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckKind {
    /// A positive acknowledgement, with the responder's receive credits when it tells them.
    Ack(Option<u16>),
    /// Receiver not ready: try again after this time.
    RnrNak(RnrTimer),
    /// A negative acknowledgement.
    Nak(NakCode),
    /// Bit 7 or the type `10`: reserved.
    Reserved,
}

/// Credits for each code 0 to 30 (Linux `sw/rdmavt/rc.c`).
const CREDITS: [u16; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
];

impl Syndrome {
    /// An acknowledgement without credit information, as Linux soft-RoCE sends it.
    pub const ACK_UNLIMITED: Self = Self(0x1f);

    /// The syndrome of a NAK.
    #[must_use]
    pub const fn nak(code: NakCode) -> Self {
        Self(0x60 | code.0 & 0x1f)
    }

    /// The syndrome of an RNR NAK.
    #[must_use]
    pub const fn rnr_nak(timer: RnrTimer) -> Self {
        Self(0x20 | timer.0 & 0x1f)
    }

    /// What it says.
    #[must_use]
    pub fn kind(self) -> AckKind {
        let value = self.0 & 0x1f;
        match self.0 >> 5 {
            0 => AckKind::Ack(CREDITS.get(usize::from(value)).copied()),
            1 => AckKind::RnrNak(RnrTimer(value)),
            3 => AckKind::Nak(NakCode(value)),
            _ => AckKind::Reserved,
        }
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            AckKind::Ack(None) => f.write_str("ACK"),
            AckKind::Ack(Some(credits)) => write!(f, "ACK credits {credits}"),
            AckKind::RnrNak(timer) => write!(f, "RNR {timer}"),
            AckKind::Nak(code) => write!(f, "NAK {code}"),
            AckKind::Reserved => write!(f, "reserved syndrome {:#04x}", self.0),
        }
    }
}

/// The reason of a NAK, 5 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NakCode(pub u8);

impl NakCode {
    /// A packet is missing before this one.
    pub const PSN_SEQUENCE_ERROR: Self = Self(0);
    /// The request is not one the responder can take.
    pub const INVALID_REQUEST: Self = Self(1);
    /// The R_Key, the address or the access right is wrong.
    pub const REMOTE_ACCESS_ERROR: Self = Self(2);
    /// The responder failed on its own side.
    pub const REMOTE_OPERATIONAL_ERROR: Self = Self(3);
    /// The reliable datagram request is not one the responder can take.
    pub const INVALID_RD_REQUEST: Self = Self(4);

    /// The standard's name; `None` for a reserved code.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::PSN_SEQUENCE_ERROR => "PSN sequence error",
            Self::INVALID_REQUEST => "invalid request",
            Self::REMOTE_ACCESS_ERROR => "remote access error",
            Self::REMOTE_OPERATIONAL_ERROR => "remote operational error",
            Self::INVALID_RD_REQUEST => "invalid RD request",
            _ => return None,
        })
    }
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "code {:#x}", self.0),
        }
    }
}

/// The time to wait after an RNR NAK, as a code of 5 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RnrTimer(pub u8);

/// Hundredths of a millisecond for each code (Linux `include/rdma/ib_verbs.h`, `ib_rnr_timeout`).
const RNR_TIMER: [u16; 32] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

impl RnrTimer {
    /// The time in microseconds: 10 to 655 360.
    #[must_use]
    pub fn micros(self) -> u32 {
        match RNR_TIMER.get(usize::from(self.0 & 0x1f)) {
            // Code 0 is the longest, not the shortest.
            None | Some(0) => 655_360,
            Some(&hundredths) => u32::from(hundredths).saturating_mul(10),
        }
    }
}

impl fmt::Display for RnrTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.micros();
        write!(f, "{}.{:02} ms", micros / 1000, micros % 1000 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syndromes_read_as_the_standard_says() {
        let say = |byte| Syndrome(byte).to_string();
        assert_eq!(say(0x1f), "ACK");
        assert_eq!(say(0x00), "ACK credits 0");
        assert_eq!(say(0x1e), "ACK credits 32768");
        assert_eq!(say(0x21), "RNR 0.01 ms");
        assert_eq!(say(0x20), "RNR 655.36 ms");
        // 61.44, not the 61.41 of the table in Linux soft-RoCE.
        assert_eq!(say(0x39), "RNR 61.44 ms");
        assert_eq!(say(0x60), "NAK PSN sequence error");
        assert_eq!(say(0x64), "NAK invalid RD request");
        assert_eq!(say(0x65), "NAK code 0x5");
        assert_eq!(say(0x40), "reserved syndrome 0x40");
        assert_eq!(say(0xff), "reserved syndrome 0xff");
    }

    #[test]
    fn every_rnr_code_is_one_of_the_standard_times() {
        // FACTS of IBTA table 45, in microseconds, codes 0 to 31.
        let expected = [
            655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560,
            3840, 5120, 7680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880,
            163_840, 245_760, 327_680, 491_520,
        ];
        for (code, micros) in (0..).zip(expected) {
            assert_eq!(RnrTimer(code).micros(), micros, "code {code}");
        }
    }

    #[test]
    fn the_msn_is_the_low_24_bits() {
        let aeth = Aeth::new(Syndrome::nak(NakCode::REMOTE_ACCESS_ERROR), Msn::new(0x0102_0304));
        assert_eq!(aeth.as_bytes(), [0x62, 2, 3, 4]);
    }
}
