//! Findings for a person: the worst first; what it means, the proof, what to do.

use std::io::{self, Write};

use anstyle::Style;
use roce_analyze::findings::{Finding, Rule, Severity, Value};

use crate::text::number::{Grouped, Nanos, plural};
use crate::text::style::{ANSWER, BAD, DIM, GOOD, WARN};
use crate::text::wrap::wrapped;

pub(super) fn write(
    out: &mut impl Write,
    findings: &[Finding],
    has_matter: bool,
    width: usize,
) -> io::Result<()> {
    writeln!(out, "{}", headline(findings, has_matter))?;
    // First what says how far the others are to be believed.
    let (doubts, others): (Vec<_>, Vec<_>) = findings.iter().partition(|one| one.casts_doubt());
    for finding in doubts.into_iter().chain(others) {
        writeln!(out)?;
        one(out, finding, width)?;
    }
    Ok(())
}

fn headline(findings: &[Finding], has_matter: bool) -> String {
    // A capture in the wrong place is no good news.
    if findings.is_empty() && !has_matter {
        return format!(
            "{WARN}No RoCE here, and no flow control: there was nothing to check.{WARN:#}"
        );
    }
    if findings.is_empty() {
        return format!("{GOOD}Nothing is wrong here.{GOOD:#}");
    }
    let kinds = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Info, "remark", "remarks"),
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter_map(|(severity, one, many)| {
            let count = findings.iter().filter(|finding| finding.severity == severity).count();
            (count > 0).then(|| plural(u64::try_from(count).unwrap_or(u64::MAX), one, many))
        })
        .collect();
    format!("{ANSWER}{}.{ANSWER:#}", parts.join(", "))
}

/// One finding as a paragraph.
pub(super) fn one(out: &mut impl Write, finding: &Finding, width: usize) -> io::Result<()> {
    let style = style(finding.severity);
    let label = severity(finding.severity);
    let least = if finding.at_least { "at least " } else { "" };
    let times = match (finding.count, finding.counts) {
        (count, Some([one, several])) => format!(" ({least}{})", plural(count, one, several)),
        (0 | 1, None) => String::new(),
        (count, None) => format!(" ({} times)", Grouped(count)),
    };
    let head = format!("{}: {}{times}", finding.subject, finding.title);
    write!(out, "{style}{label:<8}{style:#}")?;
    wrapped(out, &head, 8, 8, width)?;
    wrapped_line(out, finding.meaning, width)?;
    let evidence: Vec<String> =
        finding.evidence.iter().map(|(name, value)| told(name, value)).collect();
    if !evidence.is_empty() {
        wrapped_line(out, &format!("Evidence: {}.", evidence.join(", ")), width)?;
    }
    if !finding.frames.is_empty() {
        let frames: Vec<String> = finding.frames.iter().map(u64::to_string).collect();
        wrapped_line(out, &format!("Frames: {}.", frames.join(", ")), width)?;
    }
    write!(out, "{DIM}")?;
    wrapped_line(out, finding.advice, width)?;
    write!(out, "{:8}[{}]{DIM:#}", "", finding.id)?;
    writeln!(out)
}

fn wrapped_line(out: &mut impl Write, text: &str, width: usize) -> io::Result<()> {
    write!(out, "{:8}", "")?;
    wrapped(out, text, 8, 8, width)
}

/// A name and its value; what is a time in one of the units that people read.
fn told(name: &str, value: &Value) -> String {
    let time = match value {
        Value::Number(time) => name
            .strip_suffix("_ns")
            .map(|name| (name, *time))
            .or_else(|| Some((name.strip_suffix("_ms")?, time.saturating_mul(1_000_000)))),
        _ => None,
    };
    if let Some((name, nanos)) = time {
        return format!("{} {}", name.replace('_', " "), Nanos(nanos));
    }
    match name.strip_suffix("_percent") {
        Some(name) => format!("{} {} %", name.replace('_', " "), shown(value)),
        None => format!("{} {}", name.replace('_', " "), shown(value)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => Grouped(*number).to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(list) if list.iter().any(|one| one.contains(' ')) => list.join("; "),
        Value::List(list) => list.join(" "),
        Value::Numbers(list) => list.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// A rule, as `--list` shows it.
pub(super) fn rule(out: &mut impl Write, rule: &Rule, width: usize) -> io::Result<()> {
    let style = style(rule.severity);
    let label = severity(rule.severity);
    write!(out, "{ANSWER}{}{ANSWER:#}  {style}{label}{style:#}  ", rule.id)?;
    let column = [rule.id, label].iter().fold(4, |sum: usize, part| sum.saturating_add(part.len()));
    wrapped(out, rule.title, column, 4, width)?;
    write!(out, "    ")?;
    wrapped(out, &format!("When {}.", rule.when), 4, 4, width)?;
    write!(out, "    {DIM}")?;
    wrapped(out, rule.advice, 4, 4, width)?;
    write!(out, "{DIM:#}")
}

const fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARN,
        Severity::Info => DIM,
    }
}

pub(super) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}
