//! Two directions side by side: what arrives on one is held to what went the other way.

use roce_wire::{IcrcState, NakCode, Service};

use super::answers::{Said, answer};
use super::cm::Exchange;
use super::copies::{Repeat, take_copy};
use super::direction::{Direction, flag};
use super::key::{FlowKey, is_datagram};
use super::log::Log;
use super::pmtu::Pmtu;
use super::proof::Event;
use super::report::LearnedFrom;
use super::requests::{Fit, request};
use super::seen::{Kind, Place, Seen};
use super::timing::Budget;
use super::verdict::is_answer;

/// How sure it is that two flows are one connection, in percent.
pub(super) type Percent = u8;

/// A connection while it is watched.
///
/// The fields stand in the order of their use. Whether a place of the table has a connection is
/// told by a field, too: by one in a line that packets touch anyway.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Conn {
    /// From A to B, from B to A. A is the side that asked for the connection, or was seen first.
    pub dirs: [Direction; 2],
    pub service: Service,
    /// Whether every packet matters for finding the other direction: the first, and those that are
    /// kept.
    pub is_open: bool,
    /// Whether it lacked a direction the last time that this was looked at.
    pub is_single: bool,
    /// As long as only one direction is known: of 2 to the power of this many answers one is looked
    /// at for the other.
    pub patience: u8,
    /// How many answers it takes until both directions are taken for those of one connection.
    pub trial: u8,
    /// Whether something was seen that ends a connection.
    pub is_over: bool,
    /// Seen since the hand of the clock passed by.
    pub is_recent: bool,
    pub pairing: Option<(LearnedFrom, Percent)>,
    pub pmtu: Pmtu,
    /// The frame of the connection manager that it begins with.
    pub first_seen: Option<Box<(u64, Option<u64>)>>,
    /// The NAK that ended it, and its frame.
    pub fatal: Option<Box<(NakCode, u64)>>,
    /// In the order of appearance, from 1.
    pub id: u64,
    pub cm: Option<Box<Exchange>>,
    /// All packets, as long as it is not known, or not for sure, which flow is the other direction.
    pub log: Option<Box<Log>>,
}

impl Conn {
    pub(super) fn new(id: u64, keys: [Option<FlowKey>; 2], service: Service) -> Self {
        let [there, back] = keys;
        Self {
            dirs: [Direction::new(there), Direction::new(back)],
            service,
            is_open: true,
            is_single: true,
            patience: 0,
            trial: 0,
            is_over: false,
            is_recent: true,
            pmtu: Pmtu::default(),
            pairing: None,
            first_seen: None,
            fatal: None,
            id,
            cm: None,
            log: None,
        }
    }

    /// Whether both flows are known.
    pub(super) fn is_paired(&self) -> bool {
        self.dirs.iter().all(|dir| dir.key.is_some())
    }

    /// Whether the packet matters for finding the other direction: it tells something of it, or it
    /// is kept until that is known for sure.
    #[inline]
    pub(super) fn must_pair(&self, seen: &Seen) -> bool {
        self.is_open
            || (self.is_single && is_answer(seen) && (self.is_paired() || self.tells_partner(seen)))
    }

    /// Whether the packet tells something of the other direction: an answer does, and the first.
    #[inline]
    pub(super) fn tells_partner(&self, seen: &Seen) -> bool {
        if self.is_paired() || (seen.icrc == IcrcState::Bad && !seen.is_known_fault) {
            return false;
        }
        let packets = self.packets();
        if is_answer(seen) { is_one_of(packets, self.patience) } else { packets == 0 }
    }

    /// Whether a direction had a request.
    pub(super) fn has_started(&self, dir: usize) -> bool {
        self.dirs.get(dir).is_some_and(|dir| dir.has(flag::STARTED))
    }

    pub(super) fn packets(&self) -> u64 {
        self.dirs.iter().fold(0, |sum, dir| sum.saturating_add(dir.packets))
    }

    /// The same as [`Self::observe`], out of the way of most packets; `repeat` is what is known of
    /// the frame having been captured before.
    #[cold]
    pub(super) fn observe_out_of_line(
        &mut self,
        dir: usize,
        (seen, repeat): (&Seen, Option<Repeat>),
        budget: &mut Budget,
    ) -> Fit {
        let [a, b] = &mut self.dirs;
        let (this, other) = if dir == 0 { (a, b) } else { (b, a) };
        if let Some(repeat) = repeat.filter(|repeat| repeat.is_any()) {
            this.tick(seen.time, budget);
            if let Some(at) = take_copy(this, other, seen, repeat) {
                self.is_recent = true;
                return Fit::Copy(at);
            }
        }
        self.observe(dir, seen, budget)
    }

