//! The analysis of every built-in scenario is the truth, field by field.

use roce_craft::BUILTIN;
use roce_sniff_tests::score::{KNOWN, Off, Score};

#[test]
fn the_analysis_of_every_scenario_is_its_truth() {
    let scores: Vec<Score> = BUILTIN.iter().map(Score::of).collect();
    for score in &scores {
        let off: Vec<_> = score.unexplained().collect();
        assert!(off.is_empty(), "{}: {off:#?}", score.scenario);
        assert!(score.exact > 0, "{}: nothing was compared", score.scenario);
    }
    // What was put right leaves the list of what is known to be wrong.
    for known in KNOWN {
        let score = scores.iter().find(|score| score.scenario == known.scenario).unwrap();
        for field in known.fields {
            let is_off = |off: &Off| off.connection == known.connection && off.field == *field;
            let is_off = score.off.iter().any(is_off);
            assert!(is_off, "{} #{} {field} is exact", known.scenario, known.connection);
        }
    }
}
