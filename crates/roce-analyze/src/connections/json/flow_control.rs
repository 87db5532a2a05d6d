//! Flow control as data: who paused what, how often, and where the speed of the link is known, for
//! how long.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::entry;
use crate::Thousandths;
use crate::connections::{FlowControl, PauseSender, Pauses, Totals};

/// Flow control of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Congestion<'r>(pub &'r Totals);

impl Serialize for Congestion<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let totals = self.0;
        let FlowControl { link_speed, senders, other_frames, .. } = &totals.flow_control;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pfc", &totals.pfc)?;
        map.serialize_entry("pause", &totals.pause)?;
        entry(&mut map, "link_speed", link_speed.as_ref())?;
        let senders: Vec<_> = senders.iter().map(|sender| Sender(sender, totals)).collect();
        map.serialize_entry("senders", &senders)?;
        map.serialize_entry("other_senders_frames", other_frames)?;
        map.end()
    }
}

struct Sender<'r>(&'r PauseSender, &'r Totals);

impl Serialize for Sender<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(sender, totals) = *self;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "mac", sender.mac.map(|mac| mac.to_string()).as_ref())?;
        entry(&mut map, "vlan", sender.vlan.as_ref())?;
        let of_it = |(number, pauses)| Of { priority: Some(number), pauses, totals };
        let priorities = (0_u8..).zip(&*sender.priorities).map(of_it);
        let priorities: Vec<_> = priorities.filter(|of_it| !of_it.pauses.is_empty()).collect();
        map.serialize_entry("pfc", &priorities)?;
        if !sender.link.is_empty() {
            let pauses = &sender.link;
            map.serialize_entry("pause", &Of { priority: None, pauses, totals })?;
        }
        map.end()
    }
}

/// Pauses of one priority or of the link.
struct Of<'r> {
    priority: Option<u8>,
    pauses: &'r Pauses,
    totals: &'r Totals,
}

impl Serialize for Of<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { priority, pauses, totals } = *self;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "priority", priority.as_ref())?;
        map.serialize_entry("frames", &pauses.pauses.saturating_add(pauses.resumes))?;
        map.serialize_entry("pauses", &pauses.pauses)?;
        map.serialize_entry("resumes", &pauses.resumes)?;
        map.serialize_entry("quanta", &pauses.quanta)?;
        let control = &totals.flow_control;
        entry(&mut map, "peak_per_second", control.peak_per_second(pauses).as_ref())?;
        if let Some(paused) = control.paused(pauses) {
            map.serialize_entry("paused_ns", &paused.total_ns)?;
            map.serialize_entry("longest_pause_ns", &paused.longest_ns)?;
            map.serialize_entry("peak_second_ns", &paused.peak_second_ns)?;
            let whole = totals.duration_ns();
            let percent = whole.and_then(|whole| Thousandths::percent(paused.total_ns, whole));
            entry(&mut map, "paused_percent", percent.as_ref())?;
        }
        map.serialize_entry("first_frames", &pauses.frames.get(..10).unwrap_or(&pauses.frames))?;
        map.end()
    }
}
