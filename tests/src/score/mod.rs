//! Scores of the analysis: what it finds in a scenario's frames, held to the scenario's truth.
//!
//! Every key that the truth has of a connection is compared, and a key that is unknown by the
//! truth must be unknown to the analysis. Not compared are `name`, which is the scenario's own,
//! `confidence`: the truth is sure, and `lost`: whether or not the capture tells it. Which end is
//! called A is the scenario's own, too.

mod fields;
mod pairs;

use std::convert::Infallible;

use roce_analyze::connections::json::Document;
use roce_analyze::connections::{Config, Report, Tracker};
use roce_craft::{Builtin, Craft, Scenario, Truth};
use roce_wire::{Frame, Link, Ports};
use serde_json::Value;

/// What was compared of one scenario.
#[derive(Clone, Debug)]
pub struct Score {
    /// Its name.
    pub scenario: &'static str,
    /// How many connections there are in truth.
    pub connections: usize,
    /// How many fields are equal.
    pub exact: usize,
    /// The fields that are not.
    pub off: Vec<Off>,
}

/// A field in which the analysis differs from the truth.
#[derive(Clone, PartialEq, Debug)]
pub struct Off {
    /// The connection's number in the truth, or of one that only the analysis has; 0 for what is
    /// counted of the whole capture.
    pub connection: u64,
    /// Its keys, with dots between.
    pub field: String,
    /// What the truth says, where it says anything.
    pub truth: Option<Value>,
    /// What the analysis says, where it says anything.
    pub analysis: Option<Value>,
}

impl Score {
    /// Plays a scenario to the analysis and compares.
    #[must_use]
    pub fn of(builtin: &Builtin) -> Self {
        let scenario = Scenario::parse(builtin.text)
            .unwrap_or_else(|error| panic!("{}: {error}", builtin.name));
        Self::of_scenario(builtin.name, &scenario)
    }

    /// The same of any scenario.
    #[must_use]
    pub fn of_scenario(name: &'static str, scenario: &Scenario) -> Self {
        let (truth, report) = play(scenario, Config::default());
        Self::compare(name, &truth, &report)
    }

    /// Compares what was found in a scenario's frames with its truth.
    #[must_use]
    pub fn compare(name: &'static str, truth: &Truth, report: &Report) -> Self {
        let mut score = Self {
            scenario: name,
            connections: truth.connections.len(),
            exact: 0,
            off: Vec::new(),
        };
        score.capture(truth, report);
        let truth = serde_json::to_value(truth).unwrap();
        let found = serde_json::to_value(Document(report)).unwrap();
        let (truth, found) = (list(&truth), list(&found));
        let mut pairs = pairs::pair(truth, found);
        for (truth, found) in truth.iter().zip(pairs.by_ref()) {
            let connection = truth["id"].as_u64().unwrap();
            match found {
                Some(found) => {
                    fields::compare(truth, &found, &mut |field, truth, analysis, same| {
                        score.add(connection, field, (truth, analysis), same);
                    });
                }
                None => score.add(connection, "connection", (Some(truth), None), false),
            }
        }
        for extra in pairs.left() {
            let connection = extra["id"].as_u64().unwrap();
            score.add(connection, "connection", (None, Some(extra)), false);
        }
        score
    }

    fn add(
        &mut self,
        connection: u64,
        field: &str,
        (truth, analysis): (Option<&Value>, Option<&Value>),
        is_same: bool,
    ) {
        if is_same {
            self.exact += 1;
            return;
        }
        let (truth, analysis) = (truth.cloned(), analysis.cloned());
        self.off.push(Off { connection, field: field.to_owned(), truth, analysis });
    }

    /// What is counted of the whole capture.
    fn capture(&mut self, truth: &Truth, report: &Report) {
        let totals = &report.totals;
        let rejected = &truth.rejected;
        let not_roce = rejected.unknown_opcode + rejected.bad_tver + rejected.too_short;
        let connections = |n: usize| u64::try_from(n).unwrap();
        for (field, truth, analysis) in [
            ("frames", truth.frames, totals.frames),
            ("congestion.pfc", truth.congestion.pfc, totals.pfc),
            ("congestion.pause", truth.congestion.pause, totals.pause),
            ("rejected", not_roce, totals.not_roce),
            (
                "icmp_unreachable",
                truth.icmp_unreachable.min(10),
                connections(totals.unreachable.len()),
            ),
        ] {
            let values = (Value::from(truth), Value::from(analysis));
            self.add(0, field, (Some(&values.0), Some(&values.1)), truth == analysis);
        }
    }
}

/// The frames of a scenario, to the analysis as they come.
pub(crate) fn play(scenario: &Scenario, config: Config) -> (Truth, Report) {
    let mut tracker = Tracker::new(config);
    let ports = Ports::default();
    let Ok(truth) = Craft::new(scenario).run(|crafted| -> Result<(), Infallible> {
        let frame = Frame::parse(Link::Ethernet, crafted.bytes, crafted.wire_len, &ports);
        tracker.observe(&frame, crafted.number, Some(crafted.time_ns));
        Ok(())
    });
    (truth, tracker.finish())
}

fn list(document: &Value) -> &[Value] {
    document["connections"].as_array().map_or(&[], Vec::as_slice)
}
