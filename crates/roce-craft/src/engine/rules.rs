//! What happens to which packet.

use std::collections::BTreeMap;

use super::tx::{Body, Tx};
use crate::plan::{EventKind, Rule};
use crate::rng::Rng;

/// How often packets were sent, for those that rules may look for again.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    requests: BTreeMap<u64, u32>,
    responses: BTreeMap<u64, u32>,
}

impl Attempts {
    /// Counts a transmission of this packet; returns how many there were before. Only `most`
    /// packets are remembered, of which the oldest are not sent again.
    pub(crate) fn count(&mut self, tx: &Tx, most: usize) -> u32 {
        let (seen, key) = match tx.body {
            Body::Request(_) => (&mut self.requests, tx.upsn),
            Body::Response { .. } | Body::AtomicAck { .. } => (&mut self.responses, tx.ordinal),
            _ => return 0,
        };
        if seen.len() > most {
            seen.pop_first();
        }
        let times = seen.entry(key).or_insert(0);
        let before = *times;
        *times = times.saturating_add(1);
        before
    }
}

impl Rule {
    /// Whether it is about packets of this kind.
    const fn concerns(&self, tx: &Tx) -> bool {
        match tx.body {
            Body::Request(_) => self.requests,
            Body::Response { .. } | Body::AtomicAck { .. } => self.responses,
            Body::Ack { .. } => self.acks,
            Body::Cnp | Body::Cm(_) | Body::Icmp(_) => false,
        }
    }

    /// Whether it happens to this packet, sent `before` times already.
    pub(crate) fn strikes(&self, tx: &Tx, before: u32, rng: &mut Rng) -> bool {
        self.concerns(tx) && self.strikes_number(tx.ordinal, before, rng)
    }

    /// The same for number `ordinal` of whatever the rule counts.
    pub(crate) fn strikes_number(&self, ordinal: u64, before: u32, rng: &mut Rng) -> bool {
        // A chance is drawn each time, so that one rule does not shift the fate of others.
        let by_chance = !self.chance.is_never() && rng.happens(self.chance);
        let by_number = before < self.times
            && (self.at.binary_search(&ordinal).is_ok()
                || self.every.is_some_and(|every| ordinal.is_multiple_of(every)));
        by_chance || by_number
    }

    /// Whether it is about what the receiver does, not about the way.
    pub(crate) const fn is_refusal(&self) -> bool {
        matches!(self.kind, EventKind::Rnr | EventKind::Nak | EventKind::Silence)
    }
}
