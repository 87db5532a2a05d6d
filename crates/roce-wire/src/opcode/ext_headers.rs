//! Sets of extended headers: which an opcode has, and where they stand.

/// A set of extended headers. Their order on the wire is always that of the constants below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExtHeaders(u16);

impl ExtHeaders {
    /// No extended header.
    pub const NONE: Self = Self(0);
    /// RDETH, 4 bytes.
    pub const RDETH: Self = Self(1);
    /// DETH, 8 bytes.
    pub const DETH: Self = Self(1 << 1);
    /// XRCETH, 4 bytes.
    pub const XRCETH: Self = Self(1 << 2);
    /// FETH, 4 bytes.
    pub const FETH: Self = Self(1 << 3);
    /// RETH, 16 bytes.
    pub const RETH: Self = Self(1 << 4);
    /// AtomicETH, 28 bytes.
    pub const ATOMIC_ETH: Self = Self(1 << 5);
    /// AETH, 4 bytes.
    pub const AETH: Self = Self(1 << 6);
    /// AtomicAckETH, 8 bytes.
    pub const ATOMIC_ACK_ETH: Self = Self(1 << 7);
    /// ImmDt, 4 bytes.
    pub const IMM_DT: Self = Self(1 << 8);
    /// IETH, 4 bytes.
    pub const IETH: Self = Self(1 << 9);

    /// The lengths in bytes, in the order of the bits.
    const LENGTHS: [u8; 10] = [4, 8, 4, 4, 16, 28, 4, 8, 4, 4];

    /// Where each begins when all of them stand one after the other, and where the last ends.
    const STARTS: [usize; 11] = [0, 4, 12, 16, 20, 36, 64, 68, 76, 80, 84];

    /// How long all of them are, in bytes.
    pub(crate) const LONGEST: usize = 84;

    /// Where those of this set stand among all of them, in wire order.
    #[inline]
    pub(crate) fn places(self) -> impl Iterator<Item = core::ops::Range<usize>> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            // With none left this is beyond the table.
            let at = usize::try_from(left.trailing_zeros()).ok()?;
            left &= left.wrapping_sub(1);
            Some(*Self::STARTS.get(at)?..*Self::STARTS.get(at.checked_add(1)?)?)
        })
    }

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every header of `other` is in this set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The length of all of them together, in bytes; at most 84.
    #[must_use]
    pub const fn len(self) -> u8 {
        let (mut lengths, mut bits, mut len) = (Self::LENGTHS.as_slice(), self.0, 0u8);
        while let [first, rest @ ..] = lengths {
            if bits & 1 == 1 {
                len = len.saturating_add(*first);
            }
            (lengths, bits) = (rest, bits >> 1);
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extended_header_has_its_place() {
        let places: Vec<_> = ExtHeaders(0x3ff).places().collect();
        let lengths: Vec<_> = places.iter().map(|place| place.len() as u8).collect();
        assert_eq!(lengths, ExtHeaders::LENGTHS);
        assert!(places.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(places.last().unwrap().end, ExtHeaders::LONGEST);
        let two: Vec<_> = ExtHeaders::RETH.and(ExtHeaders::IMM_DT).places().collect();
        assert_eq!(two, [20..36, 76..80]);
        assert_eq!(ExtHeaders::NONE.places().count(), 0);
    }
}
