//! Some connections whose frames are brought into order together.
//!
//! With ten thousand connections the next frame is nearly always one of a connection whose state
//! has left the cache. So a group, whose state fits, brings some hundred frames into order at a
//! time, and what is left to do for each frame is to choose among groups.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::batch::Turn;
use super::connection::Connection;
use super::encode::Pattern;
use super::tx::Tx;
use crate::plan::{CapturePlan, Plan};
use crate::truth::Details;

/// A group of connections.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub members: Vec<Connection>,
    /// When each member has its next frame.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    bytes: Vec<u8>,
    turns: Vec<Turn>,
    /// Whose turn it is.
    whose: Vec<usize>,
    /// The packets, when frames are to be captured twice.
    packets: Vec<Tx>,
    /// Frames before this one had their turn.
    taken: usize,
}

/// Connections in a group: some hundred kilobytes of state.
pub(crate) const MEMBERS: usize = 16;
/// Frames are brought into order until there are so many, or so many bytes.
const ENOUGH_FRAMES: usize = 512;
const ENOUGH_BYTES: usize = 1 << 17;

/// What a group needs to know to play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage<'p> {
    pub plan: &'p Plan,
    pub pattern: &'p Pattern,
}

impl Stage<'_> {
    const fn capture(&self) -> &CapturePlan {
        &self.plan.capture
    }

    /// How much of each frame is kept, in bytes.
    pub(crate) fn snaplen(&self) -> usize {
        self.capture().snaplen.unwrap_or(usize::MAX)
    }
}

impl Group {
    /// Finds the first frames.
    pub(crate) fn start(&mut self, stage: Stage<'_>, details: &mut Details) {
        for (index, member) in self.members.iter_mut().enumerate() {
            if let Some(time) = play_ahead(member, stage) {
                self.queue.push(Reverse((time, index)));
            }
        }
        self.refill(stage, details);
    }

    /// When the next frame has its turn.
    pub(crate) fn next_time(&mut self, stage: Stage<'_>, details: &mut Details) -> Option<u64> {
        if self.taken >= self.turns.len() {
            self.refill(stage, details);
        }
        self.turns.get(self.taken).map(|turn| turn.time)
    }

    /// Gives the next frame its turn, and this number.
    pub(crate) fn take(&mut self, number: u64) -> Option<Turn> {
        let turn = self.turns.get_mut(self.taken)?;
        turn.number = number;
        self.taken = self.taken.saturating_add(1);
        Some(*turn)
    }

    /// The bytes of a frame.
    pub(crate) fn bytes_of(&self, turn: &Turn) -> &[u8] {
        turn.bytes_in(&self.bytes)
    }

    /// Whose frame had its turn last, and the packet in it.
    pub(crate) fn last_taken(&self) -> Option<(usize, Tx)> {
        let last = self.taken.checked_sub(1)?;
        Some((*self.whose.get(last)?, *self.packets.get(last)?))
    }

    /// Records the frames that had their turn.
    pub(crate) fn settle(&mut self, stage: Stage<'_>, details: &mut Details) {
        for (turn, whose) in self.turns.iter().zip(&self.whose).take(self.taken) {
            if let Some(member) = self.members.get_mut(*whose) {
                member.batch.number(turn.number);
            }
        }
        for member in &mut self.members {
            member.settle(stage.plan.epoch, stage.snaplen(), details);
        }
        self.turns.clear();
        self.whose.clear();
        self.packets.clear();
        self.bytes.clear();
        self.taken = 0;
    }

    /// Brings the next frames into order.
    fn refill(&mut self, stage: Stage<'_>, details: &mut Details) {
        self.settle(stage, details);
        while self.turns.len() < ENOUGH_FRAMES && self.bytes.len() < ENOUGH_BYTES {
            let Some(mut first) = self.queue.peek_mut() else { return };
            let Reverse((_, index)) = *first;
            let Some(member) = self.members.get_mut(index) else { return };
            if let Some((time, bytes)) = member.batch.take() {
                // A group has far less than 4 GiB.
                let at = u32::try_from(self.bytes.len()).unwrap_or(0);
                let len = u32::try_from(bytes.len()).unwrap_or(0);
                self.bytes.extend_from_slice(bytes);
                self.turns.push(Turn { time, at, len, number: 0 });
                self.whose.push(index);
                if stage.capture().mirror_delay.is_some() {
                    self.packets.extend(member.batch.last_taken().copied());
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
fn play_ahead(member: &mut Connection, stage: Stage<'_>) -> Option<u64> {
    let CapturePlan { start, stop, .. } = *stage.capture();
    member.play_ahead(stage.pattern, start, stop);
    member.batch.next_time()
}
