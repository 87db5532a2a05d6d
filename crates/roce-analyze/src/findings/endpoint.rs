//! What is the matter with an end of a connection.

use super::collect::{Collector, name, ways};
use super::policy::Policy;
use super::versions::Strangers;
use crate::connections::{Connection, DirectionReport, Event, Outcome, Report};

pub(super) fn judge(
    report: &Report,
    policy: &Policy,
    strangers: &Strangers,
    found: &mut Collector,
) {
    for connection in &report.connections {
        fatal(connection, found);
        if !strangers.include(connection) {
            given_up(connection, report.totals.times, found);
        }
        not_ready(connection, policy, found);
        protocol(connection, found);
        partitions(connection, found);
        q_key(connection, found);
        q_key_changes(connection, found);
    }
}

fn fatal(connection: &Connection, found: &mut Collector) {
    let Some((code, frame)) = connection.fatal else { return };
    if let Some(finding) = found.add("fatal-nak", name(connection), 1, [frame]) {
        finding.list("code", code.to_string());
    }
}

fn given_up(connection: &Connection, times: Option<(u64, u64)>, found: &mut Collector) {
    let id = match connection.outcome {
        Outcome::RetryExceeded => "retry-exceeded",
        Outcome::Stalled => "stalled",
        Outcome::Unanswered if connection.packets() > 0 => "no-answer",
        _ => return,
    };
    let events = [
        Event::RetransmittedOnTimeout,
        Event::RetransmittedOnRnr,
        Event::Retransmitted,
        Event::RnrNak,
    ];
    let frames = connection
        .directions()
        .into_iter()
        .flat_map(|direction| events.into_iter().flat_map(|event| direction.frames(event)));
    let frames: Vec<u64> = frames.chain([connection.last_frame]).collect();
    if let Some(finding) = found.add(id, name(connection), 1, frames) {
        for direction in connection.directions() {
            if let Some(tries) = direction.unanswered_tries {
                finding.sum("tries", u64::from(tries));
                if id == "no-answer" {
                    finding.sum("packets", direction.packets);
                    continue;
                }
                finding.say("cause", if direction.is_rnr_pending { "RNR" } else { "no answer" });
            }
        }
        let silence =
            times.zip(connection.last_ns).map(|((_, end), last)| end.saturating_sub(last));
        if let Some(silence) = silence.filter(|silence| *silence > 0) {
            finding.number("then_silent_ns", silence);
        }
    }
}

/// RNR NAKs below this are no storm.
const STORM: u64 = 10;

fn not_ready(connection: &Connection, policy: &Policy, found: &mut Collector) {
    let sides = [
        (&connection.a_to_b, &connection.b_to_a, connection.b.addr),
        (&connection.b_to_a, &connection.a_to_b, connection.a.addr),
    ];
    for (asked, answered, receiver) in sides {
        let naks = answered.rnr_naks;
        if naks == 0 {
            continue;
        }
        let messages = asked.messages.send.saturating_add(asked.messages.write).max(1);
        let percent = naks.saturating_mul(100).checked_div(messages).unwrap_or(0);
        let is_storm = naks >= STORM && percent >= policy.rnr_storm_percent;
        let id = if is_storm { "rnr-storm" } else { "rnr-nak" };
        let subject = if is_storm { name(connection) } else { receiver.to_string() };
        if let Some(finding) = found.add(id, subject, naks, answered.frames(Event::RnrNak)) {
            finding.sum("messages", messages);
            finding.sum("stalled_ns", asked.rnr_stall_ns);
            if let Some(timer) = answered.rnr_timer_ns {
                finding.number("timer_ns", timer);
            }
        }
    }
}

fn protocol(connection: &Connection, found: &mut Collector) {
    for (way, direction) in ways(connection) {
        let sequence = u64::from(direction.opcode_sequence_errors);
        if sequence > 0 {
            let frames = direction.frames(Event::OpcodeSequence);
            found.add("opcode-sequence", way.clone(), sequence, frames);
        }
        let length = u64::from(direction.length_errors);
        if length > 0
            && let Some(finding) =
                found.add("length-error", way, length, direction.frames(Event::Length))
            && let Some(pmtu) = connection.pmtu
        {
            finding.number("pmtu", u64::from(pmtu));
        }
    }
}

fn partitions(connection: &Connection, found: &mut Collector) {
    let [a, b] = connection.directions();
    let partition = |direction: &DirectionReport| direction.p_key.map(|key| key & 0x7fff);
    let changes = u64::from(a.p_key_changes).saturating_add(u64::from(b.p_key_changes));
    let differ = partition(a).zip(partition(b)).is_some_and(|(a, b)| a != b);
    if changes == 0 && !differ {
        return;
    }
    let frames = a.frames(Event::PKeyChange).chain(b.frames(Event::PKeyChange));
    let frames: Vec<u64> = frames.chain([connection.first_frame]).collect();
    if let Some(finding) = found.add("p-key-mismatch", name(connection), changes.max(1), frames) {
        for direction in [a, b] {
            let others = direction.other_keys.iter().flat_map(|keys| keys.p_keys.iter().copied());
            for key in direction.p_key.into_iter().chain(others) {
                finding.list("p_keys", format!("{key:#06x}"));
            }
        }
    }
}

/// Whether datagrams have the Q_Key that the resolution of the service told.
fn q_key(connection: &Connection, found: &mut Collector) {
    let told = connection.cm.as_ref().and_then(|cm| cm.q_key);
    if let Some((told, sent)) = told.zip(connection.a_to_b.q_key)
        && told != sent
        && let Some(finding) =
            found.add("q-key-mismatch", name(connection), 1, [connection.first_frame])
    {
        finding.say("told", format!("{told:#010x}"));
        finding.say("sent", format!("{sent:#010x}"));
    }
}

/// Whether datagrams of one queue pair to another have more than one Q_Key: the receiver has one.
fn q_key_changes(connection: &Connection, found: &mut Collector) {
    for direction in connection.directions() {
        let Some(others) = direction.other_keys.as_ref().filter(|keys| keys.q_key_changes > 0)
        else {
            continue;
        };
        let frames = direction.frames(Event::QKeyChange);
        if let Some(finding) =
            found.add("q-key-mismatch", name(connection), others.q_key_changes, frames)
        {
            for key in direction.q_key.iter().chain(&others.q_keys) {
                finding.list("q_keys", format!("{key:#010x}"));
            }
            finding.sum("datagrams", direction.packets);
        }
    }
}
