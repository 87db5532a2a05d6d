//! Every built-in scenario, played to its end: frames, order, ICRCs, and a truth that adds up.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may be blunt"
)]

mod common;

use common::{Played, play, play_all};
use roce_craft::truth::{Direction, Truth};
use roce_craft::{BUILTIN, Scenario, builtin};
use roce_wire::{Content, Ecn, Frame, IcrcState, Link, Opcode, Ports, Qpn};

fn each_frame(played: &Played, mut see: impl FnMut(u64, &Frame<'_>)) {
    for (number, frame) in (1..).zip(&played.frames) {
        let read = Frame::parse(Link::Ethernet, &frame.bytes, frame.wire_len, &Ports::default());
        see(number, &read);
    }
}

fn directions(truth: &Truth) -> impl Iterator<Item = &Direction> {
    truth.connections.iter().flat_map(|c| [&c.a_to_b, &c.b_to_a])
}

#[test]
fn there_are_at_least_twenty_five_and_each_asks_and_answers() {
    assert!(BUILTIN.len() >= 25);
    assert!(BUILTIN.windows(2).all(|pair| pair[0].name < pair[1].name));
    for scenario in BUILTIN {
        let read = Scenario::parse(scenario.text)
            .unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
        assert!(read.question().ends_with('?'), "{}", scenario.name);
        assert!(read.answer().ends_with('.'), "{}", scenario.name);
        assert!(builtin(scenario.name).is_some());
    }
    assert!(builtin("no-such").is_none());
}

#[test]
fn frames_come_in_order_and_are_whole() {
    for (name, played) in play_all() {
        assert!(!played.frames.is_empty(), "{name}");
        assert_eq!(played.truth.frames, played.frames.len() as u64, "{name}");
        let bytes: usize = played.frames.iter().map(|frame| frame.wire_len).sum();
        assert_eq!(played.truth.bytes, bytes as u64);
        for pair in played.frames.windows(2) {
            assert!(pair[0].time_ns <= pair[1].time_ns, "{name}: time goes back");
        }
        each_frame(&played, |number, frame| {
            let mut out = Vec::new();
            frame.emit(&mut out).unwrap();
            assert_eq!(out, frame.bytes(), "{name} frame {number}");
            let ends_with_packet = frame.packet().is_none() || frame.trailer().is_empty();
            assert!(ends_with_packet || name == "malformed", "{name} frame {number}");
        });
    }
}

fn is_pause(frame: &Frame<'_>) -> bool {
    matches!(frame.content, Content::Pfc(_) | Content::Pause(_))
}

#[test]
fn every_icrc_is_right_but_those_that_were_to_be_wrong() {
    for (name, played) in play_all() {
        let mut bad = 0;
        each_frame(&played, |number, frame| match frame.icrc_state() {
            _ if frame.rejection().is_some() => {}
            Some(IcrcState::Bad) => bad += 1,
            Some(IcrcState::Unchecked) => assert_eq!(name, "snaplen", "frame {number}"),
            Some(IcrcState::Ok) | None => {}
        });
        let told: u64 = directions(&played.truth).map(|d| d.icrc_bad).sum();
        assert_eq!(bad, told, "{name}");
        let faulty = ["icrc-corruption", "icrc-home-made", "malformed"];
        assert_eq!(bad > 0, faulty.contains(&name), "{name}");
    }
}

/// What can be counted without knowing anything of PSNs.
#[derive(Default, PartialEq, Eq, Debug)]
struct Counts {
    packets: u64,
    bytes: u64,
    payload: u64,
    cnps: u64,
    ce: u64,
    acks: u64,
    naks: u64,
    rnr_naks: u64,
    management: u64,
    rejected: u64,
    flow_control: u64,
    icmp: u64,
}

fn count(played: &Played) -> Counts {
    let mut counts = Counts::default();
    each_frame(played, |_, frame| match &frame.content {
        _ if is_pause(frame) => counts.flow_control += 1,
        Content::Packet(net, packet) if frame.rejection().is_none() => {
            if packet.bth.dest_qp() == Qpn::GSI {
                counts.management += 1;
                return;
            }
            counts.packets += 1;
            counts.bytes += frame.wire_len() as u64;
            counts.payload += packet.payload_wire_len() as u64;
            // A WRITE in one packet that is said to be longer by an ICRC has none.
            let told = packet.reth.map_or(0, |reth| reth.dma_len() as usize);
            let is_write = matches!(packet.bth.opcode.0 & 0x1f, 0x0a | 0x0b);
            if is_write && told == packet.payload_wire_len() + 4 {
                counts.payload += 4;
            }
            // Of a packet that was corrupted nothing else is believed.
            if frame.icrc_state() == Some(IcrcState::Bad) {
                return;
            }
            counts.cnps += u64::from(packet.bth.opcode == Opcode::CNP);
            counts.ce += u64::from(Ecn::from_tos(net.traffic_class().unwrap()) == Ecn::Ce);
            if let Some(aeth) = packet.aeth.filter(|_| packet.bth.opcode.0 & 0x1f == 0x11) {
                match aeth.syndrome().0 >> 5 {
                    0 => counts.acks += 1,
                    1 => counts.rnr_naks += 1,
                    _ => counts.naks += 1,
                }
            }
        }
        Content::Packet(..) | Content::Rejected(_) => counts.rejected += 1,
        Content::Other(_) => counts.icmp += 1,
        other => panic!("{other:?}"),
    });
    counts
}

fn told(truth: &Truth) -> Counts {
    let mut counts = Counts::default();
    for d in directions(truth) {
        counts.packets += d.packets;
        counts.bytes += d.bytes;
        counts.payload += d.payload_bytes;
        counts.cnps += d.cnps;
        counts.ce += d.ecn_ce;
        counts.acks += d.acks;
        counts.rnr_naks += d.rnr_naks;
        counts.naks += d.naks.psn_sequence_error
            + d.naks.invalid_request
            + d.naks.remote_access_error
            + d.naks.remote_operational_error;
    }
    for cm in truth.connections.iter().filter_map(|c| c.cm.as_ref()) {
        counts.management += cm.messages.len() as u64;
    }
    let rejected = truth.rejected;
    counts.rejected = rejected.unknown_opcode + rejected.bad_tver + rejected.too_short;
    counts.flow_control = truth.congestion.pfc + truth.congestion.pause;
    counts.icmp = truth.icmp_unreachable;
    counts
}

#[test]
fn the_truth_counts_what_a_decoder_counts() {
    for (name, played) in play_all() {
        let mut counted = count(&played);
        let told = told(&played.truth);
        if name == "mirror-both-ways" {
            // Copies are no acknowledgements of their own.
            assert_eq!(counted.acks, told.acks * 2);
            counted.acks = told.acks;
        }
        assert_eq!(counted, told, "{name}");
    }
}

#[test]
fn the_truth_adds_up() {
    for (name, played) in play_all() {
        let truth = &played.truth;
        assert_eq!(truth.details_omitted, 0);
        for (id, connection) in (1..).zip(&truth.connections) {
            assert_eq!(connection.id, id);
            assert!(connection.first_ns <= connection.last_ns);
            common::what_shows_has_happened(connection);
        }
        for d in directions(truth) {
            let once = d.packets - d.duplicate_packets;
            assert!(d.retransmitted_packets + d.out_of_order_packets <= once, "{name}");
            assert!(d.goodput_bytes <= d.payload_bytes, "{name}");
            assert!(d.missing_psns <= d.lost.before_capture + d.lost.not_captured, "{name}");
            let rounds = d.retransmissions;
            let rounds =
                rounds.nak_driven + rounds.timeout_driven + rounds.rnr_driven + rounds.gap_driven;
            assert!(rounds <= d.retransmitted_packets || d.goodput_bytes > 0, "{name}");
        }
        for detail in &truth.details {
            assert!(detail.frame.is_none_or(|frame| (1..=truth.frames).contains(&frame)));
            assert!((1..=truth.connections.len() as u64).contains(&detail.connection));
            assert!(detail.repeats_frame < detail.frame || detail.repeats_frame.is_none());
            assert!(detail.proof_frame < detail.frame || detail.proof_frame.is_none());
        }
    }
}

#[test]
fn details_name_the_frames_they_speak_of() {
    for (name, played) in play_all() {
        for detail in &played.truth.details {
            let Some(frame) = detail.frame else { continue };
            let frame = &played.frames[frame as usize - 1];
            let read =
                Frame::parse(Link::Ethernet, &frame.bytes, frame.wire_len, &Ports::default());
            let Some((_, packet)) = read.packet() else {
                assert_eq!(name, "malformed");
                continue;
            };
            assert_eq!(packet.bth.psn().get(), detail.psn, "{name} {detail:?}");
            if name != "malformed" {
                assert_eq!(packet.bth.opcode.name(), Some(detail.opcode), "{name} {detail:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for scenario in BUILTIN {
        let read = Scenario::parse(scenario.text).unwrap();
        let (once, twice) = (play(&read), play(&read));
        assert_eq!(once.frames, twice.frames, "{}", scenario.name);
        let json = |played: &Played| serde_json::to_string(&played.truth).unwrap();
        assert_eq!(json(&once), json(&twice), "{}", scenario.name);
        let other = play(&read.with_seed(99));
        assert_ne!(once.frames, other.frames, "{}", scenario.name);
    }
}

/// Guards against a change of the bytes that nobody meant: the same on every platform.
#[test]
fn the_bytes_are_those_they_always_were() {
    let digest = |name: &str| {
        let played = play(&Scenario::parse(builtin(name).unwrap().text).unwrap());
        // FNV-1a.
        played
            .frames
            .iter()
            .flat_map(|frame| &frame.bytes)
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
                (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3)
            })
    };
    let digests = ["healthy-v1", "random-loss", "many-connections"].map(digest);
    let expected = [0x2192_54cb_7603_a488, 0xa53e_c64d_fdb7_79a4, 0x7f14_a4bc_29d0_c24d];
    assert_eq!(digests, expected, "{digests:#x?}");
}

/// By default a packet that is not answered is sent again after 4.096 µs × 2^14 = 67.1 ms.
#[test]
fn no_path_keeps_a_packet_until_it_is_sent_again() {
    let text = r#"
[[connection]]
from = "client"
to = "server"
gap = "10ms"
[[connection.op]]
kind = "send"
size = 64
count = 20
depth = 1

[[event]]
kind = "reorder"
of = "OF"
where = "PLACE-capture"
every = 5
by = 10
"#;
    for (of, place) in [("requests", "before"), ("requests", "after"), ("acks", "after")] {
        let text = text.replace("OF", of).replace("PLACE", place);
        let played = common::play_text(&text);
        assert_eq!(played.frames.len(), 40, "{of}, {place}");
        for direction in directions(&played.truth) {
            assert_eq!(direction.retransmissions.timeout_driven, 0, "{of}, {place}");
        }
    }
}
