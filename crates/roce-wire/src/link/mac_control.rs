//! MAC control frames: priority flow control (IEEE 802.1Qbb) and PAUSE (802.3x).
//!
//! ```text
//! PFC  0               1               2               3
//!  0  | opcode 0x0101                 | priority enable vector        |
//!  4  | time of priority 0            | time of priority 1            |
//!     | ...                                                           |
//! 16  | time of priority 6            | time of priority 7            |
//!
//! PAUSE
//!  0  | opcode 0x0001                 | time                          |
//! ```
//! They stand right behind Ethertype 0x8808. A time counts quanta of 512 bit times at link speed;
//! 0 lets the sender go on at once.

use core::fmt;
use zerocopy::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header};

/// Priority flow control.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Pfc {
    opcode: U16,
    vector: U16,
    times: [U16; 8],
}

const _: () = assert!(size_of::<Pfc>() == 20);

impl Pfc {
    /// The MAC control opcode.
    pub const OPCODE: u16 = 0x0101;

    /// From the enabled priorities (bit n for priority n) and all eight times.
    #[must_use]
    pub fn new(enabled: u8, times: [u16; 8]) -> Self {
        Self {
            opcode: U16::new(Self::OPCODE),
            vector: U16::new(u16::from(enabled)),
            times: times.map(U16::new),
        }
    }

    /// The priorities that the frame speaks of: bit n for priority n.
    #[must_use]
    pub const fn enabled(&self) -> u8 {
        self.vector.get().to_be_bytes()[1]
    }

    /// The eight times in quanta, priority 0 first; only those enabled mean anything.
    #[must_use]
    pub fn times(&self) -> [u16; 8] {
        self.times.map(U16::get)
    }
}

impl Header for Pfc {
    const NAME: &'static str = "PFC";

    fn fields(&self, f: &mut Fields<'_>) {
        const NAMES: [&str; 8] =
            ["time_0", "time_1", "time_2", "time_3", "time_4", "time_5", "time_6", "time_7"];
        f.hex("opcode", 16, self.opcode.get());
        f.reserved(8, self.vector.get() >> 8);
        f.hex("enabled", 8, self.enabled());
        for (name, time) in NAMES.into_iter().zip(self.times()) {
            f.uint(name, 16, time);
        }
    }
}

impl fmt::Display for Pfc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PFC")?;
        for (priority, time) in self.times().into_iter().enumerate() {
            if self.enabled() >> priority & 1 == 1 {
                write!(f, " prio {priority}: ")?;
                match time {
                    0 => f.write_str("resume")?,
                    quanta => write!(f, "{quanta} quanta")?,
                }
            }
        }
        Ok(())
    }
}

/// 802.3x PAUSE: the whole link, all priorities.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Pause {
    opcode: U16,
    time: U16,
}

const _: () = assert!(size_of::<Pause>() == 4);

impl Pause {
    /// The MAC control opcode.
    pub const OPCODE: u16 = 0x0001;

    /// From the time in quanta.
    #[must_use]
    pub const fn new(time: u16) -> Self {
        Self { opcode: U16::new(Self::OPCODE), time: U16::new(time) }
    }

    /// The MAC control opcode as it stands.
    #[must_use]
    pub const fn opcode(&self) -> u16 {
        self.opcode.get()
    }

    /// The time in quanta.
    #[must_use]
    pub const fn time(&self) -> u16 {
        self.time.get()
    }
}

impl Header for Pause {
    const NAME: &'static str = "PAUSE";

    fn fields(&self, f: &mut Fields<'_>) {
        f.hex("opcode", 16, self.opcode());
        f.uint("time", 16, self.time());
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time() {
            0 => f.write_str("PAUSE resume"),
            quanta => write!(f, "PAUSE {quanta} quanta"),
        }
    }
}
