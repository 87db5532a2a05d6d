//! What proves that packets arrive out of order, and what does not.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::made::{A, ACK, B, Made, QP_A, QP_B, answer, ask, v2};
use roce_wire::{Aeth, Msn, Opcode, PacketBuilder, Psn, Qpn};

const OPCODE: Opcode = Opcode::RC_SEND_ONLY;

/// A message of B, and its acknowledgement by A.
fn message(psn: u32) -> PacketBuilder<'static> {
    PacketBuilder::new(OPCODE, Qpn::new(QP_A), Psn::new(psn)).payload(&[7; 64]).ack_req()
}

fn acknowledge(psn: u32, msn: u32) -> PacketBuilder<'static> {
    let to = Qpn::new(QP_B);
    PacketBuilder::new(Opcode::RC_ACKNOWLEDGE, to, Psn::new(psn))
        .aeth(Aeth::new(ACK, Msn::new(msn)))
}

/// Both ends send and acknowledge. `ids` are those of A's requests and acknowledgements.
fn both_ways(ids: impl Fn(u16) -> [u16; 2]) -> Made {
    let mut made = Made::default();
    for n in 1..100_u16 {
        let ([request, ack], psn) = (ids(n), u32::from(n));
        made.packet(v2(B, A), message(500 + psn));
        made.packet(v2(A, B).ip_id(request), ask(OPCODE, psn, &[7; 64]).ack_req());
        made.packet(v2(A, B).ip_id(ack), acknowledge(500 + psn, psn));
        made.packet(v2(B, A), answer(psn, ACK, psn));
    }
    made
}

/// Requests and acknowledgements of A leave it in the order of their PSNs, each.
#[test]
fn ip_identifications_alone_are_no_proof() {
    // Taken before a queue in which acknowledgements wait, and of a counter of their own.
    let ways: [fn(u16) -> [u16; 2]; 3] =
        [|n| [2 * n + 1, 2 * n], |n| [n, 1_000 + n], |n| [3 * n, n]];
    for (nth, ids) in ways.iter().enumerate() {
        let made = both_ways(ids);
        assert_eq!(made.ids(), [""; 0], "{nth}");
        let report = made.report();
        let directions = report.connections[0].directions();
        assert_eq!(directions.map(|direction| direction.acks), [99, 99], "{nth}");
        let latency = directions.map(|direction| direction.ack_latency_ns.as_ref().unwrap().count);
        assert_eq!(latency, [99, 99], "every acknowledgement is heeded: {nth}");
    }
}

/// An acknowledgement behind a later one, by its PSN and by its IP identification.
#[test]
fn what_is_overtaken_by_its_like_is_late() {
    let mut made = both_ways(|n| [2 * n, 2 * n + 1]);
    let last = made.records.len();
    made.packet(v2(B, A), message(600)).packet(v2(B, A), message(601));
    made.packet(v2(A, B).ip_id(301), acknowledge(601, 101));
    made.packet(v2(A, B).ip_id(300), acknowledge(600, 100));
    let found = made.findings();
    let [late] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(
        (late.id, late.subject.as_str(), late.count),
        ("reordering", "10.0.0.1 -> 10.0.0.2", 1)
    );
    assert_eq!(late.frames, [u64::try_from(last + 4).unwrap()]);
}

/// A request that is lost before the capture point, asked for, and sent again, where acknowledgements
/// have a counter of their own, far from that of requests: nothing is late.
#[test]
fn what_is_sent_again_is_not_late_by_the_counter_of_others() {
    for (requests, acks) in [(100, 10_000), (10_000, 100), (100, 40_000), (40_000, 100)] {
        let mut made = Made::default();
        let (mut request_id, mut ack_id) = (requests, acks);
        let mut request = |made: &mut Made, psn: u32, is_seen: bool| {
            request_id += 1;
            let packet = ask(OPCODE, psn, &[7; 64]).ack_req();
            if is_seen {
                made.packet(v2(A, B).ip_id(request_id), packet);
            }
        };
        let mut answered = |made: &mut Made, psns: std::ops::Range<u32>| {
            for psn in psns {
                ack_id += 1;
                made.packet(v2(B, A), message(psn));
                made.packet(v2(A, B).ip_id(ack_id), acknowledge(psn, psn - 500));
            }
        };
        answered(&mut made, 501..540);
        for psn in 1..5 {
            request(&mut made, psn, true);
            made.packet(v2(B, A), answer(psn, ACK, psn));
            answered(&mut made, 530 + psn * 10..540 + psn * 10);
        }
        request(&mut made, 5, false);
        request(&mut made, 6, true);
        made.packet(v2(B, A), answer(5, roce_wire::Syndrome(0x60), 4));
        answered(&mut made, 580..590);
        for psn in 5..7 {
            request(&mut made, psn, true);
            made.packet(v2(B, A), answer(psn, ACK, psn));
        }
        assert_eq!(made.ids(), ["packet-loss-upstream"], "{requests} {acks}");
    }
}
