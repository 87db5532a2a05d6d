//! Scenarios by the number: families of them, each of as many as there are seeds, for the analysis
//! to be held to their truth.

mod families;

pub use families::{FAMILIES, Family};

use roce_analyze::connections::Report;
use roce_analyze::findings::{Policy, evaluate};
use roce_craft::Scenario;

use crate::score::{Off, Played, Score, play};

/// What became of one scenario.
#[derive(Debug)]
pub struct Run {
    /// The scenario.
    pub text: String,
    /// How its analysis compares with its truth.
    pub score: Score,
    /// Findings that the family does not call for.
    pub alarms: Vec<&'static str>,
    /// Findings of a loss where nothing was lost at all.
    pub false_losses: Vec<&'static str>,
}

impl Run {
    /// The fields that are off. Times are left out: those of messages that were asked for before
    /// the two directions were known to be one connection are not told.
    pub fn off(&self) -> impl Iterator<Item = &Off> {
        let is_time = |off: &Off| {
            ["ack_latency_ns", "completion_ns"].iter().any(|key| off.field.contains(key))
        };
        self.score.off.iter().filter(move |off| !is_time(off))
    }

    /// Whether all is as it should be.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.alarms.is_empty() && self.off().next().is_none()
    }
}

impl Family {
    /// Plays the scenario with this seed.
    #[must_use]
    pub fn play(&self, seed: u64) -> Run {
        let text = (self.text)(seed);
        let scenario =
            Scenario::parse(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", self.name));
        let played = play(&scenario);
        let score = Score::compare(self.name, &played);
        let false_losses = false_losses(&played);
        Run { alarms: self.alarms(&played.report), false_losses, text, score }
    }

    fn alarms(&self, report: &Report) -> Vec<&'static str> {
        let Some(expected) = self.findings else { return Vec::new() };
        let found = evaluate(report, &Policy::default());
        found.iter().map(|finding| finding.id).filter(|id| !expected.contains(id)).collect()
    }
}

/// The findings that tell of a loss, unless something was lost.
fn false_losses(played: &Played) -> Vec<&'static str> {
    if played.has_lost() {
        return Vec::new();
    }
    let ids = evaluate(&played.report, &Policy::default()).into_iter().map(|finding| finding.id);
    ids.filter(|id| id.starts_with("packet-loss-") || *id == "capture-loss").collect()
}
