//! Prints how the analysis scores on every built-in scenario: `score [NAME…]`.
//!
//! A field that is off for a known reason is in brackets. Fails when any other is off.

#![allow(clippy::arithmetic_side_effects, reason = "a tool of the tests, which adds up a few sums")]

use std::process::ExitCode;

use roce_craft::BUILTIN;
use roce_sniff_tests::score::{KNOWN, Known, Off, Score};
use serde_json::Value;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let (mut exact, mut known, mut off) = (0, 0, 0);
    println!(
        "{:<24} {:>11} {:>6} {:>5} {:>5}  off",
        "scenario", "connections", "exact", "known", "off"
    );
    for builtin in BUILTIN.iter().filter(|builtin| chosen(builtin.name)) {
        let score = Score::of(builtin);
        let unexplained = score.unexplained().count();
        let explained = score.off.len() - unexplained;
        println!(
            "{:<24} {:>11} {:>6} {explained:>5} {unexplained:>5}  {}",
            score.scenario,
            score.connections,
            score.exact,
            fields(&score)
        );
        (exact, known, off) = (exact + score.exact, known + explained, off + unexplained);
    }
    println!("{:<24} {:>11} {exact:>6} {known:>5} {off:>5}", "all", "");
    for reason in KNOWN.iter().filter(|known| chosen(known.scenario)) {
        let Known { scenario, connection, fields, why } = reason;
        println!("\n[{scenario} #{connection} {}]\n  {why}", fields.join(", "));
    }
    if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The fields that are off, with both values.
fn fields(score: &Score) -> String {
    let unexplained: Vec<_> = score.unexplained().collect();
    let text = |off: &Off| {
        let text = format!(
            "#{} {}: {} not {}",
            off.connection,
            off.field,
            brief(off.analysis.as_ref()),
            brief(off.truth.as_ref())
        );
        if unexplained.contains(&off) { text } else { format!("[{text}]") }
    };
    score.off.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A value as one word.
fn brief(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Object(_)) => "something".to_owned(),
        Some(value) => value.to_string(),
    }
}
