//! What an end makes of the packets that reach it.

use roce_wire::{AckKind, NakCode, RnrTimer, Syndrome};

use super::batch::{Entry, What};
use super::connection::Connection;
use super::responder::{Refuse, Taken};
use super::tx::{Body, Request, Tx};
use crate::plan::{EventKind, OpKind};

impl Connection {
    /// A packet reaches its receiver.
    pub(super) fn arrive(&mut self, tx: &Tx) {
        let here = tx.dir.other();
        if tx.fate.corrupt || tx.fate.malformed.is_some_and(super::is_fatal) {
            return;
        }
        self.notify_congestion(tx);
        let (now, plan) = (self.now, &*self.plan);
        match tx.body {
            Body::Request(_) if plan.is_reliable() => self.take(tx),
            // What comes unreliably is not answered.
            Body::Request(_) => {}
            Body::Response { .. } | Body::AtomicAck { .. } => {
                self.ends.of_mut(here).requester.on_response(plan, tx.upsn, now);
            }
            Body::Ack { syndrome, .. } => {
                let requester = &mut self.ends.of_mut(here).requester;
                match Syndrome(syndrome).kind() {
                    AckKind::Ack(_) => requester.on_ack(plan, tx.upsn.saturating_add(1), now),
                    AckKind::Nak(NakCode::PSN_SEQUENCE_ERROR) => {
                        requester.on_sequence_nak(plan, tx.upsn, now);
                    }
                    AckKind::RnrNak(timer) => {
                        let wait = u64::from(RnrTimer::micros(timer)).saturating_mul(1000);
                        requester.on_rnr_nak(plan, tx.upsn, wait, now);
                    }
                    AckKind::Nak(_) | AckKind::Reserved => requester.on_fatal_nak(),
                }
            }
            Body::Cnp => self.ends.of_mut(here).requester.on_cnp(now),
            Body::Cm(_) | Body::Icmp(_) => {}
        }
    }

    /// A reliable request reaches its responder.
    fn take(&mut self, tx: &Tx) {
        let refuse = self.refusal(tx);
        let end = self.ends.of_mut(tx.dir.other());
        let taken = end.responder.take(&self.plan, tx, refuse, self.now);
        if taken == Taken::Duplicate {
            self.batch.push(Entry::new(self.now, What::Duplicate, *tx));
        }
    }

    /// Whether a rule refuses a request that would be taken otherwise.
    fn refusal(&mut self, tx: &Tx) -> Option<Refuse> {
        let plan = &*self.plan;
        let end = self.ends.of_mut(tx.dir.other());
        if !plan.has_rules(tx.dir) || !end.responder.expects(tx) {
            return None;
        }
        for rule in plan.rules.of(tx.dir).iter().filter(|rule| rule.is_refusal()) {
            let request = tx.request()?;
            let (number, before) = match rule.kind {
                EventKind::Rnr if consumes_receive(request) => {
                    let (refused, times) = end.refused;
                    (tx.message, if refused == tx.message { times } else { 0 })
                }
                EventKind::Rnr => continue,
                _ => (tx.ordinal, 0),
            };
            if !rule.strikes_number(number, before, &mut self.rng) {
                continue;
            }
            end.refused = (tx.message, before.saturating_add(1));
            return Some(match rule.kind {
                EventKind::Rnr => Refuse::Rnr(rule.timer),
                EventKind::Nak => Refuse::Fatal(rule.nak),
                _ => Refuse::Silence,
            });
        }
        None
    }

    /// The receiver of a marked packet tells its sender, but not too often.
    fn notify_congestion(&mut self, tx: &Tx) {
        let plan = &*self.plan;
        let is_marked = tx.fate.ce_before
            || tx.fate.ce_after
            || plan.traffic_class & 3 == 3 && matches!(tx.body, Body::Request(_));
        if !is_marked || !plan.cnp || !plan.is_reliable() || matches!(tx.body, Body::Cnp) {
            return;
        }
        let now = self.now;
        let end = self.ends.of_mut(tx.dir.other());
        let is_early =
            end.last_cnp.is_some_and(|last| now < last.saturating_add(plan.cnp_interval));
        if is_early || end.responder.is_silent() {
            return;
        }
        end.last_cnp = Some(now);
        let cnp = Tx::aside(tx.dir.other(), Body::Cnp);
        self.put_on_wire(cnp, 1);
    }
}

/// Whether the responder needs a receive request for it.
const fn consumes_receive(request: &Request) -> bool {
    match request.kind {
        OpKind::Send => request.place.begins(),
        OpKind::Write => request.immediate,
        _ => false,
    }
}
