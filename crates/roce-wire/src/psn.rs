//! Numbers of 24 bits that wrap: packet and message sequence numbers.

use core::fmt;

const MASK: u32 = 0x00ff_ffff;

/// A packet sequence number: 24 bits, compared by serial arithmetic.
///
/// ```
/// use roce_wire::Psn;
/// let last = Psn::new(0xff_ffff);
/// assert_eq!(last.add(1), Psn::new(0));
/// assert_eq!(Psn::new(2).distance_from(last), 3);
/// assert!(last.is_before(Psn::new(2)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Psn(u32);

impl Psn {
    /// From the number; bits above the 24th are dropped.
    #[must_use]
    pub const fn new(psn: u32) -> Self {
        Self(psn & MASK)
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `n` packets later, modulo 2^24.
    #[must_use]
    pub const fn add(self, n: u32) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// The number `n` packets earlier, modulo 2^24.
    #[must_use]
    pub const fn sub(self, n: u32) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }

    /// Signed distance from `other` to this one, in −2^23 … 2^23 − 1.
    ///
    /// It is negative when this one is before `other`.
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        // The sign of the 24-bit difference is moved up to bit 31 and spread back.
        (self.0.wrapping_sub(other.0) << 8).cast_signed() >> 8
    }

    /// Whether this one comes before `other`.
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Psn({})", self.0)
    }
}

/// A message sequence number: how many messages the responder has completed, modulo 2^24.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Msn(u32);

impl Msn {
    /// From the number; bits above the 24th are dropped.
    #[must_use]
    pub const fn new(msn: u32) -> Self {
        Self(msn & MASK)
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Msn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Msn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Msn({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_circle_is_negative() {
        // RFC 1982 leaves the exact half open; here it counts as before.
        assert_eq!(Psn::new(0x80_0000).distance_from(Psn::new(0)), -0x80_0000);
        assert_eq!(Psn::new(0x7f_ffff).distance_from(Psn::new(0)), 0x7f_ffff);
    }

    #[test]
    fn distance_undoes_add_across_the_wrap() {
        for start in [0, 1, 0x7f_ffff, 0x80_0000, 0xff_fffe, 0xff_ffff] {
            for n in [0u32, 1, 2, 0x7f_ffff] {
                let a = Psn::new(start);
                assert_eq!(a.add(n).distance_from(a), n.cast_signed());
                assert_eq!(a.add(n).sub(n), a);
            }
        }
    }
}
