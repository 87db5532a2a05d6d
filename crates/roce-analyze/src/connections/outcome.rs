//! How a connection ended, and what is told of it.

use roce_wire::{Carrier, Psn, Service};

use super::connection::Conn;
use super::direction::{Direction, flag};
use super::disorder::settle_order;
use super::proof::Event;
use super::report::{Connection, End, Outcome};
use super::sum_up::{direction, settle_both};

/// How long an answer may take before its absence is told, in nanoseconds. Longer than the usual
/// local ACK timeouts.
const PATIENCE: u64 = 1_000_000_000;
/// The same of a request for a connection: RDMA_CM of Linux waits 4.096 us times 2^20 for the answer
/// (`CMA_CM_RESPONSE_TIMEOUT` of drivers/infiniband/core/cma.c).
const CM_PATIENCE: u64 = 4_294_967_296;
/// How often a request is sent in vain before silence after it is taken for giving up.
pub(super) const GIVEN_UP: u32 = 3;
/// How often a request is sent at most while nothing is heard: once, and as often again as the
/// three bits of the retry count can say.
const MOST_TRIES: u32 = 8;

/// Where a capture ends, or is so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaptureEnd {
    /// In nanoseconds.
    pub time: Option<u64>,
    /// The number of the last frame; `None` while the capture goes on.
    pub frame: Option<u64>,
}

/// What is told of a connection.
pub(super) fn report(conn: &mut Conn, end: CaptureEnd) -> Connection {
    conn.let_go();
    let outcome = outcome(conn, end);
    conn.dirs.iter_mut().for_each(take_back_losses);
    settle_order(&mut conn.dirs);
    let Conn { id, dirs, service, pmtu, pairing, fatal, cm, first_seen, .. } = conn;
    let (id, service, cm) = (*id, *service, cm.take());
    let is_mirrored = is_mirrored(dirs);
    settle_both(dirs, service == Service::Uc, is_mirrored);
    let [there, back] = dirs;
    let key = there.key.or_else(|| back.key.map(|key| key.back_to_qp(0)));
    let a = End {
        addr: key.map_or(roce_wire::Addr::Lid(0), |key| key.src()),
        qpn: back.key.map(|key| key.dest_qp()).or_else(|| there.key.and_then(|key| key.src_qp())),
        start_psn: start_psn(there),
    };
    let b = End {
        addr: key.map_or(roce_wire::Addr::Lid(0), |key| key.dst()),
        qpn: match &cm {
            Some(cm) if cm.is_sidr => cm.sidr_qpn,
            _ => there.key.map(|key| key.dest_qp()),
        },
        start_psn: start_psn(back),
    };
    let both = [&*there, &*back];
    let seen = |d: &&Direction| d.packets > 0;
    let first = both.into_iter().filter(seen).map(|d| (d.first_frame, d.first_time.get()));
    let first = first.chain(first_seen.as_deref().copied()).min_by_key(|(frame, _)| *frame);
    let last_ns = both.into_iter().filter_map(Direction::latest_time).max();
    let last_cm = cm.as_ref().and_then(|cm| cm.frames.last().copied());
    let last_frame = both.into_iter().filter(seen).map(|d| d.last_frame).chain(last_cm).max();
    Connection {
        id,
        carrier: key.map_or(Carrier::InfiniBand, |key| key.carrier()),
        vlan: key.and_then(|key| key.vlan()),
        tunnel_id: key.and_then(|key| key.tunnel_id()),
        service,
        a,
        b,
        owners: [None, None],
        learned_from: pairing.map(|(by, _)| by),
        confidence: pairing.map(|(_, percent)| percent),
        pmtu: pmtu.bytes(),
        pmtu_seen: pmtu.seen(),
        first_ns: first.and_then(|(_, time)| time),
        last_ns: last_ns.max(cm.as_ref().and_then(|cm| cm.last_time)),
        first_frame: first.map_or(0, |(frame, _)| frame),
        last_frame: last_frame.unwrap_or(0),
        outcome,
        fatal: fatal.as_deref().copied(),
        cm,
        is_mirrored,
        a_to_b: direction(there, service, is_mirrored, end.time),
        b_to_a: direction(back, service, is_mirrored, end.time),
    }
}

fn start_psn(direction: &Direction) -> Option<u32> {
    let known = flag::STARTED | flag::START_KNOWN;
    let first = direction.trouble.as_ref().and_then(|trouble| trouble.first_start);
    first.or((direction.flags & known != 0).then_some(direction.start)).map(Psn::get)
}

/// Two copies of nearly every frame are no fault of the network.
fn is_mirrored(both: &[Direction; 2]) -> bool {
    let copies = |d: &Direction| d.trouble.as_ref().map_or(0, |t| t.duplicate_frames);
    let (copies, packets) = both.iter().fold((0u64, 0u64), |(copied, all), d| {
        (copied.saturating_add(copies(d)), all.saturating_add(d.packets))
    });
    packets >= 8 && copies.saturating_mul(5) >= packets.saturating_mul(2)
}

