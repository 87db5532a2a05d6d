//! The analysis of every built-in scenario is the truth, field by field.

use roce_craft::BUILTIN;
use roce_sniff_tests::score::Score;

#[test]
fn the_analysis_of_every_scenario_is_its_truth() {
    for score in BUILTIN.iter().map(Score::of) {
        assert!(score.off.is_empty(), "{}: {:#?}", score.scenario, score.off);
        assert!(score.exact > 0, "{}: nothing was compared", score.scenario);
    }
}
