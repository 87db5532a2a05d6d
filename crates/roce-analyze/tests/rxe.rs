//! Captures of the kernel's soft-RoCE, held to the kernel's own counters.
//!
//! `_a` was captured on the requester's side (`rxe0`), `_b` on the responder's (`rxe1`), of one
//! and the same run; `NAME.counters` says by how much each counter grew meanwhile.
#![allow(clippy::arithmetic_side_effects, reason = "a test may be blunt")]

mod common;

use common::{HEALTHY, counter, rxe};
use roce_analyze::connections::{Connection, DirectionReport, Event, Loss, Outcome, Report};

/// The sum of a count over all connections, of the requester's direction.
fn asked(report: &Report, count: impl Fn(&DirectionReport) -> u64) -> u64 {
    report.connections.iter().map(|c| count(&c.a_to_b)).sum()
}

/// The sum of a count over all connections, of the responder's direction.
fn answered(report: &Report, count: impl Fn(&DirectionReport) -> u64) -> u64 {
    report.connections.iter().map(|c| count(&c.b_to_a)).sum()
}

fn loss(d: &DirectionReport) -> Loss {
    d.loss.unwrap_or_default()
}

fn retransmissions(d: &DirectionReport) -> u64 {
    let r = &d.retransmissions;
    r.nak_driven + r.gap_driven + r.rnr_driven + r.timeout_driven
}

const TROUBLED: [&str; 10] = [
    "loss_a",
    "loss_b",
    "loss_read_a",
    "loss_read_b",
    "loss_write_a",
    "loss_write_b",
    "reorder_a",
    "reorder_b",
    "duplicate_a",
    "duplicate_b",
];

/// More runs: heavier loss, bursts, reordering on top, other path MTUs. Here NAKs were lost on the
/// way back, and whole retransmissions on the way there.
const MORE_TROUBLED: [&str; 4] = ["loss_burst_v6", "loss_heavy", "loss_reorder", "loss_zero"];

#[test]
fn each_side_counts_what_its_own_kernel_counted() {
    for run in MORE_TROUBLED {
        // The responder's side has what the responder had.
        let name = &format!("{run}_b");
        let b = rxe(name);
        let naks = answered(&b, |d| d.naks.psn_sequence_error);
        assert_eq!(naks, counter(name, "rxe1", "out_of_seq_request"), "{run}");
        let duplicates = asked(&b, |d| d.duplicate_requests);
        assert_eq!(duplicates, counter(name, "rxe1", "duplicate_request"), "{run}");
        assert_eq!(asked(&b, |d| d.packets), counter(name, "rxe1", "rcvd_pkts"), "{run}");
        assert_eq!(answered(&b, |d| d.packets), counter(name, "rxe1", "sent_pkts"), "{run}");
        // The requester's side has what the requester did.
        let name = &format!("{run}_a");
        let a = rxe(name);
        let begun = asked(&a, retransmissions);
        assert_eq!(begun, counter(name, "rxe0", "completer_retry_err"), "{run}");
        assert_eq!(asked(&a, |d| d.packets), counter(name, "rxe0", "sent_pkts"), "{run}");
        assert_eq!(answered(&a, |d| d.packets), counter(name, "rxe0", "rcvd_pkts"), "{run}");
        // What was lost there was lost beyond that side, and not more than was.
        assert_eq!(asked(&a, |d| loss(d).before_capture + loss(d).unknown), 0, "{run}");
        assert_eq!(asked(&b, |d| loss(d).after_capture + loss(d).unknown), 0, "{run}");
        let lost = counter(name, "rxe0", "sent_pkts") - counter(name, "rxe1", "rcvd_pkts");
        assert!(asked(&b, |d| loss(d).before_capture) <= lost, "{run}");
        assert!(asked(&a, |d| loss(d).not_captured) + asked(&b, |d| loss(d).not_captured) == 0);
        assert!(a.totals.is_conserved() && b.totals.is_conserved());
    }
}

