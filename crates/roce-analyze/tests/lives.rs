//! Queue pair numbers that are used again without a word of the connection manager.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::made::{ACK, Made, answer, ask};
use common::pairs::{Pair, in_order};
use common::{Record, analyze};
use roce_analyze::connections::{Config, Report, json};
use roce_analyze::findings::{Policy, evaluate};
use roce_wire::{IcrcFill, Opcode, Syndrome};

const SECOND: u64 = 1_000_000_000;
const PAIR: Pair = Pair { qpns: [0x101, 0x202], ports: [0xc123, 0xc123] };

/// So many SENDs from PSN `start`, 50 µs apart, each answered 10 µs later.
fn life(begins: u64, start: u32, count: u32) -> Vec<Record> {
    let packets = (0..count).flat_map(|nth| {
        let time = begins + u64::from(nth) * 50_000;
        [
            PAIR.send(0, time, (start + nth) & 0xff_ffff),
            PAIR.ack(1, time + 10_000, (start + nth) & 0xff_ffff, nth + 1),
        ]
    });
    packets.collect()
}

/// Packets both ways, and start PSN, of each connection.
fn lives(report: &Report) -> Vec<(u64, u64, Option<u32>)> {
    let told = |c: &roce_analyze::connections::Connection| {
        (c.a_to_b.packets, c.b_to_a.packets, c.a.start_psn)
    };
    report.connections.iter().map(told).collect()
}

fn ids(report: &Report) -> Vec<&'static str> {
    evaluate(report, &Policy::default()).into_iter().map(|finding| finding.id).collect()
}

fn ghosts(report: &Report) -> u64 {
    let directions = report.connections.iter().flat_map(|c| c.directions());
    directions.map(|direction| direction.ghost_packets).sum()
}

#[test]
fn the_packet_that_begins_a_life_belongs_to_it() {
    let starts = [1000, 0x70_0000, 0x20_0000, 0xff_fff0, 0x55_5555];
    let lives_of = |starts: &[u32]| {
        (0..).zip(starts).flat_map(|(nth, start)| life(nth * 5 * SECOND, *start, 20)).collect()
    };
    let records: Vec<Record> = lives_of(&starts);
    let report = analyze(&records, Config::default());
    assert_eq!(lives(&report), starts.map(|start| (20, 20, Some(start))));
    assert_eq!((ghosts(&report), ids(&report)), (0, vec![]));
    assert!(report.connections.iter().all(|c| c.a.qpn == Some(0x101) && c.b.qpn == Some(0x202)));
}

#[test]
fn without_answers_a_life_begins_after_a_long_silence() {
    let requests = |begins, start| {
        (0..20).map(move |nth| PAIR.send(0, begins + nth * 50_000, start + nth as u32))
    };
    let records: Vec<Record> = requests(0, 1000).chain(requests(5 * SECOND, 0x70_0000)).collect();
    let report = analyze(&records, Config::default());
    assert_eq!(lives(&report), [(20, 0, Some(1000)), (20, 0, Some(0x70_0000))]);
    assert_eq!(ghosts(&report), 0);
}

#[test]
fn late_packets_of_a_life_that_is_over_do_not_cut_the_next() {
    let mut records = life(0, 1000, 20);
    records.extend(life(5 * SECOND, 0x70_0000, 20));
    // In the middle of the second life, one after the other.
    let late =
        (0..3).map(|nth| PAIR.send(0, 5 * SECOND + 300_000 + u64::from(nth) * 1_000, 1017 + nth));
    records.extend(late);
    let report = analyze(&in_order(records), Config::default());
    assert_eq!(lives(&report), [(20, 20, Some(1000)), (23, 20, Some(0x70_0000))]);
    assert_eq!((ghosts(&report), report.connections[1].a_to_b.ghost_packets), (3, 3));
    assert_eq!(report.connections[1].a_to_b.messages.send, 20);
}

#[test]
fn the_responder_counts_messages_from_the_beginning_of_a_life() {
    // The same PSN, one before it, one behind it.
    for start in [1000, 990, 3000] {
        let mut records = life(0, 1000, 20);
        records.extend(life(5 * SECOND, start, 20));
        let report = analyze(&records, Config::default());
        assert_eq!(lives(&report), [(20, 20, Some(1000)), (20, 20, Some(start))]);
        assert_eq!(ids(&report), [] as [&str; 0]);
    }
}

