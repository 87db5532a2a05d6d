//! Which two flows are one connection, when the connection manager has not said so.
//!
//! The evidence, best first: acknowledgements whose PSNs are those of the other flow's requests;
//! the UDP source port, which Linux makes of both queue pairs. Where two candidates fit equally
//! well, nothing is said.

use hashbrown::HashMap;
use roce_wire::Service;

use super::connection::{Conn, Percent};
use super::direction::{Direction, flag};
use super::key::{FlowKey, HostPair};
use super::port;
use super::report::LearnedFrom;
use super::seen::Seen;
use super::table::{At, Table};

/// How many flows between two hosts are candidates: the newest.
const MAX_CANDIDATES: usize = 256;

/// Connections of which only one direction is known, by their hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Unpaired {
    by_hosts: HashMap<HostPair, Candidates, foldhash::fast::RandomState>,
}

#[derive(Clone, Debug, Default)]
struct Candidates {
    slots: Vec<Candidate>,
    /// Whether there were more than are listed, so that none is the only one.
    is_cut: bool,
}

/// A connection in its slot. Its own memory is cold, so what rules it out stands here.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    slot: usize,
    /// Where its known direction comes from, of the two hosts.
    is_from_low: bool,
}

/// The other direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub slot: usize,
    pub by: LearnedFrom,
    pub confidence: Percent,
}

impl Pair {
    /// Whether it was there before the connection in `slot`.
    pub(super) fn is_older(&self, table: &Table, slot: usize) -> bool {
        let id = |slot| table.get(slot).map(|conn| conn.id);
        id(self.slot) < id(slot)
    }
}

/// How well a candidate fits; the order is that of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Score {
    psn: bool,
    /// The port is what Linux makes of both queue pairs.
    port: bool,
    same_port: bool,
}

impl Unpaired {
    /// Adds a connection, of which the flow with this key is known.
    pub(super) fn add(&mut self, key: &FlowKey, slot: usize) {
        let candidates = self.by_hosts.entry(key.hosts()).or_default();
        if candidates.slots.len() >= MAX_CANDIDATES {
            candidates.slots.remove(0);
            candidates.is_cut = true;
        }
        candidates.slots.push(Candidate { slot, is_from_low: key.is_from_low() });
    }

    pub(super) fn remove(&mut self, hosts: &HostPair, slot: usize) {
        if let Some(candidates) = self.by_hosts.get_mut(hosts) {
            candidates.slots.retain(|other| other.slot != slot);
            if candidates.slots.is_empty() && !candidates.is_cut {
                self.by_hosts.remove(hosts);
            }
        }
    }

    /// The one connection that a REQ has asked for and that `seen`, the first packet of the flow at
    /// `at`, goes to by its UDP source port: the REP, which names the queue pair, was not captured.
    pub(super) fn asked(&self, table: &Table, at: At, seen: &Seen) -> Option<usize> {
        let conn = table.get(at.slot())?;
        let key = conn.dirs[0].key.filter(|_| conn.packets() == 0 && seen.kind.is_request())?;
        let port = seen.src_port?;
        let candidates = self.by_hosts.get(&key.hosts())?.slots.iter();
        let mut fits = candidates.map(|candidate| candidate.slot).filter(|slot| {
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

    /// The one flow that fits `at`, on which `seen` has just come.
    pub(super) fn find(&self, table: &Table, at: At, seen: &Seen) -> Option<Pair> {
        let conn = table.get(at.slot())?;
        let key = conn.dirs[0].key?;
        if conn.service == Service::Ud {
            return None;
        }
        let candidates = self.by_hosts.get(&key.hosts())?;
        let is_back = |candidate: &&Candidate| {
            candidate.is_from_low != key.is_from_low() || key.src() == key.dst()
        };
        let scored =
            candidates.slots.iter().filter(is_back).filter_map(|Candidate { slot, .. }| {
                let other = table.get(*slot)?;
                let fits = *slot != at.slot() && other.dirs[0].key?.src() == key.dst();
                let score = fits.then(|| score(conn, other, seen))?;
                (score.psn || score.port).then_some((score, *slot))
            });
        let mut best: Option<(Score, usize, bool)> = None;
        for (score, slot) in scored {
            best = match best {
                Some((top, ..)) if score < top => best,
                Some((top, first, _)) if score == top => Some((top, first, false)),
                _ => Some((score, slot, true)),
            };
        }
        let (score, slot, is_only) = best?;
        if !is_only || (candidates.is_cut && !score.port) {
            return None;
        }
        let (by, confidence) = match (score.psn, score.port) {
            (true, true) => (LearnedFrom::Psn, 99),
            (true, false) => (LearnedFrom::Psn, 95),
            _ => (LearnedFrom::Port, 80),
        };
        Some(Pair { slot, by, confidence })
    }
}

/// How well `other` fits `conn`, whose newest packet is `seen`.
fn score(conn: &Conn, other: &Conn, seen: &Seen) -> Score {
    let [ours, theirs] = [&conn.dirs[0], &other.dirs[0]];
    let our_port = ours.src_ports.first().copied().or(seen.src_port);
    let their_port = theirs.src_ports.first().copied();
    let same_port = our_port.is_some() && our_port == their_port;
    let made = match (ours.key, theirs.key) {
        (Some(a), Some(b)) => Some(port::of_queue_pairs(a.dest_qp(), b.dest_qp())),
        _ => None,
    };
    let is_answer = !seen.kind.is_request();
    Score {
        psn: is_answer && is_asked(theirs, seen) && is_service(other.service, seen.service),
        port: same_port && made == our_port,
        same_port,
    }
}

/// Whether the answer is to something that was asked and not answered.
fn is_asked(theirs: &Direction, seen: &Seen) -> bool {
    theirs.has(flag::STARTED)
        && !seen.psn.is_before(theirs.answered)
        && seen.psn.is_before(theirs.next)
}

fn is_service(asked: Service, answer: Service) -> bool {
    asked == answer || asked == Service::Cnp
}