#[test]
fn more_shows_behind_the_loss_than_before_it() {
    // Behind it there are gaps, before it only what the ends did about the first of them.
    for (run, seen_before, seen_behind, lost) in
        [("loss_burst_v6", 6, 9, 13), ("loss_heavy", 15, 15, 25), ("loss_zero", 4, 7, 12)]
    {
        let (a, b) = (rxe(&format!("{run}_a")), rxe(&format!("{run}_b")));
        assert_eq!(asked(&a, |d| loss(d).after_capture), seen_before, "{run}");
        assert_eq!(asked(&b, |d| loss(d).before_capture), seen_behind, "{run}");
        let name = &format!("{run}_a");
        let sent = counter(name, "rxe0", "sent_pkts");
        assert_eq!(sent - counter(name, "rxe1", "rcvd_pkts"), lost, "{run}");
    }
    // Half of these are late, as on the wire.
    let b = rxe("loss_reorder_b");
    assert!(asked(&b, |d| d.out_of_order_packets) > 10);
    assert_eq!(asked(&b, |d| d.missing_psns), 0);
}

#[test]
fn no_more_of_sprayed_packets_is_lost_than_the_kernels_missed() {
    // Each packet waits for 50 to 550 us, so that a third of them is overtaken; in the second run 4 in
    // a hundred are lost, too. The responder asks for what is late as it does for what is lost.
    for (run, lost) in [("spray", 0), ("spray_loss", 9)] {
        let (a, b) = (rxe(&format!("{run}_a")), rxe(&format!("{run}_b")));
        let name = &format!("{run}_a");
        let sent = counter(name, "rxe0", "sent_pkts");
        assert_eq!(sent - counter(name, "rxe1", "rcvd_pkts"), lost, "{run}");
        for (report, side) in [(&a, "a"), (&b, "b")] {
            let naks = answered(report, |d| d.naks.psn_sequence_error);
            assert_eq!(naks, counter(name, "rxe1", "out_of_seq_request"), "{run}_{side}");
            let told = asked(report, |d| {
                let Loss { before_capture, after_capture, not_captured, unknown, .. } = loss(d);
                before_capture + after_capture + not_captured + unknown
            });
            assert!(told <= lost, "{run}_{side}: {told}");
            // All answers have arrived. The requester did not heed every NAK.
            let answers = counter(name, "rxe1", "sent_pkts") - counter(name, "rxe0", "rcvd_pkts");
            let told = answered(report, |d| loss(d).before_capture + loss(d).after_capture);
            assert_eq!((told, answers), (0, 0), "{run}_{side}");
        }
        // On the sender's side nothing is missing: whatever may be lost has passed by.
        let doubt = asked(&a, |d| d.lost_or_late.as_deref().map_or(0, |d| d.after_capture));
        assert_eq!(doubt > 0, lost > 0, "{run}");
        assert!(doubt <= lost, "{run}: {doubt}");
        assert!(asked(&a, |d| d.reordered_after_capture) > 10, "{run}");
        assert!(asked(&b, |d| d.out_of_order_packets) > 50, "{run}");
    }
}

#[test]
fn a_request_that_is_repeated_for_ever_loses_no_more_answers() {
    // Soft-RoCE answers a READ of nothing once only. When that answer is lost, the requester
    // repeats the READ and all behind it until somebody ends it.
    for name in ["loss_zero_a", "loss_zero_b"] {
        let report = rxe(name);
        let [connection] = &report.connections[..] else { panic!("{}", report.connections.len()) };
        assert_eq!(connection.outcome, Outcome::Stalled, "{name}");
        let lost = answered(&report, |d| loss(d).before_capture + loss(d).after_capture);
        let by_the_kernel = counter(name, "rxe1", "sent_pkts") - counter(name, "rxe0", "rcvd_pkts");
        assert!(lost <= by_the_kernel, "{name}: {lost} of {by_the_kernel}");
    }
}

#[test]
fn naks_are_those_that_the_responder_counted() {
    for name in TROUBLED.into_iter().chain(["corrupt_a", "corrupt_b", "err_rnr"]) {
        let report = rxe(name);
        let naks = answered(&report, |d| d.naks.psn_sequence_error);
        assert_eq!(naks, counter(name, "rxe1", "out_of_seq_request"), "{name}");
        let rnr_naks = answered(&report, |d| d.rnr_naks);
        assert_eq!(rnr_naks, counter(name, "rxe1", "send_rnr_err"), "{name}");
        // No NAK was lost on the way back in these runs: the requester has as many RNR NAKs.
        assert_eq!(rnr_naks, counter(name, "rxe0", "rcvd_rnr_err"), "{name}");
    }
}

