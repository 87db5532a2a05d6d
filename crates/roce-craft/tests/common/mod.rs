//! Playing scenarios into memory, and into capture files for other tools.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use core::convert::Infallible;
use std::path::Path;

use roce_craft::truth::Truth;
use roce_craft::{BUILTIN, Craft, Scenario};

/// One frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    pub time_ns: u64,
    pub bytes: Vec<u8>,
    pub wire_len: usize,
}

/// A scenario that was played.
pub struct Played {
    pub frames: Vec<Held>,
    pub truth: Truth,
}

pub fn play(scenario: &Scenario) -> Played {
    let mut frames = Vec::new();
    let truth = Craft::new(scenario).run(|frame| -> Result<(), Infallible> {
        assert_eq!(frame.number, frames.len() as u64 + 1);
        let bytes = frame.bytes.to_vec();
        frames.push(Held { time_ns: frame.time_ns, bytes, wire_len: frame.wire_len });
        Ok(())
    });
    let Ok(truth) = truth;
    Played { frames, truth }
}

/// Plays a scenario given as text.
pub fn play_text(text: &str) -> Played {
    play(&Scenario::parse(text).unwrap_or_else(|error| panic!("{error}")))
}

/// Every built-in scenario by name.
pub fn play_all() -> Vec<(&'static str, Played)> {
    BUILTIN.iter().map(|scenario| (scenario.name, play_text(scenario.text))).collect()
}

/// Writes a pcap file with nanoseconds, link type Ethernet.
pub fn write_pcap(path: &Path, frames: &[Held]) {
    let mut out = Vec::new();
    out.extend(0xa1b2_3c4du32.to_le_bytes());
    out.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    for frame in frames {
        let numbers = [
            (frame.time_ns / 1_000_000_000) as u32,
            (frame.time_ns % 1_000_000_000) as u32,
            frame.bytes.len() as u32,
            frame.wire_len as u32,
        ];
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(&frame.bytes);
    }
    std::fs::write(path, out).unwrap();
}

/// On neither side of the capture point is more lost by what the capture tells than was lost. Of a
/// request and its answer it cannot always tell which it was.
pub(crate) fn what_shows_has_happened(connection: &roce_craft::truth::Connection) {
    let (a, b) = (&connection.a_to_b, &connection.b_to_a);
    let (told_a, told_b) = (a.loss.unwrap_or_default(), b.loss.unwrap_or_default());
    let (lost_a, lost_b) = (a.lost, b.lost);
    for (told, lost) in [
        (
            told_a.before_capture + told_b.after_capture,
            lost_a.before_capture + lost_b.after_capture,
        ),
        (
            told_a.after_capture + told_b.before_capture,
            lost_a.after_capture + lost_b.before_capture,
        ),
        (told_a.not_captured + told_b.not_captured, lost_a.not_captured + lost_b.not_captured),
    ] {
        assert!(told <= lost, "{told_a:?} {told_b:?} of {lost_a:?} {lost_b:?}");
    }
}
