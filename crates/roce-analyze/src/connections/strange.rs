//! Packets that no receiver takes: who sends them, and what is wrong. Off the usual way.

use roce_wire::{Addr, Frame, Layer, Net, Packet, Reject};
use std::net::IpAddr;

use super::key::FlowKey;
use super::proof::Event;
use super::totals::Totals;
use super::tracker::Tracker;

/// How many kinds of such packets are told apart, by both ends and by what is wrong.
const MAX_KINDS: usize = 64;
/// How many queue pairs and values of a kind are named.
const MAX_NAMED: usize = 10;

/// What is wrong with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Oddity {
    /// It is not RoCE, though it bears the port or Ethertype.
    Rejected(Reject),
    /// It goes to queue pair 1 with another Q_Key than the well-known one.
    GsiQKey,
}

/// Packets between two hosts with which the same is wrong.
#[derive(Clone, Debug)]
pub struct Strange {
    /// From whom to whom; `None` where that cannot be told, or there are too many.
    pub ends: Option<(Addr, Addr)>,
    /// What is wrong with them.
    pub oddity: Oddity,
    /// How many.
    pub count: u64,
    /// How many of them have a PSN that was missing then: they were thrown away, not lost.
    pub missed: u64,
    /// The first ten frames.
    pub frames: Vec<u64>,
    /// The queue pairs they go to, up to ten.
    pub dest_qps: Vec<u32>,
    /// The opcodes or Q_Keys, up to ten.
    pub values: Vec<u32>,
}

/// One of them.
pub(super) struct Sight {
    pub ends: Option<(Addr, Addr)>,
    pub frame: u64,
    pub dest_qp: Option<u32>,
    pub value: Option<u32>,
    pub is_missed: bool,
}

impl Totals {
    #[cold]
    pub(super) fn note_strange(&mut self, oddity: Oddity, sight: &Sight) {
        let lists = self.frame_lists;
        let find = |all: &[Strange], ends| {
            all.iter().position(|strange| (strange.oddity, strange.ends) == (oddity, ends))
        };
        let is_full = self.strange.len() >= MAX_KINDS;
        let ends = sight.ends.filter(|ends| !is_full || find(&self.strange, Some(*ends)).is_some());
        let at = find(&self.strange, ends).unwrap_or(self.strange.len());
        if at == self.strange.len() {
            let (frames, dest_qps, values) = Default::default();
            let (count, missed) = (0, 0);
            self.strange.push(Strange { ends, oddity, count, missed, frames, dest_qps, values });
        }
        let Some(strange) = self.strange.get_mut(at) else { return };
        strange.count = strange.count.saturating_add(1);
        strange.missed = strange.missed.saturating_add(u64::from(sight.is_missed));
        lists.add(&mut strange.frames, sight.frame);
        for (list, value) in
            [(&mut strange.dest_qps, sight.dest_qp), (&mut strange.values, sight.value)]
        {
            if let Some(value) = value.filter(|value| !list.contains(value))
                && list.len() < MAX_NAMED
            {
                list.push(value);
            }
        }
    }
}

impl Tracker {
    /// A packet with a BTH that is not RoCE. Its PSN may be one that is missing.
    #[cold]
    pub(super) fn rejected(
        &mut self,
        frame: &Frame<'_>,
        (net, packet): (&Net<'_>, &Packet<'_>),
        number: u64,
        reject: Reject,
    ) {
        self.totals.not_roce = self.totals.not_roce.saturating_add(1);
        let key = FlowKey::of(frame, net, packet);
        let at = self.table.find(&key);
        let dir = at.and_then(|at| self.table.get_mut(at.slot())?.dirs.get_mut(at.dir()));
        let is_missed = dir.is_some_and(|dir| {
            let is_missed = dir.misses(packet.bth.psn());
            if is_missed {
                dir.trouble().proofs.note(Event::ThrownAway, number);
            }
            is_missed
        });
        // Any datagram to the port may look so by chance, but for what is too short for anything.
        let is_from_a_stack = match reject {
            Reject::TooShort => true,
            Reject::UnknownOpcode => packet.bth.tver() == 0,
            Reject::BadTver | Reject::BadLength => at.is_some(),
            _ => false,
        };
        if is_from_a_stack || is_missed {
            let value = (reject == Reject::UnknownOpcode).then(|| packet.bth.opcode.0.into());
            self.totals.note_strange(
                Oddity::Rejected(reject),
                &Sight {
                    ends: Some((net.src(), net.dst())),
                    frame: number,
                    dest_qp: Some(packet.bth.dest_qp().get()),
                    value,
                    is_missed,
                },
            );
        }
    }

    /// A frame with the port or Ethertype of RoCE and no BTH.
    #[cold]
    pub(super) fn rejected_early(&mut self, frame: &Frame<'_>, number: u64, reject: Reject) {
        self.totals.not_roce = self.totals.not_roce.saturating_add(1);
        if reject == Reject::TooShort {
            let (dest_qp, value, is_missed) = (None, None, false);
            let sight = Sight { ends: ends(frame), frame: number, dest_qp, value, is_missed };
            self.totals.note_strange(Oddity::Rejected(reject), &sight);
        }
    }
}

/// The ends of the innermost network header.
fn ends(frame: &Frame<'_>) -> Option<(Addr, Addr)> {
    let ends = frame.layers().filter_map(|(_, layer)| match layer {
        Layer::Ipv4(ip) => Some((IpAddr::V4(ip.src()), IpAddr::V4(ip.dst()))),
        Layer::Ipv6(ip) => Some((IpAddr::V6(ip.src()), IpAddr::V6(ip.dst()))),
        _ => None,
    });
    ends.last().map(|(src, dst)| (Addr::Ip(src), Addr::Ip(dst)))
}