#[test]
fn duplicate_requests_are_those_that_the_responder_counted() {
    for name in ["loss_b", "loss_read_b", "loss_write_b", "reorder_b", "duplicate_b", "corrupt_b"] {
        let duplicates = asked(&rxe(name), |d| d.duplicate_requests);
        assert_eq!(duplicates, counter(name, "rxe1", "duplicate_request"), "{name}");
    }
    // On the requester's side what arrives twice does not show unless it was sent twice:
    // duplicate_a has the requests before they were doubled. Where nothing but loss is on the way,
    // both sides know the same.
    for name in ["loss_a", "loss_read_a", "loss_write_a", "corrupt_a"] {
        let duplicates = asked(&rxe(name), |d| d.duplicate_requests);
        assert_eq!(duplicates, counter(name, "rxe1", "duplicate_request"), "{name}");
    }
}

#[test]
fn retransmissions_begin_as_often_as_the_requester_counted() {
    // `completer_retry_err` counts each time the requester goes back, whatever the reason.
    for name in TROUBLED.into_iter().chain(["corrupt_a", "corrupt_b"]) {
        let begun = asked(&rxe(name), retransmissions);
        assert_eq!(begun, counter(name, "rxe0", "completer_retry_err"), "{name}");
    }
}

#[test]
fn packets_are_those_that_were_sent_and_received() {
    for name in TROUBLED.into_iter().chain(["corrupt_a", "corrupt_b", "err_rnr", "err_naks"]) {
        let report = rxe(name);
        assert!(report.totals.is_conserved(), "{name}");
        let (requests, responses) =
            (asked(&report, |d| d.packets), answered(&report, |d| d.packets));
        if name.ends_with("_b") {
            // Received by the responder: not those with a bad ICRC, and not those with a flipped
            // bit where the ICRC does not reach (two in corrupt_b; the kernel dropped them by
            // their Ethernet or IP header).
            let good = requests - asked(&report, |d| d.icrc_bad);
            let unseen = good - counter(name, "rxe1", "rcvd_pkts");
            assert_eq!(unseen, if name == "corrupt_b" { 2 } else { 0 }, "{name}");
            assert_eq!(responses, counter(name, "rxe1", "sent_pkts"), "{name}");
        } else {
            assert_eq!(requests, counter(name, "rxe0", "sent_pkts"), "{name}");
            assert_eq!(responses, counter(name, "rxe0", "rcvd_pkts"), "{name}");
        }
    }
}

#[test]
fn both_sides_agree_on_where_packets_were_lost() {
    for run in ["loss", "loss_write"] {
        let (a, b) = (rxe(&format!("{run}_a")), rxe(&format!("{run}_b")));
        // Requests were lost behind the requester's capture point and before the responder's.
        assert_eq!(asked(&a, |d| loss(d).before_capture), 0, "{run}");
        assert_eq!(asked(&b, |d| loss(d).after_capture), 0, "{run}");
        // Each NAK and each timeout shows one packet to the requester's side. The other side sees
        // the gaps themselves, so also what was lost behind the first of them.
        let after = asked(&a, |d| loss(d).after_capture);
        let before = asked(&b, |d| loss(d).before_capture);
        assert!(after > 0 && before >= after, "{run}: {after} {before}");
        // The kernel's own account: sent by one, received by the other.
        let lost = counter(&format!("{run}_a"), "rxe0", "sent_pkts")
            - counter(&format!("{run}_a"), "rxe1", "rcvd_pkts");
        assert!(before <= lost, "{run}: {before} {lost}");
    }
}

#[test]
fn lost_read_responses_are_counted_to_the_packet() {
    let (a, b) = (rxe("loss_read_a"), rxe("loss_read_b"));
    // 126 sent, 119 received.
    let lost =
        counter("loss_read_a", "rxe1", "sent_pkts") - counter("loss_read_a", "rxe0", "rcvd_pkts");
    assert_eq!(answered(&a, |d| loss(d).before_capture), lost);
    assert_eq!(answered(&a, |d| d.missing_psns), lost);
    assert_eq!(answered(&a, |d| loss(d).after_capture), 0);
    // The responder's side sees that it was asked six times again; one retransmission made good
    // for two lost responses.
    assert_eq!(answered(&b, |d| loss(d).after_capture), 6);
    assert_eq!(answered(&b, |d| d.missing_psns), 0);
    for report in [a, b] {
        assert_eq!(asked(&report, |d| loss(d).after_capture + loss(d).before_capture), 0);
        assert_eq!(asked(&report, |d| d.retransmissions.gap_driven), 6);
    }
}

