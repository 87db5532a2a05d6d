//! Rates over time, held to sums that are made of the frames alone.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may be blunt"
)]

mod common;

use std::collections::BTreeMap;

use common::{Record, analyze, records};
use roce_analyze::connections::{Config, DirectionReport};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// The packets of one direction: times and lengths of what goes to a queue pair.
fn packets(records: &[Record], qpn: u32) -> Vec<(u64, u64)> {
    let dest_qp = |record: &Record| {
        // Ethernet, IPv4, UDP, and the BTH.
        let bytes = record.bytes.get(14 + 20 + 8 + 4..14 + 20 + 8 + 8)?;
        Some(u32::from_be_bytes(bytes.try_into().unwrap()) & 0xff_ffff)
    };
    let wanted = records.iter().filter(|record| dest_qp(record) == Some(qpn));
    wanted.map(|record| (record.time_ns, record.wire_len as u64)).collect()
}

fn by_bin(packets: &[(u64, u64)], bin: u64) -> BTreeMap<u64, u64> {
    let mut bins = BTreeMap::new();
    for (time, len) in packets {
        *bins.entry(time / bin).or_default() += len;
    }
    bins
}

fn check(direction: &DirectionReport, packets: &[(u64, u64)]) {
    let milliseconds = by_bin(packets, MILLISECOND);
    let peak = *milliseconds.values().max().unwrap();
    assert_eq!(direction.peak_millisecond_bytes, Some(peak));
    let at = direction.peak_millisecond_ns.unwrap();
    assert_eq!(milliseconds.get(&(at / MILLISECOND)), Some(&peak));
    let seconds = by_bin(packets, SECOND);
    // It is rounded up, to no more than all of them.
    let (most, all) = (seconds.values().max().unwrap(), seconds.values().sum());
    assert_eq!(direction.peak_second_bytes, Some(most.next_multiple_of(256).min(all)));
    let idle = packets.windows(2).filter(|two| two[1].0 - two[0].0 >= 10 * MILLISECOND).count();
    assert_eq!(direction.idle_gaps, idle as u64);
    let Some(told) = &direction.over_time else {
        let last = packets.last().unwrap().0 / SECOND;
        assert!(packets.iter().filter(|(time, _)| time / SECOND < last).count() < 16);
        return;
    };
    let first = told.start_ns / SECOND;
    let widths = told.bin_ns / SECOND;
    assert!(widths.is_power_of_two() && told.bytes.len() <= 600);
    let mut wanted = vec![0; told.bytes.len()];
    for (second, bytes) in seconds.range(first..) {
        wanted[((second - first) / widths) as usize] += bytes;
    }
    assert_eq!(told.bytes, wanted);
    let before: u64 = seconds.range(..first).map(|(_, bytes)| bytes).sum();
    assert_eq!(told.bytes.iter().sum::<u64>() + before, direction.bytes);
    let goodput = told.goodput_bytes.as_ref().unwrap();
    assert_eq!(goodput.len(), told.bytes.len());
    if before == 0 {
        assert_eq!(goodput.iter().sum::<u64>(), direction.goodput_bytes);
    }
}

/// The same traffic at its own speed, and slower.
#[test]
fn rates_are_sums_over_the_frames() {
    for name in ["write_bw_cm_v4", "loss_a", "rping_v4", "err_rnr"] {
        for factor in [1, 30, 5_000] {
            let mut records = records(&format!("rxe/{name}.pcap"));
            let start = records[0].time_ns;
            for record in &mut records {
                record.time_ns = start + (record.time_ns - start) * factor;
            }
            let report = analyze(&records, Config::default());
            for connection in report.connections.iter().filter(|c| c.is_two_way()) {
                let ends =
                    [(&connection.a_to_b, &connection.b), (&connection.b_to_a, &connection.a)];
                for (direction, end) in ends {
                    let packets = packets(&records, end.qpn.unwrap());
                    if packets.len() as u64 == direction.packets {
                        check(direction, &packets);
                    }
                }
            }
        }
    }
}
