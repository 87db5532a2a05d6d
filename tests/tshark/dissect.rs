//! Runs tshark over a file and keeps what it says of each frame.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::fields::{HEADERS, Kind, LAYERS, Pair};

/// The fields of one frame, each as tshark prints its last occurrence.
pub(crate) struct Dissected(HashMap<&'static str, String>);

impl Dissected {
    /// The value in the form of [`fields::text`](crate::fields::text); `None` when tshark has no
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

/// All frames of a file; `None` when tshark has no reader for it.
pub(crate) fn dissect(path: &Path) -> Option<Vec<Dissected>> {
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=l", "-r"])
        .arg(path);
    let pairs = || LAYERS.iter().chain(HEADERS);
    for pair in pairs() {
        command.args(["-e", pair.tshark]);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("aren't valid"), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    let frames: Vec<Dissected> = text
        .lines()
        .map(|line| {
            let values = line.split('\t').zip(pairs()).filter(|(value, _)| !value.is_empty());
            Dissected(values.map(|(value, pair)| (pair.tshark, value.to_owned())).collect())
        })
        .collect();
    (!frames.is_empty()).then_some(frames)
}
