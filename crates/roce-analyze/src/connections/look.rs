//! All flows that may be the other direction of one, held to an answer on it.

use super::connection::{Conn, Percent};
use super::evidence::Evidence;
use super::group::{Group, Member, Place, member};
use super::port;
use super::report::LearnedFrom;
use super::seen::Seen;
use super::table::Table;
use super::verdict::{Verdict, is_answer, nearness, verdict};

/// How many candidates are looked at for every answer, on average: the more there are, the fewer
/// answers tell.
const STEPS: u32 = 64;
/// The rarest that answers are looked at, as a power of two.
pub(super) const MOST_PATIENCE: u8 = 8;
/// How many flows that fit are held to all packets that are kept of them.
const MOST_HELD: usize = 64;

/// Of so many flows one has by accident the port that Linux would make, once in 256 times: of more a
/// port proves nothing.
const MOST_BY_PORT: usize = 64;

/// What looking at all candidates gave.
#[derive(Clone, Default, Debug)]
pub(super) struct Look {
    pub fits: Vec<usize>,
    pub ruled_out: Vec<usize>,
    /// Candidates whose source port is the one that Linux makes of both queue pairs, the newest and
    /// how many.
    by_port: (Option<usize>, usize),
    /// The same of those that fit, too.
    by_both: (Option<usize>, usize),
    /// Whether many have the source port of this flow.
    is_shared: bool,
    /// How many there are.
    candidates: usize,
    pub unknown: usize,
    /// How many answers agree with those that fit, where all that is kept was held to them.
    held: Vec<(usize, u32)>,
    pub is_near: bool,
    /// Whether what is ruled out is so for good.
    pub is_final: bool,
    pub steps: u32,
}

/// Looks at all that are not ruled out, or at the only one that it may be; `look` is an earlier one,
/// whose room is used again.
pub(super) fn look(
    look: Look,
    table: &Table,
    (group, place, other): (&Group, Place, usize),
    (conn, me): (&Conn, &Member),
    seen: &Seen,
    (only, is_end): (Option<usize>, bool),
) -> Look {
    let mut look = look.emptied();
    let port = port_of(me, conn);
    let is_answer = is_answer(seen);
    let is_last = is_end && only.is_some();
    let Some(side) = group.sides.get(other) else { return look };
    let words = only.map_or(0..side.members.len().div_ceil(64), |only| {
        let word = only / 64;
        word..word.saturating_add(1)
    });
    look.is_shared = port.is_some_and(|port| group.is_shared(port));
    let near = nearness(side.members.len(), group.are_alike(), seen);
    for (word, members) in side.members.chunks(64).enumerate().skip(words.start).take(words.len()) {
        let others = only.map_or(0, |only| !(1u64 << (only % 64)));
        // What ruled out the only one that is left may have been frames that the capture lacks.
        let ruled_out = if is_last { 0 } else { me.search.word(word) };
        let gone = ruled_out | others;
        if gone == u64::MAX {
            continue;
        }
        for (bit, them) in members.iter().enumerate().filter(|(bit, _)| gone >> bit & 1 == 0) {
            let Some(them) = them.as_ref().filter(|them| them.slot != me.slot) else { continue };
            if !is_last && them.search.rules_out(place.index) {
                continue;
            }
            look.steps = look.steps.saturating_add(1);
            if !is_answer && them.port.is_some_and(|theirs| port != Some(theirs)) {
                // Of a request nothing else tells.
                continue;
            }
            let Some(partner) = table.get(them.slot) else { continue };
            let index = word.saturating_mul(64).saturating_add(bit);
            let theirs = (&partner.dirs[0], partner.service);
            let verdict = is_answer.then(|| match verdict(theirs, seen, near) {
                Verdict::RuledOut { is_near: true } if is_last => Verdict::Fits,
                verdict => verdict,
            });
            let shares_port = port.is_some() && port == port_of(them, partner);
            look.add(index, verdict, shares_port && is_made(conn, partner, port));
        }
    }
    look.candidates = usize::try_from(look.steps).unwrap_or(usize::MAX);
    look
}

impl Look {
    fn emptied(self) -> Self {
        let Self { mut fits, mut ruled_out, mut held, .. } = self;
        fits.clear();
        ruled_out.clear();
        held.clear();
        Self { fits, ruled_out, held, ..Self::default() }
    }