    /// A packet on direction `dir`. When it begins a new connection nothing is counted.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "once for every packet, in one place")]
    pub(super) fn observe(&mut self, dir: usize, seen: &Seen, budget: &mut Budget) -> Fit {
        if !self.is_recent {
            // What is not written need not go back to memory.
            self.is_recent = true;
        }
        let [a, b] = &mut self.dirs;
        let (this, other) = if dir == 0 { (a, b) } else { (b, a) };
        this.tick(seen.time, budget);
        // A sender whose ICRC is never right is not corrupted on the way.
        let is_habit =
            seen.is_accepted_fault || (seen.is_known_fault && !this.has(flag::GOOD_ICRC));
        if seen.icrc == IcrcState::Bad && !is_habit {
            let trouble = this.trouble();
            trouble.icrc_bad = trouble.icrc_bad.saturating_add(1);
            trouble.proofs.note(Event::BadIcrc, seen.frame);
            this.count_only(seen);
            return Fit::Yes;
        }
        if seen.icrc == IcrcState::Bad {
            let trouble = this.trouble();
            trouble.icrc_bad = trouble.icrc_bad.saturating_add(1);
            trouble.proofs.note(Event::BadIcrc, seen.frame);
        } else {
            this.set(flag::GOOD_ICRC, true);
        }
        let mut fit = Fit::Yes;
        if self.service == Service::Cnp {
            self.service = seen.service;
        }
        if seen.kind == Kind::Cnp {
            cnp(this, other, seen, budget);
        } else if is_datagram(seen.service) {
            this.datagram(seen);
        } else if seen.kind.is_request() {
            if self.is_over && this.has_restarted(seen) {
                return Fit::Anew;
            }
            fit = request(this, other, &mut self.pmtu, seen);
            if matches!(fit, Fit::Anew | Fit::Held) {
                return fit;
            }
        } else {
            let answered = other.answered;
            match answer(other, this, &mut self.pmtu, seen, budget) {
                Said::GoesOn => {}
                Said::Ends(code) => {
                    self.fatal.get_or_insert_with(|| Box::new((code, seen.frame)));
                    self.is_over = true;
                }
                Said::Anew => return Fit::Anew,
                Said::Astray => return Fit::Astray,
            }
            if let Some((LearnedFrom::Port, _)) = self.pairing
                && answered.is_before(other.answered)
            {
                // The port said so first; now the PSNs say it, too.
                self.pairing = Some((LearnedFrom::Psn, 99));
            }
        }
        this.count(seen);
        this.remember(seen);
        fit
    }
}

/// One of 2 to the power of so many numbers, none of them by rule.
const fn is_one_of(number: u64, power: u8) -> bool {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    power == 0 || mixed.trailing_zeros() >= power as u32
}

fn cnp(this: &mut Direction, marked: &mut Direction, seen: &Seen, budget: &mut Budget) {
    let trouble = this.trouble();
    trouble.cnps = trouble.cnps.saturating_add(1);
    trouble.proofs.note(Event::Cnp, seen.frame);
    marked.tick(seen.time, budget);
    marked.notified();
    if let Some(marked) = &mut marked.trouble
        && let (Some(since), Some(now)) = (marked.ce_since.take(), seen.time)
    {
        marked.cnp_delay.record(now.saturating_sub(since), budget);
    }
}

impl Direction {
    /// A datagram. The PSNs of a datagram queue pair count all its peers: a gap means nothing.
    fn datagram(&mut self, seen: &Seen) {
        if seen.kind.is_request() {
            if !self.has(flag::START_KNOWN) {
                self.start = seen.psn;
                self.keep_q_key(seen.q_key);
                self.set(flag::START_KNOWN, true);
            } else if seen.q_key != self.q_key() {
                self.note_q_key(seen);
            }
            self.goodput = self.goodput.saturating_add(u64::from(seen.payload));
            let [bytes, ..] = &mut self.message_bytes;
            *bytes = bytes.saturating_add(u64::from(seen.payload));
            let [sends, ..] = &mut self.messages;
            *sends = sends.saturating_add(1);
        }
    }

    /// Whether, after the end of the connection, this is the first packet of the next one.
    fn has_restarted(&self, seen: &Seen) -> bool {
        let distance = seen.psn.distance_from(self.next).unsigned_abs();
        matches!(seen.place, Place::First | Place::Only)
            && self.packets > 0
            && distance > super::requests::WINDOW.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::super::direction::Times;
    use super::super::trouble::Trouble;
    use super::*;

    #[test]
    fn a_thousand_connections_take_a_megabyte() {
        // With what each has besides: times, in a block of the allocator, and two places in the index,
        // of five bytes each, where it is emptiest.
        let index = 2 * 5 * 16 / 7;
        let all = size_of::<Option<Conn>>() + size_of::<Times>() + 16 + index;
        assert!(all <= 1024, "{all}: {} {}", size_of::<Conn>(), size_of::<Times>());
        // Few have trouble.
        assert!(size_of::<Trouble>() <= 1024, "{}", size_of::<Trouble>());
    }
}