/// As long as it takes to make a queue pair anew, and connect it.
#[test]
fn a_life_begins_after_a_few_milliseconds() {
    for (start, gap) in [(1000, 1), (1000, 20), (990, 3), (1010, 20), (1020, 20), (1100, 80)] {
        let begins = 20 * 50_000 + gap * 1_000_000;
        let mut records = life(0, 1000, 20);
        records.extend(life(begins, start, 20));
        let report = analyze(&records, Config::default());
        if start == 1020 {
            // As if it went on: but the responder counts anew.
            assert_eq!(ids(&report), [] as [&str; 0]);
            continue;
        }
        assert_eq!(lives(&report), [(20, 20, Some(1000)), (20, 20, Some(start))], "{start} {gap}");
        assert_eq!((ghosts(&report), ids(&report)), (0, vec![]));
    }
}

/// The last request of a life was not answered, or was sent again.
#[test]
fn a_life_begins_after_one_that_ended_in_trouble() {
    for is_answered in [false, true] {
        let mut records = life(0, 1000, 20);
        records.push(PAIR.send(0, 2_000_000, 1020));
        if is_answered {
            records.push(PAIR.send(0, 9_000_000, 1020));
            records.push(PAIR.ack(1, 9_010_000, 1020, 21));
        }
        records.extend(life(30_000_000, 1000, 20));
        let report = analyze(&records, Config::default());
        let of_first = if is_answered { (22, 21) } else { (21, 20) };
        let expected = [of_first, (20, 20)].map(|(there, back)| (there, back, Some(1000)));
        assert_eq!(lives(&report), expected);
    }
}

/// A life that begins with one long message, acknowledged in its middle or not before its end.
#[test]
fn a_long_message_begins_a_life() {
    for has_ack in [true, false] {
        let mut records = life(0, 1000, 20);
        let begins = 20_000_000;
        let mut message = PAIR.long_send(0, begins, 1000, 200);
        if has_ack {
            message.push(PAIR.ack(1, begins + 8_100, 1040, 0));
        }
        message.push(PAIR.ack(1, begins + 60_000, 1199, 1));
        records.extend(in_order(message));
        let report = analyze(&records, Config::default());
        let acks = 1 + u64::from(has_ack);
        assert_eq!(lives(&report), [(20, 20, Some(1000)), (200, acks, Some(1000))]);
        assert_eq!(ids(&report), [] as [&str; 0]);
    }
}

/// A begins anew with another number. B keeps its own, so that the requests of A go where they went
/// before, and only the answers tell.
#[test]
fn a_queue_pair_is_used_again_by_another_partner() {
    for start in [1000, 990, 1100, 0x70_0000] {
        for gap in [1_000_000, 20_000_000, 2 * SECOND] {
            let mut records = life(0, 1000, 20);
            let pair = Pair { qpns: [0x301, 0x202], ports: [0xc777, 0xc777] };
            for nth in 0..20 {
                let time = 1_000_000 + gap + u64::from(nth) * 50_000;
                records.push(pair.send(0, time, start + nth));
                records.push(pair.ack(1, time + 10_000, start + nth, nth + 1));
            }
            let report = analyze(&records, Config::default());
            assert_eq!(lives(&report), [(20, 20, Some(1000)), (20, 20, Some(start))], "{start}");
            assert_eq!((ghosts(&report), ids(&report)), (0, vec![]), "{start}");
            let qpns: Vec<_> = report.connections.iter().map(|c| (c.a.qpn, c.b.qpn)).collect();
            assert_eq!(qpns, [0x101, 0x301].map(|qpn| (Some(qpn), Some(0x202))));
        }
    }
}

/// A restarts and takes its first number again; B, which does not, has a new one each time.
#[test]
fn a_queue_pair_is_used_again_with_another_partner() {
    let starts = [[1000, 0x70_0000, 0x20_0000], [0, 0, 0], [500, 510, 490], [0, 100, 200]];
    for (starts, gap) in starts.into_iter().flat_map(|s| [(s, 5 * SECOND), (s, 20_000_000)]) {
        let mut records = Vec::new();
        for (life, start) in (0..).zip(starts) {
            let pair = Pair { qpns: [0x11, 0x500 + life], ..PAIR };
            for nth in 0..20 {
                let time = u64::from(life) * gap + u64::from(nth) * 50_000;
                records.push(pair.send(0, time, start + nth));
                records.push(pair.ack(1, time + 10_000, start + nth, nth + 1));
            }
        }
        let report = analyze(&records, Config::default());
        assert_eq!(lives(&report), starts.map(|start| (20, 20, Some(start))), "{starts:?}");
        assert_eq!((ghosts(&report), ids(&report)), (0, vec![]), "{starts:?}");
        let qpns: Vec<_> = report.connections.iter().map(|c| (c.a.qpn, c.b.qpn)).collect();
        assert_eq!(qpns, [0x500, 0x501, 0x502].map(|qpn| (Some(0x11), Some(qpn))));
    }
}