#[test]
fn what_is_late_is_not_lost() {
    let b = rxe("reorder_b");
    assert_eq!(asked(&b, |d| d.missing_psns), 0);
    assert_eq!(asked(&b, |d| loss(d).before_capture + loss(d).after_capture), 0);
    assert!(asked(&b, |d| d.out_of_order_packets) > 0);
    // Before the queue nothing is late yet, and a NAK that is answered by a retransmission at once
    // looks like a loss there.
    let a = rxe("reorder_a");
    assert_eq!(asked(&a, |d| d.out_of_order_packets), 0);
    assert_eq!(asked(&a, |d| d.missing_psns), 0);
    // It goes back as often as it was NAKed.
    for report in [a, b] {
        assert_eq!(asked(&report, |d| d.retransmissions.nak_driven), 4);
    }
}

#[test]
fn frames_captured_twice_are_told_from_retransmissions() {
    for name in ["duplicate_a", "duplicate_b"] {
        let report = rxe(name);
        assert_eq!(asked(&report, |d| d.retransmitted_packets), 0, "{name}");
        assert!(report.connections.iter().all(|c| !c.is_mirrored), "{name}");
    }
    // The queue doubled packets behind the sender's capture and before the receiver's.
    let (a, b) = (rxe("duplicate_a"), rxe("duplicate_b"));
    let doubled =
        |side: &str, device: &str, packets: u64| packets - counter(side, device, "sent_pkts");
    assert_eq!(
        answered(&a, |d| d.duplicate_packets),
        doubled("duplicate_a", "rxe1", answered(&a, |d| d.packets))
    );
    assert_eq!(
        asked(&b, |d| d.duplicate_packets),
        doubled("duplicate_b", "rxe0", asked(&b, |d| d.packets))
    );
}

#[test]
fn rnr_retries_are_seen_to_run_out() {
    let report = rxe("err_rnr");
    let outcomes: Vec<Outcome> = report.connections.iter().map(|c| c.outcome).collect();
    assert_eq!(outcomes, [Outcome::Open, Outcome::RetryExceeded, Outcome::RetryExceeded]);
    let exceeded = counter("err_rnr", "rxe0", "retry_rnr_exceeded_err");
    assert_eq!(exceeded, 2);
    // The NAKs behind RNR NAKs are no losses: the responder had no room for the first packet and
    // then got the second.
    assert_eq!(asked(&report, |d| loss(d).after_capture + d.missing_psns), 0);
    assert_eq!(asked(&report, |d| d.retransmissions.rnr_driven), 8);
}

#[test]
fn requests_without_answer_are_given_up() {
    let report = rxe("err_no_answer");
    // The capture has nothing that the other host sent: it may have been answered elsewhere.
    let unanswered = report.connections.iter().filter(|c| c.outcome == Outcome::Unanswered);
    assert_eq!(unanswered.count() as u64, counter("err_no_answer", "rxe0", "retry_exceeded_err"));
    let repeated = asked(&report, |d| d.retransmissions.unknown);
    assert_eq!(repeated, counter("err_no_answer", "rxe0", "completer_retry_err"));
    assert_eq!(asked(&report, |d| d.retransmissions.timeout_driven), 0);
}

#[test]
fn fatal_naks_end_their_connections() {
    // By the list of captures: access 5, invalid 3, operational 2, each on its own connection.
    for name in ["err_naks", "err_naks_v6"] {
        let report = rxe(name);
        assert_eq!(answered(&report, |d| d.naks.remote_access_error), 5, "{name}");
        assert_eq!(answered(&report, |d| d.naks.invalid_request), 3, "{name}");
        assert_eq!(answered(&report, |d| d.naks.remote_operational_error), 2, "{name}");
        assert_eq!(report.connections.len(), 10, "{name}");
        let is_dead = |c: &Connection| c.outcome == Outcome::Closed && c.fatal.is_some();
        assert!(report.connections.iter().all(is_dead), "{name}");
    }
}

