//! CRC-32 of short packets with some of their bytes masked, by carry-less multiplication.
//!
//! The ICRC of RoCE covers a packet with the fields set to ones that routers change. A library for
//! CRCs wants the masked headers copied, and goes through tables for what is shorter than 128
//! bytes, which most packets are; on small packets this was a quarter of all work. Here the masks
//! are laid over the bytes where they stand, and every length is folded 16 or 64 bytes at a time.
//!
//! This is the one crate of the project with unsafe code: two calls of functions that need
//! instructions which not every processor has.

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// What some bytes at the front are ORed with.
#[derive(Clone, Copy, Debug)]
pub struct Mask([u8; Self::LEN + BLOCK]);

/// How many bytes are folded at a time. A mask is longer by as many, so that a block which begins
/// inside it ends inside it, too.
const BLOCK: usize = 64;

impl Mask {
    /// How many bytes there can be.
    pub const LEN: usize = 64;

    /// A byte for each byte at the front; at most [`Self::LEN`].
    #[must_use]
    pub const fn new<const N: usize>(front: [u8; N]) -> Self {
        const { assert!(N <= Self::LEN) }
        let mut mask = [0; Self::LEN + BLOCK];
        if let Some(first) = mask.first_chunk_mut() {
            *first = front;
        }
        Self(mask)
    }
}

/// The CRC-32 of IEEE 802.3 (reflected, as in Ethernet) over `bytes` ORed with `mask`.
///
/// `before` is the CRC of what stands in front, 0 for nothing: the number that another call or
/// another library returned.
///
/// `None` where this processor cannot do it, and for lengths that are below 16 or no multiple of
/// 4, which packets hardly ever have: another library must.
#[must_use]
pub fn masked(before: u32, bytes: &[u8], mask: &Mask) -> Option<u32> {
    by_64(before, bytes, mask).or_else(|| by_16(before, bytes, mask))
}

#[inline]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn by_64(before: u32, bytes: &[u8], mask: &Mask) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= wide::BLOCK && wide::is_supported() {
        #[allow(unsafe_code, reason = "no other way to call for instructions found at run time")]
        // SAFETY: the function is safe but for the instructions it uses, and those are there.
        return unsafe { wide::masked(before, bytes, mask) };
    }
    None
}

#[inline]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn by_16(before: u32, bytes: &[u8], mask: &Mask) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    if x86_64::is_supported() {
        #[allow(unsafe_code, reason = "no other way to call for instructions found at run time")]
        // SAFETY: the function is safe but for the instructions it uses, and those are there.
        return unsafe { x86_64::masked(before, bytes, mask) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_library(before: u32, bytes: &[u8], mask: &[u8; Mask::LEN]) -> u32 {
        let masks = mask.iter().chain(core::iter::repeat(&0));
        let masked: Vec<u8> = bytes.iter().zip(masks).map(|(byte, mask)| byte | mask).collect();
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(&masked);
        hasher.finalize()
    }

    /// zlib says so: `python3 -c 'import zlib; print(hex(zlib.crc32(bytes(range(32)))))'`.
    #[test]
    fn the_crc_is_that_of_zlib() {
        let bytes: [u8; 32] = core::array::from_fn(|at| at as u8);
        let crc = masked(0, &bytes, &Mask::new([]));
        assert!(crc.is_none_or(|crc| crc == 0x9126_7e8a), "{crc:x?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_bytes_give_what_the_library_gives(
            before: u32,
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            mask in prop::collection::vec(any::<u8>(), Mask::LEN),
        ) {
            let mask: [u8; Mask::LEN] = mask.try_into().unwrap();
            let odd = bytes.len() < 16 || bytes.len() % 4 != 0;
            for way in [masked, by_16, by_64] {
                let crc = way(before, &bytes, &Mask::new(mask));
                prop_assert!(!odd || crc.is_none());
                prop_assert!(crc.is_none_or(|crc| crc == by_library(before, &bytes, &mask)));
            }
        }

        /// Every processor of the last ten years takes part in the test above.
        #[test]
        fn here_it_is_supported(len in 4usize..100) {
            if cfg!(target_arch = "x86_64") && std::is_x86_feature_detected!("pclmulqdq") {
                prop_assert!(masked(0, &vec![0; len * 4], &Mask::new([])).is_some());
            }
        }
    }
}
