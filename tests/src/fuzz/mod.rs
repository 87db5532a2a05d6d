//! What the fuzz targets do with their input. They stand here and not in the fuzz crate, so that a
//! plain `cargo test` can replay seeds and corpora through them.
//!
//! The first byte of a frame's input chooses its link type, the second how many bytes the capture
//! cut off; the rest is the frame.

mod files;
mod frames;
mod ways;

pub use files::{MAX_FRAMES, file};
pub use frames::{frame, mend, packet, print_anything};
pub use ways::{connections_are_the_same, ways};

use roce_wire::Link;

/// A fuzz target: what it does must not panic, whatever the bytes are.
pub type Target = fn(&[u8]);

/// Every target whose input is a frame, by the name of its folder under `fuzz/corpus`.
pub const FRAME_TARGETS: [(&str, Target); 4] =
    [("frame", frame), ("packet", packet), ("print_anything", print_anything), ("mend", mend)];

/// Every target whose input is a file.
pub const FILE_TARGETS: [(&str, Target); 3] = [("pcap", file), ("pcapng", file), ("ways", ways)];

/// The input that makes a target parse this frame.
#[must_use]
pub fn seed(link: Link, data: &[u8], wire_len: usize) -> Vec<u8> {
    let link = Link::ALL.iter().position(|&known| known == link).unwrap_or_default();
    let cut = wire_len.saturating_sub(data.len());
    let head = [link, cut.min(255)].map(|n| u8::try_from(n).unwrap_or(u8::MAX));
    [&head, data].concat()
}

/// Link type, frame, and its length on the wire.
fn split(input: &[u8]) -> Option<(Link, &[u8], usize)> {
    let (&[link, cut], bytes) = input.split_first_chunk::<2>()?;
    let link = *Link::ALL.get(usize::from(link) % Link::ALL.len())?;
    Some((link, bytes, bytes.len().saturating_add(usize::from(cut))))
}