/// More than a few are sent before the first is answered, from the same PSN as in the life before.
#[test]
fn a_window_of_requests_begins_a_life_with_the_same_psn() {
    let mut records = life(0, 1000, 50);
    let begins = 100 * SECOND;
    records.extend((0..30).map(|nth| PAIR.send(0, begins + u64::from(nth) * 500, 1000 + nth)));
    let acks = (0..30).map(|nth| (begins + 20_000 + u64::from(nth) * 500, nth));
    records.extend(acks.map(|(time, nth)| PAIR.ack(1, time, 1000 + nth, nth + 1)));
    let report = analyze(&records, Config::default());
    assert_eq!(lives(&report), [(50, 50, Some(1000)), (30, 30, Some(1000))]);
    assert_eq!((ghosts(&report), ids(&report)), (0, vec![]));
}

#[test]
fn what_is_sent_again_after_a_pause_is_no_new_life() {
    // The last answer was lost behind the capture point; the first message was the last one, too.
    for (count, pause) in [1, 2, 5].into_iter().flat_map(|n| [(n, SECOND), (n, 4_000_000)]) {
        let mut records = life(0, 0, count);
        records.push(PAIR.send(0, pause, count - 1));
        records.push(PAIR.ack(1, pause + 10_000, count - 1, count));
        let report = analyze(&records, Config::default());
        let packets = u64::from(count) + 1;
        assert_eq!(lives(&report), [(packets, packets, Some(0))]);
        let [there, back] = report.connections[0].directions();
        assert_eq!((there.retransmitted_packets, there.retransmissions.timeout_driven), (1, 1));
        assert_eq!(back.loss.unwrap().after_capture, 1);
    }
}

/// All messages are sent again, as no answer has come: the responder counts none of them twice, or
/// never counts at all.
#[test]
fn a_window_that_is_sent_again_is_no_new_life() {
    for counts in [true, false] {
        let mut records = Vec::new();
        for (begins, msn) in [(0, [1, 2, 3, 4]), (8_000_000, [4, 4, 4, 4])] {
            for nth in 0..4 {
                records.push(PAIR.send(0, begins + u64::from(nth) * 500, nth));
                let msn = if counts { msn[nth as usize] } else { 0 };
                records.push(PAIR.ack(1, begins + 10_000 + u64::from(nth) * 500, nth, msn));
            }
        }
        let report = analyze(&in_order(records), Config::default());
        assert_eq!(lives(&report), [(8, 8, Some(0))]);
        assert_eq!(report.connections[0].a_to_b.retransmitted_packets, 4);
        assert_eq!(report.connections[0].a_to_b.duplicate_requests, 4);
    }
}

/// An acknowledgement and a NAK were lost behind the capture point, right at the beginning: all is
/// sent again, and the responder has counted as much as it would for another life.
#[test]
fn what_was_asked_for_in_vain_is_no_new_life() {
    for answered in 1..4 {
        let mut made = Made::default();
        (0..5).for_each(|psn| _ = made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req()));
        (0..answered).for_each(|psn| _ = made.answer(answer(psn, ACK, psn + 1)));
        made.answer(answer(answered, Syndrome(0x60), answered)).wait(16_000);
        for psn in 0..5 {
            made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
            let last = psn.max(answered - 1);
            made.answer(answer(last, ACK, last + 1));
        }
        let report = made.report();
        assert_eq!(report.connections.len(), 1, "{answered}");
        assert_eq!(report.connections[0].a_to_b.retransmitted_packets, 5);
    }
}

