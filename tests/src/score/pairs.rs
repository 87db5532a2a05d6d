//! Which connection of the analysis is which of the truth.

use std::collections::VecDeque;

use serde_json::Value;

/// For each connection of the truth that of the analysis; then those that are left.
pub(super) struct Pairs {
    found: VecDeque<Option<Value>>,
    left: Vec<Value>,
}

impl Iterator for Pairs {
    type Item = Option<Value>;

    fn next(&mut self) -> Option<Self::Item> {
        self.found.pop_front()
    }
}

impl Pairs {
    /// Those that only the analysis has.
    pub(super) fn left(&self) -> &[Value] {
        &self.left
    }
}

/// What tells one connection between two hosts from another.
const MARKS: [&str; 4] = ["/a/qpn", "/b/qpn", "/a/start_psn", "/b/start_psn"];

/// Pairs those with the same version and hosts, the most alike first. Where one says a queue pair
/// or PSN, the other may say nothing, but nothing else.
pub(super) fn pair(truth: &[Value], analysis: &[Value]) -> Pairs {
    let mut left: Vec<Option<Value>> = analysis.iter().cloned().map(Some).collect();
    let mut found = vec![None; truth.len()];
    for wanted in (0..=MARKS.len()).rev() {
        for (truth, found) in truth.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            for candidate in &mut left {
                let Some(turned) = candidate.as_ref().and_then(|c| turned_like(truth, c)) else {
                    continue;
                };
                if likeness(truth, &turned) == Some(wanted) {
                    (*found, *candidate) = (Some(turned), None);
                    break;
                }
            }
        }
    }
    Pairs { found: found.into(), left: left.into_iter().flatten().collect() }
}

/// How many marks are the same; `None` when any contradicts.
fn likeness(truth: &Value, analysis: &Value) -> Option<usize> {
    let mut same = 0;
    for mark in MARKS {
        match (truth.pointer(mark), analysis.pointer(mark)) {
            (Some(truth), Some(analysis)) if truth != analysis => return None,
            (truth, analysis) => same += usize::from(truth == analysis),
        }
    }
    Some(same)
}

/// The connection with its ends as the truth names them; `None` when the hosts are others.
fn turned_like(truth: &Value, analysis: &Value) -> Option<Value> {
    if truth["version"] != analysis["version"] {
        return None;
    }
    let addr = |connection: &Value, end: &str| connection[end]["addr"].clone();
    let (a, b) = (addr(truth, "a"), addr(truth, "b"));
    let turned = turn(analysis);
    [analysis.clone(), turned]
        .into_iter()
        .filter(|c| addr(c, "a") == a && addr(c, "b") == b)
        .max_by_key(|c| likeness(truth, c))
}

fn turn(connection: &Value) -> Value {
    let mut turned = connection.clone();
    for (to, from) in [("a", "b"), ("b", "a"), ("a_to_b", "b_to_a"), ("b_to_a", "a_to_b")] {
        turned[to] = connection[from].clone();
    }
    turned
}
