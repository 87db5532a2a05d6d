//! A packet as the tracker takes it, out of its frame.

use core::ops::Deref;

use roce_wire::{IcrcState, Plain, PlainNet, PlainUse, Qpn};

use super::key::FlowKey;
use super::seen::Seen;

/// A packet of a connection: all that a [`Tracker`](super::Tracker) needs to know of it.
///
/// It holds nothing of the frame's bytes, so it can be made ahead of time and in another thread,
/// with its ICRC looked at there. [`Tracker::follow_all`](super::Tracker::follow_all) takes it.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    pub(super) key: FlowKey,
    pub(super) seen: Seen,
}

impl Sighting {
    /// When it was captured, in nanoseconds since the epoch.
    #[must_use]
    pub const fn time_ns(&self) -> Option<u64> {
        self.seen.time
    }

    /// The length of its frame on the wire, in bytes.
    #[must_use]
    pub const fn wire_len(&self) -> u32 {
        self.seen.wire_len
    }
}

/// Sightings in the order of the capture.
///
/// Each is put together where it stands: otherwise all that is known of a packet would go through
/// memory twice.
#[derive(Clone, Default, Debug)]
pub struct Sightings {
    /// Those behind the first `len` are only room for more.
    places: Vec<Sighting>,
    len: usize,
}

impl Sightings {
    const EMPTY: Sighting = Sighting { key: FlowKey::NONE, seen: Seen::NOTHING };

    /// Forgets all of them, and keeps their room.
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for as many more.
    pub fn reserve(&mut self, more: usize) {
        let len = self.len.saturating_add(more).max(self.places.len());
        self.places.resize(len, Self::EMPTY);
    }

    /// The place of the next one.
    #[inline]
    fn place(&mut self) -> Option<&mut Sighting> {
        if self.len >= self.places.len() {
            self.places.push(Self::EMPTY);
        }
        self.places.get_mut(self.len)
    }

    /// What stands there now is one of them.
    #[inline]
    const fn keep(&mut self) {
        self.len = self.len.saturating_add(1);
    }
}

impl Deref for Sightings {
    type Target = [Sighting];

    #[inline]
    fn deref(&self) -> &[Sighting] {
        self.places.get(..self.len).unwrap_or_default()
    }
}

/// Adds a [`Sighting`] of a frame to a list, with [`roce_wire::plain`].
///
/// Nothing comes of it where the tracker must see the frame itself: management, a wrong ICRC, rare
/// headers, and all that may not be RoCE.
#[derive(Debug)]
pub struct Sight<'l> {
    /// The number of the frame, from 1.
    pub number: u64,
    /// Its time in nanoseconds since the epoch, where the capture says it.
    pub time_ns: Option<u64>,
    /// Whether the ICRC is looked at.
    pub checks_icrc: bool,
    /// Where it is put.
    pub list: &'l mut Sightings,
}

impl<'a> PlainUse<'a> for Sight<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    fn take<N: PlainNet>(self, plain: &Plain<'a, N>) -> Option<()> {
        let sound = plain.sound()?;
        if matches!(plain.bth.dest_qp(), Qpn::GSI | Qpn::SMI) {
            return None;
        }
        let place = self.list.place()?;
        let src_qp = place.seen.put_plain(plain, sound, (self.number, self.time_ns))?;
        place.key = FlowKey::of_plain(plain, src_qp);
        if self.checks_icrc {
            place.seen.icrc = plain.icrc_state();
            if place.seen.icrc == IcrcState::Bad {
                return None;
            }
        }
        self.list.keep();
        Some(())
    }
}
