//! How a connection ended, and what is told of it.

use core::num::NonZeroU32;

use roce_wire::{Carrier, Service};

use super::connection::Conn;
use super::direction::{Direction, Times, flag};
use super::doubt::doubt_losses;
use super::key::is_datagram;
use super::proof::{Event, Proofs};
use super::rate::Rates;
use super::report::{
    Connection, DirectionReport, EcnReport, End, Loss, LostOrLate, MessageBytes, Messages, Naks,
    Outcome, Retransmissions,
};
use super::timing::{Durations, Percentiles};
use super::trouble::Trouble;

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
pub(super) fn report(mut conn: Conn, end: CaptureEnd) -> Connection {
    conn.let_go();
    let outcome = outcome(&conn, end);
    conn.dirs.iter_mut().for_each(take_back_losses);
    let Conn { id, mut dirs, service, pmtu, pairing, fatal, cm, first_seen, .. } = conn;
    let is_mirrored = is_mirrored(&dirs);
    settle_both(&mut dirs, service == Service::Uc, is_mirrored);
    let [there, back] = dirs;
    let key = there.key.or_else(|| back.key.map(|key| key.back_to_qp(0)));
    let a = End {
        addr: key.map_or(roce_wire::Addr::Lid(0), |key| key.src()),
        qpn: back.key.map(|key| key.dest_qp()).or_else(|| there.key.and_then(|key| key.src_qp())),
        start_psn: start_psn(&there),
    };
    let b = End {
        addr: key.map_or(roce_wire::Addr::Lid(0), |key| key.dst()),
        qpn: match &cm {
            Some(cm) if cm.is_sidr => cm.sidr_qpn,
            _ => there.key.map(|key| key.dest_qp()),
        },
        start_psn: start_psn(&back),
    };
    let both = [&there, &back];
    let seen = |d: &&Direction| d.packets > 0;
    let first = both.into_iter().filter(seen).map(|d| (d.first_frame, d.first_time));
    let first = first.chain(first_seen).min_by_key(|(frame, _)| *frame);
    let last_ns = both.into_iter().filter_map(|d| d.last_time).max();
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
        fatal,
        cm,
        is_mirrored,
        a_to_b: direction(there, service, is_mirrored, end.time),
        b_to_a: direction(back, service, is_mirrored, end.time),
    }
}

