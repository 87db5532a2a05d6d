//! With PCLMULQDQ, which all x86-64 processors since about 2011 have.
//!
//! The method is that of Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
//! Instruction" (Intel, 2009). A polynomial stands with its highest power in the lowest bit, as
//! the CRC of Ethernet is reflected; a product of two such has one zero bit below, for which the
//! constants make up.

use core::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_clmulepi64_si128, _mm_cvtsi32_si128, _mm_extract_epi32,
    _mm_or_si128, _mm_set_epi64x, _mm_setzero_si128, _mm_slli_si128, _mm_srli_si128, _mm_xor_si128,
};

use zerocopy::transmute;

use super::Mask;

/// Whether this processor has what [`masked`] needs.
#[inline]
pub(super) fn is_supported() -> bool {
    #[cfg(any(test, feature = "std"))]
    return std::is_x86_feature_detected!("pclmulqdq") && std::is_x86_feature_detected!("sse4.1");
    #[cfg(not(any(test, feature = "std")))]
    return cfg!(target_feature = "pclmulqdq") && cfg!(target_feature = "sse4.1");
}

/// See [`super::masked`].
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn masked(before: u32, bytes: &[u8], Mask(mask): &Mask) -> Option<u32> {
    let (first, _) = bytes.split_first_chunk::<16>()?;
    let (first_mask, _) = mask.split_first_chunk::<16>()?;
    let first = _mm_or_si128(load(first), load(first_mask));
    // The state goes into the first four bytes; from then on the CRC is that of a plain remainder,
    // for which zeros in front count nothing: with some the length is a multiple of 16.
    let first = _mm_xor_si128(first, _mm_cvtsi32_si128((!before).cast_signed()));
    let (first, taken) = match bytes.len() % 16 {
        0 => (first, 16),
        4 => (_mm_slli_si128::<12>(first), 4),
        8 => (_mm_slli_si128::<8>(first), 8),
        12 => (_mm_slli_si128::<4>(first), 12),
        _ => return None,
    };
    let (mut rest, mut mask) = (bytes.get(taken..)?, mask.get(taken..)?);
    // Two lanes, each every other block: one waits while the other multiplies.
    let mut lanes = [_mm_setzero_si128(), first];
    if let Some((block, behind)) = rest.split_first_chunk::<16>()
        && !rest.len().is_multiple_of(32)
    {
        let (block_mask, behind_mask) = mask.split_first_chunk::<16>()?;
        lanes = [first, _mm_or_si128(load(block), load(block_mask))];
        (rest, mask) = (behind, behind_mask);
    }
    let (blocks, _) = rest.as_chunks::<32>();
    let (masks, _) = mask.as_chunks::<32>();
    for (block, mask) in blocks.iter().zip(masks) {
        let ([block, next], [mask, next_mask]) = (halves(block), halves(mask));
        let (block, next) = (_mm_or_si128(block, mask), _mm_or_si128(next, next_mask));
        lanes = [fold(lanes[0], OVER_32, block), fold(lanes[1], OVER_32, next)];
    }
    for block in blocks.get(masks.len()..).unwrap_or_default() {
        let [block, next] = halves(block);
        lanes = [fold(lanes[0], OVER_32, block), fold(lanes[1], OVER_32, next)];
    }
    Some(!reduce(fold(lanes[0], OVER_16, lanes[1])))
}

#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn load(bytes: &[u8; 16]) -> __m128i {
    transmute!(*bytes)
}

#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn halves(bytes: &[u8; 32]) -> [__m128i; 2] {
    let (low, high) = bytes.split_at(16);
    let half = |half: &[u8]| load(half.first_chunk().unwrap_or(&[0; 16]));
    [half(low), half(high)]
}

/// What lifts the lower and the upper half of 16 bytes over the next 16: the remainders of the
/// powers 128 + 32 and 128 - 32 of x, one bit to the left.
pub(super) const OVER_16: (i64, i64) = (0x0001_7519_97d0, 0x0000_ccaa_009e);
/// Over the next 32: of 256 + 32 and 256 - 32.
pub(super) const OVER_32: (i64, i64) = (0x0000_f1da_05aa, 0x0001_5a54_6366);
/// Over 8: of 64.
const LIFT: i64 = 0x0001_63cd_6124;
/// The polynomial, and the quotient of the 64th power of x by it.
const BARRETT: (i64, i64) = (0x0001_db71_0641, 0x0001_f701_1641);

/// `folded`, lifted over what is between, and `next` as 16 bytes.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn fold(folded: __m128i, over: (i64, i64), next: __m128i) -> __m128i {
    let powers = _mm_set_epi64x(over.1, over.0);
    let low = _mm_clmulepi64_si128::<0x00>(folded, powers);
    let high = _mm_clmulepi64_si128::<0x11>(folded, powers);
    _mm_xor_si128(low, _mm_xor_si128(high, next))
}

/// The remainder of 16 bytes: they become 12, then 8, then 4 by Barrett's two multiplications.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn reduce(folded: __m128i) -> u32 {
    let low_32 = |x| _mm_and_si128(x, _mm_set_epi64x(0, 0xffff_ffff));
    let (upper, barrett) = (_mm_set_epi64x(OVER_16.1, LIFT), _mm_set_epi64x(BARRETT.1, BARRETT.0));
    let lifted = _mm_clmulepi64_si128::<0x10>(folded, upper);
    let twelve = _mm_xor_si128(lifted, _mm_srli_si128::<8>(folded));
    let lifted = _mm_clmulepi64_si128::<0x00>(low_32(twelve), upper);
    let eight = _mm_xor_si128(lifted, _mm_srli_si128::<4>(twelve));
    let quotient = _mm_clmulepi64_si128::<0x10>(low_32(eight), barrett);
    let product = _mm_clmulepi64_si128::<0x00>(low_32(quotient), barrett);
    _mm_extract_epi32::<1>(_mm_xor_si128(eight, product)).cast_unsigned()
}
