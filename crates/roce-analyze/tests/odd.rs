//! Packets that no receiver takes, and keys that do not fit: who sends them is named.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::made::{ACK, B, Made, QP_A, QP_B, answer, ask, v2};
use roce_analyze::findings::{Finding, Value};
use roce_wire::{Bth, Deth, Icrc, IcrcFill, Opcode, PKey, PacketBuilder, Psn, QKey, Qpn};
use std::net::Ipv4Addr;

fn find(findings: &[Finding], id: &str) -> Finding {
    findings
        .iter()
        .find(|finding| finding.id == id)
        .unwrap_or_else(|| panic!("{id}: {findings:?}"))
        .clone()
}

fn list(finding: &Finding, key: &str) -> Vec<String> {
    match &finding.evidence.iter().find(|(name, _)| *name == key).unwrap().1 {
        Value::List(list) => list.clone(),
        other => panic!("{key}: {other:?}"),
    }
}

/// A datagram to the RoCE port whose own length says that it ends after `len` bytes of payload.
fn datagram(len: usize, opcode: u8) -> Vec<u8> {
    let packet = PacketBuilder::new(Opcode(opcode), Qpn::new(QP_B), Psn::new(1));
    let mut bytes = Vec::new();
    v2(Ipv4Addr::new(10, 0, 0, 9), B).emit(&packet.payload(&[0; 64]), &mut bytes).unwrap();
    let [ip, udp] = [14, 34];
    bytes.truncate(udp + 8 + len);
    let total = u16::try_from(28 + len).unwrap();
    bytes[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
    bytes[udp + 4..udp + 6].copy_from_slice(&(total - 20).to_be_bytes());
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

#[test]
fn datagrams_too_short_for_their_headers_are_told() {
    let mut made = Made::default();
    made.chat(1..10);
    // WRITE Only without its RETH, and half of it; half a BTH; UD without its DETH.
    for (len, opcode) in [(16, 0x0a), (12, 0x0a), (4, 0x04), (14, 0x64)] {
        made.bytes(datagram(len, opcode));
    }
    let finding = find(&made.findings(), "malformed-packet");
    assert_eq!((finding.subject.as_str(), finding.count), ("10.0.0.9 -> 10.0.0.2", 4));
    assert_eq!(finding.frames, [19, 20, 21, 22]);
    assert_eq!(list(&finding, "reasons"), ["ends inside its headers: 4"]);
    assert_eq!(list(&finding, "dest_qps"), ["0x202"]);
}

#[test]
fn a_reserved_opcode_has_a_sender() {
    let mut made = Made::default();
    made.chat(1..10);
    made.bytes(datagram(24, 0xff)).bytes(datagram(24, 0x1f));
    let finding = find(&made.findings(), "reserved-opcode");
    assert_eq!((finding.subject.as_str(), finding.count), ("10.0.0.9 -> 10.0.0.2", 2));
    assert_eq!(list(&finding, "opcodes"), ["0xff", "0x1f"]);
    assert_eq!(list(&finding, "dest_qps"), ["0x202"]);
}

/// One packet that no receiver takes, and all from there on once more.
fn thrown_away(edit: impl FnOnce(Bth) -> Bth) -> Vec<Finding> {
    let mut made = Made::default();
    made.chat(1..5);
    let bad = ask(Opcode::RC_SEND_ONLY, 5, &[1; 64]).ack_req().edit_bth(edit);
    made.ask(bad).ask(ask(Opcode::RC_SEND_ONLY, 6, &[1; 64]).ack_req());
    made.answer(answer(5, roce_wire::Syndrome(0x60), 4));
    for psn in 5..7 {
        made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
    }
    made.answer(answer(6, ACK, 6)).findings()
}

fn reserved_opcode(mut bth: Bth) -> Bth {
    bth.opcode = Opcode(0x1f);
    bth
}

#[test]
fn what_was_thrown_away_is_not_called_lost() {
    let edits: [fn(Bth) -> Bth; 2] = [|bth| bth.with_tver(3), reserved_opcode];
    for edit in edits {
        let found = thrown_away(edit);
        let finding = find(&found, "malformed-packet");
        assert_eq!(
            (finding.subject.as_str(), &finding.frames[..]),
            ("10.0.0.1 -> 10.0.0.2", &[9][..])
        );
        assert!(finding.evidence.contains(&("missing_for_that", Value::Number(1))));
        assert!(found.iter().all(|finding| finding.id != "packet-loss-upstream"), "{found:?}");
    }
}

/// It ended before it told its PSN: that it is what was missing is no more than likely.
#[test]
fn what_may_have_been_thrown_away_is_named() {
    let mut made = Made::default();
    made.chat(1..5);
    let mut short = datagram(4, 0x04);
    short[26..30].copy_from_slice(&[10, 0, 0, 1]);
    made.bytes(short).ask(ask(Opcode::RC_SEND_ONLY, 6, &[1; 64]).ack_req());
    made.answer(answer(5, roce_wire::Syndrome(0x60), 4));
    for psn in 5..7 {
        made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
    }
    let found = made.answer(answer(6, ACK, 6)).findings();
    let lost = find(&found, "packet-loss-upstream");
    assert!(lost.evidence.contains(&("perhaps_thrown_away", Value::Numbers(vec![9]))), "{lost:?}");
    assert_eq!(find(&found, "malformed-packet").frames, [9]);
}

/// What is no RoCE and of no connection says nothing.
#[test]
fn other_traffic_on_the_port_is_none() {
    let mut made = Made::default();
    made.chat(1..10);
    for version in 1..10 {
        let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x999), Psn::new(1));
        let packet =
            packet.edit_bth(|bth| bth.with_tver(version)).icrc(IcrcFill::Given(Icrc::new(7)));
        made.packet(v2(Ipv4Addr::new(10, 0, 0, 9), B), packet.payload(&[7; 40]));
    }
    assert_eq!(made.ids(), [""; 0]);
}

