//! Queue pairs that are made anew with the numbers that they had, PSNs included, held to requests that
//! are sent again from the first one on.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::pairs::{Pair, in_order};
use common::{Record, analyze};
use roce_analyze::connections::{Config, Report};
use roce_analyze::findings::{Policy, evaluate};

const PAIR: Pair = Pair { qpns: [0x101, 0x202], ports: [0xc123, 0xc123] };
/// The same with another UDP source port.
const ELSEWHERE: Pair = Pair { ports: [0xc987, 0xc987], ..PAIR };

/// A request of A and the answer of B to it, 10 µs later.
type Message = fn(Pair, u64, u32, u32) -> [Record; 2];

fn atomic(pair: Pair, time: u64, psn: u32, msn: u32) -> [Record; 2] {
    [pair.fetch_add(0, time, psn), pair.atomic_ack(1, time + 10_000, psn, msn)]
}

fn read(pair: Pair, time: u64, psn: u32, msn: u32) -> [Record; 2] {
    [pair.read(0, time, psn, 1024), pair.read_response(1, time + 10_000, psn, msn)]
}

fn send(pair: Pair, time: u64, psn: u32, msn: u32) -> [Record; 2] {
    [pair.send(0, time, psn), pair.ack(1, time + 10_000, psn, msn)]
}

/// So many messages from PSN 0, one each `gap`; the responder counts them from 1.
fn life(pair: Pair, message: Message, (begins, gap): (u64, u64), count: u32) -> Vec<Record> {
    let one = |nth: u32| message(pair, begins + u64::from(nth) * gap, nth, nth + 1);
    in_order((0..count).flat_map(one).collect())
}

fn ids(report: &Report) -> Vec<&'static str> {
    evaluate(report, &Policy::default()).into_iter().map(|finding| finding.id).collect()
}

/// Packets both ways of each connection.
fn packets(report: &Report) -> Vec<(u64, u64)> {
    report.connections.iter().map(|c| (c.a_to_b.packets, c.b_to_a.packets)).collect()
}

#[test]
fn atomics_from_the_same_psn_begin_a_life() {
    for (pair, gap) in [(PAIR, 1_000_000), (PAIR, 100_000_000), (ELSEWHERE, 1_000_000)] {
        for count in [3, 30] {
            let mut records = life(PAIR, atomic, (0, 50_000), 10);
            records.extend(life(pair, atomic, (500_000 + gap, 50_000), count));
            let report = analyze(&records, Config::default());
            let second = u64::from(count);
            assert_eq!(packets(&report), [(10, 10), (second, second)], "{gap} {count}");
            assert_eq!(ids(&report), [] as [&str; 0]);
        }
    }
}

/// Three atomics at once, and once more: another port is not the one of a requester that sends again.
#[test]
fn atomics_from_another_port_begin_a_life() {
    let mut records = life(PAIR, atomic, (0, 500), 3);
    records.extend(life(ELSEWHERE, atomic, (4_000_000, 500), 3));
    let report = analyze(&records, Config::default());
    assert_eq!(packets(&report), [(3, 3), (3, 3)]);
    assert_eq!(ids(&report), [] as [&str; 0]);
}

/// Where all may have been sent at once, the responder may have kept its answers, and repeat them as
/// they were: no loss is certain.
#[test]
fn atomics_at_once_may_be_sent_again() {
    for count in [1, 3, 8] {
        let mut records = life(PAIR, atomic, (0, 500), count);
        records.extend(life(PAIR, atomic, (4_000_000, 500), count));
        let report = analyze(&records, Config::default());
        let all = 2 * u64::from(count);
        assert_eq!(packets(&report), [(all, all)]);
        assert_eq!(report.connections[0].a_to_b.retransmitted_packets, u64::from(count));
        let is_sure = count == 1;
        let lost = report.connections[0].b_to_a.loss.map_or(0, |loss| loss.after_capture);
        assert_eq!(lost, u64::from(is_sure));
    }
}

/// The responder has executed all, counts no message twice, and says so.
#[test]
fn atomics_that_are_sent_again_begin_no_life() {
    for gap in [500, 50_000] {
        let mut records = life(PAIR, atomic, (0, gap), 8);
        let again = (0..8).flat_map(|nth| {
            let time = 4_000_000 + u64::from(nth) * 500;
            [PAIR.fetch_add(0, time, nth), PAIR.atomic_ack(1, time + 10_000, nth, 8)]
        });
        records.extend(in_order(again.collect()));
        let report = analyze(&records, Config::default());
        assert_eq!(packets(&report), [(16, 16)]);
        assert_eq!(report.connections[0].a_to_b.retransmitted_packets, 8);
        assert_eq!(report.connections[0].b_to_a.loss.unwrap().after_capture, 1);
    }
}

/// No answer to an atomic is kept where there was none.
#[test]
fn a_life_of_sends_is_followed_by_one_that_begins_with_an_atomic() {
    let mut records = life(PAIR, send, (0, 50_000), 5);
    let begins = 500_000_000;
    records.extend(life(ELSEWHERE, atomic, (begins, 50_000), 1));
    let rest =
        (1..5).flat_map(|psn| send(ELSEWHERE, begins + u64::from(psn) * 50_000, psn, psn + 1));
    records.extend(rest);
    let report = analyze(&records, Config::default());
    assert_eq!(packets(&report), [(5, 5), (5, 5)]);
    assert_eq!(ids(&report), [] as [&str; 0]);
}

#[test]
fn a_life_begins_after_a_fifth_of_a_millisecond() {
    for (message, first) in [(read as Message, 3), (read, 10), (send, 10)] {
        let mut records = life(PAIR, message, (0, 30_000), first);
        let begins = u64::from(first) * 30_000 + 200_000;
        records.extend(life(ELSEWHERE, message, (begins, 30_000), 3));
        let report = analyze(&records, Config::default());
        assert_eq!(packets(&report), [(u64::from(first), u64::from(first)), (3, 3)]);
        assert_eq!(ids(&report), [] as [&str; 0]);
    }
}
