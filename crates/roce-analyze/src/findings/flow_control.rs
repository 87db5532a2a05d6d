//! Flow control: pauses of priorities and of whole links, and when they are too much.

use super::Finding;
use super::collect::Collector;
use super::policy::Policy;
use crate::Thousandths;
use crate::connections::{FlowControl, PauseSender, PausedTime, Pauses, Report, Totals};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

pub(super) fn judge(report: &Report, policy: &Policy, found: &mut Collector) {
    let totals = &report.totals;
    let FlowControl { senders, other_frames, .. } = &totals.flow_control;
    for sender in senders {
        let port = port(sender);
        link(&port, &sender.link, totals, found);
        for (number, pauses) in sender.priorities.iter().enumerate() {
            priority(&format!("{port} priority {number}"), pauses, totals, policy, found);
        }
    }
    if *other_frames > 0 {
        found.add("pfc-seen", "other ports", *other_frames, []);
    }
}

/// The name of a port.
fn port(sender: &PauseSender) -> String {
    let mac = sender.mac.map_or_else(|| "unknown".to_owned(), |mac| mac.to_string());
    match sender.vlan {
        Some(vlan) => format!("port {mac} (VLAN {vlan})"),
        None => format!("port {mac}"),
    }
}

fn link(port: &str, pauses: &Pauses, totals: &Totals, found: &mut Collector) {
    if pauses.is_empty() {
        return;
    }
    let count = pauses.pauses.saturating_add(pauses.resumes);
    let frames = pauses.frames.iter().copied();
    if let Some(finding) = found.add("pause-in-use", port, count, frames) {
        tell(finding, pauses, totals);
    }
}

fn priority(
    subject: &str,
    pauses: &Pauses,
    totals: &Totals,
    policy: &Policy,
    found: &mut Collector,
) {
    if pauses.pauses == 0 {
        return;
    }
    let is_storm = is_storm(pauses, &totals.flow_control, policy);
    let id = if is_storm { "pfc-storm" } else { "pfc-seen" };
    let frames = pauses.frames.iter().copied();
    let Some(finding) = found.add(id, subject, pauses.pauses, frames) else { return };
    tell(finding, pauses, totals);
    if is_storm
        && totals.flow_control.link_speed.is_none()
        && let Some(supposed) = totals.flow_control.supposed(pauses)
        && supposed.longest_frames > 1
    {
        finding.most("pauses_without_a_break_at_100g", supposed.longest_frames);
    }
}

/// What is known of how much is paused.
fn tell(finding: &mut Finding, pauses: &Pauses, totals: &Totals) {
    finding.sum("resumes", pauses.resumes);
    finding.sum("quanta", pauses.quanta);
    if let Some(peak) = totals.flow_control.peak_per_second(pauses) {
        finding.most("peak_per_second", peak);
    }
    let Some(paused) = totals.flow_control.paused(pauses) else {
        let why = match totals.flow_control.link_speed {
            None => "not known without --link-speed",
            Some(_) => "not known: frames have no times",
        };
        finding.say("paused", why);
        return tell_most(finding, pauses, totals);
    };
    let PausedTime { total_ns, longest_ns, longest_frames, .. } = paused;
    finding.sum("paused_ns", total_ns);
    let whole = totals.duration_ns();
    if let Some(percent) = whole.and_then(|whole| Thousandths::percent(total_ns, whole)) {
        finding.real("paused_percent", percent);
    }
    finding.most("longest_ns", longest_ns);
    finding.most("longest_frames", longest_frames);
}

/// The most that may be paused, where what is asked for is taken back.
fn tell_most(finding: &mut Finding, pauses: &Pauses, totals: &Totals) {
    let Some(at_most) = totals.flow_control.paused_at_most(pauses) else { return };
    if pauses.resumes == 0 || totals.flow_control.link_speed.is_some() {
        return;
    }
    finding.sum("paused_at_most_ns", at_most.total_ns);
    let whole = totals.duration_ns();
    if let Some(percent) = whole.and_then(|whole| Thousandths::percent(at_most.total_ns, whole)) {
        finding.real("paused_at_most_percent", percent);
    }
}

/// Whether it is too much: by time where that is known, else by what frames alone tell, unless even
/// the slowest link would be paused for less. A single frame is no storm, however slow the link.
fn is_storm(pauses: &Pauses, control: &FlowControl, policy: &Policy) -> bool {
    let is_long =
        |paused: PausedTime| paused.longest_frames > 1 && paused.longest_ns >= policy.pfc_storm_ns;
    let most = NANOS_PER_SECOND.saturating_mul(policy.pfc_storm_percent) / 100;
    if let Some(paused) = control.paused(pauses) {
        return is_long(paused) || pauses.pauses > 1 && paused.peak_second_ns >= most;
    }
    let may_be = |at_most: PausedTime| at_most.peak_second_ns >= most;
    let peak = control.peak_per_second(pauses);
    peak.is_some_and(|peak| peak >= policy.pfc_storm_per_second)
        && control.paused_at_most(pauses).is_some_and(may_be)
        || control.supposed(pauses).is_some_and(is_long)
}
