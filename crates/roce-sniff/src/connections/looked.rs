//! What can be said of frames without the others: ahead of the tracker, and in another thread.
//!
//! That is most of the work: whether a frame passes the filter, its headers, and its ICRC. What is
//! left of a packet is a sighting; the headers of what is no ordinary packet are walked once more.

use anyhow::Result;
use roce_analyze::connections::{Sight, Sightings};
use roce_capture::Frame as Captured;
use roce_wire::{IcrcState, Ports, plain};

use super::Watch;
use crate::batches::Batch;
use crate::drive::{Filter, link, parse, wire_len};

/// A batch of frames, and what was said of them.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) batch: Batch,
    sightings: Sightings,
    others: Vec<Other>,
}

/// A frame that the tracker must see itself.
struct Other {
    /// Its place in the batch.
    at: usize,
    /// How many sightings come before it.
    behind: usize,
    /// The state of its ICRC, if it is checked and there is one.
    icrc: Option<IcrcState>,
}

impl Looked {
    /// Looks at every frame of the batch.
    pub(super) fn look(&mut self, filter: &mut Filter, ports: &Ports, icrc: bool) -> Result<()> {
        self.sightings.clear();
        self.others.clear();
        self.sightings.reserve(self.batch.chunk.len());
        for (at, captured) in self.batch.chunk.frames().enumerate() {
            if !filter.matches(&captured)? {
                continue;
            }
            let Captured { number, time_ns, data, .. } = captured;
            let list = &mut self.sightings;
            let sight = Sight { number, time_ns, checks_icrc: icrc, list };
            if plain(link(&captured), data, wire_len(&captured), ports, sight).is_none() {
                let checked = if icrc { parse(&captured, ports).icrc_state() } else { None };
                self.others.push(Other { at, behind: self.sightings.len(), icrc: checked });
            }
        }
        Ok(())
    }

    /// Gives the frames to the tracker as they stand in the capture.
    pub(super) fn follow(&self, watch: &mut Watch, ports: &Ports) {
        let mut rest = &self.sightings[..];
        let mut done = 0;
        for other in &self.others {
            let before = rest.split_at_checked(other.behind.saturating_sub(done));
            let (before, behind) = before.unwrap_or((rest, &[]));
            watch.follow_all(before);
            (rest, done) = (behind, other.behind);
            if let Some(captured) = self.batch.chunk.frame(other.at) {
                watch.other(&captured, &parse(&captured, ports), other.icrc);
            }
        }
        watch.follow_all(rest);
    }
}
