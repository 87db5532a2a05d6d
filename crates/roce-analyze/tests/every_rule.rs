//! Every rule speaks: for each there is a capture that provokes it, real where there is one.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::made::{A, ACK, B, Made, QP_A, QP_B, answer, ask, v2};
use common::pairs::Pair;
use common::{Record, analyze, records};
use roce_analyze::connections::Config;
use roce_analyze::findings::{CaptureFacts, Finding, Policy, RULES, evaluate};
use roce_wire::{
    Deth, Extent, FlowControl, Frame, MacAddr, Mend, Opcode, PKey, PacketBuilder, Ports, Psn, QKey,
    Qpn, RKey, Reth, VirtAddr, mend,
};

/// Where a rule is provoked.
enum Provoked {
    /// By a capture of the fixtures.
    By(&'static str),
    /// By frames made here.
    Made(fn(&mut Made)),
    /// By what the source of the frames says.
    Told(CaptureFacts),
    /// By a capture of the fixtures that is edited.
    Edited(&'static str, fn(&mut [Record])),
}

use Provoked::{By, Edited, Told};

/// All rules, by name.
fn provoked() -> Vec<(&'static str, Provoked)> {
    let dropped = CaptureFacts { dropped: Some(7), damaged: None };
    let damaged = CaptureFacts { dropped: None, damaged: Some("packet 3: cut".to_owned()) };
    vec![
        ("ack-timeout", By("rxe/loss_a")),
        ("bad-icrc", By("rxe/corrupt_b")),
        ("capture-damaged", Told(damaged)),
        ("capture-disorder", Edited("rxe/send_bw_v4", set_the_clock)),
        ("capture-drops", Told(dropped)),
        ("capture-loss", Provoked::Made(acknowledged_unseen)),
        ("capture-truncated", Provoked::Made(cut)),
        ("ce-at-source", Provoked::Made(|made| marked(made, 3, false))),
        ("ce-without-cnp", By("rxe/ecn_ce_v4")),
        ("cnp-unprioritised", Provoked::Made(|made| marked(made, 2, true))),
        ("cnp-without-ce", Provoked::Made(|made| marked(made, 2, true))),
        ("congestion", Provoked::Made(congested)),
        ("connection-rejected", By("rxe/cm_reject")),
        ("dscp-policy", By("rxe/tclass_v6")),
        ("duplicated-frames", By("rxe/duplicate_a")),
        ("ecn-not-enabled", Provoked::Made(|made| marked(made, 0, true))),
        ("fatal-nak", By("rxe/err_naks")),
        ("gid-link-local", By("rxe/rc_pingpong_ll")),
        ("icrc-flush", By("rxe/verbs_flush")),
        ("length-error", Provoked::Made(|made| write(made, &[1024, 1000, 500]))),
        ("lost-or-late", By("rxe/loss_reorder_a")),
        ("low-entropy", Provoked::Made(one_port)),
        ("malformed-packet", Provoked::Made(wrong_version)),
        ("mixed-versions", By("made/mixed_versions")),
        ("no-answer", Provoked::Made(no_answer)),
        ("one-way", Provoked::Made(one_way)),
        ("opcode-sequence", Provoked::Made(middle_without_first)),
        ("p-key-mismatch", Provoked::Made(other_partition)),
        ("packet-loss-downstream", By("rxe/loss_write_a")),
        ("packet-loss-unplaced", Provoked::Made(gap_of_uc)),
        ("packet-loss-upstream", By("rxe/loss_write_b")),
        ("pause-in-use", By("made/pfc_pause")),
        ("pcp-policy", Provoked::Made(other_priority)),
        ("pfc-seen", By("made/pfc_pause")),
        ("pfc-storm", Provoked::Made(storm)),
        ("pmtu-mismatch", Edited("rxe/write_bw_cm_v4", agree_on_256)),
        ("pmtu-small", By("rxe/verbs_pmtu")),
        ("q-key-mismatch", Provoked::Made(wrong_q_key)),
        ("reordering", By("rxe/reorder_b")),
        ("request-unanswered", By("rxe/cm_req_timeout")),
        ("reserved-opcode", Provoked::Made(reserved_opcode)),
        ("retry-exceeded", By("rxe/err_rnr")),
        ("rnr-nak", By("rxe/err_rnr")),
        ("rnr-storm", Provoked::Made(never_ready)),
        ("stalled", Provoked::Made(hanging)),
        ("unpaired-flows", Provoked::Made(alike)),
        ("version-mismatch", By("made/mode_mismatch")),
    ]
}

/// A second back, in the middle of the capture.
fn set_the_clock(records: &mut [Record]) {
    let half = records.len() / 2;
    records[half..].iter_mut().for_each(|record| record.time_ns -= 1_000_000_000);
}

#[test]
fn every_rule_is_provoked() {
    let provoked = provoked();
    let names: Vec<_> = provoked.iter().map(|(id, _)| *id).collect();
    let rules: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(names, rules, "each rule in its place, and a way to provoke it");
    for (id, by) in provoked {
        let found = findings(&by);
        let finding = found.iter().find(|finding| finding.id == id);
        let finding = finding.unwrap_or_else(|| panic!("{id}: {:#?}", names_of(&found)));
        let rule = RULES.iter().find(|rule| rule.id == id).unwrap();
        assert!(!finding.frames.is_empty() || rule.why_no_frames().is_some(), "{finding:?}");
        assert!(finding.count > 0 && finding.severity == rule.severity, "{finding:?}");
    }
}

fn names_of(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.id).collect()
}

fn findings(by: &Provoked) -> Vec<Finding> {
    let policy = Policy::default();
    let of = |records: &[Record]| evaluate(&analyze(records, Config::default()), &policy);
    let mut made = Made::default();
    match by {
        By(name) => of(&records(&format!("{name}.pcap"))),
        Edited(name, edit) => {
            let mut records = records(&format!("{name}.pcap"));
            edit(&mut records);
            of(&records)
        }
        Provoked::Made(make) => {
            make(&mut made);
            made.findings()
        }
        Told(facts) => made.chat(1..5).findings_with(&policy, facts),
    }
}

fn acknowledged_unseen(made: &mut Made) {
    made.chat(1..10).ask(ask(Opcode::RC_SEND_ONLY, 11, &[1; 64]).ack_req());
    made.answer(answer(11, ACK, 11)).wait(100);
    for psn in 12..20 {
        made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req()).answer(answer(psn, ACK, psn));
    }
}

