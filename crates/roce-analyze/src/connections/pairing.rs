//! Which two flows are one connection, when the connection manager has not said so.
//!
//! The evidence, best first: an answer is to a request that was sent before it and not answered
//! yet, which rules partners out until one is left; the UDP source port, which Linux makes of both
//! queue pairs. Where two candidates fit equally well, nothing is said before one is ruled out.

use roce_wire::{Psn, Service};

use super::connection::{Conn, Percent};
use super::direction::{Direction, flag};
use super::key::HostPair;
use super::port;
use super::report::LearnedFrom;
use super::requests::WINDOW;
use super::seen::{Kind, Seen};
use super::table::{At, Table};
use super::unpaired::{Group, Member, Place, Unpaired};

/// The first frames of a capture. Of the queue pairs that are at work then not all have been seen
/// yet, so that the only one that fits need not be the right one.
pub(super) const FIRST_FRAMES: u64 = 4096;
/// PSNs below this are those of queue pairs that began at 0, all of them alike.
pub(super) const SMALL_PSN: u32 = 1 << 16;
/// How many answers in a row must fit one flow alone, where there may be more that the capture has
/// not shown yet, and where there are.
const SURE: u32 = 3;
const SURE_OF_RIVALS: u32 = 8;
/// How many candidates are looked at for every answer, on average: the more there are, the fewer
/// answers tell.
const STEPS: u32 = 64;
/// The rarest that answers are looked at, as a power of two.
const MOST_PATIENCE: u8 = 8;
/// After so many answers in a row that nobody asked for, what was ruled out is forgotten: the
/// capture has missed something.
const MISSES: u32 = 4;
/// How many flows may share a UDP source port that is taken for that of two queue pairs: one in 16384
/// of those that share one that everybody has fits by accident.
const MOST_SHARED: usize = 16;
/// With more candidates only answers are looked at.
const MANY: usize = 512;
/// With more candidates even a first answer is not: later ones are, if there are any.
const TOO_MANY: usize = 2048;
const FIRST_PATIENCE: u8 = 3;
/// With fewer candidates each that is near is one too many.
const FEW: u32 = 64;
/// How long requests that were sent before the capture began may be answered, in nanoseconds.
const YOUNG: u64 = 10_000_000;

/// The other direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub slot: usize,
    pub by: LearnedFrom,
    pub confidence: Percent,
    /// How many more answers must fit until it is sure.
    pub trial: u8,
}

/// What looking for it has come to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Pair(Pair),
    /// It is not known yet; of 2 to the power of `patience` answers one is worth looking at.
    Nothing {
        patience: u8,
    },
}

impl Pair {
    /// Whether it was there before the connection in `slot`.
    pub(super) fn is_older(&self, table: &Table, slot: usize) -> bool {
        let id = |slot| table.get(slot).map(|conn| conn.id);
        id(self.slot) < id(slot)
    }
}

/// What an answer says of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It has a request that this may answer.
    Fits,
    /// It has none.
    RuledOut {
        /// Whether another answer might have fit.
        is_near: bool,
    },
    /// It may have had one before the capture began.
    Unknown,
    /// It has no requests.
    Silent,
}

/// What looking at all candidates gave.
#[derive(Default)]
struct Look {
    fits: Vec<usize>,
    ruled_out: Vec<usize>,
    /// Candidates whose source port is the one that Linux makes of both queue pairs, the newest and
    /// how many.
    by_port: (Option<usize>, usize),
    /// The same of those that fit, too.
    by_both: (Option<usize>, usize),
    /// How many have the source port of this flow.
    shared: usize,
    unknown: usize,
    is_near: bool,
    steps: u32,
}

