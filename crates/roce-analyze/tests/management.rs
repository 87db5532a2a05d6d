//! Connection management as the kernel does it: what is learned from it, and what where it is missing.
#![allow(clippy::arithmetic_side_effects, reason = "a test may be blunt")]

mod common;

use common::{Record, analyze, records, rxe};
use roce_analyze::connections::{Config, Connection, LearnedFrom, Outcome};
use roce_analyze::findings::{Policy, Severity, evaluate};

#[test]
fn the_connection_manager_pairs_and_predicts() {
    let report = rxe("rping_v4");
    let [connection] = &report.connections[..] else { panic!("{:?}", report.connections) };
    assert_eq!(connection.learned_from, Some(LearnedFrom::Cm));
    assert_eq!((connection.confidence, connection.outcome), (Some(100), Outcome::Closed));
    let cm = connection.cm.as_ref().unwrap();
    assert_eq!((cm.reqs, cm.reps, cm.rtus, cm.dreqs, cm.dreps), (1, 1, 1, 1, 1));
    assert_eq!(cm.predicted_src_port, connection.a_to_b.udp_src_ports.first().copied());
    assert_eq!(cm.predicted_src_port, connection.b_to_a.udp_src_ports.first().copied());
    // rping -C 5: five READs and five WRITEs by the server, ten SENDs each way.
    let messages = connection.b_to_a.messages;
    assert_eq!((messages.read, messages.write, messages.send), (5, 5, 10));
    assert_eq!(connection.a_to_b.messages.send, 10);
}

