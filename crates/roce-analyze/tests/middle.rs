//! Captures that begin in the middle: what lies before the first packet seen is unknown.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::Record;
use common::made::{A, ACK, B, Made, QP_A, answer, ask, v2};
use common::pairs::Pair;
use roce_analyze::connections::Config;
use roce_analyze::findings::{CaptureFacts, Policy, evaluate_capture};
use roce_wire::{Aeth, Msn, Opcode, PacketBuilder, Psn, Qpn, RKey, Reth, Syndrome, VirtAddr};

const NAK: Syndrome = Syndrome(0x60);

fn ids(records: &[Record]) -> Vec<(&'static str, u64)> {
    let report = common::analyze(records, Config::default());
    let found = evaluate_capture(&report, &Policy::default(), &CaptureFacts::default());
    found.iter().map(|finding| (finding.id, finding.count)).collect()
}

/// Bursts of eight SENDs, 200 ns apart, each burst acknowledged by its last; with an IP identification
/// that counts or is 0.
fn bursts(counts: bool) -> Vec<Record> {
    let mut made = Made::default();
    let (mut id, mut psn) = (0u16, 5000);
    for burst in 1..40 {
        let began = made.now_ns;
        for nth in 0..8 {
            made.now_ns = began + nth * 200;
            id += 1;
            let way = v2(A, B).ip_id(if counts { id } else { 0 });
            let request = ask(Opcode::RC_SEND_ONLY, psn, &[0x5a; 64]);
            made.packet(way, if nth == 7 { request.ack_req() } else { request });
            psn += 1;
        }
        made.now_ns = began + 9_000;
        let way = v2(B, A).ip_id(if counts { id } else { 0 });
        made.packet(way, answer(psn - 1, ACK, burst * 8));
        made.now_ns = began + 13_000 + u64::from(burst % 5) * 700;
    }
    made.records
}

/// READs of four packets, one after another, each with an acknowledged SEND behind it.
fn reads() -> Vec<Record> {
    let mut made = Made::default();
    let read = |psn| {
        ask(Opcode::RC_RDMA_READ_REQUEST, psn, &[]).reth(Reth::new(
            VirtAddr::new(0),
            RKey::new(1),
            1024,
        ))
    };
    for (nth, psn) in (1..40).zip((7000..).step_by(5)) {
        made.packet(v2(A, B).ip_id(0), read(psn));
        let opcodes = [
            Opcode::RC_RDMA_READ_RESPONSE_FIRST,
            Opcode::RC_RDMA_READ_RESPONSE_MIDDLE,
            Opcode::RC_RDMA_READ_RESPONSE_MIDDLE,
            Opcode::RC_RDMA_READ_RESPONSE_LAST,
        ];
        for (psn, opcode) in (psn..).zip(opcodes) {
            let mut packet = PacketBuilder::new(opcode, Qpn::new(QP_A), Psn::new(psn));
            if opcode != Opcode::RC_RDMA_READ_RESPONSE_MIDDLE {
                packet = packet.aeth(Aeth::new(ACK, Msn::new(2 * nth - 1)));
            }
            made.packet(v2(B, A).ip_id(0), packet.payload(&[7; 256]));
            made.now_ns -= 9_700;
        }
        made.now_ns += u64::from(nth % 7) * 1_300;
        let send = ask(Opcode::RC_SEND_ONLY, psn + 4, &[0x5a; 64]).ack_req();
        made.packet(v2(A, B).ip_id(0), send);
        made.packet(v2(B, A).ip_id(0), answer(psn + 4, ACK, 2 * nth));
        made.now_ns += u64::from(nth % 5) * 2_000;
    }
    made.records
}

/// All frames twice, in the order of time.
fn mirrored(mut records: Vec<Record>, lag: u64) -> Vec<Record> {
    let copies = records.clone().into_iter();
    records.extend(copies.map(|copy| Record { time_ns: copy.time_ns + lag, ..copy }));
    records.sort_by_key(|record| record.time_ns);
    records
}

/// The first copies of what comes second at the beginning are not in the capture.
#[test]
fn a_mirrored_port_may_be_captured_from_the_middle() {
    for (records, of) in [(bursts(true), "counted"), (bursts(false), "equal"), (reads(), "READ")] {
        for lag in [200, 300, 1_000, 5_000, 10_000, 30_000] {
            let all = mirrored(records.clone(), lag);
            for from in 200..240 {
                let found = ids(&all[from..]);
                let is_right = |(id, _): &(_, _)| *id == "duplicated-frames";
                let is_all = !found.is_empty() && found.iter().all(is_right);
                assert!(is_all, "lag {lag}, from {from}, {of}: {found:?}");
            }
        }
    }
}

