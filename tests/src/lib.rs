//! What the tests across the crates share: the fixtures, and programs that give second opinions.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "nothing but tests uses this, and a test may be blunt"
)]

// How the command prints stands in a program, which nobody can depend on.
#[path = "../../crates/roce-sniff/src/packets/form/mod.rs"]
#[allow(dead_code, reason = "the command uses more of it")]
mod form;
#[path = "../../crates/roce-sniff/src/text/mod.rs"]
#[allow(dead_code, reason = "the command uses more of it")]
mod text;

pub mod command;
pub mod fuzz;
pub mod scapy;
pub mod score;
pub mod sweep;
pub mod veth;

use std::path::{Path, PathBuf};
use std::process::Command;

use roce_capture::{FileReader, Frame as Captured};
use roce_wire::{Frame, Link, Ports, Value as FieldValue};
use serde_json::{Map, Value};

/// The folder of fixtures with this name: `made` or `rxe`.
#[must_use]
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// Every capture of a folder with its truth, in the order of the names.
#[must_use]
pub fn captures(name: &str) -> Vec<(PathBuf, Value)> {
    let folder = folder(name);
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let files: Map<String, Value> = serde_json::from_str(&text).unwrap();
    files.into_iter().map(|(file, truth)| (folder.join(file), truth)).collect()
}

/// A frame out of a file, kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its number, from 1.
    pub number: u64,
    /// Nanoseconds since the epoch, where the file says.
    pub time_ns: Option<u64>,
    /// What its first byte is the start of: libpcap's number of the link type.
    pub link_type: u32,
    /// Its length on the wire in bytes.
    pub wire_len: usize,
    /// The bytes that were captured.
    pub data: Vec<u8>,
}

impl Kept {
    /// Keeps a frame.
    #[must_use]
    pub fn of(frame: &Captured<'_>) -> Self {
        Self {
            number: frame.number,
            time_ns: frame.time_ns,
            link_type: frame.link_type.0,
            wire_len: usize::try_from(frame.wire_len).unwrap(),
            data: frame.data.to_vec(),
        }
    }

    /// What its first byte is the start of.
    #[must_use]
    pub const fn link(&self) -> Link {
        Link::from_linktype(self.link_type)
    }

    /// Parses it.
    #[must_use]
    pub fn parse(&self) -> Frame<'_> {
        Frame::parse(self.link(), &self.data, self.wire_len, &Ports::default())
    }
}

/// Reads a file to its end; also whether that was its end or the beginning of damage.
#[must_use]
pub fn read(path: &Path) -> (Vec<Kept>, bool) {
    let mut reader = FileReader::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(Kept::of(&frame));
    }
    (frames, reader.damaged().is_some())
}

/// Whether a program is there and answers; says that a test is skipped when it is not.
#[must_use]
pub fn have(program: &str, probe: &[&str]) -> bool {
    let works = Command::new(program).args(probe).output().is_ok_and(|out| out.status.success());
    if !works {
        eprintln!("skipped: {program} {} does not run here", probe.join(" "));
    }
    works
}

/// The value of a field in one form: numbers in decimal, bytes in hex, addresses as such.
#[must_use]
pub fn text(value: FieldValue<'_>) -> String {
    match value {
        FieldValue::Uint(n) | FieldValue::Hex(n) | FieldValue::Reserved(n) => n.to_string(),
        FieldValue::Named(n, _) => n.to_string(),
        FieldValue::Flag(on) => u8::from(on).to_string(),
        FieldValue::Mac(mac) => mac.to_string(),
        FieldValue::Ipv4(ip) => ip.to_string(),
        FieldValue::Ipv6(ip) => ip.to_string(),
        FieldValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