#[test]
fn requests_for_connections_that_come_to_nothing() {
    let outcome = |name: &str| {
        let report = rxe(name);
        report.connections.iter().map(|c| c.outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcome("cm_reject"), [Outcome::Rejected]);
    assert_eq!(outcome("cm_reject_consumer"), [Outcome::Rejected]);
    assert_eq!(outcome("cm_sidr_reject"), [Outcome::Rejected]);
    assert_eq!(outcome("cm_mra"), [Outcome::Closed]);
    // The requester says REJ (timeout) itself in the end.
    assert_eq!(outcome("cm_req_timeout"), [Outcome::Unanswered]);
    assert_eq!(outcome("mixed"), [Outcome::Closed, Outcome::Unanswered]);
    let mixed = rxe("mixed");
    let unanswered = mixed.connections[1].cm.as_ref().unwrap();
    // Frame 152 is the ICMP error that quotes the REQ in frame 151.
    assert_eq!((unanswered.reqs, unanswered.unreachable), (2, Some(152)));
    assert_eq!(
        rxe("cm_reject").connections[0].cm.as_ref().unwrap().rejected.unwrap().reason.get(),
        8
    );
}

/// However many requests the same host has made before, the error is about the one that it quotes.
#[test]
fn an_unreachable_port_is_told_of_the_request_among_many() {
    let before = ["cmtime_v4", "rping_v4", "ucmatose_v4", "rcopy_v4", "nvme_rdma_v4", "cm_reject"];
    let all: Vec<Record> = before
        .iter()
        .chain(["mixed"].iter())
        .flat_map(|n| records(&format!("rxe/{n}.pcap")))
        .collect();
    let of_mixed = records("rxe/mixed.pcap").len();
    let expected = (all.len() - of_mixed + 152) as u64;
    // More than once, for what is found in a table may come in any order.
    for _ in 0..20 {
        let report = analyze(&all, Config::default());
        let told: Vec<_> =
            report.connections.iter().filter_map(|c| c.cm.as_ref()?.unreachable).collect();
        assert_eq!(told, [expected]);
    }
}

/// Where only one direction is captured, a REQ is without its REP. The data that follows it is its
/// own by the UDP source port, and the RTU says that it was answered.
#[test]
fn a_request_is_joined_to_its_data_though_the_answer_is_missing() {
    for name in ["rping_v4", "write_bw_cm_v4"] {
        let records = records(&format!("rxe/{name}.pcap"));
        let both = rxe(name);
        let asked = both.connections.iter().find(|c| c.cm.is_some()).unwrap();
        // IPv4 behind Ethernet.
        let from = |record: &&Record| record.bytes[26..30] == [10, 77, 0, 1];
        let one_way: Vec<_> = records.iter().filter(from).cloned().collect();
        let report = analyze(&one_way, Config::default());
        assert_eq!(report.connections.len(), both.connections.len(), "{name}");
        let connection = report.connections.iter().find(|c| c.cm.is_some()).unwrap();
        assert_eq!((connection.a, connection.b.qpn), (asked.a, asked.b.qpn), "{name}");
        assert_eq!(connection.a_to_b.packets, asked.a_to_b.packets, "{name}");
        assert_eq!(connection.b_to_a.packets, 0, "{name}");
        assert_ne!(connection.outcome, Outcome::Unanswered, "{name}");
        let findings = evaluate(&report, &Policy::default());
        assert!(findings.iter().all(|finding| finding.severity != Severity::Error), "{name}");
    }
}

/// A REQ names the PSN that the other side is to begin with, a REP that of who asked.
#[test]
fn the_connection_manager_tells_where_each_side_begins() {
    let mut held = 0;
    for name in ["rping_v4", "rping_v6", "write_bw_cm_v4", "nvme_rdma_v4", "nfs_rdma_v4"] {
        let records = records(&format!("rxe/{name}.pcap"));
        // The queue pair is the management's where the BTH stands, behind IPv4 or IPv6.
        let is_cm = |record: &&Record| {
            let at = if record.bytes[12] == 8 { 42 } else { 62 };
            record.bytes[at + 5..at + 8] == [0, 0, 1]
        };
        let exchange: Vec<_> = records.iter().filter(is_cm).cloned().collect();
        let told = analyze(&exchange, Config::default());
        let seen = rxe(name);
        for connection in seen.connections.iter().filter(|c| c.is_two_way()) {
            let same = |other: &&Connection| other.a.qpn == connection.a.qpn;
            let Some(other) = told.connections.iter().find(same) else { continue };
            for (told, seen) in [(other.a, connection.a), (other.b, connection.b)] {
                if let Some(psn) = seen.start_psn {
                    assert_eq!(told.start_psn, Some(psn), "{name}");
                    held += 1;
                }
            }
        }
    }
    assert!(held >= 8, "{held}");
}

/// The same of a datagram service: who sends datagrams was told where to.
#[test]
fn a_resolution_is_not_unanswered_when_datagrams_follow() {
    let records = records("rxe/udaddy_v4.pcap");
    let from = |record: &&Record| record.bytes[26..30] == [10, 77, 0, 1];
    let one_way: Vec<_> = records.iter().filter(from).cloned().collect();
    let report = analyze(&one_way, Config::default());
    assert!(report.connections.iter().any(|c| c.cm.as_ref().is_some_and(|cm| cm.is_sidr)));
    assert!(report.connections.iter().all(|c| c.outcome != Outcome::Unanswered));
}

/// Linux sends from the port that it makes of the flow label in its REQ.
#[test]
fn source_ports_are_as_the_connection_manager_predicts() {
    for name in ["rping_v4", "rping_v6", "write_bw_cm_v4", "nvme_rdma_v4", "nfs_rdma_v4"] {
        let report = rxe(name);
        let told: Vec<_> =
            report.connections.iter().filter_map(|c| c.is_port_as_predicted()).collect();
        assert!(!told.is_empty() && told.iter().all(|is| *is), "{name}: {told:?}");
    }
}

/// Of a datagram service the SIDR_REP tells the Q_Key; the application sends with another.
#[test]
fn another_q_key_than_the_service_told_is_found() {
    let mut records = records("rxe/udaddy_v4.pcap");
    let judge = |records: &[Record]| evaluate(&analyze(records, no_icrc()), &Policy::default());
    assert!(judge(&records).iter().all(|finding| finding.id != "q-key-mismatch"));
    for record in &mut records {
        // The DETH, behind the BTH of IPv4 frames.
        let (q_key, dest_qp) = (54..58, 47..50);
        if record.bytes[dest_qp] == [0, 0, 121] {
            record.bytes[q_key].copy_from_slice(&[1, 2, 3, 4]);
        }
    }
    let findings = judge(&records);
    let found: Vec<_> = findings.iter().filter(|f| f.id == "q-key-mismatch").collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].subject.contains("qp 0x79"), "{}", found[0].subject);
}

fn no_icrc() -> Config {
    Config::default().with_check_icrc(false)
}
