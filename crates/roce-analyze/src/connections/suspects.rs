//! Packets with a wrong ICRC of flows that were never seen otherwise.
//!
//! What names the flow may be what is wrong with such a packet. But that many come with the same
//! wrong name is no accident: then the flow is there.

use hashbrown::HashMap;

use super::key::FlowKey;
use super::seen::Seen;

/// So many packets make a flow.
const ENOUGH: usize = 4;
/// How many flows are remembered that there may be.
const MAX_FLOWS: usize = 1024;

/// The packets of flows that there may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspects {
    flows: HashMap<FlowKey, Vec<Seen>, foldhash::fast::RandomState>,
}

impl Suspects {
    /// Notes a packet that is no flow's; `false` when it is one too many for an accident.
    pub(super) fn note(&mut self, key: &FlowKey, seen: &Seen) -> bool {
        if let Some(packets) = self.flows.get_mut(key) {
            if packets.len().saturating_add(1) >= ENOUGH {
                return false;
            }
            packets.push(*seen);
        } else if self.flows.len() < MAX_FLOWS {
            self.flows.insert(*key, vec![*seen]);
        }
        true
    }

    /// The flow is there: its packets so far.
    pub(super) fn take(&mut self, key: &FlowKey) -> Vec<Seen> {
        if self.flows.is_empty() {
            return Vec::new();
        }
        self.flows.remove(key).unwrap_or_default()
    }
}
