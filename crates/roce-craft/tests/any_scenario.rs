//! Scenarios put together at random: they end, their frames add up, and what was asked for is done.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::{Played, play_text};
use proptest::prelude::*;
use roce_wire::{Content, Frame, IcrcState, Link, Ports};

const KINDS: &[&str] =
    &["send", "write", "read", "fetch-add", "compare-swap", "atomic-write", "flush"];

/// An operation: kind, size, count, and whether `to` makes it.
fn op() -> impl Strategy<Value = (&'static str, u32, u64, bool)> {
    let sizes = prop_oneof![0u32..10, 1000u32..1100, 0u32..20_000];
    (prop::sample::select(KINDS), sizes, 1u64..12, any::<bool>())
}

/// An event that the connection survives.
fn event() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(&["loss", "duplicate", "reorder", "corrupt", "ce"][..]);
    let of = prop::sample::select(&["requests", "responses", "acks", "any"][..]);
    let place = prop::sample::select(&["before-capture", "after-capture"][..]);
    let from = prop::sample::select(&["from", "to"][..]);
    (kind, of, place, from, 1u64..40, 1u32..4).prop_map(|(kind, of, place, from, at, by)| {
        format!(
            "[[event]]\nkind = \"{kind}\"\nof = \"{of}\"\nwhere = \"{place}\"\nfrom = \"{from}\"\n\
             at = [{at}, {}]\nby = {by}\n",
            at * 3
        )
    })
}

#[derive(Debug)]
struct Random {
    text: String,
    ops: Vec<(&'static str, u32, u64, bool)>,
}

fn scenario() -> impl Strategy<Value = Random> {
    (
        prop::collection::vec(op(), 1..5),
        prop::collection::vec(event(), 0..4),
        prop::sample::select(&["v1", "v2-ipv4", "v2-ipv6"][..]),
        prop::sample::select(&["go-back-n", "selective"][..]),
        prop::sample::select(&["from", "middle", "to"][..]),
        prop::sample::select(&[1u32, 2, 16, 64][..]),
        prop::sample::select(&[256u32, 1024, 4096][..]),
        any::<u64>(),
    )
        .prop_map(|(ops, events, carrier, retransmit, at, window, pmtu, seed)| {
            // A signed number is all that the format has.
            let seed = seed >> 1;
            let mut text = format!(
                "seed = {seed}\n[capture]\nat = \"{at}\"\n[[connection]]\nfrom = \"a\"\nto = \"b\"\n\
                 carrier = \"{carrier}\"\nretransmit = \"{retransmit}\"\nwindow = {window}\n\
                 pmtu = {pmtu}\ntimeout = 8\npsn = [16777200, 16777210]\njitter = \"100ns\"\n"
            );
            for (kind, size, count, is_back) in &ops {
                let by = if *is_back { "to" } else { "from" };
                write!(
                    text,
                    "[[connection.op]]\nkind = \"{kind}\"\nsize = {size}\ncount = {count}\nby = \"{by}\"\n"
                )
                .unwrap();
            }
            events.iter().for_each(|event| text.push_str(event));
            Random { text, ops }
        })
}

fn messages(ops: &[(&str, u32, u64, bool)], is_back: bool) -> BTreeMap<&'static str, u64> {
    let mut by_kind = BTreeMap::new();
    for (kind, _, count, back) in ops {
        let kind = match *kind {
            "send" => "send",
            "write" => "write",
            "read" => "read",
            "flush" => "flush",
            _ => "atomic",
        };
        if *back == is_back {
            *by_kind.entry(kind).or_insert(0) += count;
        }
    }
    by_kind
}

