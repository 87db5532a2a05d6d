//! Frames in any order, left out or repeated: no panic, every packet accounted for, memory bounded.
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test may be blunt")]

mod common;

use common::pairs::Pair;
use common::{Record, analyze, records};
use proptest::prelude::*;
use roce_analyze::connections::{Config, Report};
use roce_analyze::findings::{Policy, evaluate};
use roce_wire::IcrcFill;

/// Small captures with everything in them: connection management, loss, NAKs, READs, datagrams.
const CAPTURES: [&str; 10] = [
    "rxe/loss_b.pcap",
    "rxe/loss_read_a.pcap",
    "rxe/reorder_b.pcap",
    "rxe/duplicate_b.pcap",
    "rxe/corrupt_b.pcap",
    "rxe/err_rnr.pcap",
    "rxe/mixed.pcap",
    "rxe/cmtime_v4.pcap",
    "rxe/udaddy_v6.pcap",
    "made/mixed_versions.pcap",
];

fn packets_are_accounted_for(report: &Report, frames: usize) {
    let totals = &report.totals;
    assert!(totals.is_conserved(), "{totals:?}");
    assert_eq!(totals.frames, frames as u64);
    let packets: u64 = report.connections.iter().map(|c| c.packets()).sum();
    assert_eq!(packets + report.evicted.packets, totals.connection_packets);
    for d in report.connections.iter().flat_map(|c| c.directions()) {
        assert!(d.goodput_bytes <= d.payload_bytes, "{d:?}");
        let counted = d.retransmitted_packets + d.duplicate_packets + d.icrc_bad + d.ghost_packets;
        assert!(counted <= d.packets, "{d:?}");
        assert!(d.acks + d.rnr_naks + d.cnps <= d.packets, "{d:?}");
        assert!(d.proofs.len() <= 96);
    }
}

/// A picture of a capture: which records, in which order.
fn picks() -> impl Strategy<Value = (usize, Vec<prop::sample::Index>)> {
    (0..CAPTURES.len(), prop::collection::vec(any::<prop::sample::Index>(), 1..400))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_frames_in_any_order((capture, picks) in picks(), max in 1usize..8) {
        let all = records(CAPTURES[capture]);
        let picked: Vec<&Record> = picks.iter().map(|index| index.get(&all)).collect();
        let report = analyze(picked.iter().copied(), Config::default());
        packets_are_accounted_for(&report, picked.len());
        let _ = evaluate(&report, &Policy::default());
        // A table with room for few.
        let config = Config::default().with_max_connections(max).with_max_histograms(0);
        let report = analyze(picked.iter().copied(), config);
        packets_are_accounted_for(&report, picked.len());
        prop_assert!(report.connections.len() <= max);
    }

    #[test]
    fn a_capture_with_frames_missing(
        capture in 0..CAPTURES.len(),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let all = records(CAPTURES[capture]);
        let gone: Vec<usize> = gone.iter().map(|index| index.index(all.len())).collect();
        let kept: Vec<&Record> =
            all.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, r)| r).collect();
        let report = analyze(kept.iter().copied(), Config::default());
        packets_are_accounted_for(&report, kept.len());
        let _ = evaluate(&report, &Policy::default());
    }

    #[test]
    fn frames_with_flipped_bytes(
        capture in 0..CAPTURES.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..60),
    ) {
        let mut all = records(CAPTURES[capture]);
        for (record, at, bits) in flips {
            let index = record.index(all.len());
            let bytes = &mut all[index].bytes;
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        for check in [true, false] {
            let report = analyze(&all, Config::default().with_check_icrc(check));
            packets_are_accounted_for(&report, all.len());
            let _ = evaluate(&report, &Policy::default());
        }
    }
}

/// Queue pairs that are alike, some used again from a PSN near to the first or far from it, some
/// with a wrong ICRC.
fn made(steps: &[(u8, u8, u8, u16)]) -> Vec<Record> {
    let step = |(nth, (pair, what, life, psn)): (usize, &(u8, u8, u8, u16))| {
        let nth_pair = u32::from(pair % 6);
        let qpns = [0x11 + nth_pair, 0x91 + nth_pair % 3 * 7 + nth_pair];
        let pair = Pair { qpns, ports: [50_000 + u16::from(pair % 2), 50_000] };
        let start = [0, 3, 0x70_0000, 0xff_fff0][usize::from(life % 4)];
        let psn = start + u32::from(psn % 24);
        let pause = if what % 11 == 0 { 2_000_000_000 } else { 10_000 };
        let (time, from) = (nth as u64 * pause, usize::from(what % 2));
        let icrc = IcrcFill::Flipped(u32::from(*what == 30));
        match what % 3 {
            0 => pair.ack(from, time, psn & 0xff_ffff, u32::from(what % 8)),
            _ => pair.send_with(from, time, psn & 0xff_ffff, icrc),
        }
    };
    steps.iter().enumerate().map(step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lives_and_pairs_of_any_kind(
        steps in prop::collection::vec((0u8..6, 0u8..33, 0u8..4, 0u16..24), 1..400),
        max in 1usize..8,
    ) {
        let all = made(&steps);
        for config in [Config::default(), Config::default().with_max_connections(max)] {
            let report = analyze(&all, config);
            packets_are_accounted_for(&report, all.len());
            let _ = evaluate(&report, &Policy::default());
        }
    }
}

#[test]
fn every_frame_twice_is_a_mirror_and_nothing_else() {
    for name in ["rxe/rping_v6.pcap", "rxe/verbs_rc_v4.pcap", "rxe/read_bw_v4.pcap"] {
        let all = records(name);
        let twice: Vec<&Record> = all.iter().flat_map(|record| [record, record]).collect();
        let report = analyze(twice, Config::default());
        for connection in report.connections.iter().filter(|c| c.packets() > 0) {
            assert!(connection.is_mirrored, "{name} {connection:?}");
            for d in connection.directions() {
                assert_eq!(d.packets, 2 * d.duplicate_packets, "{name}");
                assert_eq!(d.retransmitted_packets + d.duplicate_requests, 0, "{name}");
                assert_eq!(d.missing_psns, 0, "{name}");
            }
        }
    }
}

#[test]
fn what_only_the_capture_missed_is_not_lost() {
    // A third of the requests of a healthy trace are not captured; the responder acknowledges them.
    let all = records("rxe/verbs_mix.pcap");
    let to_b = |record: &Record| record.bytes[29] == 1;
    let kept = all.iter().enumerate().filter(|(at, r)| !to_b(r) || at % 3 != 0).map(|(_, r)| r);
    let report = analyze(kept, Config::default());
    for connection in &report.connections {
        let loss = connection.a_to_b.loss.unwrap();
        assert!(loss.not_captured > 0, "{loss:?}");
        assert_eq!((loss.before_capture, loss.after_capture), (0, 0));
        assert_eq!(connection.a_to_b.retransmitted_packets, 0);
    }
}
