//! Losses that leave no gap: ends of messages, answers, and what is lost behind another loss.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::made::{ACK, Made, answer, ask};
use roce_analyze::connections::{DirectionReport, Event, Loss};
use roce_analyze::findings::Value;
use roce_wire::{Opcode, PacketBuilder, Syndrome};

const NAK: Syndrome = Syndrome(0x60);
/// How long requesters wait for an answer here, in microseconds.
const TIMEOUT: u64 = 4_000;

fn packet(opcode: Opcode, psn: u32) -> PacketBuilder<'static> {
    ask(opcode, psn, &[0x5a; 256])
}

fn only(psn: u32) -> PacketBuilder<'static> {
    packet(Opcode::RC_SEND_ONLY, psn).ack_req()
}

/// A message of three packets, without the last one if that `is_cut`.
fn message(made: &mut Made, psn: u32, is_cut: bool) {
    made.ask(packet(Opcode::RC_SEND_FIRST, psn)).ask(packet(Opcode::RC_SEND_MIDDLE, psn + 1));
    if !is_cut {
        made.ask(packet(Opcode::RC_SEND_LAST, psn + 2).ack_req());
    }
}

/// What went from A to B, after some messages that went well.
fn sent(made: &Made) -> DirectionReport {
    let report = made.report();
    assert_eq!(report.connections.len(), 1);
    (*report.connections[0].a_to_b).clone()
}

fn begun() -> Made {
    let mut made = Made::default();
    made.chat(1000..1010);
    made
}

#[test]
fn the_last_packet_of_a_message_is_lost_before_the_capture_point() {
    for times in 1..=3 {
        let mut made = begun();
        for _ in 0..times {
            message(&mut made, 1010, true);
            made.wait(TIMEOUT);
        }
        message(&mut made, 1010, false);
        let frame = made.records.len() as u64;
        made.answer(answer(1012, ACK, 11)).chat(1013..1020);
        let sent = sent(&made);
        let loss = Loss { before_capture: times, before_is_at_least: true, ..Loss::default() };
        assert_eq!((sent.loss, sent.missing_psns), (Some(loss), 1), "{times}");
        assert_eq!(sent.retransmissions.timeout_driven, times);
        assert_eq!(sent.retransmitted_packets, times * 2 + 1);
        assert_eq!(sent.frames(Event::LostBeforeCapture).collect::<Vec<_>>(), [frame]);
        assert_eq!(made.ids(), ["ack-timeout", "packet-loss-upstream"]);
    }
}

#[test]
fn more_than_the_last_packet_may_be_missing() {
    let mut made = begun();
    made.ask(packet(Opcode::RC_SEND_FIRST, 1010)).wait(TIMEOUT);
    message(&mut made, 1010, false);
    made.answer(answer(1012, ACK, 11)).chat(1013..1020);
    assert_eq!(sent(&made).loss.unwrap().before_capture, 2);
}

/// The capture has missed the NAK, or the message was not sent to its end before.
#[test]
fn what_goes_on_soon_was_not_missing() {
    for (gap, is_known) in [(20, true), (20, false)] {
        let mut made = if is_known { begun() } else { Made::default() };
        message(&mut made, 1010, true);
        made.wait(gap);
        message(&mut made, 1010, false);
        made.answer(answer(1012, ACK, 11)).chat(1013..1020);
        assert_eq!(sent(&made).loss.unwrap().before_capture, 0);
    }
    // What was captured calls for an answer: that may be what is missing.
    let mut made = begun();
    message(&mut made, 1010, false);
    made.ask(packet(Opcode::RC_SEND_FIRST, 1013)).wait(TIMEOUT);
    message(&mut made, 1010, false);
    message(&mut made, 1013, false);
    made.answer(answer(1015, ACK, 12)).chat(1016..1020);
    assert_eq!(sent(&made).loss.unwrap().before_capture, 0);
}

