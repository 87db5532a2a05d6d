//! Connections are followed in several ways, and all of them find the same.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "a test may be blunt"
)]

use proptest::prelude::*;
use proptest::sample::Index;
use roce_analyze::connections::Config;
use roce_sniff_tests::fuzz::connections_are_the_same;
use roce_sniff_tests::{Kept, captures, read};

/// The captures of the fixtures, all of them that are small.
fn traces() -> Vec<Vec<Kept>> {
    let paths = captures("made").into_iter().chain(captures("rxe"));
    paths.map(|(path, _)| read(&path).0).filter(|trace| trace.len() <= 20_000).collect()
}

fn renumber(frames: &mut [Kept]) {
    for (number, frame) in (1..).zip(frames) {
        frame.number = number;
    }
}

#[test]
fn the_fixtures_one_by_one_and_as_one_trace() {
    let traces = traces();
    for trace in &traces {
        connections_are_the_same(trace, Config::default());
        connections_are_the_same(trace, Config::default().with_check_icrc(false));
        connections_are_the_same(trace, Config::default().with_max_connections(2));
        connections_are_the_same(trace, Config::default().with_all_proofs(true));
    }
    let mut all: Vec<Kept> = traces.into_iter().flatten().collect();
    renumber(&mut all);
    connections_are_the_same(&all, Config::default());
}

/// What becomes of a frame.
#[derive(Clone, Debug)]
enum Change {
    /// A byte takes this value.
    Byte(Index, u8),
    /// A byte of the headers does.
    Header(usize, u8),
    /// A bit flips.
    Bit(Index, u8),
    /// The capture ends here.
    Cut(Index),
    /// It is so much longer on the wire than in the capture.
    Longer(usize),
    /// Bytes are added behind it.
    Padded(usize),
    /// It is not there.
    Gone,
    /// It comes again so many frames later.
    Again(usize),
    /// It comes so many frames later.
    Late(usize),
    /// Nobody knows when.
    Timeless,
    /// It has a VLAN tag, or one more.
    Tagged(u16),
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, value)| Change::Byte(at, value)),
        4 => (0usize..90, any::<u8>()).prop_map(|(at, value)| Change::Header(at, value)),
        2 => (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (1usize..70).prop_map(Change::Longer),
        1 => (1usize..9).prop_map(Change::Padded),
        2 => Just(Change::Gone),
        2 => (0usize..40).prop_map(Change::Again),
        1 => (1usize..40).prop_map(Change::Late),
        1 => Just(Change::Timeless),
        1 => (0u16..4096).prop_map(Change::Tagged),
    ]
}

fn change(frames: &mut Vec<Kept>, at: usize, change: &Change) {
    let count = frames.len();
    let frame = &mut frames[at];
    let len = frame.data.len();
    match *change {
        Change::Byte(place, value) if len > 0 => frame.data[place.index(len)] = value,
        Change::Header(place, value) if place < len => frame.data[place] = value,
        Change::Bit(place, bit) if len > 0 => frame.data[place.index(len)] ^= 1 << bit,
        Change::Cut(place) if len > 0 => frame.data.truncate(place.index(len)),
        Change::Longer(more) => frame.wire_len += more,
        Change::Padded(more) => {
            frame.data.resize(len + more, 0);
            frame.wire_len += more;
        }
        Change::Gone if count > 1 => _ = frames.remove(at),
        Change::Again(later) => {
            let again = frame.clone();
            frames.insert((at + later).min(count), again);
        }
        Change::Late(later) => {
            let late = frames.remove(at);
            frames.insert((at + later).min(count - 1), late);
        }
        Change::Timeless => frame.time_ns = None,
        Change::Tagged(tag) if len > 12 => {
            let tag = [&[0x81, 0], &tag.to_be_bytes()[..]].concat();
            frame.data.splice(12..12, tag);
            frame.wire_len += 4;
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A piece of one capture, or of two that alternate, with frames changed.
    #[test]
    fn changed_frames(
        first: Index, second: Index, from: Index, is_mixed: bool, len in 1usize..250,
        edits in prop::collection::vec((any::<Index>(), changes()), 0..60),
        max in prop_oneof![Just(1_000_000), 1usize..6], check_icrc: bool,
    ) {
        thread_local!(static TRACES: Vec<Vec<Kept>> = traces());
        let mut frames = TRACES.with(|traces| {
            let trace = first.get(traces);
            let from = from.index(trace.len());
            let piece = trace[from..].iter().take(len).cloned();
            let other = second.get(traces).iter().take(if is_mixed { len } else { 0 }).cloned();
            let mut frames: Vec<Kept> = piece.chain(other).collect();
            if is_mixed {
                frames.sort_by_key(|frame| frame.number % (len as u64));
            }
            frames
        });
        for (at, edit) in &edits {
            let at = at.index(frames.len());
            change(&mut frames, at, edit);
        }
        renumber(&mut frames);
        let config = Config::default().with_max_connections(max).with_check_icrc(check_icrc);
        connections_are_the_same(&frames, config);
    }
}