impl Unpaired {
    /// The one flow that fits `at`, on which `seen` has just come; at the end of the capture the
    /// last answer on it, after which nothing else will come.
    pub(super) fn find(
        &mut self,
        table: &Table,
        at: At,
        seen: &Seen,
        is_end: bool,
    ) -> Option<Found> {
        let conn = table.get(at.slot())?;
        let key = conn.dirs[0].key?;
        if conn.service == Service::Ud {
            return None;
        }
        let hosts = key.hosts();
        let (group, place) = self.group(&hosts, at.slot())?;
        let other = if hosts.is_one() { place.side } else { 1usize.saturating_sub(place.side) };
        let me = member(group, place)?;
        // A request tells by its UDP source port alone, and that of so many flows is of none.
        let candidates = group.sides.get(other).map_or(0, |side| side.members.len());
        if !is_answer(seen) && candidates > MANY {
            return None;
        }
        if conn.packets() == 0 && candidates > TOO_MANY {
            // So many at once are no queue pairs that have just begun.
            return Some(Found::Nothing { patience: FIRST_PATIENCE });
        }
        let mut look = look(table, (group, place, other), (conn, me), seen);
        let pair = |(index, by, confidence), trial| {
            let slot = member(group, Place { side: other, index })?.slot;
            Some(Found::Pair(Pair { slot, by, confidence, trial }))
        };
        if let Some(found) = look.found_by_port() {
            return pair(found, 0);
        }
        if !is_answer(seen) {
            return None;
        }
        let (sole, confidence) = look.sole((group, place, other), me);
        let sure = match (me.search.sole, sole) {
            (Some((before, sure)), Some(now)) if before == now => sure.saturating_add(1),
            _ => 1,
        };
        let has_rivals = me.search.has_rivals || look.is_near || look.fits.len() > 1;
        let is_spread = nearness(candidates, seen) < WINDOW.unsigned_abs();
        let more = answers_wanted(has_rivals, is_spread, seen).saturating_sub(sure);
        if let Some(index) = sole
            && (is_end || more == 0 || !has_rivals)
            && !is_contested(group, place, me, index)
        {
            let is_doubtful = has_rivals && more > 0;
            let confidence = if is_doubtful { 80 } else { confidence };
            let trial = if is_end { 0 } else { u8::try_from(more).unwrap_or(0) };
            return pair((index, LearnedFrom::Psn, confidence), trial);
        }
        let sole = sole.map(|sole| (sole, sure));
        let patience = self.note(&hosts, place, &look, (sole, has_rivals));
        Some(Found::Nothing { patience })
    }

    /// Remembers what was found out; returns how patient to be with more.
    fn note(
        &mut self,
        hosts: &HostPair,
        place: Place,
        look: &Look,
        (sole, has_rivals): (Option<(usize, u32)>, bool),
    ) -> u8 {
        self.rule_out(hosts, place, &look.ruled_out);
        let patience = look.patience();
        let Some(search) = self.search(hosts, place) else { return patience };
        search.sole = sole;
        search.has_rivals = has_rivals;
        if !look.fits.is_empty() || look.unknown > 0 {
            search.misses = 0;
            return patience;
        }
        search.misses = search.misses.saturating_add(1);
        let resets = search.resets;
        if search.misses >= MISSES {
            self.forget(hosts, place);
        }
        patience.max(resets.min(MOST_PATIENCE))
    }
}

/// How many answers in a row must fit the same flow alone. Where PSNs are spread over all there are
/// rivals are such by accident, and fit once at most.
const fn answers_wanted(has_rivals: bool, is_spread: bool, seen: &Seen) -> u32 {
    if has_rivals && !is_spread {
        SURE_OF_RIVALS
    } else if has_rivals || seen.frame <= FIRST_FRAMES || seen.psn.get() < SMALL_PSN {
        SURE
    } else {
        1
    }
}

/// Whether another flow that goes the same way may be the partner of the one at `index` as well.
fn is_contested(group: &Group, place: Place, me: &Member, index: usize) -> bool {
    let side = group.sides.get(place.side);
    let mut rivals = side.into_iter().flat_map(|side| &side.members).flatten();
    rivals.any(|rival| {
        rival.slot != me.slot && rival.search.sole.is_some_and(|(sole, _)| sole == index)
    })
}

pub(super) const fn is_answer(seen: &Seen) -> bool {
    matches!(seen.kind, Kind::Ack | Kind::AtomicAck | Kind::ReadResponse)
}

fn member(group: &Group, place: Place) -> Option<&Member> {
    group.sides.get(place.side)?.members.get(place.index)?.as_ref()
}

/// Looks at all that are not ruled out.
fn look(
    table: &Table,
    (group, place, other): (&Group, Place, usize),
    (conn, me): (&Conn, &Member),
    seen: &Seen,
) -> Look {
    let mut look = Look::default();
    let port = port_of(me, conn);
    let Some(side) = group.sides.get(other) else { return look };
    let near = nearness(side.members.len(), seen);
    for (word, members) in side.members.chunks(64).enumerate() {
        let gone = me.search.word(word);
        if gone == u64::MAX {
            continue;
        }
        for (bit, them) in members.iter().enumerate().filter(|(bit, _)| gone >> bit & 1 == 0) {
            let Some(them) = them.as_ref().filter(|them| them.slot != me.slot) else { continue };
            if them.search.rules_out(place.index) {
                continue;
            }
            let Some(partner) = table.get(them.slot) else { continue };
            look.steps = look.steps.saturating_add(1);
            let index = word.saturating_mul(64).saturating_add(bit);
            let theirs = (&partner.dirs[0], partner.service);
            let verdict = is_answer(seen).then(|| verdict(theirs, seen, near));
            let shares_port = port.is_some() && port == port_of(them, partner);
            look.shared = look.shared.saturating_add(usize::from(shares_port));
            look.add(index, verdict, shares_port && is_made(conn, partner, port));
        }
    }
    look
}

