//! Scores of the analysis: what it finds in a scenario's frames, held to the scenario's truth.
//!
//! Every key that the truth has of a connection is compared, and a key that is unknown by the
//! truth must be unknown to the analysis. So are what happened to single frames, as far as the
//! analysis shows it by the same frames, and the sums of the capture, which the verdict has to tell
//! as well. Not compared are `name`, which is the scenario's own,
//! `confidence`: the truth is sure, and `lost`: whether or not the capture tells it. Which end is
//! called A is the scenario's own, too.

mod details;
mod fields;
mod pairs;

use std::convert::Infallible;

use roce_analyze::connections::json::Document;
use roce_analyze::connections::{Config, Report, Tracker};
use roce_analyze::findings::{Policy, RULES, evaluate};
use roce_analyze::verdict::{self, FrameInfo, Verdict};
use roce_craft::{Builtin, Craft, Scenario, Truth};
use roce_wire::{Frame, Link, Ports, Reject};
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
    /// How the losses that are told compare with those that the capture tells.
    pub losses: Losses,
}

/// Directions in which losses are told that were none, or not told. What was lost or late, as the
/// analysis says, may have been either.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// More is told as lost than was.
    pub invented: usize,
    /// Less is told as lost, or as lost or late.
    pub missed: usize,
    /// Some were lost or late.
    pub undecided: usize,
}

impl Losses {
    fn compare(&mut self, truth: &Value, found: &Value) {
        let at = |value: &Value, pointer: String| value.pointer(&pointer)?.as_u64();
        for direction in ["a_to_b", "b_to_a"] {
            for place in ["before_capture", "after_capture", "not_captured", "unknown"] {
                let field = format!("/{direction}/loss/{place}");
                let Some(lost) = at(truth, field.clone()) else { continue };
                let told = at(found, field).unwrap_or(0);
                let doubt = at(found, format!("/{direction}/lost_or_late/{place}")).unwrap_or(0);
                self.invented += usize::from(told > lost);
                self.missed += usize::from(told + doubt < lost);
                self.undecided += usize::from(doubt > 0);
            }
        }
    }
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
        Self::compare(name, &play(scenario))
    }

    /// Compares what was found in a scenario's frames with its truth.
    pub(crate) fn compare(name: &'static str, played: &Played) -> Self {
        let Played { truth, report, .. } = played;
        let mut score = Self {
            scenario: name,
            connections: truth.connections.len(),
            exact: 0,
            off: Vec::new(),
            losses: Losses::default(),
        };
        score.capture(played);
        score.proofs(report);
        let details = serde_json::to_value(&truth.details).unwrap();
        let details = details.as_array().map_or(&[][..], Vec::as_slice);
        let truth = serde_json::to_value(truth).unwrap();
        let found = serde_json::to_value(Document(report)).unwrap();
        let (truth, found) = (list(&truth), list(&found));
        let mut pairs = pairs::pair(truth, found);
        for (truth, found) in truth.iter().zip(pairs.by_ref()) {
            let connection = truth["id"].as_u64().unwrap();
            match found {
                Some(found) => {
                    score.losses.compare(truth, &found);
                    fields::compare(truth, &found, &mut |field, truth, analysis, same| {
                        score.add(connection, field, (truth, analysis), same);
                    });
                    details::compare(details, truth, &found, &mut |field, truth, analysis| {
                        let same = truth == analysis;
                        score.add(connection, field, (Some(&truth), Some(&analysis)), same);
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

    /// Every finding names frames, unless its rule says why not.
    fn proofs(&mut self, report: &Report) {
        for finding in evaluate(report, &Policy::default()) {
            let rule = RULES.iter().find(|rule| rule.id == finding.id).unwrap();
            if finding.frames.is_empty() && rule.why_no_frames().is_none() {
                self.add(0, &format!("frames of {}", finding.id), (None, None), false);
            }
        }
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
    fn capture(&mut self, Played { truth, report, verdict }: &Played) {
        let totals = &report.totals;
        let rejected = &truth.rejected;
        let not_roce = rejected.unknown_opcode + rejected.bad_tver + rejected.too_short;
        let times = totals.times.unzip();
        let because = |reason: Reject| {
            let at = Reject::ALL.iter().position(|other| *other == reason);
            Value::from(at.map(|at| verdict.rejected[at]))
        };
        let unreachable = u64::try_from(totals.unreachable.len()).unwrap();
        for (field, truth, analysis) in [
            ("frames", truth.frames.into(), totals.frames.into()),
            ("verdict.frames", truth.frames.into(), verdict.all.packets.into()),
            ("verdict.bytes", truth.bytes.into(), verdict.all.bytes.into()),
            ("first_ns", truth.first_ns.into(), times.0.into()),
            ("last_ns", truth.last_ns.into(), times.1.into()),
            ("verdict.first_ns", truth.first_ns.into(), verdict.first_ns.into()),
            ("verdict.last_ns", truth.last_ns.into(), verdict.last_ns.into()),
            ("congestion.pfc", truth.congestion.pfc.into(), totals.pfc.into()),
            ("congestion.pause", truth.congestion.pause.into(), totals.pause.into()),
            ("rejected", not_roce.into(), totals.not_roce.into()),
            (
                "rejected.unknown_opcode",
                rejected.unknown_opcode.into(),
                because(Reject::UnknownOpcode),
            ),
            ("rejected.bad_tver", rejected.bad_tver.into(), because(Reject::BadTver)),
            ("rejected.too_short", rejected.too_short.into(), because(Reject::TooShort)),
            ("rejected.all", not_roce.into(), verdict.rejected_total().into()),
            ("icmp_unreachable", truth.icmp_unreachable.min(10).into(), unreachable.into()),
        ] {
            let (truth, analysis): (Value, Value) = (truth, analysis);
            self.add(0, field, (Some(&truth), Some(&analysis)), truth == analysis);
        }
    }
}

/// A scenario's truth, and what was found in its frames.
pub(crate) struct Played {
    truth: Truth,
    pub(crate) report: Report,
    verdict: Verdict,
}

impl Played {
    /// Whether any transmission did not arrive, or was not captured.
    pub(crate) fn has_lost(&self) -> bool {
        let ends = self.truth.connections.iter().flat_map(|c| [&c.a_to_b, &c.b_to_a]);
        ends.into_iter()
            .any(|end| end.lost.before_capture + end.lost.after_capture + end.lost.not_captured > 0)
    }
}

/// The frames of a scenario, to the analysis as they come.
pub(crate) fn play(scenario: &Scenario) -> Played {
    let mut tracker = Tracker::new(Config::default());
    let mut verdict = Verdict::new(verdict::Config::default());
    let ports = Ports::default();
    let Ok(truth) = Craft::new(scenario).run(|crafted| -> Result<(), Infallible> {
        let frame = Frame::parse(Link::Ethernet, crafted.bytes, crafted.wire_len, &ports);
        let time_ns = Some(crafted.time_ns);
        tracker.observe(&frame, crafted.number, time_ns);
        let wire_len = u32::try_from(crafted.wire_len).unwrap();
        let info = FrameInfo { number: crafted.number, time_ns, wire_len };
        verdict.observe(&frame, Link::Ethernet, &info);
        Ok(())
    });
    Played { truth, report: tracker.finish(), verdict }
}

fn list(document: &Value) -> &[Value] {
    document["connections"].as_array().map_or(&[], Vec::as_slice)
}
