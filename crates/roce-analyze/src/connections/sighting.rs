//! A packet as the tracker takes it, out of its frame.

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
    pub list: &'l mut Vec<Sighting>,
}

impl<'a> PlainUse<'a> for Sight<'_> {
    type Output = ();

    // The list takes it here and not from what is returned: so it is put together in its place.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every frame of a capture")]
    fn take<N: PlainNet>(self, plain: &Plain<'a, N>) -> Option<()> {
        let sound = plain.sound()?;
        if matches!(plain.bth.dest_qp(), Qpn::GSI | Qpn::SMI) {
            return None;
        }
        let icrc = if self.checks_icrc { plain.icrc_state() } else { IcrcState::Unchecked };
        if icrc == IcrcState::Bad {
            return None;
        }
        let (seen, src_qp) = Seen::of_plain(plain, sound, (self.number, self.time_ns), icrc)?;
        self.list.push(Sighting { key: FlowKey::of_plain(plain, src_qp), seen });
        Some(())
    }
}