    /// Rules out those that fit and all that is kept speaks against: the only one, or all of a few.
    pub(super) fn hold_to_evidence(
        &mut self,
        table: &Table,
        (group, other): (&Group, usize),
        conn: &Conn,
        (holds_all, is_last): (bool, bool),
    ) {
        let is_alone = group.is_one_each_way();
        let most = if holds_all { MOST_HELD } else { 1 };
        let Some(mine) = conn.log.as_deref().filter(|_| self.fits.len() <= most) else { return };
        let Self { fits, ruled_out, steps, held, is_final, .. } = self;
        fits.retain(|index| {
            let them = member(group, Place { side: other, index: *index });
            let theirs = them.and_then(|them| table.get(them.slot)?.log.as_deref());
            let Some(theirs) = theirs else { return true };
            let packets = mine.packets().len().saturating_add(theirs.packets().len());
            *steps = steps.saturating_add(u32::try_from(packets / 8).unwrap_or(0));
            let evidence = Evidence::of_flows(mine, theirs);
            let is_against = if is_alone || is_last {
                evidence.is_against_all_doubt()
            } else {
                evidence.is_against()
            };
            if is_against {
                ruled_out.push(*index);
                *is_final |= is_alone;
            } else {
                held.push((*index, evidence.agree));
            }
            !is_against
        });
    }

    /// How many answers agree with the flow.
    pub(super) fn agree(&self, index: usize) -> u32 {
        let held = self.held.iter().find(|(other, _)| *other == index);
        held.map_or(0, |(_, agree)| *agree)
    }

    /// The flow whose UDP source port says that it is the one, and how sure that is.
    pub(super) fn found_by_port(&self) -> Option<(usize, LearnedFrom, Percent)> {
        if self.is_shared {
            return None;
        }
        match (self.by_both, self.by_port) {
            ((Some(index), 1), _)
                if self.fits.len() <= MOST_BY_PORT && self.fits.contains(&index) =>
            {
                Some((index, LearnedFrom::Psn, 99))
            }
            (_, (Some(index), 1)) if self.candidates <= MOST_BY_PORT && self.fits.is_empty() => {
                Some((index, LearnedFrom::Port, 80))
            }
            _ => None,
        }
    }

    /// The more there were to look at, the fewer answers are worth it: of 2 to the power of this many
    /// one.
    pub(super) fn patience(&self) -> u8 {
        let power = (self.steps / STEPS).checked_ilog2().map_or(0, |log| log.saturating_add(1));
        u8::try_from(power).unwrap_or(MOST_PATIENCE).min(MOST_PATIENCE)
    }

    /// The flow that fits alone, and how sure that is when it does so long enough.
    pub(super) fn sole(
        &mut self,
        (group, place, other): (&Group, Place, usize),
        me: &Member,
    ) -> (Option<usize>, Percent) {
        if group.sides.get(other).is_none_or(|side| side.is_cut) {
            return (None, 0);
        }
        match self.fits.as_slice() {
            [only] if self.unknown == 0 => (Some(*only), 95),
            [_, _, ..] => {
                // It goes through all of both sides.
                let members = group.sides.iter().map(|side| side.members.len()).sum::<usize>();
                self.steps = self.steps.saturating_add(u32::try_from(members / 8).unwrap_or(0));
                (same_port(group, (place, other), me, &self.fits), 90)
            }
            _ => (None, 0),
        }
    }

    fn add(&mut self, index: usize, verdict: Option<Verdict>, is_made: bool) {
        let count = |(newest, count): &mut (Option<usize>, usize)| {
            (*newest, *count) = (Some(index), count.saturating_add(1));
        };
        if is_made {
            count(&mut self.by_port);
        }
        match verdict {
            Some(Verdict::Fits) => {
                self.fits.push(index);
                if is_made {
                    count(&mut self.by_both);
                }
            }
            Some(Verdict::RuledOut { is_near }) => {
                self.is_near |= is_near;
                self.ruled_out.push(index);
            }
            Some(Verdict::Unknown) => self.unknown = self.unknown.saturating_add(1),
            Some(Verdict::Silent) | None => {}
        }
    }
}

/// The UDP source port of a flow.
fn port_of(member: &Member, conn: &Conn) -> Option<u16> {
    member.port.or_else(|| conn.dirs[0].src_ports.first().copied())
}

/// Whether the port is the one that Linux makes of the queue pairs of both.
fn is_made(conn: &Conn, partner: &Conn, port: Option<u16>) -> bool {
    match (conn.dirs[0].key, partner.dirs[0].key) {
        (Some(a), Some(b)) => Some(port::of_queue_pairs(a.dest_qp(), b.dest_qp())) == port,
        _ => false,
    }
}

/// Of those that fit, the one that has the UDP source port of this flow, where no other flow has it,
/// neither this way nor the other.
fn same_port(
    group: &Group,
    (place, other): (Place, usize),
    me: &Member,
    fits: &[usize],
) -> Option<usize> {
    let port = me.port.filter(|_| group.has_some_ports_of_pairs())?;
    let with_port = |side: usize| {
        let members = group.sides.get(side).into_iter().flat_map(|side| side.members.iter());
        members
            .enumerate()
            .filter(move |(_, member)| member.as_ref().is_some_and(|m| m.port == Some(port)))
            .map(|(index, _)| index)
    };
    if with_port(place.side).take(2).count() != 1 {
        return None;
    }
    let mut partners = with_port(other);
    let partner = partners.next().filter(|_| partners.next().is_none())?;
    fits.contains(&partner).then_some(partner)
}
