//! What is said of each frame that takes part in a finding.

use std::fmt::Write as _;

use roce_analyze::connections::Report;
use roce_analyze::findings::{Finding, Severity};

use super::text::severity;

/// The comments of all frames. They are asked for in the order of the frames.
pub(super) struct Comments<'f> {
    findings: &'f [Finding],
    /// Frames and the finding that they take part in, in order.
    marks: Vec<(u64, usize)>,
    /// Frames and what they are themselves, in order.
    events: Vec<(u64, &'static str)>,
    /// Whether there are more than are kept.
    pub(super) are_cut: bool,
}

impl<'f> Comments<'f> {
    pub(super) fn of(findings: &'f [Finding], report: &Report) -> Self {
        let frames = |(at, finding): (usize, &'f Finding)| {
            finding.all_frames.iter().map(move |frame| (*frame, at))
        };
        let mut marks: Vec<_> = findings.iter().enumerate().flat_map(frames).collect();
        let proofs = report.connections.iter().flat_map(|c| c.directions()).flat_map(|d| &d.proofs);
        let mut events: Vec<_> =
            proofs.filter_map(|proof| Some((proof.frame, proof.event.text()?))).collect();
        marks.sort_unstable();
        events.sort_unstable();
        events.dedup();
        let are_cut = report.lacks_proofs || findings.iter().any(|finding| finding.lacks_frames);
        Self { findings, marks, events, are_cut }
    }

    /// The comment on a frame, if there is one to make. `now` is its number where it is written.
    pub(super) fn on(&self, frame: u64, now: u64) -> Option<String> {
        let mut marks = of_frame(&self.marks, frame).peekable();
        marks.peek()?;
        let mut text = String::new();
        // Writing to a string cannot fail.
        for finding in marks.filter_map(|at| self.findings.get(at)) {
            let Finding { id, title, subject, .. } = finding;
            let severity = severity(finding.severity);
            let _ = writeln!(text, "{NAME}{severity} {id}: {subject}: {title}");
        }
        let mut between = ": ";
        let mut events = of_frame(&self.events, frame).peekable();
        if frame != now {
            let _ = write!(text, "Frame {frame} of the source");
        } else if events.peek().is_some() {
            text.push_str("This frame");
        }
        for event in events {
            let _ = write!(text, "{between}{event}");
            between = ", ";
        }
        text.truncate(text.trim_end().len());
        Some(text)
    }
}

/// What every comment begins with.
const NAME: &str = "roce-sniff ";

/// Whether the comment is one that this program has made before.
pub(super) fn is_ours(comment: &[u8]) -> bool {
    let [error, warning, info] = [Severity::Error, Severity::Warning, Severity::Info].map(severity);
    comment.strip_prefix(NAME.as_bytes()).is_some_and(|rest| {
        [error, warning, info].iter().any(|word| {
            rest.strip_prefix(word.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' '))
        })
    })
}

/// What a list in the order of frames says of one of them.
fn of_frame<T: Copy>(list: &[(u64, T)], frame: u64) -> impl Iterator<Item = T> + '_ {
    let start = list.partition_point(|(other, _)| *other < frame);
    let rest = list.get(start..).unwrap_or_default();
    rest.iter().take_while(move |(other, _)| *other == frame).map(|(_, told)| *told)
}
