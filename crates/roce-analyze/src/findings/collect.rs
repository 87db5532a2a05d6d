//! Gathers what the rules say: one finding for each rule and subject.

use std::collections::HashMap;

use super::rules::{Rule, rule};
use super::{Finding, Value};
use crate::Thousandths;

/// How many frames prove a finding.
const MAX_FRAMES: usize = 10;
/// How many frames prove a finding where all are asked for.
pub const MANY_FRAMES: usize = 10_000;
/// How many subjects a rule names; what is beyond is one subject more.
const MAX_SUBJECTS: usize = 100;
const OTHERS: &str = "others";
/// The rule that says how far the others are to be believed.
const DISORDER: &str = "capture-disorder";

/// The findings so far.
#[derive(Default)]
pub(super) struct Collector {
    findings: Vec<Finding>,
    at: HashMap<(&'static str, String), usize>,
    subjects: HashMap<&'static str, usize>,
    wants_all_frames: bool,
}

impl Collector {
    /// One that keeps the frames beyond the first ten as well.
    pub(super) fn of_all_frames() -> Self {
        Self { wants_all_frames: true, ..Self::default() }
    }

    /// Notes that the rule speaks of the subject; `count` adds up, frames are listed.
    pub(super) fn add(
        &mut self,
        id: &'static str,
        subject: impl Into<String>,
        count: u64,
        frames: impl IntoIterator<Item = u64>,
    ) -> Option<&mut Finding> {
        let Rule { severity, title, counts, meaning, advice, .. } = *rule(id)?;
        let mut subject = subject.into();
        if !self.at.contains_key(&(id, subject.clone())) {
            let named = self.subjects.entry(id).or_default();
            if *named >= MAX_SUBJECTS {
                OTHERS.clone_into(&mut subject);
            } else {
                *named = named.saturating_add(1);
            }
        }
        let next = self.findings.len();
        let at = *self.at.entry((id, subject.clone())).or_insert(next);
        if at == next {
            self.findings.push(Finding {
                id,
                severity,
                title,
                subject,
                count: 0,
                at_least: false,
                counts,
                frames: Vec::new(),
                all_frames: Vec::new(),
                lacks_frames: false,
                evidence: Vec::new(),
                meaning,
                advice,
            });
        }
        let finding = self.findings.get_mut(at)?;
        finding.count = finding.count.saturating_add(count);
        for frame in frames {
            if finding.frames.len() < MAX_FRAMES && !finding.frames.contains(&frame) {
                finding.frames.push(frame);
            }
            if self.wants_all_frames {
                if finding.all_frames.len() < MANY_FRAMES {
                    finding.all_frames.push(frame);
                } else {
                    finding.lacks_frames = true;
                }
            }
        }
        Some(finding)
    }

    /// What the rule has said of the subject so far.
    pub(super) fn find(&mut self, id: &'static str, subject: String) -> Option<&mut Finding> {
        let at = *self.at.get(&(id, subject))?;
        self.findings.get_mut(at)
    }

    /// The worst first, then in the order of the rules and the frames; ahead of what follows from
    /// it, that versions do not agree, or that frames are not in order.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        let mut findings = self.findings;
        for finding in &mut findings {
            finding.frames.sort_unstable();
            // A single direction keeps no more either.
            finding.lacks_frames |= finding.all_frames.len() >= MANY_FRAMES;
            finding.all_frames.sort_unstable();
            finding.all_frames.dedup();
        }
        findings.sort_by_key(|finding| {
            let is_effect = !matches!(finding.id, "version-mismatch" | DISORDER);
            (finding.severity, is_effect, finding.id, finding.frames.first().copied())
        });
        findings
    }
}

impl Finding {
    /// Whether it says that others may be wrong.
    #[must_use]
    pub fn casts_doubt(&self) -> bool {
        self.id == DISORDER
    }

    /// Adds up a number of the evidence.
    pub(super) fn sum(&mut self, name: &'static str, number: u64) {
        match self.evidence.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Value::Number(sum))) => *sum = sum.saturating_add(number),
            Some(_) => {}
            None => self.evidence.push((name, Value::Number(number))),
        }
    }

    /// Adds the larger one of two numbers to the evidence.
    pub(super) fn most(&mut self, name: &'static str, number: u64) {
        match self.evidence.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Value::Number(most))) => *most = number.max(*most),
            Some(_) => {}
            None => self.evidence.push((name, Value::Number(number))),
        }
    }

    /// Adds a number between whole ones to the evidence; the first one stays.
    pub(super) fn real(&mut self, name: &'static str, number: Thousandths) {
        if !self.evidence.iter().any(|(known, _)| *known == name) {
            self.evidence.push((name, Value::Real(number)));
        }
    }

    /// Adds a text of the evidence; the first one stays.
    pub(super) fn say(&mut self, name: &'static str, text: impl Into<String>) {
        if !self.evidence.iter().any(|(known, _)| *known == name) {
            self.evidence.push((name, Value::Text(text.into())));
        }
    }

    /// Adds a number of the evidence; the first one stays.
    pub(super) fn number(&mut self, name: &'static str, number: u64) {
        if !self.evidence.iter().any(|(known, _)| *known == name) {
            self.evidence.push((name, Value::Number(number)));
        }
    }

    /// Adds a number to a list of the evidence.
    pub(super) fn list_number(&mut self, name: &'static str, number: u64) {
        match self.evidence.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Value::Numbers(list))) => {
                if list.len() < MAX_FRAMES && !list.contains(&number) {
                    list.push(number);
                }
            }
            Some(_) => {}
            None => self.evidence.push((name, Value::Numbers(vec![number]))),
        }
    }

    /// Adds a text to a list of the evidence.
    pub(super) fn list(&mut self, name: &'static str, text: impl Into<String>) {
        let text = text.into();
        match self.evidence.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Value::List(list))) => {
                if list.len() < MAX_FRAMES && !list.contains(&text) {
                    list.push(text);
                }
            }
            Some(_) => {}
            None => self.evidence.push((name, Value::List(vec![text]))),
        }
    }
}

/// The name of one direction between two hosts.
pub(super) fn way(from: roce_wire::Addr, to: roce_wire::Addr) -> String {
    format!("{from} -> {to}")
}

/// The name of a connection.
pub(super) fn name(connection: &crate::connections::Connection) -> String {
    let end = |end: &crate::connections::End| match end.qpn {
        Some(qpn) => format!("{} qp {qpn:#x}", end.addr),
        None => end.addr.to_string(),
    };
    format!("connection {}: {} - {}", connection.id, end(&connection.a), end(&connection.b))
}

/// A connection's directions with where they come from and go to.
pub(super) fn ways(
    connection: &crate::connections::Connection,
) -> [(String, &crate::connections::DirectionReport); 2] {
    let (a, b) = (connection.a.addr, connection.b.addr);
    [(way(a, b), &connection.a_to_b), (way(b, a), &connection.b_to_a)]
}
