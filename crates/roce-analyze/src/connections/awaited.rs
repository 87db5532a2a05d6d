//! Connections that a REQ has asked for and no REP has answered.

use hashbrown::HashMap;

use super::key::{FlowKey, HostPair};
use super::seen::Seen;
use super::table::{At, Table};

/// How many of two hosts are remembered: the newest.
const MAX_AWAITED: usize = 256;

/// The places of these connections, by their hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaited {
    by_hosts: HashMap<HostPair, Vec<usize>, foldhash::fast::RandomState>,
}

impl Awaited {
    /// Adds a connection, of which the flow with this key is known.
    pub(super) fn add(&mut self, key: &FlowKey, slot: usize) {
        let slots = self.by_hosts.entry(key.hosts()).or_default();
        if slots.len() >= MAX_AWAITED {
            slots.remove(0);
        }
        slots.push(slot);
    }

    pub(super) fn remove(&mut self, hosts: &HostPair, slot: usize) {
        if let Some(slots) = self.by_hosts.get_mut(hosts) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_hosts.remove(hosts);
            }
        }
    }

    /// The one connection that `seen`, the first packet of the flow at `at`, goes to by its UDP
    /// source port: the REP, which names the queue pair, was not captured.
    pub(super) fn asked(&self, table: &Table, at: At, seen: &Seen) -> Option<usize> {
        let conn = table.get(at.slot())?;
        let key = conn.dirs[0].key.filter(|_| conn.packets() == 0 && seen.kind.is_request())?;
        let port = seen.src_port?;
        let mut fits = self.by_hosts.get(&key.hosts())?.iter().copied().filter(|slot| {
            table.get(*slot).is_some_and(|other| {
                let [there, back] = &other.dirs;
                other.cm.as_ref().is_some_and(|cm| cm.predicted_src_port == Some(port))
                    && !other.is_over
                    && other.service == seen.service
                    && there.key.is_none()
                    && back.key.is_some_and(|back| back.back_to_qp(key.dest_qp()) == key)
            })
        });
        fits.next().filter(|_| fits.next().is_none())
    }
}
