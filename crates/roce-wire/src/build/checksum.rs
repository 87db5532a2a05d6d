//! Checksums other than the ICRC: the Internet checksum (RFC 1071) and InfiniBand's VCRC.

/// Adds `bytes` to a sum of 16-bit words; an odd byte at the end counts as the high half of one.
#[inline]
pub(super) fn sum(mut sum: u32, bytes: &[u8]) -> u32 {
    // Each word is below 2^16 and the sum is folded below, so nothing is lost for frames of up to
    // 128 KiB; wrapping says so without a branch.
    let (pairs, rest) = bytes.as_chunks::<4>();
    for pair in pairs {
        let pair = u32::from_be_bytes(*pair);
        sum = sum.wrapping_add(pair >> 16).wrapping_add(pair & 0xffff);
    }
    let (words, rest) = rest.as_chunks::<2>();
    for word in words {
        sum = sum.wrapping_add(u32::from(u16::from_be_bytes(*word)));
    }
    if let [last] = *rest {
        sum = sum.wrapping_add(u32::from(last) << 8);
    }
    sum
}

/// The checksum of a sum: its carries folded in, its complement taken.
pub(super) fn finish(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16).wrapping_add(sum & 0xffff);
    }
    // Folded above, so the low half is the whole.
    let [_, _, hi, lo] = sum.to_be_bytes();
    !u16::from_be_bytes([hi, lo])
}

/// The variant CRC of native InfiniBand over everything from the LRH through the ICRC, as its two
/// bytes stand on the wire.
///
/// CRC-16 with polynomial 0x100B, reflected, preset and complemented to ones, least significant
/// byte first (IBTA 7.8.2; the real frames of link type 247 agree).
pub(super) fn vcrc(bytes: &[u8]) -> [u8; 2] {
    let mut crc = 0xffffu16;
    for &byte in bytes {
        crc ^= u16::from(byte);
        for _ in 0..8 {
            let carry = crc & 1;
            crc >>= 1;
            if carry != 0 {
                // 0x100B read from the other end.
                crc ^= 0xd008;
            }
        }
    }
    (!crc).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(finish(sum(0, &bytes)), !0xddf2);
        // An odd byte is padded with zero behind it.
        assert_eq!(sum(0, &[0x12]), 0x1200);
    }

    #[test]
    fn the_vcrc_is_that_of_an_independent_program() {
        // A bitwise division in Python that gives the VCRC of captured InfiniBand frames.
        assert_eq!(vcrc(b"123456789"), 0x0a3du16.to_le_bytes());
    }
}