fn outcome(conn: &Conn, end: CaptureEnd) -> Outcome {
    let [there, back] = &conn.dirs;
    if let Some(cm) = &conn.cm {
        if conn.packets() == 0 && !cm.is_answered() {
            let waits = cm.last_time.zip(end.time).map(|(last, end)| end.saturating_sub(last));
            // One REQ alone may still be answered; whoever sends it again has waited long enough.
            let is_early = cm.reqs <= 1
                && cm.unreachable.is_none()
                && waits.is_some_and(|waits| waits < CM_PATIENCE);
            return if is_early { Outcome::Unknown } else { Outcome::Unanswered };
        }
        if cm.rejected.is_some() || cm.sidr_status.is_some() {
            return Outcome::Rejected;
        }
    }
    let both = [(there, back), (back, there)];
    if let Some(outcome) = both.into_iter().find_map(|dirs| given_up(dirs, conn, end)) {
        return outcome;
    }
    if conn.is_over {
        return Outcome::Closed;
    }
    let stalled = [there, back].into_iter().any(|d| is_stalled(d, end.time));
    match conn.service {
        Service::Rc | Service::Xrc if !conn.is_paired() => Outcome::Unknown,
        _ if stalled => Outcome::Stalled,
        Service::Cnp => Outcome::Unknown,
        _ => Outcome::Open,
    }
}

/// Whether the requester of this direction repeated itself in vain and then fell silent.
fn given_up(
    (this, back): (&Direction, &Direction),
    conn: &Conn,
    end: CaptureEnd,
) -> Option<Outcome> {
    let trouble = this.trouble.as_ref()?;
    let (_, tries) = trouble.tries?;
    let waits = this.has(flag::ANSWER_DUE) || trouble.rnr.is_some();
    // Where the capture has answers, it may have been the requester that did not get them.
    if tries < if waits { GIVEN_UP } else { MOST_TRIES } {
        return None;
    }
    let silence = end.time.zip(this.latest_time()).map(|(end, last)| end.saturating_sub(last));
    if trouble.was_told_to_wait() {
        let silence = silence?;
        if trouble.rnr.is_none() && silence < PATIENCE {
            // It has tried once more, and waits for the answer.
            return None;
        }
        let timer = back.trouble.as_ref().and_then(|back| back.rnr_timer).unwrap_or(0);
        let wait = this.max_idle.max(u64::from(timer).saturating_mul(1_000));
        return (silence > wait.saturating_mul(2)).then_some(Outcome::RetryExceeded);
    }
    if trouble.is_alive && tries > MOST_TRIES {
        // Its answers start the count anew, and are not what the requester waits for.
        return Some(Outcome::Stalled);
    }
    // The waits between tries are alike: twice the longest silence so far is one too many.
    if silence? > this.max_idle.saturating_mul(2).max(1) {
        return Some(Outcome::RetryExceeded);
    }
    // Until then it may still be at it. When the capture ends with the last try, nothing tells.
    let is_last = conn.dirs.iter().any(|dir| Some(dir.last_frame) == end.frame);
    let is_last = is_last && !trouble.is_alive;
    is_last.then_some(Outcome::Stalled)
}

/// A peer that does not answer any more may have had all of the requests or none: neither that they were
/// lost nor that they came twice is proven.
fn take_back_losses(this: &mut Direction) {
    if let Some(trouble) = &mut this.trouble
        && trouble.rnr.is_none()
    {
        let unproven = trouble.unproven_losses;
        trouble.lost_after = trouble.lost_after.saturating_sub(unproven);
        let perhaps = u32::try_from(unproven).unwrap_or(u32::MAX);
        trouble.perhaps_answers = trouble.perhaps_answers.saturating_sub(perhaps);
        trouble.proofs.drop_last(Event::LostAfterCapture, unproven);
        let unproven = trouble.unproven_duplicates;
        trouble.duplicate_requests = trouble.duplicate_requests.saturating_sub(unproven);
    }
}

fn is_stalled(this: &Direction, end_of_capture: Option<u64>) -> bool {
    this.has(flag::ANSWER_DUE)
        && this
            .latest_time()
            .zip(end_of_capture)
            .is_some_and(|(last, end)| end.saturating_sub(last) > PATIENCE)
}

/// What one connection tells of another: hosts give up after the same number of tries. So a
/// connection that the capture leaves at that number has been given up as well.
pub(super) fn compare(connections: &mut [Connection]) {
    let tries = |c: &Connection| {
        [(c.a.addr, &c.a_to_b), (c.b.addr, &c.b_to_a)]
            .into_iter()
            .find_map(|(host, dir)| Some((host, dir.unanswered_tries?, dir.is_rnr_pending)))
    };
    let given_up: Vec<_> = connections
        .iter()
        .filter(|c| c.outcome == Outcome::RetryExceeded)
        .filter_map(tries)
        .take(1024)
        .collect();
    let is_at_it = |c: &&mut Connection| {
        matches!(c.outcome, Outcome::Open | Outcome::Stalled | Outcome::Unknown)
    };
    for connection in connections.iter_mut().filter(is_at_it) {
        if tries(connection).is_some_and(|known| given_up.contains(&known)) {
            connection.outcome = Outcome::RetryExceeded;
        }
    }
}
