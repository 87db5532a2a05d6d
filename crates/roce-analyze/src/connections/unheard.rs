//! Captures of one direction only: what cannot be told without the answers.
//!
//! A requester that sends something again has heard a NAK, an RNR NAK or nothing. When nothing that
//! the other host sends is captured, not on any connection, then which of them does not show, nor
//! whether anything was lost behind the capture point.

use std::collections::HashSet;

use roce_wire::{Addr, Service};

use super::outcome::GIVEN_UP;
use super::proof::{Event, Proof};
use super::report::{Connection, DirectionReport, Loss, Outcome, Retransmissions};

/// Takes back what only answers could tell, where there are none.
pub(super) fn settle(connections: &mut [Connection]) {
    if !connections.iter().any(is_one_way) {
        return;
    }
    let heard: HashSet<(Addr, Addr)> = connections.iter().flat_map(heard).collect();
    for connection in connections.iter_mut().filter(|connection| is_one_way(connection)) {
        let (a, b) = (connection.a.addr, connection.b.addr);
        let back = if connection.a_to_b.packets > 0 { (b, a) } else { (a, b) };
        if !heard.contains(&back) {
            take_back(connection);
        }
    }
}

fn is_one_way(connection: &Connection) -> bool {
    matches!(connection.service, Service::Rc | Service::Xrc)
        && connection.packets() > 0
        && !connection.is_two_way()
}

/// From whom to whom anything was captured.
fn heard(connection: &Connection) -> impl Iterator<Item = (Addr, Addr)> {
    let (a, b) = (connection.a.addr, connection.b.addr);
    let is_answered = connection.cm.as_ref().is_some_and(|cm| cm.is_answered());
    // A is who asks for a connection.
    let forth = connection.a_to_b.packets > 0 || connection.cm.is_some();
    forth
        .then_some((a, b))
        .into_iter()
        .chain((connection.b_to_a.packets > 0 || is_answered).then_some((b, a)))
}

fn take_back(connection: &mut Connection) {
    for direction in [&mut connection.a_to_b, &mut connection.b_to_a] {
        if direction.retransmitted_packets > 0 {
            take_back_causes(direction);
        }
    }
    let tries = connection.directions().into_iter().filter_map(|d| d.unanswered_tries).max();
    if tries.is_some_and(|tries| tries >= GIVEN_UP) {
        connection.outcome = Outcome::Unanswered;
    } else if matches!(connection.outcome, Outcome::RetryExceeded | Outcome::Stalled) {
        connection.outcome = Outcome::Unknown;
    }
}

fn take_back_causes(direction: &mut DirectionReport) {
    let Retransmissions {
        nak_driven,
        gap_driven,
        rnr_driven,
        timeout_driven,
        unknown,
        go_back_n,
        selective,
    } = *direction.retransmissions;
    let all = [nak_driven, gap_driven, rnr_driven, timeout_driven, unknown];
    let unknown = all.into_iter().fold(0, u64::saturating_add);
    let rounds = Retransmissions { unknown, go_back_n, selective, ..Retransmissions::default() };
    direction.retransmissions = rounds.into();
    direction.duplicate_requests = 0;
    direction.loss = direction.loss.map(|loss| Loss { after_capture: 0, ..loss });
    direction.lost_or_late = None;
    let mut proofs = std::mem::take(&mut direction.proofs).into_vec();
    proofs.retain(|proof| !matches!(proof.event, Event::LostAfterCapture | Event::LostOrLate));
    for Proof { event, .. } in &mut proofs {
        if matches!(
            event,
            Event::RetransmittedOnNak
                | Event::RetransmittedOnGap
                | Event::RetransmittedOnRnr
                | Event::RetransmittedOnTimeout
        ) {
            *event = Event::Retransmitted;
        }
    }
    direction.proofs = proofs.into();
}
