//! The analysis of families of random scenarios is their truth, as far as a capture tells it.

#![allow(clippy::arithmetic_side_effects, reason = "a test may be blunt")]

use roce_sniff_tests::score::Losses;
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

#[test]
fn packets_that_overtake_each_other_are_seldom_taken_for_lost() {
    let sprayed = FAMILIES.iter().find(|family| family.name == "sprayed").unwrap();
    let runs = (0..).map(|seed| sprayed.play(seed)).take(SEEDS);
    let wrong = runs.filter(|run| !run.false_losses.is_empty()).count();
    assert!(wrong * 100 <= 8 * SEEDS, "{wrong} of {SEEDS}");
}

#[test]
fn what_cannot_be_told_from_late_packets_is_seldom_told_wrongly() {
    let family = FAMILIES.iter().find(|family| family.name == "sprayed-loss").unwrap();
    let losses: Vec<_> = (0..).map(|seed| family.play(seed).score.losses).take(SEEDS).collect();
    let count = |is: fn(&Losses) -> bool| losses.iter().filter(|losses| is(losses)).count();
    let (invented, missed) = (count(|l| l.invented > 0), count(|l| l.missed > 0));
    assert!((invented + missed) * 100 <= 15 * SEEDS, "{invented} and {missed} of {SEEDS}");
    assert!(losses.iter().any(|l| l.undecided > 0));
}
