//! The lives of a queue pair: the same numbers, used again for another connection.
//!
//! A request whose PSN has nothing to do with the stream is either the first of a new life or was
//! late for its own: sent in a life that is over. So it is held until that is known, and counted
//! then. What tells is whether the responder answers, and whether the stream goes on.

use roce_wire::{IcrcState, Psn};

use super::connection::Conn;
use super::copies::Repeat;
use super::direction::{Direction, flag};
use super::pmtu::Pmtu;
use super::proof::Event;
use super::requests::{Fit, WINDOW, follow_request};
use super::seen::Seen;
use super::timing::Budget;

/// How long a stream is silent before a new life needs no answer to be known, in nanoseconds. No
/// network keeps packets for so long.
const SILENCE: u64 = 1_000_000_000;
/// How long nothing is sent before another PSN than the next one may be a beginning, in nanoseconds.
pub(super) const PAUSE: u64 = 100_000_000;
/// How many requests are held: without an answer so many in a row, and none of the stream between
/// them, are a new life.
const MAX_HELD: usize = 8;

/// How many are held that may be of the stream just as well, until an answer tells: a window of
/// messages.
const MAX_HELD_NEAR: usize = 64;

/// Requests that may be the first of a new life.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Each with the PSNs that it takes.
    requests: Vec<(Seen, u32)>,
    /// Where they begin.
    start: Psn,
    /// Behind the highest of them.
    next: Psn,
    /// Whether the stream had been silent for long.
    was_silent: bool,
    /// Whether they may be of the stream just as well: sent again, or behind some that are missing.
    is_near: bool,
}

impl Held {
    fn new(seen: &Seen, span: u32, was_silent: bool, is_near: bool) -> Box<Self> {
        let (start, next) = (seen.psn, seen.psn.add(span));
        Box::new(Self { requests: vec![(*seen, span)], start, next, was_silent, is_near })
    }

    fn holds(&self, psn: Psn) -> bool {
        !psn.is_before(self.start) && psn.is_before(self.next)
    }

    /// How many messages begin in it.
    fn messages(&self) -> u32 {
        let begun = self.requests.iter().filter(|(seen, _)| seen.place.begins()).count();
        u32::try_from(begun).unwrap_or(u32::MAX)
    }
}

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
    this.trouble().held = Some(Held::new(seen, span, was_silent, false));
    Fit::Held
}

/// How long nothing was seen of the connection.
fn idle_time(this: &Direction, back: &Direction, seen: &Seen) -> Option<u64> {
    let last = this.last_time.get().max(back.last_time.get())?;
    Some(seen.time?.saturating_sub(last))
}

/// Whether a request that is not the next one of the stream is held: everything was answered, and
/// long ago. The next life of a queue pair may begin with the same PSN, or one near to it.
#[cold]
pub(super) fn is_held_near(this: &mut Direction, back: &Direction, seen: &Seen, span: u32) -> bool {
    let is_beginning = seen.place.begins()
        && this.answered == this.next
        && !this.has(flag::NAKED | flag::IN_ROUND)
        && this.all_messages() > 1
        && idle_time(this, back, seen).is_some_and(|idle| idle >= PAUSE);
    if is_beginning {
        this.trouble().held = Some(Held::new(seen, span, false, true));
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
    if held.next == seen.psn && held.requests.len() < MAX_HELD_NEAR {
        held.requests.push((*seen, span));
        held.next = seen.psn.add(span);
        return Some(Fit::Held);
    }
    follow_held(this, back, pmtu);
    None
}

/// What is held is of the stream.
fn follow_held(this: &mut Direction, back: &mut Direction, pmtu: &mut Pmtu) {
    let Some(held) = this.trouble().held.take() else { return };
    for (seen, span) in &held.requests {
        follow_request(this, back, *pmtu, (seen, *span));
        this.count(seen);
        this.remember(seen);
    }
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
    let total = asked.all_messages();
    let Some(held) = asked.trouble.as_ref().and_then(|trouble| trouble.held.as_ref()) else {
        return false;
    };
    if !held.is_near {
        return held.holds(seen.psn);
    }
    // The responder counts the messages of a life, from its beginning.
    let messages = held.messages();
    if held.holds(seen.psn)
        && seen.msn.is_some_and(|msn| msn.get() <= messages && msn.get() < total)
    {
        return true;
    }
    follow_held(asked, this, pmtu);
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
