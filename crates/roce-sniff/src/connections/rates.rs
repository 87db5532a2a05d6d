//! What one connection carried in how much time: sizes, rates, waits.

use std::io::{self, Write};

use anstyle::Style;
use roce_analyze::connections::{Connection, DirectionReport};

use super::table::micros;
use crate::text::number::{Bytes, Grouped, plural};
use crate::text::wrap::Line;

/// A paragraph for each direction that had packets.
pub(super) fn write(out: &mut impl Write, connection: &Connection, width: usize) -> io::Result<()> {
    for (arrow, way) in [("→", &connection.a_to_b), ("←", &connection.b_to_a)] {
        if way.packets == 0 {
            continue;
        }
        write!(out, "  {arrow} ")?;
        let mut line = Line { out: &mut *out, column: 4, indent: 4, width };
        let parts = parts(way);
        for (at, part) in parts.iter().enumerate() {
            let is_last = at.saturating_add(1) == parts.len();
            let end = if is_last { "." } else { "," };
            line.put(if at == 0 { "" } else { " " }, Style::new(), &format!("{part}{end}"))?;
        }
        line.end()?;
    }
    Ok(())
}

/// What is known, the usual first.
fn parts(way: &DirectionReport) -> Vec<String> {
    let mut parts = vec![plural(way.packets, "packet", "packets"), Bytes(way.bytes).to_string()];
    let (counts, sizes) = (way.messages, way.message_bytes_by_kind);
    for (name, count, bytes) in [
        ("send", counts.send, sizes.send),
        ("write", counts.write, sizes.write),
        ("read", counts.read, sizes.read),
        ("atomic", counts.atomic, sizes.atomic),
    ] {
        if count > 0 || bytes > 0 {
            parts.push(format!("{name} {} with {}", Grouped(count), Bytes(bytes)));
        }
    }
    let peaks = way.peak_millisecond_bytes.zip(way.peak_second_bytes);
    if let Some((millisecond, second)) = peaks.filter(|(bytes, _)| *bytes > 0) {
        parts.push(format!("at most {} in a millisecond", Bytes(millisecond)));
        parts.push(format!("{} in a second", Bytes(second)));
    }
    if let Some(bytes) = way.max_in_flight_bytes {
        parts.push(format!("{} in flight", Bytes(bytes)));
    }
    let times = [
        ("messages take", &way.completion_ns),
        ("ACKs", &way.ack_latency_ns),
        ("READ responses", &way.read_response_ns),
        ("CNPs after CE", &way.cnp_delay_ns),
    ];
    for (name, times) in times {
        if let Some(times) = times {
            let usual = micros(times.p50.unwrap_or(times.mean));
            parts.push(format!("{name} {usual} (up to {})", micros(times.max)));
        }
    }
    if way.rnr_stall_ns > 0 {
        parts.push(format!("waited {} after RNR NAKs", micros(way.rnr_stall_ns)));
    }
    if let Some(longest) = way.max_idle_ns.filter(|_| way.idle_gaps > 0) {
        let silences = plural(way.idle_gaps, "silence", "silences");
        parts.push(format!("{silences} of 10 ms or more (up to {})", micros(longest)));
    }
    for reaction in &way.cnp_reaction {
        if let Some(percent) = reaction.decrease_percent {
            let change = if percent < 0 { "more" } else { "less" };
            let (percent, millis) = (percent.unsigned_abs(), reaction.window_ns / 1_000_000);
            parts.push(format!("{percent} % {change} in the {millis} ms after CNPs"));
        }
    }
    parts
}
