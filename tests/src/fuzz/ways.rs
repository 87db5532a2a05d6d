//! Targets that do the same in several ways, which must agree.

use std::io::{Cursor, Read};

use roce_analyze::connections::{Config, Report, Sight, Sightings, Tracker, json};
use roce_analyze::findings::{Policy, evaluate};
use roce_capture::{Chunk, Compression, FileReader};
use roce_wire::{Frame, IcrcState, Plain, PlainNet, PlainUse, Ports, plain};

use super::MAX_FRAMES;
use crate::Kept;

/// What a plain frame says of itself is what its [`Frame`] says.
pub(super) struct Agree<'f, 'a>(pub(super) &'f Frame<'a>);

impl<'a> PlainUse<'a> for Agree<'_, 'a> {
    type Output = ();

    fn take<N: PlainNet>(self, plain: &Plain<'a, N>) -> Option<()> {
        let frame = self.0;
        let Some((net, packet)) = frame.packet() else {
            // Too short for a BTH, by the account of the headers in front.
            assert!(plain.sound().is_none());
            return None;
        };
        assert_eq!(plain.wire_len(), frame.wire_len());
        assert_eq!(plain.is_cut(), frame.is_cut());
        assert_eq!(plain.vlans, frame.vlans);
        assert_eq!(N::CARRIER, net.carrier());
        assert_eq!(Some(plain.net.traffic_class()), net.traffic_class());
        assert_eq!(plain.udp, net.udp().unwrap());
        assert_eq!(plain.bth, packet.bth);
        let sound = plain.sound()?;
        assert_eq!(frame.rejection(), None);
        assert_eq!(Some(sound.info.name), packet.bth.opcode.info().map(|info| info.name));
        assert_eq!(sound.payload, packet.payload_wire_len());
        assert_eq!(plain.icrc(), packet.icrc);
        let state = plain.icrc_state();
        assert_eq!(Some(state), frame.icrc_state());
        assert_eq!(state == IcrcState::Unchecked, packet.is_cut());
        Some(())
    }
}

/// Reads the file frame by frame and in chunks, as much of it at once as its first byte says: the
/// same comes out. Then follows its connections in every way.
pub fn ways(input: &[u8]) {
    let Some((&pace, bytes)) = input.split_first() else { return };
    let source = Box::new(Cursor::new(bytes.to_vec()));
    let Ok(mut reader) = FileReader::from_read("fuzz".to_owned(), source) else { return };
    let mut frames = Vec::new();
    while (frames.len() as u64) < MAX_FRAMES
        && let Some(frame) = reader.next_frame().unwrap()
    {
        frames.push(Kept::of(&frame));
    }
    // What a decompressor gives in front of damage depends on how much it is given at once.
    let is_plain = reader.format().compression == Compression::None;
    let at_once = if is_plain { pace.into() } else { 0 };
    chunks_are(&frames, Pace { bytes: Cursor::new(bytes.to_vec()), at_once }, &reader);
    connections_are_the_same(&frames, Config::default());
}

/// Gives so many bytes at once: all, if 0.
struct Pace {
    bytes: Cursor<Vec<u8>>,
    at_once: usize,
}

impl Read for Pace {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = if self.at_once == 0 { out.len() } else { self.at_once.min(out.len()) };
        self.bytes.read(&mut out[..len])
    }
}

fn chunks_are(frames: &[Kept], source: Pace, other: &FileReader) {
    let mut reader = FileReader::from_read("fuzz".to_owned(), Box::new(source)).unwrap();
    let mut chunk = Chunk::default();
    let mut expected = frames.iter();
    let mut count = 0;
    while (count as u64) < MAX_FRAMES && reader.fill_chunk(&mut chunk).unwrap() {
        assert!(!chunk.is_empty());
        count += chunk.len();
        for (frame, expected) in chunk.frames().zip(&mut expected) {
            assert_eq!(Kept::of(&frame), *expected);
        }
    }
    if (count as u64) < MAX_FRAMES {
        assert_eq!((count, reader.damaged()), (frames.len(), other.damaged()));
        assert_eq!((reader.last_number(), reader.format()), (other.last_number(), other.format()));
        assert!(!reader.fill_chunk(&mut chunk).unwrap(), "the end stays the end");
    }
}

/// Follows the connections by whole frames, by bytes one by one, and by packets taken out of many
/// frames ahead of time: the same comes out.
pub fn connections_are_the_same(frames: &[Kept], config: Config) {
    let whole = text(&by_frames(frames, config));
    same(&text(&by_bytes(frames, config)), &whole, "by bytes");
    for ahead in [1, 5, 100, usize::MAX] {
        same(&text(&by_sightings(frames, config, ahead)), &whole, &format!("{ahead} ahead"));
    }
}

/// Says where they differ first: all of it is too much to read.
fn same(report: &str, whole: &str, way: &str) {
    for (at, (line, expected)) in report.lines().zip(whole.lines()).enumerate() {
        assert_eq!(line, expected, "{way}, line {at}");
    }
    assert_eq!(report.len(), whole.len(), "{way}");
}

/// All that is told of it.
fn text(report: &Report) -> String {
    let findings = evaluate(report, &Policy::default());
    let json = serde_json::to_string_pretty(&json::Document(report)).unwrap();
    format!("{json}\n{report:#?}\n{findings:#?}")
}

fn by_frames(frames: &[Kept], config: Config) -> Report {
    let mut tracker = Tracker::new(config);
    for kept in frames {
        tracker.observe(&kept.parse(), kept.number, kept.time_ns);
    }
    tracker.finish()
}

fn by_bytes(frames: &[Kept], config: Config) -> Report {
    let mut tracker = Tracker::new(config);
    for kept in frames {
        let bytes = (kept.link(), &kept.data[..], kept.wire_len);
        if !tracker.observe_plain(bytes, &Ports::default(), kept.number, kept.time_ns) {
            tracker.observe(&kept.parse(), kept.number, kept.time_ns);
        }
    }
    tracker.finish()
}

fn by_sightings(frames: &[Kept], config: Config, ahead: usize) -> Report {
    let mut tracker = Tracker::new(config);
    for batch in frames.chunks(ahead) {
        let mut list = Sightings::default();
        for kept in batch {
            let Kept { number, time_ns, .. } = *kept;
            let sight = Sight { number, time_ns, checks_icrc: config.check_icrc, list: &mut list };
            let ports = Ports::default();
            if plain(kept.link(), &kept.data, kept.wire_len, &ports, sight).is_none() {
                tracker.follow_all(&list);
                list.clear();
                tracker.observe(&kept.parse(), number, time_ns);
            }
        }
        tracker.follow_all(&list);
    }
    tracker.finish()
}
