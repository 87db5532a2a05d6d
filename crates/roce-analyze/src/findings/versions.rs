//! Versions that do not go together.

use roce_wire::{Addr, Service, Version};
use std::collections::{BTreeMap, HashMap, HashSet};

use super::collect::{Collector, name};
use crate::connections::{Connection, DirectionReport, Event, Outcome, Report};

/// Hosts that talk past each other: one sends v1 only, the other v2 only, and neither is answered.
pub(super) struct Strangers(BTreeMap<(Addr, Addr), Monologues>);

/// What was sent between two hosts.
#[derive(Default)]
struct Monologues {
    /// Who sends v1 and who v2, the address that is less first.
    sent: [[u64; 2]; 2],
    /// Packets that are no reliable requests: they need no answer, or are one.
    others: u64,
    /// Frames that show that a request was sent again in vain.
    repeated: Vec<u64>,
    /// The first frame of each version, and how often one was sent again.
    first: [Option<u64>; 2],
    repeats: u64,
}

impl Strangers {
    pub(super) fn of(report: &Report) -> Self {
        let versions =
            |version| report.connections.iter().any(|c| c.carrier.version() == Some(version));
        let mut pairs: BTreeMap<_, Monologues> = BTreeMap::new();
        // Nearly every capture has one version: then there is nothing to look for.
        if versions(Version::V1) && versions(Version::V2) {
            for connection in report.connections.iter().filter(|c| c.packets() > 0) {
                pairs.entry(ends(connection)).or_default().add(connection);
            }
            pairs.retain(|_, said| said.are_two());
        }
        Self(pairs)
    }

    /// Whether the connection is between such hosts.
    pub(super) fn include(&self, connection: &Connection) -> bool {
        self.0.contains_key(&ends(connection))
    }
}

fn ends(connection: &Connection) -> (Addr, Addr) {
    let (a, b) = (connection.a.addr, connection.b.addr);
    (a.min(b), a.max(b))
}

impl Monologues {
    fn add(&mut self, connection: &Connection) {
        let Some(version) = connection.carrier.version() else { return };
        let version = usize::from(version == Version::V2);
        let (low, _) = ends(connection);
        let both = [(&connection.a_to_b, connection.a), (&connection.b_to_a, connection.b)];
        for (direction, from) in both.into_iter().filter(|(direction, _)| direction.packets > 0) {
            let who = usize::from(from.addr != low);
            if let Some(sent) = self.sent.get_mut(version).and_then(|sent| sent.get_mut(who)) {
                *sent = sent.saturating_add(direction.packets);
            }
            self.look(connection, direction);
        }
        if let Some(first) = self.first.get_mut(version) {
            *first = Some(first.map_or(connection.first_frame, |f| f.min(connection.first_frame)));
        }
    }

    fn look(&mut self, connection: &Connection, direction: &DirectionReport) {
        let is_reliable = matches!(connection.service, Service::Rc | Service::Xrc);
        let is_answer = direction.acks > 0 || connection.cm.is_some();
        if !is_reliable || is_answer || direction.unanswered_tries.is_none() {
            self.others = self.others.saturating_add(direction.packets);
        }
        let repeats = direction.retransmissions.timeout_driven;
        self.repeats = self.repeats.saturating_add(repeats);
        self.repeated.extend(direction.frames(Event::RetransmittedOnTimeout));
    }

    /// Whether each host sends one version, another than the other, and waits in vain.
    fn are_two(&self) -> bool {
        let [[v1_low, v1_high], [v2_low, v2_high]] = self.sent;
        let is_crossed = v1_low > 0 && v2_high > 0 && v1_high == 0 && v2_low == 0
            || v1_high > 0 && v2_low > 0 && v1_low == 0 && v2_high == 0;
        is_crossed && self.others == 0 && self.repeats > 0
    }
}

pub(super) fn judge(report: &Report, strangers: &Strangers, found: &mut Collector) {
    for ((low, high), said) in &strangers.0 {
        let [[v1_low, _], _] = said.sent;
        let (v1, v2) = if v1_low > 0 { (low, high) } else { (high, low) };
        let frames = said.first.into_iter().flatten().chain(said.repeated.iter().copied());
        let subject = format!("{low} - {high}");
        if let Some(finding) = found.add("version-mismatch", subject, 1, frames) {
            finding.say("v1_from", v1.to_string());
            finding.say("v2_from", v2.to_string());
            finding.sum("sent_again", said.repeats);
            finding.say("answers", "none, either way");
        }
    }
    mixed(report, strangers, found);
}

/// The first connection of each version.
type ByVersion<'r> = [Option<&'r Connection>; 2];

fn mixed(report: &Report, strangers: &Strangers, found: &mut Collector) {
    let mut pairs: HashMap<(Addr, Addr), ByVersion<'_>> = HashMap::new();
    let mut hosts: HashMap<Addr, ByVersion<'_>> = HashMap::new();
    // A v2 request to a v1 host has its own finding.
    let is_request = |c: &Connection| c.outcome == Outcome::Unanswered && c.packets() == 0;
    let answered = report.connections.iter().filter(|c| !is_request(c));
    for connection in answered.filter(|c| !strangers.include(c)) {
        let (a, b) = (connection.a.addr, connection.b.addr);
        note(pairs.entry((a.min(b), a.max(b))).or_default(), connection);
        for host in [a, b] {
            note(hosts.entry(host).or_default(), connection);
        }
    }
    let mut told = HashSet::new();
    for ((a, b), v1, v2) in both(pairs) {
        told.extend([a, b]);
        say(format!("{a} - {b}"), v1, v2, found);
    }
    for (host, v1, v2) in both(hosts).into_iter().filter(|(host, ..)| !told.contains(host)) {
        say(host.to_string(), v1, v2, found);
    }
}

fn note<'r>(by_version: &mut ByVersion<'r>, connection: &'r Connection) {
    let [v1, v2] = by_version;
    let slot = match connection.carrier.version() {
        Some(Version::V1) => v1,
        Some(Version::V2) => v2,
        None => return,
    };
    slot.get_or_insert(connection);
}

/// Those with both versions, in the order of the frames.
fn both<'r, K>(map: HashMap<K, ByVersion<'r>>) -> Vec<(K, &'r Connection, &'r Connection)> {
    let mut mixed: Vec<_> =
        map.into_iter().filter_map(|(key, [v1, v2])| Some((key, v1?, v2?))).collect();
    mixed.sort_by_key(|(_, v1, v2)| (v1.id, v2.id));
    mixed
}

fn say(subject: String, v1: &Connection, v2: &Connection, found: &mut Collector) {
    let frames = [v1.first_frame, v2.first_frame];
    if let Some(finding) = found.add("mixed-versions", subject, 1, frames) {
        finding.say("v1", name(v1));
        finding.say("v2", name(v2));
    }
}