fn cut(made: &mut Made) {
    made.chat(1..10);
    made.records[5].bytes.truncate(60);
}

/// Two queue pairs that send, and then are answered.
fn alike(made: &mut Made) {
    let pairs = [[0x11, 0x21], [0x12, 0x22]].map(|qpns| Pair { qpns, ports: [50_000; 2] });
    for psn in 0..10 {
        let start = u64::from(psn) * 10_000;
        made.records.extend(pairs.map(|pair| pair.send(0, start, psn)));
        made.records.extend(pairs.map(|pair| pair.ack(1, start + 5_000, psn, psn + 1)));
    }
}

/// Data with these ECN bits, and notifications of congestion with DSCP 0 if so wanted.
fn marked(made: &mut Made, ecn: u8, has_cnps: bool) {
    for psn in 1..40 {
        let data = v2(A, B).traffic_class(26 << 2 | ecn);
        made.packet(data, ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
        made.answer(answer(psn, ACK, psn));
        if has_cnps && psn % 8 == 0 {
            made.answer(PacketBuilder::cnp(Qpn::new(QP_A)));
        }
    }
}

fn congested(made: &mut Made) {
    for psn in 1..80 {
        let data = v2(A, B).traffic_class(26 << 2 | if psn % 8 == 0 { 3 } else { 2 });
        made.packet(data, ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
        if psn % 8 == 0 {
            made.packet(v2(B, A).traffic_class(48 << 2), PacketBuilder::cnp(Qpn::new(QP_A)));
        }
        made.answer(answer(psn, ACK, psn));
    }
}

/// RDMA WRITEs in packets of 1024 bytes and a last one; the second has packets of these lengths.
fn write(made: &mut Made, lengths: &[usize]) {
    let mut psn = 1;
    for lengths in [&[1024, 1024, 500], lengths, &[1024, 1024, 500]] {
        let sum: usize = lengths.iter().sum();
        let reth = Reth::new(VirtAddr::new(0x1000), RKey::new(7), u32::try_from(sum).unwrap());
        for (at, len) in lengths.iter().enumerate() {
            let payload = vec![1; *len];
            made.ask(match at {
                0 => ask(Opcode::RC_RDMA_WRITE_FIRST, psn, &payload).reth(reth),
                2 => ask(Opcode::RC_RDMA_WRITE_LAST, psn, &payload).ack_req(),
                _ => ask(Opcode::RC_RDMA_WRITE_MIDDLE, psn, &payload),
            });
            psn += 1;
        }
        made.answer(answer(psn - 1, ACK, psn / 3));
    }
}

fn one_port(made: &mut Made) {
    for qp in 0..16 {
        for psn in 1..5 {
            let packet =
                PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x300 + qp), Psn::new(psn));
            made.ask(packet.payload(&[1; 64]).ack_req());
        }
    }
}

