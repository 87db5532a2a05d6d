//! Which processes of this host have the queue pairs of a connection, and what number the host
//! knows of an end that no packet has named.
//!
//! Queue pairs come and go, so the kernel is asked again and again while the capture runs, and all
//! that it ever said is kept. An end belongs to a queue pair when its address is one of the
//! device's GIDs and the numbers of both ends agree. What fits two is left out.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use roce_analyze::connections::{Connection, End, LearnedFrom, Owner, Report};
use roce_host::Host;
use roce_host::netlink::{CmId, QpInfo, QpType, RdmaNetlink, Resources};
use roce_wire::{Addr, Service};

/// Short enough to meet most queue pairs.
const PAUSE: Duration = Duration::from_millis(200);
/// Looking takes no more than one part in this of the time.
const SHARE: u32 = 20;
/// Queue pairs that are remembered; later ones are not.
const MAX_QUEUE_PAIRS: usize = 1 << 18;
/// In percent: numbers are used again, so the host's word of another moment is not quite certain.
const CONFIDENCE: u8 = 95;

/// What this host says of its queue pairs.
pub(super) struct Owners {
    host: Host,
    netlink: Option<RdmaNetlink>,
    /// The devices that have an address.
    devices: HashMap<IpAddr, HashSet<String>>,
    seen: HashMap<Key, Known>,
    /// When to look again.
    next: Option<Instant>,
}

/// A queue pair, apart from all others that have its number sooner or later.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    device: String,
    local_qpn: u32,
    /// Absent when it is not connected.
    remote_qpn: Option<u32>,
    /// Whether its type is one that connects at all.
    connects: bool,
    pid: Option<u32>,
    module: Option<String>,
}

/// What else is known of a queue pair.
#[derive(Clone, Default, Debug)]
struct Known {
    process: Option<String>,
    cm_port: Option<u16>,
    /// The host at the other end, by the connection manager.
    peer: Option<IpAddr>,
}

impl Owners {
    /// Gets ready to ask.
    pub(super) fn of(host: Host) -> Result<Self> {
        let mut owners = Self::new(host, None);
        if owners.devices.is_empty() {
            bail!("this host has no RoCE device with a GID; see roce-sniff devices");
        }
        owners.netlink = Some(RdmaNetlink::open()?);
        Ok(owners)
    }

    fn new(host: Host, netlink: Option<RdmaNetlink>) -> Self {
        let mut owners =
            Self { host, netlink, devices: HashMap::new(), seen: HashMap::new(), next: None };
        owners.addresses();
        owners
    }

    /// Reads which device has which address.
    fn addresses(&mut self) {
        for device in self.host.rdma_devices().unwrap_or_default() {
            for port in device.ports.iter().filter(|port| device.is_roce(port)) {
                for gid in &port.gids.entries {
                    self.devices.entry(gid.ip()).or_default().insert(device.name.clone());
                }
            }
        }
    }

    /// Looks, unless that was done a moment ago.
    pub(super) fn look_again(&mut self) {
        if self.next.is_none_or(|next| Instant::now() >= next) {
            self.look();
        }
    }

    /// Asks the kernel for the queue pairs of this moment. An answer that does not come is none.
    pub(super) fn look(&mut self) {
        let start = Instant::now();
        let Some(netlink) = &mut self.netlink else { return };
        if let Ok(resources) = netlink.resources() {
            self.keep(&resources);
        }
        let pause = start.elapsed().saturating_mul(SHARE).max(PAUSE);
        self.next = Instant::now().checked_add(pause);
    }

    /// Remembers the queue pairs of one moment.
    fn keep(&mut self, resources: &Resources) {
        let ids: HashMap<(&str, u32), &CmId> = resources
            .cm_ids
            .iter()
            .filter_map(|id| Some(((id.device.as_str(), id.local_qpn?), id)))
            .collect();
        for qp in &resources.queue_pairs {
            let key = Key::of(qp);
            let is_new = !self.seen.contains_key(&key);
            if is_new && self.seen.len() >= MAX_QUEUE_PAIRS {
                continue;
            }
            let known = self.seen.entry(key).or_default();
            if is_new {
                known.process = qp.owner(&self.host);
            }
            if let Some(id) = ids.get(&(qp.device.as_str(), qp.local_qpn)) {
                let port = id.source.map(|source| source.port()).filter(|port| *port != 0);
                known.cm_port = port.or(known.cm_port);
                let peer = id.destination.map(|peer| peer.ip().to_canonical());
                known.peer = peer.filter(|peer| !peer.is_unspecified()).or(known.peer);
            }
        }
    }

    /// Names who takes part, as it is now.
    pub(super) fn name(mut self, report: &mut Report) {
        self.look();
        self.join(&mut report.connections);
    }

