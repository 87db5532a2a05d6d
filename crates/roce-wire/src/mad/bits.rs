//! Fields that share a word or a byte: one mask serves getter and setter alike.

use zerocopy::network_endian::U32;

/// A run of bits in a 32-bit word.
#[derive(Clone, Copy)]
pub(super) struct Bits(pub(super) u32);

impl Bits {
    /// The bits as a number.
    pub(super) const fn of(self, word: U32) -> u32 {
        (word.get() & self.0).wrapping_shr(self.0.trailing_zeros())
    }

    /// The bits as a number, for runs of at most 8.
    pub(super) const fn byte_of(self, word: U32) -> u8 {
        let [_, _, _, low] = self.of(word).to_be_bytes();
        low
    }

    /// The word with these bits replaced; what does not fit in them is dropped.
    pub(super) const fn put(self, word: U32, value: u32) -> U32 {
        let bits = value.wrapping_shl(self.0.trailing_zeros()) & self.0;
        U32::new(word.get() & !self.0 | bits)
    }
}

/// A run of bits in a byte.
#[derive(Clone, Copy)]
pub(super) struct ByteBits(pub(super) u8);

impl ByteBits {
    /// The bits as a number.
    pub(super) const fn of(self, byte: u8) -> u8 {
        (byte & self.0).wrapping_shr(self.0.trailing_zeros())
    }

    /// Whether any of the bits is set.
    pub(super) const fn is_set(self, byte: u8) -> bool {
        byte & self.0 != 0
    }

    /// The byte with these bits replaced; what does not fit in them is dropped.
    pub(super) const fn put(self, byte: u8, value: u8) -> u8 {
        let bits = value.wrapping_shl(self.0.trailing_zeros()) & self.0;
        byte & !self.0 | bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_and_replaced_where_it_stands() {
        let word = U32::new(0x1234_56a7);
        assert_eq!(Bits(0xffff_ff00).of(word), 0x12_3456);
        assert_eq!(Bits(0xf8).byte_of(word), 0x14);
        assert_eq!(Bits(0xf8).put(word, 0xff).get(), 0x1234_56ff);
        assert_eq!(Bits(0xffff_ff00).put(word, 0xffab_cdef).get(), 0xabcd_efa7);
        assert_eq!(ByteBits(0x0e).of(0b1010_1101), 0b110);
        assert_eq!(ByteBits(0x0e).put(0b1010_1101, 0b1001), 0b1010_0011);
        assert!(ByteBits(0x08).is_set(0x0f) && !ByteBits(0x08).is_set(0xf7));
    }
}
