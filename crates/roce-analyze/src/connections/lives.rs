//! The lives of a queue pair: the same numbers, used again for another connection.
//!
//! A request whose PSN has nothing to do with the stream is either the first of a new life or was
//! late for its own: sent in a life that is over. So it is held until that is known, and counted
//! then. What tells is whether the responder answers, and whether the stream goes on.

use roce_wire::{IcrcState, Service};

use super::connection::Conn;
use super::copies::Repeat;
use super::direction::{Direction, flag};
use super::held::Held;
use super::pmtu::Pmtu;
use super::proof::Event;
use super::requests::{Fit, WINDOW, follow_request};
use super::seen::Seen;
use super::timing::Budget;

/// How long a stream is silent before a new life needs no answer to be known, in nanoseconds. No
/// network keeps packets for so long.
const SILENCE: u64 = 1_000_000_000;
/// How long nothing is sent before another PSN than the next one may be a beginning, in nanoseconds.
/// No host makes a queue pair anew in less.
pub(super) const PAUSE: u64 = 100_000;
/// The same where requests wait for answers, and for answers that may be to others.
pub(super) const LONG_PAUSE: u64 = 100_000_000;
/// How many requests are held: without an answer so many in a row, and none of the stream between
/// them, are a new life.
const MAX_HELD: usize = 8;

/// How long these wait for one, in nanoseconds.
const MAX_AGE: u64 = 500_000_000;

/// A request with a PSN from nowhere: it is held, or shows that what is held is a new life.
#[cold]
pub(super) fn wild(
    this: &mut Direction,
    back: &mut Direction,
    pmtu: &mut Pmtu,
    (seen, span): (&Seen, u32),
) -> Fit {
    let idle = idle_time(this, back, seen);
    let held = this.trouble().held.as_mut();
    if let Some(held) = held.filter(|held| !held.is_near) {
        let ahead = seen.psn.distance_from(held.next);
        if ahead.unsigned_abs() <= WINDOW.unsigned_abs() {
            let is_enough = held.requests.len().saturating_add(1) >= MAX_HELD;
            if is_enough || (held.was_silent && ahead >= 0) {
                return Fit::Anew;
            }
            held.requests.push((*seen, span));
            if ahead >= 0 {
                held.next = seen.psn.add(span);
            }
            return Fit::Held;
        }
    }
    settle(this, back, pmtu);
    let was_silent = idle.is_some_and(|idle| idle >= SILENCE);
    let held = Held::new(this, (seen, span), (was_silent, false));
    this.trouble().held = Some(held);
    Fit::Held
}

/// How long nothing was seen of the connection.
fn idle_time(this: &Direction, back: &Direction, seen: &Seen) -> Option<u64> {
    let last = this.last_time.get().max(back.last_time.get())?;
    Some(seen.time?.saturating_sub(last))
}

/// Whether a request that is not the next one of the stream is held. The next life of a queue pair
/// may begin with the same PSN, or one near to it.
#[cold]
pub(super) fn is_held_near(this: &mut Direction, back: &Direction, seen: &Seen, span: u32) -> bool {
    let idle = idle_time(this, back, seen);
    let has_paused = |least: u64| idle.is_some_and(|idle| idle >= least);
    // Whoever waits for answers asks again for these, or goes on, and does not begin elsewhere.
    let is_behind = seen.psn.is_before(this.answered);
    let is_ahead = !seen.psn.is_before(this.next);
    let is_all_answered = this.answered == this.next;
    let is_elsewhere = is_behind || is_all_answered || (is_ahead && has_paused(LONG_PAUSE));
    let is_answered = back.packets > 0 && this.answered != this.start;
    let has_known_span = this.trouble.as_ref().is_none_or(|t| t.unknown_span.is_none());
    let is_beginning = seen.place.begins()
        && is_elsewhere
        && is_answered
        && has_known_span
        && seen.service != Service::Uc
        && this.all_messages() > 1
        && has_paused(PAUSE);
    if is_beginning {
        let held = Held::new(this, (seen, span), (false, true));
        this.trouble().held = Some(held);
    }
    is_beginning
}

/// A request comes while others are held; `None` when that says nothing of it.
#[cold]
pub(super) fn while_held(
    this: &mut Direction,
    back: &mut Direction,
    pmtu: &mut Pmtu,
    (seen, span): (&Seen, u32),
) -> Option<Fit> {
    let held = this.trouble().held.as_mut()?;
    if !held.is_near {
        // The stream goes on.
        this.let_go();
        return None;
    }
    let is_young = held.age(seen).is_none_or(|age| age < MAX_AGE);
    if held.goes_on_with(seen) && held.requests.len() < held.most && is_young {
        held.requests.push((*seen, span));
        let end = seen.psn.add(span);
        if held.next.is_before(end) {
            held.next = end;
        }
        return Some(Fit::Held);
    }
    follow_held(this, back, pmtu);
    None
}