    /// Puts what is known on the connections.
    pub(super) fn join(mut self, connections: &mut [Connection]) {
        // Addresses may have come since the start.
        self.addresses();
        let mut by_local: HashMap<u32, Vec<Entry<'_>>> = HashMap::new();
        let mut by_remote: HashMap<u32, Vec<Entry<'_>>> = HashMap::new();
        for (key, known) in &self.seen {
            by_local.entry(key.local_qpn).or_default().push((key, known));
            if let Some(remote) = key.remote_qpn {
                by_remote.entry(remote).or_default().push((key, known));
            }
        }
        let find = |own: &End, peer: &End, service: Service| {
            let with = match (own.qpn, peer.qpn) {
                (Some(qpn), _) => by_local.get(&qpn)?,
                (None, Some(qpn)) => by_remote.get(&qpn)?,
                (None, None) => return None,
            };
            self.only_fit(with, own, peer, service)
        };
        for connection in connections {
            let of_a = find(&connection.a, &connection.b, connection.service);
            let of_b = find(&connection.b, &connection.a, connection.service);
            name(connection, of_a, of_b);
        }
    }

    /// The one queue pair that an end can be.
    fn only_fit<'s>(
        &self,
        all: &[Entry<'s>],
        own: &End,
        peer: &End,
        service: Service,
    ) -> Option<Entry<'s>> {
        let Addr::Ip(own_ip) = own.addr else { return None };
        let devices = self.devices.get(&own_ip)?;
        let fits = |(key, known): &&Entry<'_>| {
            devices.contains(&key.device)
                && key.connects == connects(service).unwrap_or(key.connects)
                && match (key.remote_qpn, peer.qpn) {
                    (Some(remote), Some(seen)) => remote == seen,
                    (None, _) => own.qpn.is_some(),
                    (Some(_), None) => true,
                }
                && known.peer.is_none_or(|ip| Addr::Ip(ip) == peer.addr)
        };
        let is_sure = |(key, _): &&Entry<'_>| key.remote_qpn.is_some();
        let fitting = || all.iter().filter(fits);
        // A queue pair is seen before it is connected, too; afterwards more is known of it.
        only(fitting().filter(is_sure)).or_else(|| {
            let none_is_sure = fitting().find(is_sure).is_none();
            only(fitting()).filter(|_| none_is_sure)
        })
    }
}

type Entry<'s> = (&'s Key, &'s Known);

impl Key {
    fn of(qp: &QpInfo) -> Self {
        let connects = matches!(qp.kind, Some(QpType::RC | QpType::UC));
        Self {
            device: qp.device.clone(),
            local_qpn: qp.local_qpn,
            // The kernel says 0 before there is another side.
            remote_qpn: qp.remote_qpn.filter(|qpn| connects && *qpn != 0),
            connects,
            pid: qp.pid,
            module: qp.kernel_owner.clone(),
        }
    }
}

/// Whether a queue pair of this service has one other side; `None` where either may be.
const fn connects(service: Service) -> Option<bool> {
    match service {
        Service::Rc | Service::Uc => Some(true),
        Service::Ud => Some(false),
        _ => None,
    }
}

/// The first, if there is no second.
fn only<'e, 's>(mut entries: impl Iterator<Item = &'e Entry<'s>>) -> Option<Entry<'s>>
where
    's: 'e,
{
    let first = *entries.next()?;
    entries.next().is_none().then_some(first)
}

/// Writes the owners on a connection, and the numbers that only they know.
fn name(connection: &mut Connection, of_a: Option<Entry<'_>>, of_b: Option<Entry<'_>>) {
    let own = |entry: Option<Entry<'_>>| entry.map(|(key, _)| key.local_qpn);
    let other = |entry: Option<Entry<'_>>| entry.and_then(|(key, _)| key.remote_qpn);
    let learned = [
        fill(&mut connection.a.qpn, own(of_a), other(of_b)),
        fill(&mut connection.b.qpn, own(of_b), other(of_a)),
    ];
    if learned.contains(&true) {
        connection.learned_from = Some(LearnedFrom::Host);
        connection.confidence = Some(CONFIDENCE);
    }
    connection.owners = [of_a, of_b].map(|entry| entry.map(owner).map(Box::new));
}

/// Fills in a number that is not known, where the hosts do not contradict each other.
fn fill(qpn: &mut Option<u32>, own: Option<u32>, other: Option<u32>) -> bool {
    let told = match (own, other) {
        (Some(one), Some(two)) if one != two => None,
        (one, two) => one.or(two),
    };
    let fills = qpn.is_none() && told.is_some();
    if fills {
        *qpn = told;
    }
    fills
}

fn owner((key, known): Entry<'_>) -> Owner {
    Owner { process: known.process.clone(), pid: key.pid, cm_port: known.cm_port }
}

#[cfg(test)]
mod tests;
