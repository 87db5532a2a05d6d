//! Runs tshark over frames and keeps what it says of each frame.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use roce_sniff_tests::Kept;

use crate::fields::{HEADERS, Kind, LAYERS, Pair};

/// The fields of one frame, each as tshark prints its last occurrence.
pub(crate) struct Dissected(HashMap<&'static str, String>);

impl Dissected {
    /// The value in the form of [`roce_sniff_tests::text`]; `None` when tshark has no
    /// such field in this frame.
    pub(crate) fn value(&self, pair: &Pair) -> Option<String> {
        let text = self.0.get(pair.tshark)?.as_str();
        let number = match (pair.kind, text.strip_prefix("0x")) {
            (Kind::Text, _) => return Some(text.replace(':', "")),
            (Kind::Address, _) => return Some(text.to_owned()),
            (Kind::Number, None) if text == "True" => Ok(1),
            (Kind::Number, None) if text == "False" => Ok(0),
            (Kind::Number, None) => text.parse(),
            (Kind::Bytes, None) => u64::from_str_radix(&text.replace(':', ""), 16),
            (_, Some(hex)) => u64::from_str_radix(hex, 16),
        };
        Some(number.map_or_else(|_| text.to_owned(), |number| number.to_string()))
    }
}

/// What tshark says of these frames, all of one link type; `None` when it has no reader for that.
pub(crate) fn dissect(frames: &[&Kept]) -> Option<Vec<Dissected>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=l", "-r", "-"]);
    let pairs = || LAYERS.iter().chain(HEADERS);
    for pair in pairs() {
        command.args(["-e", pair.tshark]);
    }
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut stdin, file) = (child.stdin.take().unwrap(), pcap(frames));
    // A link type it cannot read ends tshark before it has read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&file)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let dissected: Vec<Dissected> = text
        .lines()
        .map(|line| {
            let values = line.split('\t').zip(pairs()).filter(|(value, _)| !value.is_empty());
            Dissected(values.map(|(value, pair)| (pair.tshark, value.to_owned())).collect())
        })
        .collect();
    assert!(dissected.is_empty() || dissected.len() == frames.len(), "tshark lost frames");
    (!dissected.is_empty()).then_some(dissected)
}

/// The frames as a classic pcap file.
fn pcap(frames: &[&Kept]) -> Vec<u8> {
    let link_type = frames.first().map_or(0, |kept| kept.link_type);
    let head = [0xa1b2_c3d4, 0x0002_0004, 0, 0, 262_144, link_type];
    let mut file: Vec<u8> = head.map(u32::to_be_bytes).concat();
    for (seconds, kept) in (0..).zip(frames) {
        let lengths = [kept.data.len(), kept.wire_len].map(|len| u32::try_from(len).unwrap());
        file.extend([seconds, 0, lengths[0], lengths[1]].map(u32::to_be_bytes).concat());
        file.extend(&kept.data);
    }
    file
}