fn check_frames(played: &Played) {
    for pair in played.frames.windows(2) {
        assert!(pair[0].time_ns <= pair[1].time_ns);
    }
    let mut bad = 0;
    for held in &played.frames {
        let frame = Frame::parse(Link::Ethernet, &held.bytes, held.wire_len, &Ports::default());
        assert!(frame.is_roce(), "{:?}", frame.content);
        assert!(frame.oddities.is_empty() && frame.trailer().is_empty());
        bad += u64::from(frame.icrc_state() != Some(IcrcState::Ok));
    }
    let connection = &played.truth.connections[0];
    assert_eq!(bad, connection.a_to_b.icrc_bad + connection.b_to_a.icrc_bad);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_was_asked_for_is_done_whatever_is_lost(random in scenario()) {
        let played = play_text(&random.text);
        check_frames(&played);
        let connection = &played.truth.connections[0];
        prop_assert_eq!(connection.outcome, "open");
        common::what_shows_has_happened(connection);
        for (direction, is_back) in [(&connection.a_to_b, false), (&connection.b_to_a, true)] {
            let told = direction.messages;
            let mut by_kind = BTreeMap::from([
                ("send", told.send), ("write", told.write), ("read", told.read),
                ("atomic", told.atomic), ("flush", told.flush),
            ]);
            by_kind.retain(|_, count| *count > 0);
            prop_assert_eq!(&by_kind, &messages(&random.ops, is_back));
            let loss = direction.lost;
            prop_assert!(direction.missing_psns <= loss.before_capture + loss.not_captured);
            prop_assert_eq!(loss.not_captured, 0);
        }
    }

    /// Counted another way: where nothing is missing at the capture and nothing is twice on the
    /// wire, a request is a retransmission when its PSN was there before.
    #[test]
    fn retransmissions_are_repeated_psns(
        lost in prop::collection::btree_set(1u64..200, 1..6), selective: bool, size in 0u32..9000,
    ) {
        let retransmit = if selective { "selective" } else { "go-back-n" };
        let at: Vec<u64> = lost.into_iter().collect();
        let played = play_text(&format!(
            "[[connection]]\nfrom = \"a\"\nto = \"b\"\nretransmit = \"{retransmit}\"\n\
             [[connection.op]]\nkind = \"write\"\nsize = {size}\ncount = 40\n\
             [[event]]\nkind = \"loss\"\nat = {at:?}\n[[event]]\nkind = \"loss\"\nrate = 0.01\n"
        ));
        let (mut seen, mut again, mut payload) = (BTreeSet::new(), 0, 0);
        for held in &played.frames {
            let frame = Frame::parse(Link::Ethernet, &held.bytes, held.wire_len, &Ports::default());
            let Content::Packet(_, packet) = &frame.content else { panic!() };
            if packet.bth.opcode.0 & 0x1f == 0x11 {
                continue;
            }
            if seen.insert(packet.bth.psn().get()) {
                payload += packet.payload.len() as u64;
            } else {
                again += 1;
            }
        }
        let direction = &played.truth.connections[0].a_to_b;
        prop_assert_eq!(direction.retransmitted_packets, again);
        prop_assert_eq!(direction.goodput_bytes, payload);
        prop_assert_eq!(payload, u64::from(size) * 40);
        prop_assert_eq!(direction.missing_psns, 0);
    }

    #[test]
    fn frames_that_only_the_capture_misses_change_nothing_else(
        miss in prop::collection::btree_set(1u64..300, 0..20), late in 0u64..100,
    ) {
        let scenario = |extra: &str| play_text(&format!(
            "[capture]\n{extra}\n[[connection]]\nfrom = \"a\"\nto = \"b\"\n\
             [[connection.op]]\nkind = \"write\"\nsize = 5000\ncount = 30\n\
             [[connection.op]]\nkind = \"read\"\nsize = 5000\ncount = 10\n\
             [[event]]\nkind = \"loss\"\nat = [30, 77]\n"
        ));
        let all = scenario("");
        let miss: Vec<u64> = miss.into_iter().collect();
        let some = scenario(&format!("miss = {miss:?}\nstart = \"{late}us\""));
        let start = all.frames[0].time_ns + late * 1000;
        let kept: Vec<_> = all.frames.iter().filter(|frame| frame.time_ns >= start).collect();
        let kept: Vec<_> = kept
            .into_iter()
            .enumerate()
            .filter(|(at, _)| !miss.contains(&(*at as u64 + 1)))
            .map(|(_, frame)| frame)
            .collect();
        prop_assert_eq!(some.frames.iter().collect::<Vec<_>>(), kept);
    }
}

#[test]
fn a_run_can_be_cut_at_any_frame_and_scaled() {
    let scenario = |frames| {
        let read = roce_craft::Scenario::parse(
            "[[connection]]\nfrom = \"a\"\nto = \"b\"\n[[connection.op]]\nkind = \"write\"\nsize = 64\n",
        );
        common::play(&read.unwrap().with_connections(100).with_packets(frames))
    };
    let long = scenario(5000);
    assert_eq!((long.frames.len(), long.truth.connections.len()), (5000, 100));
    for frames in [1, 99, 100, 101, 2500] {
        let short = scenario(frames);
        assert_eq!(short.frames[..], long.frames[..frames as usize]);
        let packets: u64 =
            short.truth.connections.iter().map(|c| c.a_to_b.packets + c.b_to_a.packets).sum();
        assert_eq!((packets, short.truth.frames), (frames, frames));
    }
}
