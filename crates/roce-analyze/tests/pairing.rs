//! Many queue pairs between two hosts that are all alike: which flows are one connection?
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use std::collections::HashMap;

use common::pairs::{Numbers, Pair, in_order};
use common::{Record, analyze};
use roce_analyze::connections::{Config, Event, LearnedFrom, Report};
use roce_analyze::findings::{Policy, evaluate};

/// Queue pairs as collective communication uses them: one message each in every round, all of the
/// same shape, from PSN 0.
struct Rounds {
    pairs: Vec<Pair>,
    records: Vec<Record>,
}

fn rounds(count: u32, rounds: u32, seed: u64) -> Rounds {
    let mut numbers = Numbers(seed);
    let pairs: Vec<Pair> = (0..count)
        .map(|nth| Pair {
            // B's are in no order.
            qpns: [0x100 + nth, 0x20_0000 + (nth * 7919) % 100_003],
            ports: [0, 1].map(|_| 0xc000 + numbers.below(0x1000) as u16),
        })
        .collect();
    let mut records = Vec::new();
    for round in 0..rounds {
        for pair in &pairs {
            let start = u64::from(round) * 300_000 + numbers.below(100_000);
            records.extend(pair.write(0, start, round * 4));
            let answered = start + 8_000 + numbers.below(4_000);
            records.push(pair.ack(1, answered, round * 4 + 3, round + 1));
        }
    }
    Rounds { pairs, records: in_order(records) }
}

/// How many connections are right, and how many are not.
fn score(report: &Report, pairs: &[Pair]) -> (usize, usize) {
    let truth: HashMap<u32, u32> = pairs.iter().map(|pair| pair.qpns.into()).collect();
    let known = report.connections.iter().filter_map(|c| Some((c.a.qpn?, c.b.qpn?)));
    let is_right = |(a, b): &(u32, u32)| truth.get(a) == Some(b) || truth.get(b) == Some(a);
    let (right, wrong): (Vec<_>, Vec<_>) = known.partition(is_right);
    (right.len(), wrong.len())
}

fn ids(report: &Report) -> Vec<&'static str> {
    evaluate(report, &Policy::default()).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn queue_pairs_that_are_alike_are_told_apart_by_when_they_are_answered() {
    for (count, seed) in [(2, 1), (8, 2), (12, 3), (24, 4), (100, 5)] {
        let Rounds { pairs, records } = rounds(count, 60, seed);
        let report = analyze(&records, Config::default());
        assert_eq!(score(&report, &pairs), (pairs.len(), 0), "{count}");
        assert_eq!(report.connections.len(), pairs.len());
        for c in &report.connections {
            assert_eq!(c.learned_from, Some(LearnedFrom::Psn));
            // What went by before that was known is part of it.
            assert_eq!((c.a_to_b.packets, c.b_to_a.packets, c.b_to_a.acks), (240, 60, 60));
            assert_eq!((c.a_to_b.messages.write, c.a_to_b.retransmitted_packets), (60, 0));
            assert_eq!(c.a_to_b.ack_latency_ns.as_ref().unwrap().count, 60, "{count}");
            assert_eq!(c.a_to_b.missing_psns + c.b_to_a.missing_psns, 0);
        }
        assert!(ids(&report).iter().all(|id| *id == "low-entropy"), "{:?}", ids(&report));
    }
}

#[test]
fn no_pair_is_wrong_where_the_capture_begins_in_the_middle() {
    for seed in 0..20 {
        let Rounds { pairs, records } = rounds(24, 60, seed);
        let first = 500 + Numbers(seed).below(2_000) as usize;
        let report = analyze(&records[first..], Config::default());
        assert_eq!(score(&report, &pairs), (pairs.len(), 0), "{seed}");
        assert_eq!(ids(&report), [] as [&str; 0], "{seed}");
    }
}

