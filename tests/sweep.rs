//! The analysis of families of random scenarios is their truth, as far as a capture tells it.

#![allow(clippy::arithmetic_side_effects, reason = "a test may be blunt")]

use roce_sniff_tests::sweep::{FAMILIES, Family};

/// How many scenarios of each family are played.
const SEEDS: usize = 60;

/// Plays the family; says which scenarios are not exact.
fn sweep(family: &Family) -> Vec<String> {
    let runs = (0..).map(|seed| family.play(seed)).take(SEEDS);
    let off = runs.filter(|run| !run.is_exact());
    off.map(|run| {
        let fields: Vec<_> = run.off().collect();
        format!("{}{:?}\n{fields:#?}", run.text, run.alarms)
    })
    .collect()
}

#[test]
fn healthy_and_mirrored_captures_are_told_exactly() {
    for family in FAMILIES.iter().filter(|family| family.exact == 100) {
        let off = sweep(family);
        assert!(off.is_empty(), "{}: {}\n{}", family.name, off.len(), off[0]);
    }
}

#[test]
fn most_of_what_goes_wrong_is_told_exactly() {
    for family in FAMILIES {
        let exact = SEEDS - sweep(family).len();
        assert!(exact * 100 >= family.exact * SEEDS, "{}: {exact} of {SEEDS}", family.name);
    }
}
