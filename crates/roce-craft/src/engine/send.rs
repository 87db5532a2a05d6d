//! What the ends of a connection send, and what becomes of it on the way.

use std::sync::Arc;

use super::batch::{Entry, What};
use super::connection::Connection;
use super::encode::frame_len;
use super::tx::{Body, CmBody, Fate, Tx};
use crate::plan::{ConnectionPlan, Dir, EventKind};
use crate::truth::DetailKind;

/// What happens to a packet on its way to the capture point.
#[derive(Clone, Copy, Default)]
struct Way {
    is_lost: bool,
    is_doubled: bool,
    /// Nanoseconds that it stays behind.
    late: u64,
}

impl Connection {
    pub(super) fn request(&mut self, dir: Dir) {
        let (plan, requester) = (&*self.plan, &mut self.ends.of_mut(dir).requester);
        if let Some(free) = free_at(plan, dir, self.now) {
            requester.wait_until(free);
            return;
        }
        let Some(tx) = requester.send(plan, self.now, &mut self.rng) else {
            // The plan has no such operation; never look for it again.
            requester.wait_until(u64::MAX);
            return;
        };
        let busy = plan.wire_time(frame_len(plan, self.head_len, &tx));
        requester.occupy(self.now, busy);
        self.put_on_wire(tx, busy);
    }

    pub(super) fn reply(&mut self, dir: Dir) {
        let (plan, responder) = (&*self.plan, &mut self.ends.of_mut(dir).responder);
        if let Some(free) = free_at(plan, dir, self.now) {
            responder.occupy(free);
            return;
        }
        let Some(tx) = responder.send(plan) else { return };
        let busy = plan.wire_time(frame_len(plan, self.head_len, &tx));
        responder.occupy(self.now.saturating_add(busy));
        self.put_on_wire(tx, busy);
    }

    /// A packet leaves its sender; what is to become of it is settled here.
    pub(super) fn put_on_wire(&mut self, mut tx: Tx, pace: u64) {
        let dir = tx.dir;
        let end = self.ends.of_mut(dir);
        end.order = end.order.saturating_add(1);
        tx.order = end.order;
        if !matches!(tx.body, Body::Cnp | Body::Cm(_) | Body::Icmp(_)) {
            end.ip_id = end.ip_id.wrapping_add(1);
            tx.ip_id = end.ip_id;
        }
        let mut way = Way::default();
        if self.plan.has_rules(dir) && tx.is_data_path() {
            let plan = Arc::clone(&self.plan);
            way = self.apply_rules(&plan, &mut tx, pace);
        }
        if way.is_lost {
            let what = What::Absent(DetailKind::LostBeforeCapture);
            self.batch.push(Entry::new(self.now, what, tx));
            return;
        }
        let jitter = self.jitter();
        let channel = self.channels.of_mut(dir);
        let mut time = self.now.saturating_add(*self.plan.leg.of(dir)).saturating_add(jitter);
        if way.late == 0 {
            // Jitter alone does not change the order.
            time = time.max(channel.last_capture);
            channel.last_capture = time;
        }
        channel.before.push(time.saturating_add(way.late), &tx);
        if way.is_doubled {
            let fate = Fate { is_copy: true, ..tx.fate };
            channel.before.push(time.saturating_add(way.late), &Tx { fate, ..tx });
        }
    }

    /// What happens to a packet up to the capture point; what happens behind it is its fate.
    fn apply_rules(&mut self, plan: &ConnectionPlan, tx: &mut Tx, pace: u64) -> Way {
        let mut way = Way::default();
        let before = self.ends.of_mut(tx.dir).attempts.count(tx, plan.memory());
        for rule in plan.rules.of(tx.dir).iter().filter(|rule| !rule.is_refusal()) {
            if !rule.strikes(tx, before, &mut self.rng) {
                continue;
            }
            // Half a packet's time more, so that it comes between two others.
            let late = pace.saturating_mul(u64::from(rule.by)).saturating_add(pace / 2);
            let late = late.min(longest_stay(plan));
            match (rule.kind, rule.before_capture) {
                (EventKind::Loss, true) => {
                    way.is_lost = true;
                    return way;
                }
                (EventKind::Loss, false) => tx.fate.lost_after = true,
                (EventKind::Corrupt, _) => tx.fate.corrupt = true,
                (EventKind::Malformed, _) => tx.fate.malformed = rule.malformed,
                (EventKind::Ce, true) => tx.fate.ce_before = true,
                (EventKind::Ce, false) => tx.fate.ce_after = true,
                (EventKind::Reorder, true) => way.late = late,
                (EventKind::Reorder, false) => tx.fate.late = late,
                (EventKind::Duplicate, _) => way.is_doubled = true,
                (EventKind::Rnr | EventKind::Nak | EventKind::Silence, _) => {}
            }
        }
        way
    }

    fn jitter(&mut self) -> u64 {
        let most = self.plan.jitter;
        if most == 0 { 0 } else { self.rng.below(most.saturating_add(1)) }
    }

    /// Sends the next message of connection management.
    pub(super) fn manage(&mut self) {
        let Some(step) = self.script.as_mut().and_then(|script| script.steps.pop_front()) else {
            return;
        };
        let end = self.ends.of_mut(step.from);
        let psn = self.identity.gsi_psn.of(step.from).wrapping_add(end.gsi_packets) & 0xff_ffff;
        let cm = CmBody { message: step.message, psn };
        let body = if step.is_icmp { Body::Icmp(cm) } else { Body::Cm(cm) };
        if !step.is_icmp {
            end.gsi_packets = end.gsi_packets.wrapping_add(1);
        }
        let tx = Tx::aside(step.from, body);
        self.put_on_wire(tx, 1);
    }

    pub(super) fn tear_down(&mut self) {
        self.is_torn_down = true;
        let plan = Arc::clone(&self.plan);
        if let (Some(script), Some(cm)) = (&mut self.script, &plan.cm)
            && let Some(by) = cm.disconnect
        {
            script.tear_down(&plan, cm, by, self.now);
        }
    }
}

/// How long a packet stays behind at most: no path keeps one until its sender takes it for lost.
fn longest_stay(plan: &ConnectionPlan) -> u64 {
    if plan.is_reliable() && plan.limits.timeout > 0 { plan.limits.timeout / 4 } else { u64::MAX }
}

/// When the host may send again; `None` when it may now.
fn free_at(plan: &ConnectionPlan, dir: Dir, now: u64) -> Option<u64> {
    let free = plan.stopped.of(dir).iter().map(|pause| pause.free_at(now)).max()?;
    (free > now).then_some(free)
}