#[test]
fn a_gap_after_a_pause_is_no_new_life() {
    let mut records = life(0, 0, 5);
    // Of three SENDs the first is missing; the responder asks for it.
    records.extend([6, 7].map(|psn| PAIR.send(0, SECOND + u64::from(psn) * 1_000, psn)));
    records.push(PAIR.ack(1, SECOND + 20_000, 7, 8));
    let report = analyze(&records, Config::default());
    assert_eq!(lives(&report), [(7, 6, Some(0))]);
    assert_eq!(report.connections[0].a_to_b.loss.unwrap().not_captured, 1);
}

#[test]
fn a_direction_whose_icrc_is_always_wrong_is_there() {
    let mut records = Vec::new();
    for nth in 0..50 {
        let time = u64::from(nth) * 50_000;
        records.push(PAIR.send_with(0, time, 1000 + nth, IcrcFill::Flipped(0x0102_0304)));
        records.push(PAIR.ack(1, time + 10_000, 1000 + nth, nth + 1));
    }
    let report = analyze(&records, Config::default());
    let told: Vec<_> =
        report.connections.iter().map(|c| (c.a_to_b.packets, c.a_to_b.icrc_bad)).collect();
    assert_eq!(told, [(50, 50)]);
    assert_eq!((report.totals.icrc_bad_elsewhere, report.totals.connection_packets), (0, 100));
    assert!(report.totals.is_conserved());
    assert_eq!(ids(&report), ["bad-icrc"]);
}

/// Behind an address translation no ICRC is right; both directions are there all the same.
#[test]
fn two_directions_whose_icrc_is_always_wrong_are_one_connection() {
    for (wrong, count) in [(IcrcFill::Flipped(0x0102_0304), 40), (IcrcFill::Flipped(1), 300)] {
        let pairs = [[0x101, 0x202], [0x103, 0x204]].map(|qpns| Pair { qpns, ..PAIR });
        let mut records = Vec::new();
        for nth in 0..count {
            for (which, pair) in (0..).zip(&pairs) {
                let (time, psn) = (u64::from(nth) * 50_000 + which * 7_000, 1000 + nth);
                let psn = psn + which as u32 * 0x20_0000;
                records.push(pair.send_with(0, time, psn, wrong));
                records.push(pair.ack_with(1, time + 10_000, psn, nth + 1, wrong));
            }
        }
        let report = analyze(&in_order(records), Config::default());
        let told: Vec<_> = report
            .connections
            .iter()
            .map(|c| (c.a.qpn, c.b.qpn, c.a_to_b.icrc_bad, c.b_to_a.icrc_bad))
            .collect();
        let all = u64::from(count);
        let expected = pairs.map(|Pair { qpns: [a, b], .. }| (Some(a), Some(b), all, all));
        assert_eq!(told, expected);
        // Nothing is held against what the packets say.
        assert!(report.connections.iter().all(|c| c.a_to_b.messages.send == 0));
        assert!(report.totals.is_conserved());
        assert_eq!(ids(&report), ["bad-icrc", "bad-icrc"]);
    }
}

#[test]
fn a_few_packets_with_a_wrong_icrc_make_no_flow() {
    let mut records = life(0, 1000, 20);
    let elsewhere = Pair { qpns: [0x101, 0x203], ..PAIR };
    records.extend((0..3).map(|nth| elsewhere.send_with(0, SECOND, nth, IcrcFill::Flipped(1))));
    let report = analyze(&records, Config::default());
    assert_eq!((report.connections.len(), report.totals.icrc_bad_elsewhere), (1, 3));
    let json = serde_json::to_value(json::Document(&report)).unwrap();
    assert_eq!(json["icrc_bad_elsewhere"], 3);
}

#[test]
fn another_life_of_unpaired_queue_pairs_breaks_no_message() {
    // Two alike, answered at the end only: which answers are whose is not known, and so not that the
    // second lives are.
    let pairs = [0, 1].map(|nth| Pair { qpns: [0x100 + nth, 0x200 + nth], ..PAIR });
    let mut records = Vec::new();
    for (began, start) in [(0, 1000), (SECOND / 30, 1031)] {
        for (nth, pair) in (0..).zip(pairs) {
            let time = began + nth * 2_000;
            for message in 0..12u32 {
                let then = time + u64::from(message) * 14_000;
                records.extend(pair.long_send(0, then, start + message * 3, 3));
            }
            records.push(pair.ack(1, time + 200_000, start + 35, 12));
        }
    }
    let report = analyze(&in_order(records), Config::default());
    assert!(!ids(&report).contains(&"opcode-sequence"));
}
