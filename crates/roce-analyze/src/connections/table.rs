//! The flow table: bounded, and the same cost for one connection as for a hundred thousand.

use core::hash::BuildHasher;
use core::hint::black_box;

use hashbrown::HashTable;

use super::connection::Conn;
use super::direction::{Direction, Times};
use super::follow::GROUP;
use super::key::FlowKey;
use super::log::Log;
use super::sighting::Sighting;
use super::waiting::OpenMessages;

/// A place in the table: which connection and which of its directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct At(u32);

impl At {
    pub(super) fn new(slot: usize, dir: usize) -> Option<Self> {
        let slot = u32::try_from(slot).ok()?.checked_mul(2)?;
        Some(Self(slot | u32::from(dir == 1)))
    }

    /// The other direction of the same connection.
    const fn other(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The first direction of the connection that began next.
    const fn next(self) -> Self {
        Self((self.0 | 1).wrapping_add(1))
    }

    pub(super) const fn slot(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) const fn dir(self) -> usize {
        (self.0 & 1) as usize
    }
}

/// How many connections a chunk has.
const CHUNK: usize = 256;

type Chunk = [Option<Conn>; CHUNK];

/// A chunk without connections. It is made in place: it is too large for the stack.
fn new_chunk() -> Option<Box<Chunk>> {
    let empty: Box<[Option<Conn>]> = core::iter::repeat_with(|| None).take(CHUNK).collect();
    empty.try_into().ok()
}

/// Connections by the keys of their flows.
///
/// The index holds places only; the keys stand in the connections, which are looked at anyway.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// In chunks, so that growing moves none of them and reaching one takes one step.
    chunks: Vec<Box<Chunk>>,
    used: usize,
    free: Vec<u32>,
    index: HashTable<At>,
    hasher: foldhash::fast::RandomState,
    hand: usize,
    len: usize,
    changes: u64,
    turn: Turn,
    /// Where the newest packet was.
    newest: Option<At>,
}

/// Whether connections come in turn, in the order in which they began, as those do that are served one
/// after another: how often they did of late.
#[derive(Clone, Copy, Default, Debug)]
struct Turn(u8);

impl Turn {
    /// After so many in turn the next is taken for the next.
    const SURE: u8 = 8;

    /// Another connection than that of the packet `before` is at `at`.
    #[inline]
    fn note(&mut self, before: At, at: At) {
        self.0 = if before.next() == at { self.0.saturating_add(1) } else { self.0 / 2 };
    }

    /// Where a packet is, perhaps, if the one before was at `at`: packets of one connection follow on
    /// one another, and so do connections.
    #[inline]
    fn guess(self, key: &FlowKey, (before, at): (&FlowKey, At)) -> Option<At> {
        if key == before {
            Some(at)
        } else if key.goes_back(before) {
            Some(at.other())
        } else {
            (self.0 >= Self::SURE).then_some(at.next())
        }
    }
}

impl Table {
    /// How many connections there are.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// How often a place has changed its meaning: what [`Self::find`] said holds until then.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// The places of packets that come one after another.
    #[inline]
    pub(super) fn find_all(&mut self, sightings: &[Sighting]) -> [Option<At>; GROUP] {
        let mut places = [None; GROUP];
        let newest = self.newest();
        let mut last = newest.as_ref().map(|(key, at)| (key, *at));
        for (place, Sighting { key, .. }) in places.iter_mut().zip(sightings) {
            let guess = last.and_then(|last| self.turn.guess(key, last));
            let at = guess.filter(|at| self.key_at(*at) == Some(key)).or_else(|| self.find(key));
            if let (Some((_, before)), Some(at)) = (last, at)
                && before.slot() != at.slot()
            {
                self.turn.note(before, at);
            }
            *place = at;
            last = at.map(|at| (key, at));
        }
        self.newest = last.map(|(_, at)| at);
        places
    }

    /// The flow of the newest packet, and its place.
    fn newest(&self) -> Option<(FlowKey, At)> {
        self.newest.and_then(|at| Some((*self.key_at(at)?, at)))
    }

    #[inline]
    pub(super) fn find(&self, key: &FlowKey) -> Option<At> {
        let hash = self.hasher.hash_one(key);
        self.index.find(hash, |at| self.key_at(*at) == Some(key)).copied()
    }

