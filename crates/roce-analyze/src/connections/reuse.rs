//! A queue pair that is used again with another partner: whoever restarts takes the numbers anew
//! that its peer still remembers.
//!
//! Then the answers to the requests of a new flow go to the queue pair of an old connection. They
//! are out of place there, and the new flow, which has no other direction yet, waits for them.

use super::direction::{Direction, flag};
use super::key::FlowKey;
use super::lives::PAUSE;
use super::report::LearnedFrom;
use super::seen::Seen;
use super::table::At;
use super::tracker::Tracker;

/// Whether an answer to what was answered before may be to the requests of another flow: all of
/// these are answered, and long ago.
#[cold]
pub(super) fn may_be_astray(asked: &Direction, this: &Direction, seen: &Seen) -> bool {
    !this.has(flag::SETTLED)
        && asked.has(flag::STARTED)
        && asked.answered == asked.next
        && !asked.has(flag::NAKED | flag::IN_ROUND)
        && is_silent(asked, seen)
}

fn is_silent(asked: &Direction, seen: &Seen) -> bool {
    let times = asked.last_time.get().zip(seen.time);
    times.is_some_and(|(last, now)| now.saturating_sub(last) >= PAUSE)
}

impl Tracker {
    /// An answer that is out of place where it is, at `at`: it is counted with the requests that it
    /// is to, or here.
    #[cold]
    pub(super) fn find_asked(&mut self, at: At, seen: &Seen) {
        let at = self.change_partner(at, seen).unwrap_or(at);
        if let Some(conn) = self.table.get_mut(at.slot()) {
            conn.follow_whatever(at.dir(), (seen, None), &mut self.budget);
        }
    }

    /// The flow at `at` goes on as the other direction of the only flow that waits for `seen`.
    pub(super) fn change_partner(&mut self, at: At, seen: &Seen) -> Option<At> {
        let conn = self.table.get(at.slot())?;
        let key = conn.dirs.get(at.dir())?.key?;
        let asked = conn.dirs.get(1usize.saturating_sub(at.dir()))?;
        if !is_silent(asked, seen) {
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
        let slot = fits.next().filter(|_| fits.next().is_none())?;
        self.join_again(at, &key, slot)
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
}
