//! What was lost, late or sent again, and on which side of the capture point.

use roce_wire::Reject;

use super::collect::{Collector, way, ways};
use crate::connections::{Connection, DirectionReport, Event, Oddity, Report};

pub(super) fn judge(report: &Report, found: &mut Collector) {
    for connection in &report.connections {
        for (way, direction) in ways(connection) {
            lost(connection, &way, direction, found);
            late(&way, direction, found);
            lost_or_late(&way, direction, found);
            timed_out(connection, &way, direction, found);
            repeated(connection, &way, direction, found);
        }
    }
    perhaps_thrown_away(report, found);
}

/// Where something is missing before the capture point, what ended before it told its PSN may be
/// that.
fn perhaps_thrown_away(report: &Report, found: &mut Collector) {
    for strange in &report.totals.strange {
        let is_short = strange.oddity == Oddity::Rejected(Reject::TooShort) && strange.missed == 0;
        if let Some((src, dst)) = strange.ends.filter(|_| is_short)
            && let Some(finding) = found.find("packet-loss-upstream", way(src, dst))
        {
            let frames = strange.frames.iter();
            frames.for_each(|frame| finding.list_number("perhaps_thrown_away", *frame));
        }
    }
}

fn lost(connection: &Connection, way: &str, direction: &DirectionReport, found: &mut Collector) {
    let Some(loss) = direction.loss else { return };
    // What no receiver takes was thrown away: that has a finding of its own.
    let thrown = u64::try_from(direction.frames(Event::ThrownAway).count()).unwrap_or(u64::MAX);
    let cases = [
        (
            "packet-loss-upstream",
            loss.before_capture.saturating_sub(thrown),
            Event::LostBeforeCapture,
        ),
        ("packet-loss-downstream", loss.after_capture, Event::LostAfterCapture),
        ("packet-loss-unplaced", loss.unknown, Event::PassedOver),
        ("capture-loss", loss.not_captured, Event::NotCaptured),
    ];
    for (id, count, event) in cases {
        if count == 0 {
            continue;
        }
        if let Some(finding) = found.add(id, way, count, direction.frames(event)) {
            finding.sum("packets", direction.packets);
            finding.sum("connections", 1);
            finding.sum("retransmitted_packets", direction.retransmitted_packets);
            finding.list_number("connection_ids", connection.id);
            if event == Event::NotCaptured {
                // The network has lost nothing.
                continue;
            }
            let is_at_least = match event {
                Event::LostBeforeCapture => loss.before_is_at_least,
                _ => event == Event::LostAfterCapture && loss.after_is_at_least,
            };
            finding.at_least |= is_at_least;
            if event == Event::LostAfterCapture && loss.perhaps_answers > 0 {
                finding.sum("requests_or_their_answers", loss.perhaps_answers.into());
            }
            if direction.icrc_bad > 0 {
                // Receivers throw these away, whether they are what is missing or not.
                finding.sum("icrc_bad", direction.icrc_bad);
            }
            if matches!(direction.ecn.data, [not_ect, 0, 0, 0] if not_ect > 0) {
                finding.say("ecn", "off: where this is congestion, switches cannot mark it");
            }
        }
    }
}

fn late(way: &str, direction: &DirectionReport, found: &mut Collector) {
    let count = direction.out_of_order_packets.saturating_add(direction.reordered_after_capture);
    if count == 0 {
        return;
    }
    let frames =
        direction.frames(Event::OutOfOrder).chain(direction.frames(Event::ReorderedAfterCapture));
    if let Some(finding) = found.add("reordering", way, count, frames) {
        finding.sum("before_capture", direction.out_of_order_packets);
        finding.sum("after_capture", direction.reordered_after_capture);
        if direction.max_reorder_depth > 0 {
            finding.most("depth_psns", u64::from(direction.max_reorder_depth));
        }
    }
}

fn lost_or_late(way: &str, direction: &DirectionReport, found: &mut Collector) {
    let Some(doubt) = direction.lost_or_late.as_deref() else { return };
    let count = doubt.before_capture.saturating_add(doubt.after_capture);
    let frames = direction.frames(Event::LostOrLate);
    if let Some(finding) = found.add("lost-or-late", way, count, frames) {
        finding.sum("before_capture", doubt.before_capture);
        finding.sum("after_capture", doubt.after_capture);
        finding.sum("packets", direction.packets);
    }
}

fn timed_out(
    connection: &Connection,
    way: &str,
    direction: &DirectionReport,
    found: &mut Collector,
) {
    let timeouts = direction.retransmissions.timeout_driven;
    if timeouts > 0
        && let Some(finding) =
            found.add("ack-timeout", way, timeouts, direction.frames(Event::RetransmittedOnTimeout))
    {
        finding.sum("connections", 1);
        let answers = direction.retransmissions.answers_lost_or_late;
        if answers > 0 {
            finding.sum("answers_lost_or_late", answers);
        }
        if let Some(timeout) = connection.cm.as_ref().and_then(|cm| cm.ack_timeout) {
            finding.number("ack_timeout_ns", timeout);
        }
    }
}

fn repeated(
    connection: &Connection,
    way: &str,
    direction: &DirectionReport,
    found: &mut Collector,
) {
    let copies = direction.duplicate_packets;
    if copies > 0
        && let Some(finding) =
            found.add("duplicated-frames", way, copies, direction.frames(Event::DuplicateFrame))
    {
        finding.sum("packets", direction.packets);
        if connection.is_mirrored {
            finding.say("cause", "both sides of a port are mirrored");
        }
    }
}
