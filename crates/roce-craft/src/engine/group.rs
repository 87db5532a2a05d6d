//! Some connections whose frames are brought into order together.
//!
//! With ten thousand connections the next frame is nearly always one of a connection whose state
//! has left the cache. So a group, whose state fits, brings some hundred frames into order at a
//! time, and what is left to do for each frame is to choose among groups.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::batch::{Entry, What};
use super::connection::Connection;
use super::encode::Encoder;
use super::tx::Tx;
use crate::plan::{CapturePlan, Plan};
use crate::truth::Details;

/// A group of connections.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub members: Vec<Connection>,
    /// When each member has its next frame.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    /// The next frames, in order.
    turns: Vec<Turn>,
    bytes: Vec<u8>,
    /// The same frames and what happened between them, by member: it is recorded when the numbers
    /// of the frames are known.
    played: Vec<Entry>,
    /// Frames before this one had their turn.
    taken: usize,
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

/// Connections in a group: some hundred kilobytes of state.
pub(crate) const MEMBERS: usize = 16;
/// Frames are brought into order until there are so many, or so many bytes.
const ENOUGH_FRAMES: usize = 512;
const ENOUGH_BYTES: usize = 1 << 17;

/// What a group needs to play, and where it tells what happened.
#[derive(Debug)]
pub(crate) struct Stage<'p> {
    pub plan: &'p Plan,
    encoder: &'p mut Encoder,
    pub details: &'p mut Details,
}

impl<'p> Stage<'p> {
    pub(crate) const fn new(
        plan: &'p Plan,
        encoder: &'p mut Encoder,
        details: &'p mut Details,
    ) -> Self {
        Self { plan, encoder, details }
    }

    /// How much of each frame is kept, in bytes.
    pub(crate) fn snaplen(&self) -> usize {
        self.plan.capture.snaplen.unwrap_or(usize::MAX)
    }
}

impl Group {
    /// Finds the first frames.
    pub(crate) fn start(&mut self, stage: &mut Stage<'_>) {
        for (index, member) in self.members.iter_mut().enumerate() {
            if let Some(time) = play_ahead(member, stage) {
                self.queue.push(Reverse((time, index)));
            }
        }
        self.refill(stage);
    }

    /// When the next frame has its turn.
    pub(crate) fn next_time(&mut self, stage: &mut Stage<'_>) -> Option<u64> {
        if self.taken >= self.turns.len() {
            self.refill(stage);
        }
        self.turns.get(self.taken).map(|turn| turn.time)
    }

    /// Gives the next frame its turn, and this number.
    pub(crate) fn take(&mut self, number: u64) -> Option<Turn> {
        let turn = self.turns.get_mut(self.taken)?;
        turn.number = number;
        self.taken = self.taken.saturating_add(1);
        Some(Turn { number, ..*turn })
    }

    /// The bytes of a frame.
    pub(crate) fn bytes_of(&self, turn: &Turn) -> &[u8] {
        let start = usize::try_from(turn.at).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(turn.len).unwrap_or(0));
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Whose frame had its turn last, and the packet in it.
    pub(crate) fn last_taken(&self) -> Option<(usize, Tx)> {
        let mut frames = self.played.iter().filter(|entry| entry.what == What::Frame);
        let entry = frames.nth(self.taken.checked_sub(1)?)?;
        Some((usize::from(entry.member), entry.tx))
    }

    /// Records the frames that had their turn, and what happened before each of them; when that are
    /// all of a member's, what happened since as well.
    pub(crate) fn settle(&mut self, stage: &mut Stage<'_>) {
        let mut turns = self.turns.iter().take(self.taken);
        let is_over = self.taken >= self.turns.len();
        for entry in &self.played {
            if turns.len() == 0 && !is_over {
                break;
            }
            let turn = if entry.what == What::Frame { turns.next() } else { None };
            if let Some(member) = self.members.get_mut(usize::from(entry.member)) {
                member.settle(entry, turn, stage);
            }
        }
        self.turns.clear();
        self.played.clear();
        self.bytes.clear();
        self.taken = 0;
    }

    /// Records all that is left at the end of the run, and gives back what is not needed any more.
    pub(crate) fn finish(&mut self, stage: &mut Stage<'_>) {
        let is_over = self.taken >= self.turns.len();
        self.settle(stage);
        (self.turns, self.played, self.bytes) = Default::default();
        for member in self.members.iter_mut().filter(|member| is_over && member.batch.is_empty()) {
            while let Some(entry) = member.batch.first().copied() {
                member.batch.drop_first();
                member.settle(&entry, None, stage);
            }
        }
    }

    /// Brings the next frames into order.
    fn refill(&mut self, stage: &mut Stage<'_>) {
        self.settle(stage);
        while self.turns.len() < ENOUGH_FRAMES && self.bytes.len() < ENOUGH_BYTES {
            let Some(mut first) = self.queue.peek_mut() else { return };
            let Reverse((_, index)) = *first;
            let place = u16::try_from(index).unwrap_or(u16::MAX);
            let Some(member) = self.members.get_mut(index) else { return };
            while let Some(entry) = member.batch.first() {
                self.played.push(*entry);
                member.batch.drop_first();
                let Some(entry) = self.played.last_mut() else { return };
                entry.member = place;
                if entry.what == What::Frame {
                    let start = self.bytes.len();
                    stage.encoder.encode(member, &entry.tx, &mut self.bytes);
                    // A group has far less than 4 GiB.
                    let at = u32::try_from(start).unwrap_or(0);
                    let len = u32::try_from(self.bytes.len().saturating_sub(start)).unwrap_or(0);
                    self.turns.push(Turn { time: entry.time, at, len, number: 0 });
                    break;
                }
            }
            match member.batch.next_time().or_else(|| play_ahead(member, stage)) {
                Some(time) => *first = Reverse((time, index)),
                None => {
                    PeekMut::pop(first);
                }
            }
        }
    }
}

/// Plays a connection until it has frames again; when the first of them has its turn.
fn play_ahead(member: &mut Connection, stage: &Stage<'_>) -> Option<u64> {
    let CapturePlan { start, stop, .. } = stage.plan.capture;
    member.play_ahead(start, stop);
    member.batch.next_time()
}
