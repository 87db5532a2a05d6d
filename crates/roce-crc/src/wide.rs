//! With AVX-512 and VPCLMULQDQ, which servers have since about 2021: 64 bytes at a time.
//!
//! The same method as with 16 bytes, four of them side by side. A packet of usual size takes one or
//! two steps, so there is little to wait for.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_xor_si128, _mm512_clmulepi64_epi128, _mm512_extracti32x4_epi32,
    _mm512_mask_xor_epi64, _mm512_maskz_permutexvar_epi32, _mm512_or_si512, _mm512_set_epi64,
    _mm512_set1_epi32, _mm512_sub_epi32, _mm512_xor_si512, _mm512_zextsi128_si512,
};

use zerocopy::transmute;

use super::Mask;
use super::x86_64::{OVER_16, OVER_32, reduce};

/// Whether this processor has what [`masked`] needs.
#[inline]
pub(super) fn is_supported() -> bool {
    #[cfg(any(test, feature = "std"))]
    return std::is_x86_feature_detected!("vpclmulqdq") && std::is_x86_feature_detected!("avx512f");
    #[cfg(not(any(test, feature = "std")))]
    return cfg!(target_feature = "vpclmulqdq") && cfg!(target_feature = "avx512f");
}

/// How many bytes are taken at a time; fewer are none of its business.
pub(super) const BLOCK: usize = 64;

/// See [`super::masked`]; `None` also for less than [`BLOCK`] bytes.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn masked(before: u32, bytes: &[u8], Mask(mask): &Mask) -> Option<u32> {
    let first = _mm512_or_si512(load(bytes.first_chunk()?), load(mask.first_chunk()?));
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    // The state goes into the first four bytes; from then on the CRC is that of a plain remainder,
    // for which zeros in front count nothing: with some the length is a multiple of 64.
    let state = _mm512_zextsi128_si512(_mm_cvtsi32_si128((!before).cast_signed()));
    let first = _mm512_xor_si512(first, state);
    let (mut folded, taken) = match bytes.len() % BLOCK {
        0 => (first, BLOCK),
        odd => (last(first, odd), odd),
    };
    let (blocks, _) = bytes.get(taken..)?.as_chunks::<BLOCK>();
    let (masks, _) = mask.get(taken..)?.as_chunks::<BLOCK>();
    let mut masks = masks.iter();
    for block in blocks {
        let block = match masks.next() {
            Some(mask) => _mm512_or_si512(load(block), load(mask)),
            None => load(block),
        };
        folded = _mm512_xor_si512(multiply(folded, [OVER_64; 4]), block);
    }
    // The four become one: each but the last is lifted over those behind it.
    let lifted = multiply(folded, [OVER_48, OVER_32, OVER_16, (0, 0)]);
    let all = _mm512_mask_xor_epi64(lifted, 0b1100_0000, lifted, folded);
    let halves = [
        _mm_xor_si128(_mm512_extracti32x4_epi32::<0>(all), _mm512_extracti32x4_epi32::<1>(all)),
        _mm_xor_si128(_mm512_extracti32x4_epi32::<2>(all), _mm512_extracti32x4_epi32::<3>(all)),
    ];
    Some(!reduce(_mm_xor_si128(halves[0], halves[1])))
}

/// What lifts the halves of 16 bytes over the next 48, as [`OVER_16`] over the next 16.
const OVER_48: (i64, i64) = (0x0000_3db1_ecdc, 0x0001_7435_9406);
/// Over the next 64: the remainders of the powers 512 + 32 and 512 - 32.
const OVER_64: (i64, i64) = (0x0001_5444_2bd4, 0x0001_c6e4_1596);

/// Each 16 bytes, lifted by what belongs to them.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn multiply(folded: __m512i, [a, b, c, d]: [(i64, i64); 4]) -> __m512i {
    let powers = _mm512_set_epi64(d.1, d.0, c.1, c.0, b.1, b.0, a.1, a.0);
    let low = _mm512_clmulepi64_epi128::<0x00>(folded, powers);
    let high = _mm512_clmulepi64_epi128::<0x11>(folded, powers);
    _mm512_xor_si512(low, high)
}

/// The first `count` bytes, a multiple of 4, with zeros in front of them.
#[inline]
#[target_feature(enable = "avx512f")]
fn last(bytes: __m512i, count: usize) -> __m512i {
    let zeros = u32::try_from(BLOCK.saturating_sub(count) / 4).unwrap_or(0);
    let places = _mm512_set_epi64(
        15 << 32 | 14,
        13 << 32 | 12,
        11 << 32 | 10,
        9 << 32 | 8,
        7 << 32 | 6,
        5 << 32 | 4,
        3 << 32 | 2,
        1 << 32,
    );
    let places = _mm512_sub_epi32(places, _mm512_set1_epi32(zeros.cast_signed()));
    let kept = u16::MAX.checked_shl(zeros).unwrap_or(0);
    _mm512_maskz_permutexvar_epi32(kept, places, bytes)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; BLOCK]) -> __m512i {
    transmute!(*bytes)
}
