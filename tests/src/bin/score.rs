//! Prints how the analysis scores on every built-in scenario: `score [NAME…]`. Fails when any field
//! is off.

#![allow(clippy::arithmetic_side_effects, reason = "a tool of the tests, which adds up a few sums")]

use std::process::ExitCode;

use roce_craft::BUILTIN;
use roce_sniff_tests::score::{Off, Score};
use serde_json::Value;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let (mut exact, mut off) = (0, 0);
    println!("{:<24} {:>11} {:>6} {:>5}  off", "scenario", "connections", "exact", "off");
    for builtin in BUILTIN.iter().filter(|builtin| chosen(builtin.name)) {
        let score = Score::of(builtin);
        let fields: Vec<String> = score.off.iter().map(text).collect();
        println!(
            "{:<24} {:>11} {:>6} {:>5}  {}",
            score.scenario,
            score.connections,
            score.exact,
            score.off.len(),
            fields.join(", ")
        );
        (exact, off) = (exact + score.exact, off + score.off.len());
    }
    println!("{:<24} {:>11} {exact:>6} {off:>5}", "all", "");
    if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A field that is off, with both values.
fn text(off: &Off) -> String {
    let (found, truth) = (brief(off.analysis.as_ref()), brief(off.truth.as_ref()));
    format!("#{} {}: {found} not {truth}", off.connection, off.field)
}

/// A value as one word.
fn brief(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Object(_)) => "something".to_owned(),
        Some(value) => value.to_string(),
    }
}
