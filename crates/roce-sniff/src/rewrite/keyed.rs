//! Keyed permutations: names without memory.
//!
//! What is renamed by a permutation is renamed the same way everywhere, never to a name that
//! another has, and needs no table. The permutations are Feistel networks whose round function is
//! SipHash-2-4 (Aumasson and Bernstein, 2012) under a key that is made of the seed.

use std::cell::RefCell;

/// How often the halves are mixed. Four rounds make a permutation that cannot be told from a random
/// one by who sees some of it (Luby and Rackoff, 1988); small domains want more.
const ROUNDS: u64 = 8;

/// A key of 128 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key(u64, u64);

impl Key {
    /// The key of a seed.
    pub(super) fn of_seed(seed: &str) -> Self {
        let half = |which| siphash(Self(which, 0x726f_6365), seed.as_bytes());
        Self(half(1), half(2))
    }

    /// A number that depends on all of these and tells nothing of them.
    pub(super) fn number(self, [a, b, c]: [u64; 3]) -> u64 {
        let mut bytes = [0; 24];
        for (room, word) in bytes.chunks_exact_mut(8).zip([a, b, c]) {
            room.copy_from_slice(&word.to_le_bytes());
        }
        siphash(self, &bytes)
    }

    /// The place of `value` in a permutation of all numbers of `bits` bits, 2 to 128. `domain`
    /// names the permutation; each `tweak` has one of its own.
    pub(super) fn permute(self, (domain, tweak): (u64, u64), bits: u32, value: u128) -> u128 {
        let low_bits = bits / 2;
        let high_bits = bits.saturating_sub(low_bits);
        let (low_mask, high_mask) = (mask(low_bits), mask(high_bits));
        let mut low = half(value) & low_mask;
        let mut high = half(value.checked_shr(low_bits).unwrap_or(0)) & high_mask;
        for round in 0..ROUNDS {
            let domain = domain << 8 | round;
            if round % 2 == 0 {
                high ^= self.number([domain, tweak, low]) & high_mask;
            } else {
                low ^= self.number([domain, tweak, high]) & low_mask;
            }
        }
        u128::from(high).checked_shl(low_bits).unwrap_or(0) | u128::from(low)
    }

    /// The same among those numbers only that `belongs` accepts, `value` one of them: what leads
    /// out of them is permuted on until it is back, which is a permutation again.
    pub(super) fn permute_among(
        self,
        which: (u64, u64),
        bits: u32,
        value: u128,
        belongs: impl Fn(u128) -> bool,
    ) -> u128 {
        let mut next = self.permute(which, bits, value);
        while !belongs(next) && next != value {
            next = self.permute(which, bits, next);
        }
        next
    }

    /// Fills `out` with what depends on these numbers.
    pub(super) fn fill(self, which: [u64; 3], out: &mut [u8]) {
        // SplitMix64 (Steele, Lea and Flood, 2014): a hash for every word would cost more than
        // everything else that is done to a packet.
        let mut state = self.number(which);
        for room in out.chunks_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state;
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^= word >> 31;
            for (byte, random) in room.iter_mut().zip(word.to_le_bytes()) {
                *byte = random;
            }
        }
    }
}

/// Places that were looked up lately: the same few names come again in every packet.
pub(super) struct Memo {
    slots: RefCell<Vec<Option<Known>>>,
}

/// What was looked up, and what came of it.
#[derive(Clone, Copy)]
struct Known {
    which: (u64, u64),
    value: u128,
    new: u128,
}

impl Memo {
    /// How many are remembered; a new one takes the place of an old one.
    const LEN: usize = 4096;

    pub(super) fn new() -> Self {
        Self { slots: RefCell::new(vec![None; Self::LEN]) }
    }

    /// What `find` finds, unless it is known.
    pub(super) fn get(&self, which: (u64, u64), value: u128, find: impl FnOnce() -> u128) -> u128 {
        let mixed = half(value) ^ half(value >> 64).rotate_left(23) ^ which.1.rotate_left(7);
        let place = mixed.wrapping_add(which.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        let place = usize::try_from(place).unwrap_or(0);
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(place) else { return find() };
        match slot {
            Some(known) if (known.which, known.value) == (which, value) => known.new,
            _ => {
                let new = find();
                *slot = Some(Known { which, value, new });
                new
            }
        }
    }
}

/// So many ones.
fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(64_u32.saturating_sub(bits)).unwrap_or(0)
}

/// The lower 64 bits.
fn half(value: u128) -> u64 {
    u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0)
}

/// SipHash-2-4.
fn siphash(Key(k0, k1): Key, bytes: &[u8]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        absorb(&mut v, u64::from_le_bytes(*word));
    }
    // The last word: what is left, and the length in its last byte.
    let mut last = [0; 8];
    for (room, byte) in last.iter_mut().zip(rest) {
        *room = *byte;
    }
    let length = u64::try_from(bytes.len()).unwrap_or(0) & 0xff;
    absorb(&mut v, u64::from_le_bytes(last) | length << 56);
    v[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    round(v);
    v[0] ^= word;
}

fn round(v: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *v;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *v = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn siphash_is_that_of_its_paper() {
        // Appendix A of the paper: key 00..0f, message 00..0e.
        let key = Key(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_permutation_meets_every_number_once() {
        let key = Key::of_seed("seed");
        for bits in [2, 3, 8, 11, 16] {
            let all: HashSet<u128> = (0..1 << bits).map(|n| key.permute((1, 2), bits, n)).collect();
            assert_eq!(all.len(), 1 << bits);
            assert!(all.iter().all(|n| *n < 1 << bits));
        }
        let belongs = |n| n % 3 == 1 && n < 2000;
        let some: HashSet<u128> = (0..2000)
            .filter(|n| belongs(*n))
            .map(|n| key.permute_among((1, 2), 11, n, belongs))
            .collect();
        assert_eq!(some.len(), 667);
        assert!(some.into_iter().all(belongs));
    }

    #[test]
    fn a_memo_tells_what_it_was_told() {
        let memo = Memo::new();
        for round in 0..2 {
            for value in 0..10_000 {
                let found = memo.get((value as u64 % 3, 7), value, || value * 2);
                assert_eq!(found, value * 2, "{round}");
            }
        }
        assert_eq!(memo.get((0, 0), 5, || 6), 6);
        assert_eq!(memo.get((0, 0), 5, || panic!()), 6);
    }

    #[test]
    fn seeds_domains_and_tweaks_have_permutations_of_their_own() {
        let [a, b] = ["a", "b"].map(Key::of_seed);
        let first = a.permute((1, 0), 24, 7);
        assert_eq!(first, a.permute((1, 0), 24, 7));
        for other in [b.permute((1, 0), 24, 7), a.permute((2, 0), 24, 7), a.permute((1, 1), 24, 7)]
        {
            assert_ne!(first, other);
        }
        let wide = a.permute((1, 0), 128, u128::MAX);
        assert!(wide >> 64 != 0 && wide & u128::from(u64::MAX) != 0);
    }
}