#[test]
fn both_partitions_are_named() {
    let mut made = Made::default();
    made.chat(1..10);
    made.ask(ask(Opcode::RC_SEND_ONLY, 10, &[1; 64]).p_key(PKey::new(0x8001)).ack_req());
    let finding = find(&made.findings(), "p-key-mismatch");
    assert_eq!(list(&finding, "p_keys"), ["0xffff", "0x8001"]);
}

#[test]
fn a_datagram_with_another_q_key_is_told() {
    let mut made = Made::default();
    for psn in 0..10 {
        let q_key = QKey::new(if psn == 5 { 0x2222_2222 } else { 0x1111_1111 });
        let packet = PacketBuilder::new(Opcode::UD_SEND_ONLY, Qpn::new(QP_B), Psn::new(psn));
        made.ask(packet.deth(Deth::new(q_key, Qpn::new(QP_A))).payload(&[1; 64]));
    }
    let finding = find(&made.findings(), "q-key-mismatch");
    assert_eq!((finding.count, &finding.frames[..]), (1, &[6][..]));
    assert_eq!(list(&finding, "q_keys"), ["0x11111111", "0x22222222"]);
}

#[test]
fn a_wrong_q_key_to_queue_pair_1_has_a_sender() {
    let mut made = Made::default();
    for psn in 0..3 {
        let packet = PacketBuilder::new(Opcode::UD_SEND_ONLY, Qpn::GSI, Psn::new(psn));
        let deth = Deth::new(QKey::new(0x1234_5678), Qpn::GSI);
        made.ask(packet.deth(deth).payload(&[0; 256]));
    }
    let finding = find(&made.findings(), "q-key-mismatch");
    assert_eq!((finding.subject.as_str(), finding.count), ("10.0.0.1 -> 10.0.0.2", 3));
    assert_eq!(list(&finding, "q_keys"), ["0x12345678"]);
}