fn start_psn(direction: &Direction) -> Option<u32> {
    let known = flag::STARTED | flag::START_KNOWN;
    (direction.flags & known != 0).then(|| direction.start.get())
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
    if let Some(outcome) = [there, back].into_iter().find_map(|d| given_up(d, conn, end)) {
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
fn given_up(this: &Direction, conn: &Conn, end: CaptureEnd) -> Option<Outcome> {
    let trouble = this.trouble.as_ref()?;
    let (_, tries) = trouble.tries?;
    let waits = this.has(flag::ANSWER_DUE) || trouble.rnr.is_some();
    // Where the capture has answers, it may have been the requester that did not get them.
    if tries < if waits { GIVEN_UP } else { MOST_TRIES } {
        return None;
    }
    if trouble.is_alive && tries > MOST_TRIES {
        // Its answers start the count anew, and are not what the requester waits for.
        return Some(Outcome::Stalled);
    }
    let silence = end.time?.saturating_sub(this.last_time?);
    // The waits between tries are alike: twice the longest silence so far is one too many.
    if silence > this.max_idle.saturating_mul(2).max(1) {
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
        trouble.proofs.drop_last(Event::LostAfterCapture, unproven);
        let unproven = trouble.unproven_duplicates;
        trouble.duplicate_requests = trouble.duplicate_requests.saturating_sub(unproven);
    }
}

fn is_stalled(this: &Direction, end_of_capture: Option<u64>) -> bool {
    this.has(flag::ANSWER_DUE)
        && this
            .last_time
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

fn direction(
    mut this: Direction,
    service: Service,
    is_mirrored: bool,
    end: Option<u64>,
) -> Box<DirectionReport> {
    let rates = this.take_rates().filter(|_| this.first_time.is_some());
    let (_, most_in_flight) = this.in_flight;
    let [send, write, read, atomic, flush] = this.messages.map(u64::from);
    let [send_bytes, write_bytes, read_bytes] = this.message_bytes;
    let sizes = MessageBytes {
        send: send_bytes,
        write: write_bytes,
        read: read_bytes,
        // They are 8 bytes each.
        atomic: atomic.saturating_mul(8),
    };
    let data = this.ecn.map(u64::from);
    let [data_dscps, cnp_dscps] = this.dscps;
    let mut report = Box::new(DirectionReport {
        packets: this.packets,
        bytes: this.bytes,
        payload_bytes: this.payload,
        goodput_bytes: this.goodput,
        messages: Messages { send, write, read, atomic, flush },
        message_bytes: sizes.total(),
        message_bytes_by_kind: sizes,
        acks: u64::from(this.acks),
        ecn: EcnReport { data, ..EcnReport::default() },
        p_key: this.p_key(),
        q_key: this.q_key(),
        idle_gaps: u64::from(this.idle_gaps),
        max_idle_ns: Some(this.max_idle).filter(|idle| *idle > 0),
        max_in_flight_bytes: Some(u64::from(most_in_flight)).filter(|bytes| *bytes > 0),
        udp_src_ports: this.src_ports,
        has_more_src_ports: this.src_ports.has_more(),
        data_dscps,
        cnp_dscps,
        pcps: this.pcps,
        first_not_ect_frame: this.first_not_ect_frame(),
        ..DirectionReport::default()
    });
    if let Some(rates) = rates {
        add_rates(&mut report, &rates);
    }
    report.loss = Some(Loss::default());
    if let Some(times) = this.times {
        add_times(&mut report, *times);
    }
    if let Some(trouble) = this.trouble {
        let past = trouble.ce_since.zip(end).map(|(since, end)| end.saturating_sub(since) / 1_000);
        let past = past.map(|past| u32::try_from(past).unwrap_or(u32::MAX));
        report.unanswered_ce_us = past.and_then(NonZeroU32::new);
        add_trouble(&mut report, *trouble, is_mirrored);
    }
    if report.packets == 0 || is_datagram(service) {
        report.loss = None;
    }
    let [_, _, _, ce] = report.ecn.data;
    report.ecn_ce = ce.saturating_add(report.ecn.ack_ce).saturating_add(report.ecn.cnp_ce);
    report
}

fn add_rates(report: &mut DirectionReport, rates: &Rates) {
    report.peak_millisecond_bytes = Some(rates.peak_millisecond);
    report.peak_millisecond_ns = Some(rates.peak_at).filter(|_| rates.peak_millisecond > 0);
    // It is rounded up, and no second has more than all of them.
    report.peak_second_bytes = Some(rates.peak_second.min(report.bytes));
    report.over_time = rates.series.as_ref().map(|series| Box::new(series.told(true)));
    report.cnp_reaction = rates.reaction.as_ref().map_or_else(Box::default, |one| one.told());
}

fn add_times(report: &mut DirectionReport, times: Times) {
    report.ack_latency_ns = told(&times.ack_latency);
    report.completion_ns = told(&times.completion);
    report.read_response_ns = times.read_response.as_deref().and_then(told);
}

fn told(durations: &Durations) -> Option<Box<Percentiles>> {
    durations.percentiles().map(Box::new)
}

fn add_trouble(report: &mut DirectionReport, trouble: Trouble, is_mirrored: bool) {
    let [psn, invalid, access, operational, other] = trouble.naks.map(u64::from);
    report.retransmitted_packets = trouble.retransmitted;
    // A copy that only the mirror made was never executed.
    let copies = if is_mirrored { 0 } else { trouble.duplicate_frame_requests };
    report.duplicate_requests = trouble.duplicate_requests.saturating_add(copies);
    report.duplicate_packets = trouble.duplicate_frames;
    report.out_of_order_packets = trouble.out_of_order;
    report.max_reorder_depth = u64::from(trouble.max_reorder_depth);
    report.reordered_after_capture = trouble.reordered_after;
    let [before_capture, after_capture] = trouble.lost_or_late;
    report.lost_or_late = Some(LostOrLate { before_capture, after_capture })
        .filter(|doubt| *doubt != LostOrLate::default())
        .map(Box::new);
    report.loss = Some(Loss {
        before_capture: trouble.lost_before.saturating_add(trouble.lost_again),
        after_capture: trouble.lost_after,
        not_captured: trouble.not_captured,
        unknown: trouble.lost_somewhere,
    });
    report.missing_psns = trouble
        .lost_before
        .saturating_add(trouble.not_captured)
        .saturating_add(trouble.lost_somewhere);
    report.retransmissions = Retransmissions {
        nak_driven: u64::from(trouble.rounds_nak),
        gap_driven: u64::from(trouble.rounds_gap),
        rnr_driven: u64::from(trouble.rounds_rnr),
        timeout_driven: u64::from(trouble.rounds_timeout),
        unknown: 0,
        go_back_n: u64::from(trouble.go_back_n),
        selective: u64::from(trouble.selective),
    }
    .into();
    report.naks = Naks {
        psn_sequence_error: psn,
        invalid_request: invalid,
        remote_access_error: access,
        remote_operational_error: operational,
        other,
    }
    .into();
    report.rnr_naks = u64::from(trouble.rnr_naks);
    report.rnr_timer_ns = trouble.rnr_timer.map(|micros| u64::from(micros).saturating_mul(1000));
    report.rnr_stall_ns = trouble.rnr_stall;
    report.duplicate_acks = u64::from(trouble.duplicate_acks);
    report.cnps = u64::from(trouble.cnps);
    report.ecn.ack_ce = u64::from(trouble.ecn_ce_acks);
    report.ecn.cnp_ce = u64::from(trouble.ecn_ce_cnps);
    report.cnp_delay_ns = told(&trouble.cnp_delay);
    report.icrc_bad = u64::from(trouble.icrc_bad);
    report.ghost_packets = u64::from(trouble.ghosts);
    report.opcode_sequence_errors = trouble.sequence_errors;
    report.length_errors = trouble.length_errors;
    report.p_key_changes = trouble.p_key_changes;
    report.other_keys = trouble.other_keys;
    report.unanswered_tries = trouble.tries.map(|(_, tries)| tries);
    report.is_rnr_pending = trouble.rnr.is_some();
    report.proofs = Proofs::into_list(trouble.proofs);
}

/// What was left open in both directions.
fn settle_both(dirs: &mut [Direction; 2], is_uc: bool, is_mirrored: bool) {
    let [there, back] = dirs.each_mut().map(|direction| direction.trouble.as_deref_mut());
    let requests_lost = |other: Option<&Trouble>| other.is_some_and(|t| t.lost_after > 0);
    let [of_there, of_back] = [&there, &back].map(|trouble| requests_lost(trouble.as_deref()));
    let mut troubles = [there, back];
    for (trouble, requests_lost) in troubles.iter_mut().zip([of_back, of_there]) {
        if let Some(trouble) = trouble {
            settle(trouble, is_uc, requests_lost);
        }
    }
    if !is_mirrored {
        doubt_losses(troubles);
    }
}

/// What was left open: gaps that nothing filled.
fn settle(trouble: &mut Trouble, is_uc: bool, requests_lost: bool) {
    // A repeated request or the response to it: as long as no request was lost otherwise, it was
    // the response.
    if !requests_lost {
        trouble.lost_before = trouble.lost_before.saturating_add(trouble.lost_either);
        let (old, new) = (Event::LostEither, Event::LostBeforeCapture);
        trouble.proofs.turn_last(old, new, trouble.lost_either);
    }
    let mut proofs = Vec::new();
    for hole in trouble.request_holes.drain() {
        let len = u64::from(hole.len);
        if hole.asked_for && !is_uc {
            trouble.lost_before = trouble.lost_before.saturating_add(len);
            proofs.push((Event::LostBeforeCapture, hole.frame));
        } else {
            trouble.lost_somewhere = trouble.lost_somewhere.saturating_add(len);
            proofs.push((Event::PassedOver, hole.frame));
        }
    }
    for hole in trouble.skipped.drain().filter(|hole| hole.asked_for) {
        trouble.lost_again = trouble.lost_again.saturating_add(1);
        proofs.push((Event::LostBeforeCapture, hole.frame));
    }
    // The requester did not ask for these responses again: it has them.
    for hole in trouble.response_holes.drain().filter(|hole| hole.is_sure) {
        trouble.not_captured = trouble.not_captured.saturating_add(u64::from(hole.len));
        proofs.push((Event::NotCaptured, hole.frame));
    }
    for (event, frame) in proofs {
        trouble.proofs.note(event, frame);
    }
}
