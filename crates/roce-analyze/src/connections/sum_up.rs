//! What one direction of a connection comes to, once nothing more can come.

use core::num::NonZeroU32;

use roce_wire::Service;

use super::direction::{Direction, Times, flag};
use super::doubt::doubt_losses;
use super::key::is_datagram;
use super::proof::{Event, Proofs};
use super::rate::Rates;
use super::report::{
    DirectionReport, EcnReport, Loss, LostOrLate, MessageBytes, Messages, Naks, Retransmissions,
};
use super::timing::{Durations, Percentiles};
use super::trouble::Trouble;

/// The report of a direction.
pub(super) fn direction(
    this: &mut Direction,
    service: Service,
    is_mirrored: bool,
    end: Option<u64>,
) -> Box<DirectionReport> {
    let rates = this.take_rates().filter(|_| this.first_time.get().is_some());
    let (_, most_in_flight) = this.in_flight;
    let [send, write, read, atomic, flush] = this.messages_by_kind().map(u64::from);
    let [send_bytes, write_bytes] = this.message_bytes;
    let sizes = MessageBytes {
        send: send_bytes,
        write: write_bytes,
        read: this.read_bytes,
        // They are 8 bytes each.
        atomic: atomic.saturating_mul(8),
    };
    let data = this.ecn();
    let [data_dscps, cnp_dscps] = this.dscps();
    let mut report = Box::new(DirectionReport {
        packets: this.packets,
        bytes: this.bytes,
        payload_bytes: this.payload,
        goodput_bytes: this.goodput,
        messages: Messages { send, write, read, atomic, flush },
        message_bytes: sizes.total(),
        message_bytes_by_kind: sizes,
        acks: u64::from(this.acks),
        has_strange_answers: this.has(flag::UNMATCHED),
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
        first_frame: u32::try_from(this.first_frame).ok().and_then(NonZeroU32::new),
        ..DirectionReport::default()
    });
    if let Some(rates) = rates {
        add_rates(&mut report, &rates);
    }
    report.loss = Some(Loss::default());
    if let Some(times) = this.times.take() {
        add_times(&mut report, *times);
    }
    if let Some(trouble) = this.trouble.take() {
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
    report.max_reorder_depth = trouble.max_reorder_depth;
    report.reordered_after_capture = trouble.reordered_after;
    report.requests_behind_answers = u32::try_from(trouble.behind_answers).unwrap_or(u32::MAX);
    let [before_capture, after_capture] = trouble.lost_or_late;
    report.lost_or_late = Some(LostOrLate { before_capture, after_capture })
        .filter(|doubt| *doubt != LostOrLate::default())
        .map(Box::new);
    let [may_be_more_before, may_be_more_after] = trouble.may_be_more;
    let perhaps = trouble.perhaps_answers;
    let lost_before = trouble.lost_before.saturating_add(trouble.lost_again);
    report.loss = Some(Loss {
        before_capture: lost_before,
        after_capture: trouble.lost_after,
        not_captured: trouble.not_captured,
        unknown: trouble.lost_somewhere,
        perhaps_answers: u32::try_from(trouble.lost_after)
            .map_or(perhaps, |after| perhaps.min(after)),
        before_is_at_least: may_be_more_before && lost_before > 0,
        after_is_at_least: may_be_more_after && trouble.lost_after > 0,
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
        answers_lost_or_late: trouble.answers_gone.into(),
        unknown: u64::from(trouble.rounds_unknown),
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
pub(super) fn settle_both(dirs: &mut [Direction; 2], is_uc: bool, is_mirrored: bool) {
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
    for hole in trouble.request_holes.drain().filter(|hole| !hole.is_early) {
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