impl Look {
    /// The flow whose UDP source port says that it is the one, and how sure that is.
    fn found_by_port(&self) -> Option<(usize, LearnedFrom, Percent)> {
        if self.shared > MOST_SHARED {
            return None;
        }
        match (self.by_both, self.by_port) {
            ((Some(index), 1), _) => Some((index, LearnedFrom::Psn, 99)),
            (_, (Some(index), 1)) if self.fits.is_empty() => Some((index, LearnedFrom::Port, 80)),
            _ => None,
        }
    }

    /// The more there were to look at, the fewer answers are worth it: of 2 to the power of this many
    /// one.
    fn patience(&self) -> u8 {
        let power = (self.steps / STEPS).checked_ilog2().map_or(0, |log| log.saturating_add(1));
        u8::try_from(power).unwrap_or(MOST_PATIENCE).min(MOST_PATIENCE)
    }

    /// The flow that fits alone, and how sure that is when it does so long enough.
    fn sole(
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

/// How far apart PSNs are that may belong together though one does not answer the other. Where queue
/// pairs do not begin at 0 their PSNs are spread over all there are: the more of them there are, the
/// more are near to each other by accident.
fn nearness(members: usize, seen: &Seen) -> u32 {
    const PSNS: u32 = 1 << 24;
    let members = u32::try_from(members).unwrap_or(u32::MAX).max(1);
    let spread = (PSNS / 64).checked_div(members).unwrap_or(0);
    if seen.psn.get() < SMALL_PSN || members < FEW {
        return WINDOW.unsigned_abs();
    }
    spread.clamp(64, WINDOW.unsigned_abs())
}

/// Whether the flow has a request that this answers.
pub(super) fn fits(theirs: (&Direction, Service), seen: &Seen) -> bool {
    verdict(theirs, seen, 0) == Verdict::Fits
}

/// What an answer says of a flow that its requests may be in. What is up to `near` away may have been
/// asked for before the capture began.
fn verdict((theirs, service): (&Direction, Service), seen: &Seen, near: u32) -> Verdict {
    if service != seen.service && service != Service::Cnp {
        return Verdict::RuledOut { is_near: false };
    }
    if !theirs.has(flag::STARTED) {
        return Verdict::Silent;
    }
    let window = WINDOW.unsigned_abs();
    let [_, _, with_data @ ..] = theirs.messages;
    let wants_data = with_data.iter().any(|count| *count > 0);
    let behind = seen.psn.distance_from(end_of(theirs));
    if behind >= 0 {
        return Verdict::RuledOut { is_near: behind.unsigned_abs() <= near };
    }
    let (is_there, is_near) = (behind.unsigned_abs() <= window, behind.unsigned_abs() <= near);
    if !is_there || (matches!(seen.kind, Kind::ReadResponse | Kind::AtomicAck) && !wants_data) {
        return Verdict::RuledOut { is_near };
    }
    if !seen.psn.is_before(theirs.answered) {
        return Verdict::Fits;
    }
    let is_young = match (theirs.first_time, seen.time) {
        (Some(first), Some(now)) => now.saturating_sub(first) < YOUNG,
        _ => seen.frame.saturating_sub(theirs.first_frame) < FIRST_FRAMES,
    };
    let early = theirs.answered.distance_from(seen.psn).unsigned_abs();
    if is_young && early <= near && !theirs.has(flag::START_KNOWN) {
        Verdict::Unknown
    } else {
        Verdict::RuledOut { is_near }
    }
}

/// Behind the last PSN that its requests take; the last READ may take more than is known.
fn end_of(theirs: &Direction) -> Psn {
    let open = theirs.trouble.as_ref().and_then(|trouble| trouble.unknown_span);
    let end = open.map(|(psn, len)| psn.add(super::pmtu::longest_span(len, u32::MAX)));
    end.filter(|end| theirs.next.is_before(*end)).unwrap_or(theirs.next)
}

/// Of those that fit, the one that has the UDP source port of this flow, where no other flow has it,
/// neither this way nor the other.
fn same_port(
    group: &Group,
    (place, other): (Place, usize),
    me: &Member,
    fits: &[usize],
) -> Option<usize> {
    let port = me.port?;
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