#[test]
fn a_request_without_an_answer_was_lost_or_its_answer_was() {
    let mut made = begun();
    made.ask(only(1010)).wait(TIMEOUT);
    made.ask(only(1010)).answer(answer(1010, ACK, 11)).chat(1011..1020);
    let loss = Loss { after_capture: 1, perhaps_answers: 1, ..Loss::default() };
    assert_eq!(sent(&made).loss, Some(loss));
    let found = made.findings();
    let downstream = found.iter().find(|found| found.id == "packet-loss-downstream").unwrap();
    assert!(downstream.evidence.contains(&("requests_or_their_answers", Value::Number(1))));
    assert!(!downstream.at_least);
}

/// It acknowledges what is not sent again yet.
#[test]
fn a_responder_that_has_more_than_is_sent_again_has_had_the_request() {
    let mut made = begun();
    made.ask(only(1010)).ask(only(1011)).ask(only(1012)).wait(TIMEOUT);
    made.ask(only(1010)).answer(answer(1012, ACK, 13)).chat(1013..1020);
    let sent = sent(&made);
    assert_eq!(sent.loss, Some(Loss::default()));
    assert_eq!((sent.retransmissions.answers_lost_or_late, sent.duplicate_requests), (1, 1));
    let found = made.findings();
    assert_eq!((found.len(), found[0].id), (1, "ack-timeout"));
    assert!(found[0].evidence.contains(&("answers_lost_or_late", Value::Number(1))));
}

#[test]
fn a_requester_that_goes_on_after_a_nak_and_then_waits_has_not_heeded_it() {
    for (later, is_heard) in [(TIMEOUT, false), (20, true)] {
        let mut made = begun();
        made.ask(only(1011)).answer(answer(1010, NAK, 10)).wait(30);
        made.ask(only(1012)).wait(later);
        made.ask(only(1010)).ask(only(1011)).ask(only(1012));
        made.answer(answer(1012, ACK, 13)).chat(1013..1020);
        let report = made.report();
        let (there, back) = (&report.connections[0].a_to_b, &report.connections[0].b_to_a);
        let rounds = (there.retransmissions.timeout_driven, there.retransmissions.nak_driven);
        assert_eq!(rounds, if is_heard { (0, 1) } else { (1, 0) });
        assert_eq!(there.loss.unwrap().before_capture, 1);
        // It may have heard it and done nothing: no loss is proven.
        assert_eq!(back.loss.unwrap().after_capture, 0);
    }
}

/// Behind the packet that a NAK asks for others may be lost: all of them are thrown away.
#[test]
fn a_nak_tells_of_one_loss_at_least() {
    for (count, is_all) in [(2, true), (3, false)] {
        let mut made = begun();
        let psns = 1010..1010 + count;
        psns.clone().for_each(|psn| _ = made.ask(only(psn)));
        made.answer(answer(1010, NAK, 10)).wait(10);
        psns.for_each(|psn| _ = made.ask(only(psn)));
        made.answer(answer(1009 + count, ACK, 10 + count)).chat(1010 + count..1020);
        let loss = Loss { after_capture: 1, after_is_at_least: !is_all, ..Loss::default() };
        assert_eq!(sent(&made).loss, Some(loss));
        let found = made.findings();
        let told = (found.len(), found[0].id, found[0].at_least);
        assert_eq!(told, (1, "packet-loss-downstream", !is_all));
    }
}

/// Sooner than any answer has come nothing times out: the capture may have missed a NAK.
#[test]
fn what_is_sent_again_at_once_has_no_known_cause() {
    let mut made = begun();
    made.ask(only(1010)).wait(2_000).answer(answer(1010, ACK, 11));
    made.ask(only(1011)).ask(only(1012)).wait(1_000).ask(only(1011)).ask(only(1012));
    made.answer(answer(1012, ACK, 13)).chat(1013..1020);
    let why = *sent(&made).retransmissions;
    assert_eq!((why.timeout_driven, why.nak_driven, why.unknown), (0, 0, 1));
    assert!(!made.ids().contains(&"ack-timeout"));
}
