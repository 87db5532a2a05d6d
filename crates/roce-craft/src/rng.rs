//! A small random number generator: the same seed gives the same numbers on every platform.

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
///
/// Good enough to spread losses and addresses; nothing here is secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rng(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    #[cfg(test)]
    const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for part number `part`, independent of how much others have drawn.
    pub(crate) const fn fork(seed: u64, part: u64) -> Self {
        let mut mixed = Self(seed ^ part.wrapping_mul(GOLDEN).rotate_left(31));
        let start = mixed.next();
        Self(start)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product; the bias is below 2^-32 for the bounds used here.
        let product = u128::from(self.next()).wrapping_mul(u128::from(bound));
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// True as often as `chance` says.
    pub(crate) fn happens(&mut self, chance: Chance) -> bool {
        self.next() < chance.0
    }
}

/// A probability in units of 2^-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Chance(u64);

impl Chance {
    /// From a number of 0 to 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the product is checked to lie within the range; the cast saturates"
    )]
    pub(crate) fn new(probability: f64) -> Option<Self> {
        // 2^64 as a float is exact, so this rounds alike on every platform.
        (0.0..=1.0)
            .contains(&probability)
            .then_some(Self((probability * 18_446_744_073_709_551_616.0) as u64))
    }

    pub(crate) const fn is_never(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        // The first outputs for seed 1234567 of the authors' C code, as published with its tests.
        let mut rng = Rng::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| rng.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn chances_happen_about_as_often_as_they_say() {
        let mut rng = Rng::new(5);
        let tenth = Chance::new(0.1).unwrap();
        let hits = (0..100_000).filter(|_| rng.happens(tenth)).count();
        assert!((9_700..10_300).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| rng.below(7) < 7));
        assert_eq!(
            (Chance::new(1.5), Chance::new(-0.1), Chance::new(f64::NAN)),
            (None, None, None)
        );
        assert!(Chance::new(0.0).unwrap().is_never());
    }
}
