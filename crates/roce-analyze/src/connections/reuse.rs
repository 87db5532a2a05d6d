//! A queue pair that is used again with another partner: whoever restarts takes the numbers anew
//! that its peer still remembers.
//!
//! Then the answers to the requests of a new flow go to the queue pair of an old connection. They
//! are out of place there, and the new flow, which has no other direction yet, waits for them. Or
//! the requests go on with the numbers of an old connection, and the answers to them come from
//! nowhere.

use roce_wire::Msn;

use super::connection::Conn;
use super::direction::{Direction, flag};
use super::key::FlowKey;
use super::lives::LONG_PAUSE;
use super::report::LearnedFrom;
use super::seen::{Kind, Seen};
use super::table::{At, Table};
use super::tracker::Tracker;
use super::verdict::is_answer;

/// How many connections are remembered whose requests may be to another partner.
const MAX_SLOTS: usize = 256;
/// How many requests each of them holds at most.
const MAX_HELD: usize = 512;
/// How long nothing was sent before an answer may be to the requests of another flow, in nanoseconds.
const PAUSE: u64 = 500_000;
/// After so many packets a connection has another direction, or none.
const YOUNG: u64 = 128;

/// Whether an answer to what was answered before, or was not sent, may be to the requests of another
/// flow: these were sent some time ago, and it counts fewer messages, or nothing was left to answer.
#[cold]
pub(super) fn may_be_astray(asked: &Direction, this: &Direction, seen: &Seen) -> bool {
    if this.has(flag::SETTLED) || !asked.has(flag::STARTED) || !is_silent(asked, seen, PAUSE) {
        return false;
    }
    // Whoever answers these has counted more messages.
    let counts = |msn: &u32| *msn > 0 || this.has(flag::COUNTS);
    let msn = seen.msn.map(Msn::get).filter(counts);
    msn.is_some_and(|msn| msn < asked.answered_messages())
        || (seen.psn.is_before(asked.answered)
            && asked.answered == asked.next
            && !asked.has(flag::NAKED | flag::IN_ROUND)
            && is_silent(asked, seen, LONG_PAUSE))
}

fn is_silent(asked: &Direction, seen: &Seen, least: u64) -> bool {
    asked.since_last(seen).is_some_and(|since| since >= least)
}

/// Connections whose requests may be those of another life, with another partner: its answers come
/// on a flow of their own.
#[derive(Clone, Default, Debug)]
pub(super) struct Restarts {
    slots: Vec<usize>,
    /// Where one is looked at that may be none any more.
    hand: usize,
    /// When the last turned out to be one.
    freed: Option<u64>,
}

impl Restarts {
    /// Notes the connection in `slot`, if there is room.
    pub(super) fn note(&mut self, slot: usize, table: &mut Table) {
        if !self.slots.contains(&slot) {
            if self.slots.len() < MAX_SLOTS {
                self.slots.push(slot);
            } else {
                self.hand = self.hand.wrapping_add(1) % MAX_SLOTS;
                let Some(old) = self.slots.get_mut(self.hand) else { return };
                if table.get(*old).is_some_and(Conn::may_have_restarted) {
                    return;
                }
                *old = slot;
            }
        }
        let dirs = table.get_mut(slot).into_iter().flat_map(|conn| &mut conn.dirs);
        for held in dirs.filter_map(|dir| dir.trouble.as_mut()?.held.as_mut()) {
            held.most = MAX_HELD;
        }
    }

    /// The requests that `seen` may answer, which is the first of a flow, or nearly, that came in
    /// frame `began`.
    fn asked(&mut self, table: &Table, (key, began): (&FlowKey, u64), seen: &Seen) -> Vec<At> {
        self.slots.retain(|slot| table.get(*slot).is_some_and(Conn::may_have_restarted));
        let at = |slot: usize| {
            let conn = table.get(slot)?;
            let dir = (0..2).find(|dir| conn.asks_anew(*dir, (key, began), seen))?;
            At::new(slot, dir)
        };
        self.slots.iter().filter_map(|slot| at(*slot)).collect()
    }
}

impl Conn {
    fn may_have_restarted(&self) -> bool {
        let holds = |dir: &Direction| dir.trouble.as_ref().is_some_and(|t| t.held.is_some());
        self.is_paired() && (self.dirs.iter().any(holds) || self.is_inherited())
    }

    /// Whether the other direction is only known from the life before.
    fn is_inherited(&self) -> bool {
        self.is_paired()
            && self.cm.is_none()
            && self.packets() < YOUNG
            && self.dirs.iter().any(|dir| dir.packets == 0)
    }

    /// Whether an answer on another flow may be to what is sent anew in this direction.
    fn asks_anew(&self, dir: usize, (key, began): (&FlowKey, u64), seen: &Seen) -> bool {
        let [a, b] = &self.dirs;
        let (requests, back) = if dir == 0 { (a, b) } else { (b, a) };
        let Some(known) = requests.key.filter(|_| self.is_paired()) else { return false };
        // The old partner says nothing any more.
        let is_back = known.src() == key.dst() && known.hosts() == key.hosts();
        if !is_back || back.last_frame > began {
            return false;
        }
        match requests.trouble.as_ref().and_then(|trouble| trouble.held.as_deref()) {
            Some(held) => held.is_asked(seen),
            None => {
                back.packets == 0
                    && self.is_inherited()
                    && super::verdict::fits((requests, self.service), seen)
            }
        }
    }
}

