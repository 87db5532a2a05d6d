//! What a connection has played ahead: frames that wait for their turn among those of others.
//!
//! Playing a few frames at a time keeps the state of one connection in the cache while it is
//! needed. What is recorded of them is recorded when their numbers are known.

use super::tx::Tx;
use crate::truth::DetailKind;

/// What happened on a connection, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A frame; its turn has the same place among turns as the entry among entries of frames.
    Frame(Tx),
    /// A packet that does not come to the capture point.
    Absent { time: u64, tx: Tx, kind: DetailKind },
    /// The responder had executed this request before.
    Duplicate(Tx),
}

/// A frame and when it has its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub time: u64,
    /// Where its bytes are.
    pub at: u32,
    pub len: u32,
    /// Its number in the capture; 0 when the capture misses it.
    pub number: u64,
}

impl Turn {
    /// The bytes of the frame, which are among `bytes`.
    pub(crate) fn bytes_in<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let start = usize::try_from(self.at).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(self.len).unwrap_or(0));
        bytes.get(start..end).unwrap_or_default()
    }
}

/// The frames and what happened between them. Each frame is played, then taken, then numbered,
/// then settled.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Of the frames that were not taken.
    bytes: Vec<u8>,
    turns: Vec<Turn>,
    taken: usize,
    numbered: usize,
    entries: Vec<Entry>,
}

/// Frames are played ahead until there are so many of them, or so many bytes.
const ENOUGH_FRAMES: usize = 32;
const ENOUGH_BYTES: usize = 8192;

impl Batch {
    pub(crate) fn is_full(&self) -> bool {
        self.turns.len().saturating_sub(self.taken) >= ENOUGH_FRAMES
            || self.bytes.len() >= ENOUGH_BYTES
    }

    /// Makes room for bytes: those of frames that were taken are nobody's any more.
    pub(crate) fn make_room(&mut self) {
        if self.taken >= self.turns.len() {
            self.bytes.clear();
        }
    }

    /// Room for the bytes of a frame; what follows is [`Self::push`].
    pub(crate) const fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// How many bytes there are.
    pub(crate) const fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes from `at` on are a frame.
    pub(crate) fn push(&mut self, time: u64, at: usize, tx: Tx) {
        // A batch is far shorter than 4 GiB.
        let len = u32::try_from(self.bytes.len().saturating_sub(at)).unwrap_or(0);
        let at = u32::try_from(at).unwrap_or(0);
        self.turns.push(Turn { time, at, len, number: 0 });
        self.entries.push(Entry::Frame(tx));
    }

    pub(crate) fn note(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// When the next frame has its turn.
    pub(crate) fn next_time(&self) -> Option<u64> {
        self.turns.get(self.taken).map(|turn| turn.time)
    }

    /// Takes the next frame: its time and its bytes.
    pub(crate) fn take(&mut self) -> Option<(u64, &[u8])> {
        let turn = self.turns.get(self.taken)?;
        self.taken = self.taken.saturating_add(1);
        Some((turn.time, turn.bytes_in(&self.bytes)))
    }

    /// The packet of the frame that was taken last.
    pub(crate) fn last_taken(&self) -> Option<&Tx> {
        let frames = self.entries.iter().filter_map(|entry| match entry {
            Entry::Frame(tx) => Some(tx),
            _ => None,
        });
        frames.take(self.taken).last()
    }

    /// Gives the oldest frame without a number this one.
    pub(crate) fn number(&mut self, number: u64) {
        if let Some(turn) = self.turns.get_mut(self.numbered) {
            turn.number = number;
            self.numbered = self.numbered.saturating_add(1);
        }
    }

    /// What happened up to the last frame that has a number, and of frames their turns. When that
    /// is the last frame of all, what stands behind it as well.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (&Entry, Option<&Turn>)> {
        let is_over = self.numbered >= self.turns.len();
        let mut turns = self.turns.iter().take(self.numbered);
        self.entries.iter().map_while(move |entry| match entry {
            Entry::Frame(_) => turns.next().map(|turn| (entry, Some(turn))),
            _ if is_over || turns.len() > 0 => Some((entry, None)),
            _ => None,
        })
    }

    /// Forgets what [`Self::settled`] tells.
    pub(crate) fn forget_settled(&mut self) {
        if self.numbered >= self.turns.len() {
            self.turns.clear();
            self.entries.clear();
        } else {
            let told = self.settled().count();
            self.entries.drain(..told);
            self.turns.drain(..self.numbered);
        }
        self.taken = self.taken.saturating_sub(self.numbered);
        self.numbered = 0;
    }
}
