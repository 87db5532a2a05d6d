//! Flow control below the table: who paused what, how often and for how long.

use std::io::{self, Write};

use roce_analyze::Thousandths;
use roce_analyze::connections::{PauseSender, Pauses, Totals};

use super::table::micros;
use crate::text::number::{Grouped, plural};
use crate::text::style::WARN;
use crate::text::wrap::paragraph;

/// A paragraph for each port and priority; nothing where there is no flow control.
pub(super) fn write(out: &mut impl Write, totals: &Totals, width: usize) -> io::Result<()> {
    let control = &totals.flow_control;
    if control.senders.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for sender in &control.senders {
        let port = port(sender);
        for (number, pauses) in sender.priorities.iter().enumerate() {
            let what = format!("priority {number}");
            one(out, &port, &what, pauses, totals, width)?;
        }
        one(out, &port, "the whole link", &sender.link, totals, width)?;
    }
    if control.other_frames > 0 {
        let frames = plural(control.other_frames, "frame", "frames");
        paragraph(out, WARN, "", &format!("Other ports: {frames} of flow control."), width)?;
    }
    Ok(())
}

fn port(sender: &PauseSender) -> String {
    let mac = sender.mac.map_or_else(|| "A port".to_owned(), |mac| format!("Port {mac}"));
    match sender.vlan {
        Some(vlan) => format!("{mac} (VLAN {vlan})"),
        None => mac,
    }
}

fn one(
    out: &mut impl Write,
    port: &str,
    what: &str,
    pauses: &Pauses,
    totals: &Totals,
    width: usize,
) -> io::Result<()> {
    if pauses.is_empty() {
        return Ok(());
    }
    if pauses.pauses == 0 {
        let text = format!("{port} lets {what} go on: {} XON.", Grouped(pauses.resumes));
        return paragraph(out, WARN, "", &text, width);
    }
    let mut parts = vec![format!(
        "{port} pauses {what}: {} with {} quanta",
        plural(pauses.pauses, "pause", "pauses"),
        Grouped(pauses.quanta)
    )];
    if pauses.resumes > 0 {
        parts.push(format!("{} XON", Grouped(pauses.resumes)));
    }
    match totals.flow_control.paused(pauses) {
        Some(paused) => {
            let whole = totals.duration_ns();
            let percent = whole.and_then(|whole| Thousandths::percent(paused.total_ns, whole));
            let share = percent.map_or(String::new(), |percent| format!(" ({percent} %)"));
            parts.push(format!("paused {}{share}", micros(paused.total_ns)));
            parts.push(format!("at most {} without a break", micros(paused.longest_ns)));
        }
        None if totals.flow_control.link_speed.is_none() => {
            parts.push("for how long is not known without --link-speed".to_owned());
        }
        None => {}
    }
    paragraph(out, WARN, "", &format!("{}.", parts.join(", ")), width)
}