/// Ten SENDs were sent before the capture begins, and the fourth was missing somewhere.
fn inside_go_back_n(has_nak: bool, counts: bool) -> Made {
    let mut made = Made::default();
    let mut id = 100;
    let mut send = |made: &mut Made, psn| {
        id += 1;
        let way = v2(A, B).ip_id(if counts { id } else { 0 });
        made.packet(way, ask(Opcode::RC_SEND_ONLY, psn, &[0x5a; 64]).ack_req());
    };
    send(&mut made, 5010);
    if has_nak {
        made.answer(answer(5003, NAK, 4));
    }
    for psn in 5003..=5010 {
        send(&mut made, psn);
    }
    for psn in 5003..=5010 {
        made.answer(answer(psn, ACK, psn - 4999));
    }
    for psn in 5011..5030 {
        send(&mut made, psn);
        made.answer(answer(psn, ACK, psn - 4999));
    }
    made
}

#[test]
fn what_was_sent_before_the_capture_is_neither_lost_nor_late() {
    for counts in [true, false] {
        for has_nak in [true, false] {
            let made = inside_go_back_n(has_nak, counts);
            assert_eq!(ids(&made.records), [], "{has_nak} {counts}");
        }
        let report = inside_go_back_n(true, counts).report();
        let sent = &report.connections[0].a_to_b;
        assert_eq!((sent.retransmitted_packets, sent.retransmissions.nak_driven), (8, 1));
    }
}

/// The responder has completed nothing, and asks for the first packet of a message: the connection
/// began with that, and the capture has missed it.
#[test]
fn the_first_packet_of_a_connection_may_be_lost() {
    let mut made = Made::default();
    let send = |psn| ask(Opcode::RC_SEND_ONLY, psn, &[0x5a; 64]).ack_req();
    made.ask(send(5001)).answer(answer(5000, NAK, 0));
    made.ask(send(5000)).ask(send(5001)).answer(answer(5000, ACK, 1)).answer(answer(5001, ACK, 2));
    made.chat(5002..5010);
    assert_eq!(ids(&made.records), [("packet-loss-upstream", 1)]);
}

/// What is sent twice again comes nearly as late as copies do: how late these are is known of this
/// direction, better than of the other one that has just begun to have some.
#[test]
fn copies_are_told_from_what_is_sent_again_nearly_as_late() {
    let mut made = Made::default();
    let send = |made: &mut Made, psn, time| {
        made.now_ns = time;
        let packet = ask(Opcode::RC_SEND_ONLY, psn, &[0x5a; 64]);
        made.packet(v2(A, B).ip_id(0), if psn % 20 == 19 { packet.ack_req() } else { packet });
    };
    let answer = |made: &mut Made, psn, syndrome, time| {
        made.now_ns = time;
        made.packet(v2(B, A).ip_id(0), answer(psn, syndrome, psn - 4999));
    };
    for nth in 0..100 {
        send(&mut made, 5000 + nth, u64::from(nth) * 400);
    }
    answer(&mut made, 5099, ACK, 45_000);
    // It is missing on the way, and then once more.
    for (time, is_missing) in [(80_000, true), (91_440, true), (102_880, false)] {
        for nth in 0..20 {
            send(&mut made, 5100 + nth, time + u64::from(nth) * 200);
        }
        if is_missing {
            answer(&mut made, 5100, NAK, time + 10_000);
        }
    }
    answer(&mut made, 5119, ACK, 115_000);
    made.records.sort_by_key(|record| record.time_ns);
    let frames = made.records.len() as u64;
    let report = common::analyze(&mirrored(made.records, 30_000), Config::default());
    let (sent, back) = (&report.connections[0].a_to_b, &report.connections[0].b_to_a);
    assert_eq!(sent.duplicate_packets + back.duplicate_packets, frames);
    assert_eq!((sent.retransmitted_packets, sent.retransmissions.nak_driven), (40, 2));
    let loss = sent.loss.unwrap();
    assert_eq!((loss.before_capture, loss.after_capture), (0, 2));
}

#[test]
fn responses_to_what_was_asked_for_before_the_capture_are_sent_once() {
    let pair = Pair { qpns: [0x11, 0x12], ports: [0xc000; 2] };
    let mut records = vec![pair.read(0, 0, 13, 1024)];
    // Three of four READs were sent before.
    records.extend((10..14).map(|psn| pair.read_response(1, u64::from(psn) * 100, psn, psn)));
    let report = common::analyze(&records, Config::default());
    let [connection] = report.connections.as_slice() else { panic!("not one connection") };
    assert_eq!(connection.b_to_a.retransmitted_packets, 0);
    assert_eq!(connection.b_to_a.goodput_bytes, 4 * 1024);
}
