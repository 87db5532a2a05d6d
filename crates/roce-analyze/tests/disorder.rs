//! Captures that are not in order: that is told, and not what only seems to follow from it.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::Record;
use common::made::{A, ACK, B, Made, answer, ask, v2};
use roce_analyze::connections::Config;
use roce_analyze::findings::{CaptureFacts, Finding, Policy, Value, evaluate_capture};
use roce_wire::Opcode;

fn findings(records: &[Record]) -> Vec<Finding> {
    let report = common::analyze(records, Config::default());
    evaluate_capture(&report, &Policy::default(), &CaptureFacts::default())
}

fn ids(found: &[Finding]) -> Vec<(&'static str, u64)> {
    found.iter().map(|finding| (finding.id, finding.count)).collect()
}

/// A connection that first asks and is answered, so that both flows are known to be its own; then
/// the answers of one tap are put as much earlier as its clock is slow.
fn skewed(slow: u64) -> Vec<Record> {
    skewed_bursts(slow, 30, 0)
}

/// The same with so many bursts of requests, and so many microseconds more between them.
fn skewed_bursts(slow: u64, bursts: u32, more: u64) -> Vec<Record> {
    let mut made = Made::default();
    made.chat(100..104);
    let good = made.records.len();
    for burst in 0..bursts {
        for nth in 0..4 {
            let send = ask(Opcode::RC_SEND_ONLY, 104 + burst * 4 + nth, &[1; 64]);
            made.ask(if nth == 3 { send.ack_req() } else { send });
            made.now_ns -= 9_000;
        }
        made.wait(10).answer(answer(107 + burst * 4, ACK, 8 + burst * 4)).wait(20 + more);
    }
    for record in &mut made.records[good..] {
        let is_answer = record.bytes[29] == 2;
        record.time_ns += slow + 1_000_000 - if is_answer { slow } else { 0 };
    }
    made.records.sort_by_key(|record| record.time_ns);
    made.records
}

#[test]
fn answers_before_their_requests_are_no_loss() {
    for slow in [14_000, 30_000, 100_000, 400_000] {
        let found = findings(&skewed(slow));
        assert_eq!(found.len(), 1, "{slow}: {found:?}");
        assert_eq!((found[0].id, found[0].subject.as_str()), ("capture-disorder", "capture"));
        let behind = Value::Number(found[0].count);
        assert!(found[0].evidence.contains(&("requests_behind_answers", behind)), "{found:?}");
        assert!(found[0].count >= 90, "{slow}: {found:?}");
    }
}

/// Retransmissions come as late; but not all requests are sent again, and none for the first time.
#[test]
fn clocks_that_differ_by_timeouts_are_no_timeouts() {
    for (slow, more) in [(12_000_000, 400), (50_000_000, 1_000), (50_000_000, 300)] {
        let found = findings(&skewed_bursts(slow, 300, more));
        assert_eq!(found.len(), 1, "{slow}: {found:?}");
        assert_eq!(found[0].id, "capture-disorder");
        assert!(found[0].count >= 900, "{slow}: {found:?}");
    }
}

/// Whatever stands behind later frames, and was captured before them, did not overtake them.
#[test]
fn what_only_stands_at_another_place_was_not_late() {
    let mut made = Made::default();
    made.chat(100..300);
    let mut blocks: Vec<_> = made.records.chunks(16).collect();
    blocks.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    assert!(!ids(&findings(&blocks.concat())).iter().any(|(id, _)| *id == "reordering"));
    // Answers before all requests are those of nobody.
    made.records.reverse();
    assert_eq!(ids(&findings(&made.records)), [("unpaired-flows", 2)]);
}

/// What the clocks differ by is less than the time that answers take.
#[test]
fn clocks_that_differ_by_less_than_the_latency_do_no_harm() {
    assert_eq!(ids(&findings(&skewed(5_000))), []);
}

/// The capture has missed one request; it comes once more when the requester has missed the answer.
#[test]
fn one_request_behind_its_answer_is_no_disorder() {
    let mut made = Made::default();
    made.chat(100..110);
    made.answer(answer(110, ACK, 11)).chat(111..120);
    assert_eq!(ids(&findings(&made.records)), [("capture-loss", 1)]);
}

/// A connection with losses before the capture point, which are sent again.
fn lossy(counts: bool) -> Vec<Record> {
    let mut made = Made::default();
    let mut id = 0;
    let mut send = |made: &mut Made, psn| {
        id += 1;
        let way = v2(A, B).ip_id(if counts { id } else { 0 });
        made.packet(way, ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
    };
    for psn in 100..700 {
        if psn % 200 == 50 {
            send(&mut made, psn + 1);
            made.answer(answer(psn, roce_wire::Syndrome(0x60), psn - 100));
        }
        send(&mut made, psn);
        made.answer(answer(psn, ACK, psn - 99)).wait(60);
    }
    made.records
}

#[test]
fn files_joined_in_the_wrong_order_show_no_more_than_they_have() {
    for counts in [true, false] {
        let all = lossy(counts);
        let right = findings(&all);
        assert_eq!(ids(&right), [("packet-loss-upstream", 3)]);
        for cut in [all.len() / 2, all.len() / 3, all.len() / 2 + 1] {
            let (one, other) = all.split_at(cut);
            let found = findings(&[other, one].concat());
            let expected = [("capture-disorder", one.len() as u64), ("packet-loss-upstream", 3)];
            assert_eq!(ids(&found), expected, "{counts} {cut}");
        }
    }
}
