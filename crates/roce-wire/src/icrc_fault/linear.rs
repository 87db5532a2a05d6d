//! How a difference in bytes becomes one in the CRC, and back.
//!
//! A CRC is linear: change some bytes, and it changes by an amount that depends on nothing but
//! which bits changed, and how many bytes come behind them. So one CRC tells what any change of a
//! header would do, and from a wrong CRC follows which four bytes at a given place explain it.
//! A difference passes over bytes that did not change as a multiplication by a power of x.

/// The polynomial of CRC-32, reflected: the highest bit is x⁰.
const POLYNOMIAL: u32 = 0xedb8_8320;
const ONE: u32 = 1 << 31;

/// A difference in the CRC, `bytes` bytes further on.
pub(super) fn after(difference: u32, bytes: usize) -> u32 {
    times_power(difference, forth_by_8(), bytes)
}

/// Where a difference in the CRC comes from, `bytes` bytes further ahead. With four more than stand
/// behind a place, it is the difference in the four bytes there, the first byte lowest.
pub(super) fn before(difference: u32, bytes: usize) -> u32 {
    times_power(difference, back_by_8(), bytes)
}

/// x⁸.
fn forth_by_8() -> u32 {
    (0..8).fold(ONE, |power, _| times_x(power))
}

/// x⁻⁸.
fn back_by_8() -> u32 {
    (0..8).fold(ONE, |power, _| {
        // The polynomial has a term x³², which is the highest bit once it is shifted.
        if power & ONE == 0 { power << 1 } else { (power ^ POLYNOMIAL) << 1 | 1 }
    })
}

const fn times_x(factor: u32) -> u32 {
    factor >> 1 ^ if factor & 1 == 1 { POLYNOMIAL } else { 0 }
}

fn times(a: u32, b: u32) -> u32 {
    let (product, _) = (0..32).fold((0, b), |(product, b), bit| {
        (if a << bit & ONE == 0 { product } else { product ^ b }, times_x(b))
    });
    product
}

/// `value` times `base` to the power of `exponent`.
fn times_power(mut value: u32, mut base: u32, mut exponent: usize) -> u32 {
    while exponent > 0 {
        if exponent & 1 == 1 {
            value = times(value, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_bytes_is_found_again_in_the_crc() {
        let mut bytes = [0x5a; 300];
        let right = crc32fast::hash(&bytes);
        for at in [0, 17, 100, 295, 296] {
            let change = [0x12, 0x00, 0xff, 0x80];
            for (byte, change) in bytes[at..].iter_mut().zip(change) {
                *byte ^= change;
            }
            let difference = crc32fast::hash(&bytes) ^ right;
            assert_eq!(before(difference, 300 - at), u32::from_le_bytes(change), "at {at}");
            assert_eq!(after(u32::from_le_bytes(change), 300 - at), difference, "at {at}");
            bytes = [0x5a; 300];
        }
    }

    #[test]
    fn nothing_moves_by_no_bytes() {
        assert_eq!((after(7, 0), before(7, 0)), (7, 7));
        assert_eq!(before(after(0xdead_beef, 4096), 4096), 0xdead_beef);
    }
}
