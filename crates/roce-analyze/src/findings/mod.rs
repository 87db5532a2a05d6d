//! Findings: what is wrong on this wire, the frames that prove it, and what to do.
//!
//! A finding is a judgement of a [`Report`]. Each comes from one rule of [`RULES`]; a rule speaks
//! only where frames prove it, so a healthy capture has no finding.

mod capture;
mod collect;
mod congestion;
mod endpoint;
mod flow_control;
mod loss;
mod marking;
mod one_way;
mod path;
mod policy;
mod rewritten;
mod rules;
mod setup;
mod versions;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

pub use capture::JITTER;
pub use collect::MANY_FRAMES;
pub use policy::{CaptureFacts, Policy};
pub use rules::{RULES, Rule};

use crate::Thousandths;
use crate::connections::Report;
use collect::Collector;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It does not work, or data is damaged.
    Error,
    /// It works, and badly.
    Warning,
    /// Worth knowing.
    Info,
}

/// A value that supports a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count, or a number with its unit in the name.
    Number(u64),
    /// A number between whole ones, with its unit in the name.
    Real(Thousandths),
    /// A text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
    /// Several numbers.
    Numbers(Vec<u64>),
}

/// A judgement with its evidence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The stable name of the rule.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, in one line.
    pub title: &'static str,
    /// Whom it concerns: a host, two hosts, a connection, or the capture.
    pub subject: String,
    /// How often.
    pub count: u64,
    /// Whether it may have been more often.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub at_least: bool,
    /// What that is a count of, one and several; JSON has the latter.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "several")]
    pub counts: Option<[&'static str; 2]>,
    /// Up to ten frames that prove it.
    pub frames: Vec<u64>,
    /// All the frames that prove it, as far as the report has them, in order and up to 10,000; empty
    /// unless [`evaluate_all_frames`] was asked.
    #[serde(skip)]
    pub all_frames: Vec<u64>,
    /// Whether there may be more.
    #[serde(skip)]
    pub lacks_frames: bool,
    /// What else supports it.
    #[serde(serialize_with = "as_map")]
    pub evidence: Vec<(&'static str, Value)>,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// What to do, with the command that does it.
    pub advice: &'static str,
}

fn several<S: Serializer>(
    counts: &Option<[&'static str; 2]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    counts.map(|[_, several]| several).serialize(serializer)
}

fn as_map<S: Serializer>(
    evidence: &[(&'static str, Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(evidence.len()))?;
    for (name, value) in evidence {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

/// Holds a report to every rule; the worst come first.
#[must_use]
pub fn evaluate(report: &Report, policy: &Policy) -> Vec<Finding> {
    evaluate_capture(report, policy, &CaptureFacts::default())
}

/// The same with what the source of the frames says of itself.
#[must_use]
pub fn evaluate_capture(report: &Report, policy: &Policy, facts: &CaptureFacts) -> Vec<Finding> {
    judge(report, policy, facts, Collector::default())
}

/// The same with [all the frames](Finding::all_frames) that prove each, of a report of a tracker
/// that [was to keep them](crate::connections::Config::with_all_proofs).
#[must_use]
pub fn evaluate_all_frames(report: &Report, policy: &Policy, facts: &CaptureFacts) -> Vec<Finding> {
    judge(report, policy, facts, Collector::of_all_frames())
}

fn judge(
    report: &Report,
    policy: &Policy,
    facts: &CaptureFacts,
    mut found: Collector,
) -> Vec<Finding> {
    let strangers = versions::Strangers::of(report);
    setup::judge(report, &mut found);
    versions::judge(report, &strangers, &mut found);
    endpoint::judge(report, policy, &strangers, &mut found);
    loss::judge(report, &mut found);
    one_way::judge(report, &strangers, &mut found);
    congestion::judge(report, &mut found);
    flow_control::judge(report, policy, &mut found);
    marking::judge(report, policy, &mut found);
    path::judge(report, policy, &mut found);
    capture::judge(report, facts, &mut found);
    found.into_findings()
}
