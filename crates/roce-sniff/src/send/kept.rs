//! A source in memory: what is sent again and again is read and addressed once.

use std::ops::Range;

use super::transmit::Skipped;

/// The most that is kept, in bytes of frames. A longer source is read anew for every pass.
const MOST: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    frames: Vec<Entry>,
    /// What a pass leaves out.
    pub(super) skipped: Skipped,
}

struct Entry {
    number: u64,
    time_ns: Option<u64>,
    is_changed: bool,
    range: Range<usize>,
}

/// A frame as it is sent.
pub(super) struct KeptFrame<'k> {
    pub(super) number: u64,
    pub(super) time_ns: Option<u64>,
    pub(super) is_changed: bool,
    pub(super) bytes: &'k [u8],
}

impl Kept {
    /// Adds a frame; false when there is no room for it.
    pub(super) fn push(
        &mut self,
        number: u64,
        time_ns: Option<u64>,
        is_changed: bool,
        frame: &[u8],
    ) -> bool {
        let start = self.bytes.len();
        // An entry takes about as much as a short frame.
        let entries = self.frames.len().saturating_mul(size_of::<Entry>());
        if start.saturating_add(entries).saturating_add(frame.len()) > MOST {
            return false;
        }
        self.bytes.extend_from_slice(frame);
        let range = start..self.bytes.len();
        self.frames.push(Entry { number, time_ns, is_changed, range });
        true
    }

    pub(super) fn frames(&self) -> impl Iterator<Item = KeptFrame<'_>> {
        self.frames.iter().map(|entry| KeptFrame {
            number: entry.number,
            time_ns: entry.time_ns,
            is_changed: entry.is_changed,
            bytes: self.bytes.get(entry.range.clone()).unwrap_or_default(),
        })
    }
}
