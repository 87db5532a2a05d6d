//! What this host knows of the interface that is captured from: put beside what the wire shows.

mod notes;
mod wire;

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use roce_analyze::verdict::Verdict;
use roce_capture::Frame as Captured;
use roce_host::events::{self, CounterFamily, WireEvent};
use roce_host::{Counters, Host, ModeStatus, PortRef, RoceMode, Topology, Visibility};
use roce_wire::Frame;

pub(crate) use notes::HostNote;
use wire::WireCounts;

/// The longest wait for an adapter that refreshes its counters now and then.
const LONGEST_LIFESPAN: Duration = Duration::from_millis(100);

/// The host's side of a live capture, from before its start to its end.
pub(crate) struct Beside {
    host: Host,
    /// What is captured from: an interface or an RDMA device.
    name: String,
    topology: Topology,
    port: Option<PortSide>,
    wire: WireCounts,
}

/// The RDMA port whose traffic the capture shows, or ought to show.
struct PortSide {
    port: PortRef,
    visibility: Visibility,
    /// The interface that the port stands on.
    netdev: Option<String>,
    mode: Option<RoceMode>,
    /// Whether that is what the kernel starts with, since the setting cannot be read.
    mode_is_default: bool,
    offers: [bool; 2],
    family: Option<CounterFamily>,
    before: Option<Counters>,
}

/// What the host says, at the end of a capture.
pub(crate) struct HostSide {
    pub(crate) port: Option<PortRef>,
    pub(crate) mode: Option<RoceMode>,
    pub(crate) events: Vec<EventPair>,
    pub(crate) notes: Vec<HostNote>,
}

/// An event as the wire shows it and as the adapter counted it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventPair {
    pub(crate) event: WireEvent,
    /// Absent when a capture cannot see such events.
    pub(crate) wire: Option<u64>,
    /// Absent when the counters were reset meanwhile.
    pub(crate) nic: Option<u64>,
    /// The counters behind it.
    pub(crate) counters: &'static [&'static str],
}

impl Beside {
    /// Looks at the host. Absent when there is nothing to look at, or it cannot be read: a
    /// capture does not fail for that.
    ///
    /// With `counts`, what the wire shows is counted to be put beside the adapter's own counters,
    /// which is sensible only when nothing is filtered out.
    pub(crate) fn of(host: Host, name: &str, counts: bool) -> Option<Self> {
        let topology = host.topology().ok()?;
        let (port, local) = match side(&host, &topology, name) {
            Some((port, local)) => (Some(port), local),
            None => (None, HashSet::new()),
        };
        if topology.device(name).is_none() && topology.interface(name).is_none() {
            return None;
        }
        let has_counters = port.as_ref().is_some_and(|port: &PortSide| port.family.is_some());
        let wire = WireCounts::new(local, counts && has_counters);
        Some(Self { host, name: name.to_owned(), topology, port, wire })
    }

    /// The capture has begun: the adapter's counters count from here.
    pub(crate) fn start(&mut self) {
        if let Some(side) = self.port.as_mut().filter(|_| self.wire.follows()) {
            side.before = self.host.hw_counters(&side.port.device, side.port.port).ok();
        }
    }

    /// Takes a frame into account; `is_bad` says that its ICRC is wrong.
    #[inline]
    pub(crate) fn frame(&mut self, captured: &Captured<'_>, frame: &Frame<'_>, is_bad: bool) {
        self.wire.frame(captured, frame, is_bad);
    }

    /// The capture has ended.
    pub(crate) fn end(self, verdict: &Verdict) -> HostSide {
        let notes = notes::of(&self, verdict);
        let Self { host, port, wire, .. } = self;
        HostSide {
            mode: port.as_ref().and_then(|side| side.mode),
            events: port.as_ref().map_or_else(Vec::new, |side| events(&host, side, wire)),
            port: port.map(|side| side.port),
            notes,
        }
    }
}

/// The events of the table that either side has seen.
fn events(host: &Host, side: &PortSide, wire: WireCounts) -> Vec<EventPair> {
    let (Some(family), Some(before)) = (side.family, &side.before) else { return Vec::new() };
    let lifespan = Duration::from_millis(before.lifespan_ms.unwrap_or(0));
    std::thread::sleep(lifespan.min(LONGEST_LIFESPAN));
    let port = &side.port;
    let Ok(after) = host.hw_counters(&port.device, port.port) else { return Vec::new() };
    let wire = wire.counts();
    events::counts(family, before, &after)
        .into_iter()
        .map(|count| EventPair {
            event: count.event,
            wire: wire.iter().find(|(event, _)| *event == count.event).map(|(_, n)| *n),
            nic: count.count,
            counters: count.counters,
        })
        .filter(|pair| pair.wire.unwrap_or(0) > 0 || pair.nic != Some(0))
        .collect()
}

/// The RoCE port under an interface, or of an RDMA device, and its addresses.
fn side(host: &Host, topology: &Topology, name: &str) -> Option<(PortSide, HashSet<IpAddr>)> {
    let links = topology.rdma_of(name);
    let below = links.iter().find(|link| link.device.is_roce(link.port));
    let (device, port) = match (below, topology.device(name)) {
        (Some(link), _) => (link.device, link.port),
        (None, Some(device)) => (device, device.ports.iter().find(|port| device.is_roce(port))?),
        (None, None) => return None,
    };
    let port_ref = PortRef { device: device.name.clone(), port: port.number };
    let (mode, mode_is_default) = match host.mode(&port_ref) {
        Ok(ModeStatus::Known { mode, .. }) => (mode, false),
        _ => (RoceMode::kernel_default(port), true),
    };
    let local = port.gids.entries.iter().map(roce_host::GidEntry::ip).collect();
    let side = PortSide {
        port: port_ref,
        visibility: device.visibility,
        netdev: below.map(|link| link.netdev.to_owned()).or_else(|| port.netdevs.first().cloned()),
        mode,
        mode_is_default,
        offers: [RoceMode::V1, RoceMode::V2].map(|mode| port.gids.offers(mode)),
        family: device.driver.as_deref().and_then(CounterFamily::of_driver),
        before: None,
    };
    Some((side, local))
}

#[cfg(test)]
mod tests;