/// What is held is of the stream.
fn follow_held(this: &mut Direction, back: &mut Direction, pmtu: &mut Pmtu) {
    let Some(held) = this.trouble().held.take() else { return };
    let mut counted = Vec::with_capacity(held.requests.len());
    for (seen, span) in &held.requests {
        let before = this.goodput;
        follow_request(this, back, *pmtu, (seen, *span));
        this.count(seen);
        this.remember(seen);
        let goodput = this.goodput.saturating_sub(before);
        counted.extend(seen.time.map(|time| (time, seen.wire_len, goodput)));
    }
    this.date_back(&counted);
}

/// An answer comes while requests are held. Says whether it is an answer to them and they are a
/// new life.
#[cold]
pub(super) fn is_answer_to_held(
    asked: &mut Direction,
    this: &mut Direction,
    pmtu: &mut Pmtu,
    seen: &Seen,
) -> bool {
    let Some(held) = asked.trouble.as_ref().and_then(|trouble| trouble.held.as_ref()) else {
        return false;
    };
    if !held.is_near {
        return held.holds(seen.psn);
    }
    let is_begun = held.is_begun_by(seen, (asked, this));
    if is_begun == Some(true) {
        return true;
    }
    let lost = this.trouble.as_ref().map_or(0, |trouble| trouble.lost_after);
    follow_held(asked, this, pmtu);
    if let (None, Some(trouble)) = (is_begun, &mut this.trouble) {
        // Where it is another life nothing was lost.
        trouble.keep_lost_after(lost);
    }
    false
}

impl Direction {
    /// The stream goes on: what is held is of another life.
    pub(super) fn let_go(&mut self) {
        let Some(held) = self.trouble.as_mut().and_then(|trouble| trouble.held.take()) else {
            return;
        };
        for (seen, _) in &held.requests {
            let trouble = self.trouble();
            trouble.ghosts = trouble.ghosts.saturating_add(1);
            trouble.proofs.note(Event::Ghost, seen.frame);
            self.count(seen);
            self.remember(seen);
        }
    }
}

impl Conn {
    /// What is held of both directions, in the order of the capture, with the direction of each.
    pub(super) fn take_held(&mut self) -> Vec<(usize, Seen)> {
        let of = |dir, seen: Vec<Seen>| seen.into_iter().map(move |seen| (dir, seen));
        let [there, back] = [0, 1].map(|dir| self.take_held_of(dir));
        let mut all: Vec<_> = of(0, there).chain(of(1, back)).collect();
        all.sort_by_key(|(_, seen)| seen.frame);
        all
    }

    /// What is held of one direction.
    pub(super) fn take_held_of(&mut self, dir: usize) -> Vec<Seen> {
        let trouble = self.dirs.get_mut(dir).and_then(|direction| direction.trouble.as_mut());
        let held = trouble.and_then(|trouble| trouble.held.take());
        held.into_iter().flat_map(|held| held.requests).map(|(seen, _)| seen).collect()
    }

    /// One of the first packets of a new life. It is counted, whatever it is.
    pub(super) fn begin_with(&mut self, dir: usize, seen: &Seen, budget: &mut Budget) {
        self.keep(dir, seen, None);
        self.follow_whatever(dir, (seen, None), budget);
    }

    /// A packet that is counted here, whatever it is.
    pub(super) fn follow_whatever(
        &mut self,
        dir: usize,
        (seen, repeat): (&Seen, Option<Repeat>),
        budget: &mut Budget,
    ) {
        if self.observe_settled(dir, (seen, repeat), budget) == Fit::Anew
            && let Some(this) = self.dirs.get_mut(dir)
        {
            let trouble = this.trouble();
            trouble.ghosts = trouble.ghosts.saturating_add(1);
            trouble.proofs.note(Event::Ghost, seen.frame);
            this.count(seen);
        }
    }

    /// A packet that is not looked for elsewhere.
    pub(super) fn observe_settled(
        &mut self,
        dir: usize,
        (seen, repeat): (&Seen, Option<Repeat>),
        budget: &mut Budget,
    ) -> Fit {
        self.dirs.iter_mut().for_each(|direction| direction.set(flag::SETTLED, true));
        let fit = self.observe_out_of_line(dir, (seen, repeat), budget);
        self.dirs.iter_mut().for_each(|direction| direction.set(flag::SETTLED, false));
        fit
    }

    /// Puts a packet into the log, if there is one.
    pub(super) fn keep(&mut self, dir: usize, seen: &Seen, repeat: Option<Repeat>) {
        let is_faulty = seen.icrc == IcrcState::Bad && self.is_faulty();
        if let Some(log) = &mut self.log
            && !log.push(dir, seen, repeat)
        {
            log.is_whole = false;
            // Of what is faulty nothing else tells of the other direction.
            if !is_faulty {
                self.log = None;
            }
        }
    }

    /// The connection is over, and so no new life was proven.
    pub(super) fn let_go(&mut self) {
        let [a, b] = &mut self.dirs;
        settle(a, b, &mut self.pmtu);
        settle(b, a, &mut self.pmtu);
    }
}

fn settle(this: &mut Direction, back: &mut Direction, pmtu: &mut Pmtu) {
    let held = this.trouble.as_ref().and_then(|trouble| trouble.held.as_ref());
    match held.map(|held| held.is_near) {
        Some(true) => follow_held(this, back, pmtu),
        Some(false) => this.let_go(),
        None => {}
    }
}