impl Tracker {
    /// An answer that is out of place where it is, at `at`: it is counted with the requests that it
    /// is to, or here.
    #[cold]
    pub(super) fn find_asked(&mut self, at: At, seen: &Seen) {
        if let Some(at) = self.change_partner(at, seen) {
            if let Some(conn) = self.table.get_mut(at.slot()) {
                conn.begin_with(at.dir(), seen, &mut self.budget);
            }
        } else if let Some(conn) = self.table.get_mut(at.slot()) {
            conn.follow_whatever(at.dir(), (seen, None), &mut self.budget);
        }
    }

    /// The flow at `at` goes on as the other direction of the flow that waits for `seen`, where there is
    /// one; where there are more, without another direction.
    pub(super) fn change_partner(&mut self, at: At, seen: &Seen) -> Option<At> {
        let conn = self.table.get(at.slot())?;
        let key = conn.dirs.get(at.dir())?.key?;
        let asked = conn.dirs.get(1usize.saturating_sub(at.dir()))?;
        if !is_silent(asked, seen, PAUSE) {
            return None;
        }
        let is_fit = |slot: &usize| {
            self.table.get(*slot).is_some_and(|new| {
                let [requests, _] = &new.dirs;
                // The old partner says nothing any more.
                requests.first_frame > asked.last_frame
                    && super::verdict::fits((requests, new.service), seen)
            })
        };
        let mut fits = self.unpaired.other_way(&key).into_iter().filter(is_fit);
        let slot = fits.next()?;
        if fits.next().is_some() {
            // Several may be.
            let old = self.table.remove(at.slot())?;
            return self.begin_alone(old, at, seen);
        }
        self.join_again(at, &key, slot)
    }

    /// The connection `old`, which was at `at`, is over, and what is held of that direction begins a
    /// flow, whose other direction is not known; with `first` where nothing is held.
    fn begin_alone(&mut self, mut old: Conn, at: At, first: &Seen) -> Option<At> {
        let key = old.dirs.get(at.dir())?.key;
        let held = old.take_held_of(at.dir());
        let service = old.service;
        old.let_go();
        self.forget_pairing(&old, at.slot());
        self.retire(old);
        self.make_room();
        let conn = self.new_conn([key, None], service);
        let slot = self.table.add(conn)?;
        self.add_unpaired(slot, held.first().unwrap_or(first));
        for seen in &held {
            self.table.get_mut(slot)?.begin_with(0, seen, &mut self.budget);
        }
        At::new(slot, 0)
    }

    fn join_again(&mut self, at: At, key: &FlowKey, slot: usize) -> Option<At> {
        let mut old = self.table.remove(at.slot())?;
        let held = old.take_held_of(at.dir());
        old.let_go();
        self.forget_pairing(&old, at.slot());
        self.retire(old);
        self.unpaired.remove(&key.hosts(), slot);
        let conn = self.table.get_mut(slot)?;
        conn.log = None;
        conn.pairing = Some((LearnedFrom::Psn, 90));
        let [_, back] = &mut conn.dirs;
        back.key = Some(*key);
        self.table.enter(slot, 1);
        let conn = self.table.get_mut(slot)?;
        for seen in &held {
            conn.begin_with(1, seen, &mut self.budget);
        }
        At::new(slot, 1)
    }

    /// An answer on the flow at `at`, whose other direction is not known, may be to requests that
    /// seem to be those of another connection: these become a flow of their own.
    #[cold]
    pub(super) fn free_restarted(&mut self, at: At, seen: &Seen) {
        let Some(conn) = self.table.get(at.slot()).filter(|_| is_answer(seen)) else { return };
        let [only, _] = &conn.dirs;
        let Some(key) = only.key else { return };
        let began = if only.packets > 0 { only.first_frame } else { seen.frame };
        let asked = self.restarts.asked(&self.table, (&key, began), seen);
        let fits = |slot: usize| {
            let conn = self.table.get(slot);
            conn.is_some_and(|conn| super::verdict::fits((&conn.dirs[0], conn.service), seen))
        };
        if asked.is_empty() {
            return;
        }
        // Where one queue pair is made anew, others are.
        let age = self.restarts.freed.zip(seen.time).map(|(freed, now)| now.saturating_sub(freed));
        let are_many = age.is_some_and(|age| age < LONG_PAUSE);
        if !are_many && self.unpaired.other_way(&key).into_iter().any(fits) {
            return;
        }
        self.restarts.freed = seen.time;
        for at in asked {
            self.free(at);
        }
    }

    /// The requests at `at` are those of a flow whose other direction is not known.
    fn free(&mut self, at: At) {
        let Some(mut old) = self.table.remove(at.slot()) else { return };
        let held = old.dirs.get(at.dir()).and_then(|dir| dir.trouble.as_ref()?.held.as_ref());
        if let Some(first) = held.and_then(|held| held.first().copied()) {
            self.begin_alone(old, at, &first);
            return;
        }
        self.forget_pairing(&old, at.slot());
        if at.dir() == 1 {
            old.dirs.reverse();
        }
        let [_, empty] = self.conn_of(old.id, [None, None], old.service).dirs;
        let [requests, back] = &mut old.dirs;
        *back = empty;
        let first = Seen {
            frame: requests.first_frame,
            kind: Kind::Send,
            psn: requests.start,
            src_port: requests.src_ports.first().copied(),
            ..Seen::NOTHING
        };
        old.pairing = None;
        let Some(slot) = self.table.add(old) else { return };
        self.add_unpaired(slot, &first);
        if let Some(log) = self.table.get_mut(slot).and_then(|conn| conn.log.as_mut()) {
            log.is_whole = false;
        }
    }
}