#[test]
fn no_pair_is_wrong_where_the_capture_misses_frames() {
    for seed in 0..20 {
        let Rounds { pairs, records } = rounds(24, 100, seed);
        let mut numbers = Numbers(seed);
        let kept = records.iter().filter(|_| numbers.below(100) > 0);
        let report = analyze(kept, Config::default());
        let (right, wrong) = score(&report, &pairs);
        assert_eq!(wrong, 0, "{seed}");
        assert!(right > 20, "{seed}: {right}");
        assert!(!ids(&report).contains(&"one-way"), "{seed}");
    }
}

/// Few messages each, and all begin within 20 ms: with PSNs from anywhere one answer tells.
#[test]
fn many_queue_pairs_with_their_own_psns_are_paired_by_their_first_answers() {
    let mut numbers = Numbers(9);
    let mut records = Vec::new();
    let pairs: Vec<Pair> = (0..2000)
        .map(|nth| Pair { qpns: [0x1000 + nth, 0x20_0000 + nth], ports: [0xc000; 2] })
        .collect();
    for pair in &pairs {
        let (begin, psn) = (numbers.below(20_000_000), numbers.below(0xff_0000) as u32);
        for message in 0..2 {
            let start = begin + u64::from(message) * 50_000;
            records.extend(pair.write(0, start, psn + message * 4));
            records.push(pair.ack(1, start + 10_000, psn + message * 4 + 3, message + 1));
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert_eq!(score(&report, &pairs), (2000, 0));
    assert_eq!(report.connections.len(), 2000);
    assert!(ids(&report).iter().all(|id| *id == "low-entropy"), "{:?}", ids(&report));
}

/// Queue pairs that begin at the same PSN, each with messages of its own lengths, some of them on
/// their way at a time.
fn windows(count: u32, window: u64, seed: u64) -> Rounds {
    let mut numbers = Numbers(seed);
    let pairs: Vec<Pair> = (0..count)
        .map(|nth| Pair { qpns: [0x100 + nth, 0x20_0000 + nth * 7], ports: [0xc123; 2] })
        .collect();
    let mut records = Vec::new();
    for pair in &pairs {
        let (mut time, mut psn) = (numbers.below(50_000), 1000);
        for message in 0..30 {
            let packets = [1, 1, 2, 3, 7][numbers.below(5) as usize];
            records.extend(pair.long_send(0, time, psn, packets));
            time += u64::from(packets) * 200;
            psn += packets;
            records.push(pair.ack(1, time + 101_000, psn - 1, message + 1));
            time += if u64::from(message) % window == window - 1 { 105_000 } else { 0 };
            time += numbers.below(1_000);
        }
    }
    Rounds { pairs, records: in_order(records) }
}

/// The partner of a flow may come late into a capture that begins in the middle, or not at all: until
/// then another flow with the same PSNs is the only one that answers fit.
#[test]
fn no_pair_is_wrong_where_partners_come_late() {
    let mut rights = 0;
    for seed in 0..60 {
        let count = [2, 4, 8][seed as usize % 3];
        let Rounds { pairs, records } = windows(count, [8, 1_000][seed as usize / 3 % 2], seed);
        let third = records.len() / 3;
        for part in [&records[third..], &records[third..third * 2]] {
            let report = analyze(part, Config::default());
            let (right, wrong) = score(&report, &pairs);
            assert_eq!(wrong, 0, "{seed}");
            rights += right;
            let is_loss = |id: &&str| !["unpaired-flows", "low-entropy"].contains(id);
            let ids = ids(&report);
            assert_eq!(ids.iter().filter(|id| is_loss(id)).count(), 0, "{seed}: {ids:?}");
        }
    }
    assert!(rights > 150, "{rights}");
}

/// Both send, then both answer: there is nothing that tells which answers which.
#[test]
fn where_two_fit_equally_well_nothing_is_said() {
    let pairs = [[0x11, 0x21], [0x12, 0x22]].map(|qpns| Pair { qpns, ports: [50_000; 2] });
    let mut records = Vec::new();
    for round in 0..40 {
        let start = u64::from(round) * 100_000;
        for (nth, pair) in (0..).zip(pairs) {
            records.push(pair.send(0, start + nth * 100, round));
            records.push(pair.ack(1, start + 5_000 + nth * 100, round, round + 1));
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert_eq!((score(&report, &pairs), report.connections.len()), ((0, 0), 4));
    assert_eq!(ids(&report), ["unpaired-flows"]);
    let found = evaluate(&report, &Policy::default());
    assert_eq!((found[0].count, found[0].subject.as_str()), (4, "10.0.0.1 - 10.0.0.2"));
}

/// The same, and each has a UDP source port of its own, the same both ways.
#[test]
fn ports_of_their_own_tell_flows_apart() {
    let pairs: Vec<Pair> = (0..16)
        .map(|nth| Pair { qpns: [0x11 + nth, 0x91 - nth], ports: [50_000 + nth as u16; 2] })
        .collect();
    let mut records = Vec::new();
    for round in 0..40 {
        let start = u64::from(round) * 100_000;
        for (nth, pair) in (0..).zip(&pairs) {
            records.push(pair.send(0, start + nth * 100, round));
            records.push(pair.ack(1, start + 5_000 + nth * 100, round, round + 1));
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert_eq!((score(&report, &pairs), report.connections.len()), ((16, 0), 16));
    assert_eq!(ids(&report), [] as [&str; 0]);
    assert!(
        report.connections.iter().all(|c| c.a_to_b.ack_latency_ns.as_ref().unwrap().count == 40)
    );
}

/// All requests of a round, then all answers, at the same time.
fn in_step(count: u32, port: impl Fn(u32) -> u16) -> Rounds {
    let pairs: Vec<Pair> = (0..count)
        .map(|nth| Pair { qpns: [0x100 + nth, 0x10_0000 + nth], ports: [port(nth); 2] })
        .collect();
    let mut records = Vec::new();
    for round in 0..6 {
        records.extend(pairs.iter().map(|pair| pair.send(0, 0, round)));
        records.extend(pairs.iter().map(|pair| pair.ack(1, 0, round, round + 1)));
    }
    Rounds { pairs, records }
}

/// So many that not every answer can be held to every flow.
#[test]
fn ports_of_their_own_tell_thousands_of_flows_apart() {
    let Rounds { pairs, records } = in_step(3_000, |nth| 0xc000 + nth as u16);
    let report = analyze(&records, Config::default());
    assert_eq!((score(&report, &pairs), report.connections.len()), ((3_000, 0), 3_000));
}

/// Ten thousand flows of which no two can be told to belong together. Were every answer held to every
/// flow, this took 150 million steps, most of them to memory that is far away.
#[test]
fn ten_thousand_flows_that_are_alike_are_no_pairs() {
    let Rounds { pairs, records } = in_step(5_000, |_| 50_000);
    let report = analyze(&records, Config::default());
    assert_eq!((score(&report, &pairs), report.connections.len()), ((0, 0), 10_000));
    assert!(!ids(&report).contains(&"one-way"));
}

/// The UDP source port that Linux makes of two queue pairs (`rdma_calc_flow_label` and
/// `rdma_flow_label_to_udp_sport` of its `ib_verbs.h`).
fn linux_port(a: u32, b: u32) -> u16 {
    let mut product = u64::from(a) * u64::from(b);
    product ^= product >> 20;
    product ^= product >> 40;
    let label = product as u32 & 0xf_ffff;
    (label & 0x3fff ^ label >> 14) as u16 | 0xc000
}

/// Among hundreds of flows one has by accident the port that Linux would make.
#[test]
fn among_many_that_fit_a_port_proves_nothing() {
    let qpns = |nth: u32| [0x1000 + nth, 0x2000 + nth];
    let ports = |nth: u32| match (qpns(nth & !1), qpns(nth | 1)) {
        // Of the first there are only a few that fit.
        _ if nth < 150 => [0xc000 + nth as u16; 2],
        ([a, _], [_, b]) => [linux_port(a, b); 2],
    };
    let pairs: Vec<Pair> =
        (0..300).map(|nth| Pair { qpns: qpns(nth), ports: ports(nth) }).collect();
    let mut records = Vec::new();
    for (round, start) in (0..12).zip((0..).step_by(1_000_000)) {
        for (pair, start) in pairs.iter().zip((start..).step_by(2_000)) {
            records.push(pair.send(0, start, round));
            records.push(pair.ack(1, start + 1_000, round, round + 1));
        }
    }
    let (_, wrong) = score(&analyze(&in_order(records), Config::default()), &pairs);
    assert_eq!(wrong, 0);
}

/// A NAK and what is sent again say little of which flows belong together, and fill what is kept.
#[test]
fn under_loss_a_port_of_their_own_tells_flows_apart() {
    let mut numbers = Numbers(5);
    let pairs: Vec<Pair> = (0..6)
        .map(|nth: u32| Pair { qpns: [0x100 + nth, 0x900 + nth], ports: [0xc100 + nth as u16; 2] })
        .collect();
    let mut records = Vec::new();
    for pair in &pairs {
        let mut at = numbers.below(100_000);
        for message in 0..40 {
            let psn = 1000 + message * 40;
            // More packets than are kept, and all of them twice.
            for nth in 0..2 {
                records.extend(pair.long_send(0, at + nth * 20_000, psn, 40));
            }
            records.push(pair.ack(1, at + 40_000, psn + 39, message + 1));
            at += 100_000 + numbers.below(50_000);
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert_eq!(score(&report, &pairs), (6, 0));
}

/// Nor why something was sent again: a NAK may be among the answers.
#[test]
fn where_nothing_tells_whose_answers_are_there_no_timeout_is_told() {
    let pairs = [0, 1].map(|nth| Pair { qpns: [0x100 + nth, 0x900 + nth], ports: [0xc100; 2] });
    let mut records = Vec::new();
    for round in 0..12 {
        let start = u64::from(round) * 2_000_000;
        for (side, again) in [(0, 0), (0, 1_000_000), (1, 1_010_000)] {
            for pair in pairs {
                records.push(match side {
                    0 => pair.send(0, start + again, round),
                    _ => pair.ack(1, start + again, round, round + 1),
                });
            }
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert_eq!((score(&report, &pairs), ids(&report)), ((0, 0), vec!["unpaired-flows"]));
    for sent in report.connections.iter().map(|c| &c.a_to_b).filter(|sent| sent.acks == 0) {
        let why = *sent.retransmissions;
        assert_eq!((why.timeout_driven, why.unknown), (0, 12));
        assert_eq!((sent.loss.unwrap().after_capture, sent.duplicate_requests), (0, 0));
        assert_eq!(sent.frames(Event::Retransmitted).count(), 10);
    }
}

/// Nor is it made up later, when both flows are known to be one connection and their first packets are
/// kept no more. A NAK that was there tells it all the same.
#[test]
fn what_was_sent_again_before_flows_were_paired_has_the_cause_that_was_seen() {
    let pairs = [0, 1].map(|nth| Pair { qpns: [0x100 + nth, 0x900 + nth], ports: [0xc100; 2] });
    let mut records = Vec::new();
    for (round, start) in (0..300).map(|round| (round, u64::from(round) * 2_000_000)) {
        for (nth, pair) in pairs.into_iter().enumerate() {
            if round < 160 || nth == 0 {
                records.push(pair.send(0, start, round));
                records.push(pair.ack(1, start + 10_000, round, round + 1));
            }
            if [50, 70].contains(&round) {
                records.pop();
                records.push(pair.send(0, start + 200, round + 1));
                if round == 50 {
                    records.push(pair.nak(1, start + 10_000, round, round));
                }
                records.push(pair.send(0, start + 600_000, round));
                records.push(pair.ack(1, start + 610_000, round, round + 1));
            }
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert_eq!(score(&report, &pairs).1, 0);
    let sent = &report.connections.iter().find(|c| c.is_two_way()).unwrap().a_to_b;
    let why = *sent.retransmissions;
    assert_eq!((why.timeout_driven, why.nak_driven, why.unknown), (0, 1, 1));
    assert_eq!(sent.loss.unwrap().after_capture, 1);
    assert!(report.connections.iter().all(|c| c.a_to_b.retransmissions.timeout_driven == 0));
    assert!(!ids(&report).contains(&"ack-timeout"));
}

/// A mirror that drops frames: what it lacks is no evidence against a pair that has UDP source ports
/// of its own.
#[test]
fn frames_that_the_capture_lacks_part_no_pairs() {
    for seed in 1..9 {
        let mut numbers = Numbers(seed);
        let pair = |nth: u32| Pair {
            qpns: [0x100 + nth, 0x20_0000 + nth * 17],
            ports: [0xc000 + u16::try_from(nth).unwrap() * 3; 2],
        };
        let pairs: Vec<Pair> = (0..40).map(pair).collect();
        let mut records = Vec::new();
        for pair in &pairs {
            let (mut psn, mut at) = (0, numbers.below(50_000));
            for msn in 1..13 {
                let count = 1 + u32::try_from(numbers.below(16)).unwrap();
                records.extend(pair.long_send(0, at, psn, count));
                psn += count;
                at += u64::from(count) * 200 + 6_000 + numbers.below(3_000);
                records.push(pair.ack(1, at, psn - 1, msn));
                at += 6_000 + numbers.below(10_000);
            }
        }
        let mut records = in_order(records);
        records.retain(|_| numbers.below(100) > 0);
        let report = analyze(&records, Config::default());
        let (right, wrong) = score(&report, &pairs);
        assert_eq!(wrong, 0, "{seed}");
        assert_eq!(right, pairs.len(), "{seed}");
        let found = ids(&report);
        assert!(found.iter().all(|id| *id == "capture-loss"), "{seed}: {found:?}");
    }
}

/// The requests of one connection and the answers of another, and nothing else between two hosts:
/// that there are no others does not make them one.
#[test]
fn the_only_two_flows_need_not_be_one_connection() {
    let pairs = [(0x101, 0x202), (0x303, 0x404)]
        .map(|(a, b)| Pair { qpns: [a, b], ports: [0xc111, 0xc222] });
    for (start, other) in [(1000, 1000), (1000, 1001), (1000, 90_000), (0, 2)] {
        let [one, two] = &pairs;
        let mut records = Vec::new();
        for n in 0..100 {
            let at = u64::from(n) * 40_000;
            records.extend(one.long_send(0, at, start + n * 4, 4));
            for m in 0..4 {
                let at = at + 5_000 + u64::from(m) * 9_000;
                records.push(two.ack(1, at, other + n * 4 + m, n * 4 + m + 1));
            }
        }
        let report = analyze(&in_order(records), Config::default());
        assert_eq!(report.connections.len(), 2, "{start} {other}");
        assert!(!ids(&report).contains(&"capture-loss"), "{start} {other}: {:?}", ids(&report));
    }
}

#[test]
fn a_notification_speaks_against_no_pair() {
    // Its PSN is 0, half the range away from those of the second queue pair.
    let pairs = [(0, 1_000), (1, 12_000_000)].map(|(nth, psn)| {
        let ports = [0xc350 + nth; 2];
        (Pair { qpns: [0x100 + u32::from(nth), 0x200 + u32::from(nth)], ports }, psn)
    });
    let mut records = Vec::new();
    for round in 0..2 {
        for (nth, (pair, psn)) in (0..).zip(pairs) {
            let time = u64::from(round) * 10_000 + nth * 2_000;
            records.push(pair.send(0, time, psn + round));
            records.push(pair.ack(1, time + 1_000, psn + round, round + 1));
        }
    }
    let (second, _) = pairs[1];
    records.push(second.cnp(1, 5_000));
    let report = analyze(&in_order(records), Config::default());
    assert_eq!(score(&report, &pairs.map(|(pair, _)| pair)), (2, 0));
}