#[test]
fn a_bad_icrc_keeps_a_packet_out() {
    let report = rxe("corrupt_b");
    // 24 by the list of captures, of which 20 are on these connections as far as their numbers go;
    // the others name queue pairs or hosts that do not exist.
    let [_, bad, _] = report.totals.icrc;
    assert_eq!(bad, 24);
    assert_eq!(asked(&report, |d| d.icrc_bad) + report.totals.icrc_bad_elsewhere, bad);
    assert_eq!(report.connections.len(), 2);
    // Two more were dropped by the kernel with a right ICRC: lost behind the capture.
    assert_eq!(asked(&report, |d| loss(d).after_capture), 2);
    // Soft-RoCE's own mistake with FLUSH does not.
    let flush = rxe("verbs_flush");
    assert_eq!(asked(&flush, |d| d.icrc_bad), 6);
    assert_eq!(asked(&flush, |d| d.messages.flush), 6);
    assert_eq!(asked(&flush, |d| d.missing_psns), 0);
}

#[test]
fn a_lossless_trace_misses_nothing() {
    // Coalesced acknowledgements and READs that take many PSNs are no gaps.
    for name in HEALTHY {
        let report = rxe(name);
        assert!(report.totals.is_conserved(), "{name}");
        for connection in &report.connections {
            for d in connection.directions() {
                assert_eq!(d.missing_psns, 0, "{name} {connection:?}");
                assert_eq!(d.retransmitted_packets + d.duplicate_requests, 0, "{name}");
                assert_eq!(d.duplicate_packets + d.out_of_order_packets, 0, "{name}");
                assert_eq!(d.opcode_sequence_errors + d.length_errors, 0, "{name}");
                assert_eq!(d.ghost_packets + d.icrc_bad + d.duplicate_acks, 0, "{name}");
                assert_eq!(loss(d), Loss::default(), "{name}");
                assert_eq!(d.payload_bytes, d.goodput_bytes, "{name}");
            }
        }
    }
}

#[test]
fn many_connections_between_two_hosts_are_told_apart() {
    let report = rxe("srq_pingpong_v4");
    assert_eq!(report.connections.len(), 16);
    assert!(report.connections.iter().all(|c| c.is_two_way() && c.confidence >= Some(95)));
    // ibv_srq_pingpong -n 100: 100 messages each way, over all queue pairs.
    assert_eq!(asked(&report, |d| d.messages.send) + answered(&report, |d| d.messages.send), 200);
}

#[test]
fn path_mtus_are_learned() {
    let mtus: Vec<_> = rxe("verbs_pmtu").connections.iter().map(|c| c.pmtu).collect();
    assert_eq!(mtus, [256, 512, 1024, 2048, 4096].map(Some));
}

#[test]
fn congestion_marks_are_counted_by_direction() {
    let report = rxe("ecn_ce_v4");
    let [connection] = &report.connections[..] else { panic!("{}", report.connections.len()) };
    // tshark -Y 'ip.dsfield.ecn == 3': 34 frames, all towards B. Soft-RoCE sends no CNP.
    assert_eq!((connection.a_to_b.ecn_ce, connection.b_to_a.ecn_ce), (34, 0));
    assert_eq!(connection.b_to_a.cnps, 0);
    assert_eq!(connection.a_to_b.frames(Event::Ce).count(), 10);
}

/// tshark: frames 4 (SEND from A) and 8 (SEND from B) are the first with data of the connection, and
/// all are Not-ECT; 5 is an acknowledgement, 6 a READ request.
#[test]
fn the_first_data_that_cannot_be_marked_is_named() {
    let report = rxe("rping_v4");
    let connection = report.connections.iter().find(|one| one.is_two_way()).unwrap();
    let first = connection.directions().map(|way| way.first_not_ect_frame.map(|frame| frame.get()));
    assert_eq!(first, [Some(4), Some(8)]);
    // Traffic class 0x6a: ECT(0) all.
    let report = rxe("tclass_v4");
    let ways = report.connections.iter().flat_map(|one| one.directions());
    for way in ways.filter(|way| way.ecn.data[0] == 0) {
        assert_eq!(way.first_not_ect_frame, None);
    }
}
