//! Hosts that do not speak the same version of RoCE, and hosts that only seem so.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may be blunt")]

mod common;

use common::made::{A, B, Made, QP_A, ask, v1, v2};
use roce_analyze::findings::Value;
use roce_wire::{Opcode, PacketBuilder, Psn, Qpn};

/// Each asks again and again for the answer to its first request.
fn two_monologues() -> Made {
    let mut made = Made::default();
    for _ in 0..8 {
        made.packet(v2(A, B), ask(Opcode::RC_SEND_ONLY, 1000, &[1; 64]).ack_req());
        let other = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(QP_A), Psn::new(5000));
        made.packet(v1(B, A), other.payload(&[2; 64]).ack_req()).wait(67_000);
    }
    made
}

#[test]
fn hosts_that_talk_past_each_other_are_told() {
    let found = two_monologues().findings();
    let first = &found[0];
    assert_eq!((first.id, first.subject.as_str()), ("version-mismatch", "10.0.0.1 - 10.0.0.2"));
    let said = |key| &first.evidence.iter().find(|(name, _)| *name == key).unwrap().1;
    assert_eq!(said("v1_from"), &Value::Text("10.0.0.2".to_owned()));
    assert_eq!(said("v2_from"), &Value::Text("10.0.0.1".to_owned()));
    assert_eq!(said("sent_again"), &Value::Number(14));
    assert_eq!(first.frames[..3], [1, 2, 3]);
    // That is the cause; nothing of this is about a path or two versions that work.
    assert!(found.iter().all(|finding| !["one-way", "mixed-versions"].contains(&finding.id)));
}

#[test]
fn one_answer_shows_that_they_understand_each_other() {
    let mut made = two_monologues();
    made.chat(7_000..7_002);
    assert!(!made.ids().contains(&"version-mismatch"), "{:?}", made.ids());
    assert!(made.ids().contains(&"mixed-versions"), "{:?}", made.ids());
}

#[test]
fn one_version_that_is_not_answered_is_no_matter_of_versions() {
    let mut made = Made::default();
    for _ in 0..8 {
        made.packet(v2(A, B), ask(Opcode::RC_SEND_ONLY, 1000, &[1; 64]).ack_req()).wait(67_000);
    }
    assert_eq!(made.ids(), ["no-answer"]);
}

/// Of each connection one direction alone was captured: nobody asks twice.
#[test]
fn a_capture_of_one_way_each_proves_nothing() {
    let mut made = Made::default();
    for n in 0..20 {
        made.packet(v2(A, B), ask(Opcode::RC_SEND_ONLY, 1000 + n, &[1; 64]).ack_req());
        let other = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(QP_A), Psn::new(5000 + n));
        made.packet(v1(B, A), other.payload(&[2; 64]).ack_req());
    }
    assert!(!made.ids().contains(&"version-mismatch"), "{:?}", made.ids());
}

/// Services without acknowledgements wait for nothing.
#[test]
fn unreliable_services_prove_nothing() {
    let mut made = Made::default();
    for n in 0..20 {
        made.packet(v2(A, B), ask(Opcode::UC_SEND_ONLY, 1000 + n, &[1; 64]));
        let other = PacketBuilder::new(Opcode::UC_SEND_ONLY, Qpn::new(QP_A), Psn::new(5000 + n));
        made.packet(v1(B, A), other.payload(&[2; 64]));
    }
    assert!(!made.ids().contains(&"version-mismatch"), "{:?}", made.ids());
}
