//! Captures of one direction: no more is told than the requests alone tell.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use common::{Record, analyze, records, rxe};
use core::net::Ipv4Addr;
use roce_analyze::connections::{Config, Outcome, Report, Tracker};
use roce_analyze::findings::{Policy, evaluate};
use roce_wire::{Addr, Frame, Ports};

/// The frames that 10.77.0.1 sent.
fn requests(name: &str) -> Vec<Record> {
    let from: Addr = Addr::Ip(Ipv4Addr::new(10, 77, 0, 1).into());
    let mut all = records(&format!("rxe/{name}.pcap"));
    all.retain(|record| {
        let frame = Frame::parse(record.link, &record.bytes, record.wire_len, &Ports::default());
        frame.packet().is_some_and(|(net, _)| net.src() == from)
    });
    all
}

fn ids(report: &Report) -> Vec<&'static str> {
    let mut ids: Vec<_> = evaluate(report, &Policy::default()).iter().map(|f| f.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn without_answers_nothing_tells_why_requests_are_sent_again() {
    for name in ["loss_b", "loss_write_a", "loss_write_b", "err_rnr"] {
        let (both, one) = (rxe(name), analyze(&requests(name), Config::default()));
        let asked =
            |report: &Report, of: fn(&roce_analyze::connections::DirectionReport) -> u64| {
                report.connections.iter().map(|c| of(&c.a_to_b)).sum::<u64>()
            };
        for cause in [
            asked(&one, |d| d.retransmissions.timeout_driven),
            asked(&one, |d| d.retransmissions.nak_driven),
            asked(&one, |d| d.loss.unwrap().after_capture),
            asked(&one, |d| d.duplicate_requests),
        ] {
            assert_eq!(cause, 0, "{name}");
        }
        assert!(asked(&one, |d| d.retransmissions.unknown) > 0, "{name}");
        let again = asked(&one, |d| d.retransmitted_packets);
        assert_eq!(again, asked(&both, |d| d.retransmitted_packets), "{name}");
        // The queue pairs of err_rnr that gave up look like the one that did not.
        assert!(one.connections.iter().all(|c| c.outcome != Outcome::RetryExceeded), "{name}");
        for id in ids(&one) {
            assert!(["no-answer", "one-way", "packet-loss-upstream"].contains(&id), "{name}: {id}");
        }
    }
}

#[test]
fn who_is_still_at_it_has_not_given_up() {
    // The third try of a request whose receiver was not ready, and the capture ends with it or goes on.
    let all = records("rxe/err_rnr.pcap");
    let mut tracker = Tracker::new(Config::default());
    for (number, record) in (1..).zip(&all[..34]) {
        let frame = Frame::parse(record.link, &record.bytes, record.wire_len, &Ports::default());
        tracker.observe(&frame, number, Some(record.time_ns));
    }
    let outcome = |report: &Report| report.connections.last().unwrap().outcome;
    assert_eq!(outcome(&tracker.so_far(0)), Outcome::Open);
    assert_eq!(outcome(&tracker.so_far(1_000_000_000)), Outcome::RetryExceeded);
    assert_eq!(outcome(&tracker.finish()), Outcome::Open);
}
