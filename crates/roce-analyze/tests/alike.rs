//! Queue pairs that all begin at one PSN: what tells their flows apart, and what does not.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "a test may be blunt"
)]

mod common;

use common::pairs::{Pair, in_order};
use common::{Record, analyze};
use roce_analyze::connections::Config;

const START: u32 = 0x40_0000;

/// So many pairs; those of a connection have the same UDP source port, or all have one.
fn pairs(count: u32, has_ports: bool) -> Vec<Pair> {
    let port = |nth: u32| 0xc000 + if has_ports { nth as u16 } else { 0 };
    let pair = |nth| Pair { qpns: [0x100 + nth, 0x900 + nth], ports: [port(nth); 2] };
    (0..count).map(pair).collect()
}

/// The queue pairs of the connections of both flows, A first.
fn told(records: Vec<Record>) -> Vec<(u32, u32)> {
    let report = analyze(&in_order(records), Config::default());
    let both = report.connections.iter().filter_map(|c| Some((c.a.qpn?, c.b.qpn?)));
    let mut both: Vec<_> = both.map(|(a, b)| (a.min(b), a.max(b))).collect();
    both.sort_unstable();
    both
}

/// All READ at once. No two ask for as many bytes.
#[test]
fn reads_are_told_apart_by_their_length() {
    let pairs = pairs(20, false);
    let mut records = Vec::new();
    for (nth, pair) in (0..).zip(&pairs) {
        for message in 0..3u32 {
            let (time, psn) = (u64::from(message) * 50_000 + nth * 100, START + message);
            let len = 40 * nth as usize + 4 * message as usize + 8;
            records.push(pair.read(0, time, psn, len as u32));
            records.push(pair.read_response_of(len, 1, time + 20_000, psn, message + 1));
        }
    }
    let expected: Vec<_> = pairs.iter().map(|pair| (pair.qpns[0], pair.qpns[1])).collect();
    assert_eq!(told(records), expected);
}

/// A flow of READs whose responses the capture lacks, and responses whose READs it lacks.
#[test]
fn responses_of_another_length_are_none_to_these_reads() {
    let all = pairs(3, false);
    let mut records = Vec::new();
    for message in 0..12u32 {
        let (time, psn) = (u64::from(message) * 50_000, START + message);
        records.push(all[0].read(0, time, psn, 600));
        records.push(all[1].read_response_of(500, 1, time + 20_000, psn, message + 1));
        // Others are there, and whole.
        records.push(all[2].send(0, time, 0x90_0000 + message));
        records.push(all[2].ack(1, time + 20_000, 0x90_0000 + message, message + 1));
    }
    assert_eq!(told(records), [(0x102, 0x902)]);
}

/// Ports of their own for all flows but two, which have the same by accident.
#[test]
fn one_port_among_many_that_is_the_same_tells_nothing() {
    let of_flows: Vec<_> = (0..40u32)
        .map(|nth| {
            let here = 0xc000 + nth as u16;
            Pair { qpns: [0x100 + nth, 0x900 + nth], ports: [here, here + 0x100] }
        })
        .collect();
    let mut records = Vec::new();
    for (nth, pair) in (0..).zip(&of_flows) {
        let back = if nth == 7 { Pair { ports: [0, 0xc003], ..*pair } } else { *pair };
        records.push(pair.fetch_add(0, nth * 100, START));
        records.push(back.atomic_ack(1, 20_000 + nth * 100, START, 1));
    }
    assert_eq!(told(records), []);
}

/// Where half of the flows are seen to share a port with one the other way, others do not belong
/// together.
#[test]
fn flows_with_other_ports_are_no_pair_where_pairs_share_them() {
    let all = pairs(40, true);
    let mut records = Vec::new();
    for (nth, pair) in (0..).zip(&all) {
        for message in 0..9u32 {
            let (time, psn) = (u64::from(message) * 50_000 + nth * 100, START + message);
            // Of one only the requests are there, of another only the answers.
            if nth != 1 {
                records.push(pair.fetch_add(0, time, psn));
            }
            if nth != 0 {
                records.push(pair.atomic_ack(1, time + 20_000, psn, message + 1));
            }
        }
    }
    let whole = all[2..].iter().map(|pair| (pair.qpns[0], pair.qpns[1]));
    assert_eq!(told(records), whole.collect::<Vec<_>>());
}

/// A READ that was answered by nothing but an acknowledgement of what came behind it, and answers
/// that came before the requests: both are some of others.
#[test]
fn what_an_answer_passes_over_or_comes_before_is_not_answered() {
    let all = pairs(4, false);
    let mut records = Vec::new();
    for message in 0..2u32 {
        let (time, psn) = (u64::from(message) * 50_000, START + 2 * message);
        records.push(all[0].read(0, time, psn, 8));
        records.push(all[0].send(0, time + 100, psn + 1));
        records.push(all[1].ack(1, time + 20_000, psn + 1, 2 * message + 2));
        // Answers, and requests with their PSNs behind them.
        let psn = 0x70_0000 + message;
        records.push(all[2].ack(1, time, psn, message + 1));
        records.push(all[3].send(0, 1_000_000 + time, psn));
        records.push(all[2].ack(1, 1_020_000 + time, psn, message + 3));
    }
    assert_eq!(told(records), []);
}
