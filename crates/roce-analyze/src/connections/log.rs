//! The packets of a flow whose other direction is not known yet, kept to be looked at again: what
//! an answer means is known only together with the requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use roce_wire::IcrcState;

use super::copies::Repeat;
use super::seen::Seen;

/// How many packets of one flow are kept: a window of 512 KiB in packets of 4 KiB.
const MAX_PACKETS: usize = 128;
/// How many are kept of all flows together: 32 MiB.
const MAX_ALL: usize = 1 << 18;

/// How many packets are kept, in all logs of a tracker.
#[derive(Clone, Default, Debug)]
pub(super) struct LogRoom(Arc<AtomicUsize>);

/// Packets of a flow, or of both flows of a pair.
#[derive(Debug)]
pub(super) struct Log {
    packets: Vec<Logged>,
    room: LogRoom,
    /// How many there are at most.
    most: usize,
    /// Whether they are all from the first.
    pub is_whole: bool,
}

/// A packet, its direction, and what is known of its having been captured before.
#[derive(Clone, Debug)]
pub(super) struct Logged {
    pub dir: usize,
    pub seen: Seen,
    pub repeat: Option<Box<Repeat>>,
}

impl Log {
    /// Begins with the first packet of a flow.
    pub(super) fn new(room: &LogRoom) -> Box<Self> {
        let (packets, room) = (Vec::new(), room.clone());
        Box::new(Self { packets, room, most: MAX_PACKETS, is_whole: true })
    }

    /// Begins with a later one.
    pub(super) fn anew(room: &LogRoom) -> Box<Self> {
        let mut log = Self::new(room);
        log.is_whole = false;
        log
    }

    /// Adds a packet; `false` when there is no room for all of them.
    pub(super) fn push(&mut self, dir: usize, seen: &Seen, repeat: Option<Repeat>) -> bool {
        let LogRoom(used) = &self.room;
        if self.packets.len() >= self.most || used.load(Ordering::Relaxed) >= MAX_ALL {
            return false;
        }
        used.fetch_add(1, Ordering::Relaxed);
        if self.packets.is_empty() {
            // Of many flows there is but one packet.
            self.packets.reserve_exact(1);
        }
        let repeat = repeat.filter(|repeat| repeat.is_any()).map(Box::new);
        self.packets.push(Logged { dir, seen: *seen, repeat });
        true
    }

    /// Whether all of them have a wrong ICRC.
    pub(super) fn is_faulty(&self) -> bool {
        self.packets.iter().all(|packet| packet.seen.icrc == IcrcState::Bad)
    }

    pub(super) fn packets(&self) -> &[Logged] {
        &self.packets
    }
}

impl Clone for Log {
    fn clone(&self) -> Self {
        let LogRoom(used) = &self.room;
        used.fetch_add(self.packets.len(), Ordering::Relaxed);
        let (packets, room) = (self.packets.clone(), self.room.clone());
        Self { packets, room, most: self.most, is_whole: self.is_whole }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let LogRoom(used) = &self.room;
        used.fetch_sub(self.packets.len(), Ordering::Relaxed);
    }
}

impl Log {
    /// The packets of two flows that are one connection, in the order of the capture.
    pub(super) fn merged(mut there: Box<Self>, back: &Self) -> Box<Self> {
        let LogRoom(used) = &there.room;
        used.fetch_add(back.packets.len(), Ordering::Relaxed);
        there
            .packets
            .extend(back.packets.iter().cloned().map(|packet| Logged { dir: 1, ..packet }));
        there.most = MAX_PACKETS.saturating_mul(2);
        // Those of either are in order, so that this only merges them.
        there.packets.sort_by_key(|packet| packet.seen.frame);
        there
    }

    /// The packets of one direction, as of a flow that is not paired.
    pub(super) fn of_direction(&self, dir: usize) -> Box<Self> {
        let packets = self.packets.iter().filter(|packet| packet.dir == dir);
        let packets: Vec<_> = packets.cloned().map(|packet| Logged { dir: 0, ..packet }).collect();
        let LogRoom(used) = &self.room;
        used.fetch_add(packets.len(), Ordering::Relaxed);
        let (room, is_whole) = (self.room.clone(), self.is_whole);
        Box::new(Self { packets, room, most: MAX_PACKETS, is_whole })
    }
}