    #[inline]
    fn key_at(&self, at: At) -> Option<&FlowKey> {
        self.get(at.slot())?.dirs.get(at.dir())?.key.as_ref()
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<&Conn> {
        self.chunks.get(slot / CHUNK)?.get(slot % CHUNK)?.as_ref()
    }

    /// Asks for the memory of the connections that these packets are of, of all at once: otherwise
    /// each part of each would be waited for. Whether they are theirs will be seen.
    #[inline(never)]
    pub(super) fn fetch(&self, sightings: &[Sighting]) {
        // In three steps, each for all packets: what is in memory tells where the next part is.
        let mut places = [None; GROUP];
        let newest = self.newest();
        let mut last = newest.as_ref().map(|(key, at)| (key, *at));
        for (place, Sighting { key, .. }) in places.iter_mut().zip(sightings) {
            let guess = last.and_then(|last| self.turn.guess(key, last));
            let first = || self.index.iter_hash(self.hasher.hash_one(key)).next().copied();
            *place = guess.or_else(first);
            last = place.map(|at| (key, at));
        }
        let mut apart = [(None, None); GROUP];
        for ((place, (open, times)), Sighting { seen, .. }) in
            places.iter().zip(&mut apart).zip(sightings)
        {
            if let Some(at) = place
                && let Some(conn) = self.get(at.slot())
                && let [a, b] = &conn.dirs
            {
                let (this, other) = if at.dir() == 0 { (a, b) } else { (b, a) };
                let mut parts = this.fetch() ^ u64::from(conn.is_recent);
                if seen.kind.is_request() {
                    parts ^= this.fetch_requests();
                    *open = Some(&this.open);
                } else {
                    *times = other.times.as_deref();
                    parts ^= other.fetch_requests();
                }
                black_box(parts);
            }
        }
        let parts = apart.into_iter().map(|(open, times)| {
            open.map_or(0, OpenMessages::fetch) ^ times.map_or(0, Times::fetch)
        });
        black_box(parts.fold(0, |all, one| all ^ one));
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Conn> {
        self.chunks.get_mut(slot / CHUNK)?.get_mut(slot % CHUNK)?.as_mut()
    }

    /// Adds a connection under the keys it has. Whoever had them before must be gone.
    pub(super) fn add(&mut self, conn: Conn) -> Option<usize> {
        let slot = match self.free.pop() {
            Some(slot) => usize::try_from(slot).ok()?,
            None => {
                let slot = self.used;
                if slot.is_multiple_of(CHUNK) {
                    self.chunks.push(new_chunk()?);
                }
                self.used = slot.saturating_add(1);
                slot
            }
        };
        *self.chunks.get_mut(slot / CHUNK)?.get_mut(slot % CHUNK)? = Some(conn);
        self.len = self.len.saturating_add(1);
        self.enter(slot, 0);
        self.enter(slot, 1);
        Some(slot)
    }

    /// Puts the key of a direction into the index.
    pub(super) fn enter(&mut self, slot: usize, dir: usize) {
        let Some(at) = At::new(slot, dir) else { return };
        let Some(key) = self.key_at(at).copied() else { return };
        let Self { chunks, index, hasher, .. } = self;
        let hash_of = |at: &At| {
            let chunk = chunks.get(at.slot() / CHUNK);
            let conn = chunk.and_then(|chunk| chunk.get(at.slot() % CHUNK)?.as_ref());
            let key = conn.and_then(|conn| conn.dirs.get(at.dir())?.key.as_ref());
            key.map_or(0, |key| hasher.hash_one(key))
        };
        index.insert_unique(hasher.hash_one(key), at, hash_of);
    }

    /// Takes a connection and its keys out.
    pub(super) fn remove(&mut self, slot: usize) -> Option<Conn> {
        for dir in [0, 1] {
            self.leave(slot, dir);
        }
        let conn = self.chunks.get_mut(slot / CHUNK)?.get_mut(slot % CHUNK)?.take()?;
        self.free.extend(u32::try_from(slot).ok());
        self.len = self.len.saturating_sub(1);
        Some(conn)
    }

    /// Takes a connection and its key out of which one direction is known, and gives that.
    pub(super) fn take_single(&mut self, slot: usize) -> Option<(Direction, Option<Box<Log>>)> {
        self.leave(slot, 0);
        let place = self.chunks.get_mut(slot / CHUNK)?.get_mut(slot % CHUNK)?;
        let conn = place.as_mut()?;
        let [known, _] = &mut conn.dirs;
        let single = (core::mem::take(known), conn.log.take());
        *place = None;
        self.free.extend(u32::try_from(slot).ok());
        self.len = self.len.saturating_sub(1);
        Some(single)
    }

    /// Takes the key of a direction out of the index.
    pub(super) fn leave(&mut self, slot: usize, dir: usize) {
        let Some(at) = At::new(slot, dir) else { return };
        self.changes = self.changes.wrapping_add(1);
        let Some(key) = self.key_at(at) else { return };
        let hash = self.hasher.hash_one(key);
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == at) {
            entry.remove();
        }
    }

    /// The connection that was not seen for about the longest time.
    pub(super) fn oldest(&mut self) -> Option<usize> {
        // Two rounds: the first may find all of them recent and clears that.
        for _ in 0..self.used.saturating_mul(2) {
            self.hand = self.hand.checked_add(1).filter(|hand| *hand < self.used).unwrap_or(0);
            let hand = self.hand;
            if let Some(conn) = self.get_mut(hand) {
                if !conn.is_recent {
                    return Some(hand);
                }
                conn.is_recent = false;
            }
        }
        None
    }

    /// Takes all that are left out, in no order.
    pub(super) fn drain(&mut self, mut each: impl FnMut(&mut Conn)) {
        self.index.clear();
        self.free.clear();
        self.len = 0;
        self.used = 0;
        for mut chunk in self.chunks.drain(..) {
            chunk.iter_mut().flatten().for_each(&mut each);
        }
    }
}