fn wrong_version(made: &mut Made) {
    made.chat(1..10);
    made.ask(ask(Opcode::RC_SEND_ONLY, 10, &[1; 64]).edit_bth(|bth| bth.with_tver(5)));
}

fn no_answer(made: &mut Made) {
    for _ in 0..9 {
        made.ask(ask(Opcode::RC_SEND_ONLY, 1, &[1; 64]).ack_req()).wait(67_000);
    }
}

fn one_way(made: &mut Made) {
    for psn in 1..30 {
        made.ask(ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req()).wait(10_000);
    }
}

fn middle_without_first(made: &mut Made) {
    made.chat(1..10).ask(ask(Opcode::RC_RDMA_WRITE_MIDDLE, 10, &[1; 1024]));
}

fn other_partition(made: &mut Made) {
    made.chat(1..10);
    made.ask(ask(Opcode::RC_SEND_ONLY, 10, &[1; 64]).p_key(PKey::new(0x8001)).ack_req());
}

fn gap_of_uc(made: &mut Made) {
    for psn in (1..30).filter(|psn| *psn != 9) {
        made.ask(ask(Opcode::UC_SEND_ONLY, psn, &[1; 64]));
    }
}

fn other_priority(made: &mut Made) {
    for psn in 1..20 {
        let way = common::made::ethernet(A, B).vlan(5, 100).ipv4(A, B).udp(0xc123);
        let data = way.traffic_class(26 << 2);
        made.packet(data, ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req());
        made.answer(answer(psn, ACK, psn));
    }
}

/// A pause of the longest time every 50 µs, for 200 ms.
fn storm(made: &mut Made) {
    for _ in 0..4_000 {
        let mut bytes = Vec::new();
        let times = [0, 0, 0, u16::MAX, 0, 0, 0, 0];
        FlowControl::pfc(MacAddr([2; 6]), 1 << 3, times).emit(&mut bytes).unwrap();
        made.bytes(bytes).wait(40);
    }
}

/// The path MTU in every REQ becomes 256, which no packet shows.
fn agree_on_256(records: &mut [Record]) {
    // Ethernet, IPv4, UDP, BTH, DETH and the MAD's own header stand in front of the message.
    let message = 14 + 20 + 8 + 12 + 8 + 24;
    let attribute = message - 8;
    let is_req = |record: &&mut Record| {
        record.bytes.get(attribute..attribute + 2) == Some(&[0, 0x10]) && record.wire_len > 300
    };
    for record in records.iter_mut().filter(is_req) {
        record.bytes[message + 50] = record.bytes[message + 50] & 0x0f | 1 << 4;
        let ports = Ports::default();
        let frame = Frame::parse(record.link, &record.bytes, record.wire_len, &ports);
        let extent = Extent::of(&frame, record.wire_len).unwrap();
        let what = Mend { lengths: false, checksums: false, icrc: true };
        mend(&mut record.bytes, record.link, extent, &ports, what);
    }
}

fn wrong_q_key(made: &mut Made) {
    let packet = PacketBuilder::new(Opcode::UD_SEND_ONLY, Qpn::GSI, Psn::new(1));
    made.ask(packet.deth(Deth::new(QKey::new(7), Qpn::GSI)).payload(&[0; 256]));
}

fn reserved_opcode(made: &mut Made) {
    made.chat(1..10).ask(PacketBuilder::new(Opcode(0x1f), Qpn::new(QP_B + 1), Psn::new(1)));
}

fn never_ready(made: &mut Made) {
    made.chat(1..5);
    for psn in 5..40 {
        let send = || ask(Opcode::RC_SEND_ONLY, psn, &[1; 64]).ack_req();
        // RNR NAK with timer code 14: 1.28 ms.
        made.ask(send()).answer(answer(psn, roce_wire::Syndrome(0x2e), psn)).wait(1_300);
        made.ask(send()).answer(answer(psn, ACK, psn));
    }
}

/// A request that is not answered, though the other end is there, for the rest of the capture.
fn hanging(made: &mut Made) {
    made.chat(1..10);
    for _ in 0..2 {
        made.ask(ask(Opcode::RC_SEND_ONLY, 10, &[1; 64]).ack_req()).wait(700_000);
    }
    made.wait(2_000_000);
    let other = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x999), Psn::new(1));
    made.ask(other.payload(&[1; 64]));
}
