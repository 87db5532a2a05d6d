//! Receivers that are not ready, where the capture begins or ends amid their NAKs.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::made::{ACK, Made, answer, ask};
use roce_analyze::connections::{Connection, Outcome};
use roce_wire::{Opcode, Syndrome};

/// RNR NAK with a timer of 1.28 ms.
const RNR: Syndrome = Syndrome(0x2e);

fn try_it(made: &mut Made, psn: u32) -> &mut Made {
    made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req())
}

/// So many requests of which the last is tried so often, with an RNR NAK each.
fn amid(tries: u32) -> Made {
    let mut made = Made::default();
    made.chat(0..10);
    for _ in 0..tries {
        try_it(&mut made, 10).answer(answer(10, RNR, 10)).wait(1_500);
    }
    made
}

fn only(made: &Made) -> Connection {
    let mut connections = made.report().connections;
    assert_eq!(connections.len(), 1);
    connections.remove(0)
}

#[test]
fn a_sender_that_waits_for_a_receiver_is_not_stalled() {
    for tries in 1..10 {
        let mut made = amid(tries);
        assert_eq!((only(&made).outcome, made.ids()), (Outcome::Open, vec!["rnr-nak"]), "{tries}");
        try_it(&mut made, 10);
        assert_eq!((only(&made).outcome, made.ids()), (Outcome::Open, vec!["rnr-nak"]), "{tries}");
    }
}

#[test]
fn a_sender_that_waits_for_long_has_given_up() {
    let mut made = amid(4);
    // The capture goes on for longer than the sender waited each time.
    made.wait(20_000).bytes(vec![0; 60]);
    let connection = only(&made);
    assert_eq!(connection.outcome, Outcome::RetryExceeded);
    assert!(made.ids().contains(&"retry-exceeded"), "{:?}", made.ids());
}

#[test]
fn what_the_capture_begins_with_is_part_of_the_wait() {
    let mut made = Made::default();
    made.answer(answer(10, RNR, 10)).wait(1_490);
    try_it(&mut made, 10).answer(answer(10, RNR, 10)).wait(1_490);
    try_it(&mut made, 10).answer(answer(10, ACK, 11));
    made.chat(11..30);
    let connection = only(&made);
    let [asked, _] = [&connection.b_to_a, &connection.a_to_b];
    assert_eq!((asked.rnr_stall_ns, asked.retransmissions.rnr_driven), (3_000_000, 2));
    assert_eq!((asked.retransmitted_packets, asked.messages.send), (2, 20));
    assert_eq!(made.ids(), ["rnr-nak"]);
}

#[test]
fn a_nak_that_was_captured_before_its_request_is_no_wait() {
    let mut made = Made::default();
    made.answer(answer(10, RNR, 10));
    try_it(&mut made, 10).wait(1_490);
    try_it(&mut made, 10).answer(answer(10, ACK, 11));
    made.chat(11..30);
    let connection = only(&made);
    let [asked, _] = [&connection.b_to_a, &connection.a_to_b];
    assert_eq!(asked.messages.send, 20);
    assert!(asked.rnr_stall_ns < 2_000_000, "{}", asked.rnr_stall_ns);
}
