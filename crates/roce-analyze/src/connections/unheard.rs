//! Requests whose answers are not known: what cannot be told without them.
//!
//! A requester that sends something again has heard a NAK, an RNR NAK or nothing. Which of them does
//! not show, nor whether anything was lost behind the capture point, when nothing that the other host
//! sends is captured, not on any connection; or when answers are there that belong to no requests,
//! and may belong to these.

use std::collections::HashSet;

use roce_wire::{Addr, Carrier, Service};

use super::outcome::GIVEN_UP;
use super::proof::without_answers;
use super::report::{Connection, DirectionReport, Loss, Outcome, Retransmissions};

/// One way between two hosts: from whom to whom, and the network.
type Way = (Addr, Addr, Carrier, Option<u16>, Option<u32>);

/// Takes back what only answers could tell, where they are not known.
pub(super) fn settle(connections: &mut [Connection]) {
    if !connections.iter().any(is_one_way) {
        return;
    }
    let heard: HashSet<(Addr, Addr)> = connections.iter().flat_map(heard).collect();
    let strange: HashSet<Way> = connections.iter().filter_map(strange).collect();
    for connection in connections.iter_mut().filter(|connection| is_one_way(connection)) {
        let back = way_back(connection);
        let (from, to, ..) = back;
        if !heard.contains(&(from, to)) {
            take_back(connection);
        } else if connection.learned_from.is_none() && strange.contains(&back) {
            take_back_told(connection);
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

/// The way that the answers to a connection of one direction take.
fn way_back(connection: &Connection) -> Way {
    let Connection { a, b, carrier, vlan, tunnel_id, .. } = *connection;
    let (from, to) = if connection.a_to_b.packets > 0 { (b, a) } else { (a, b) };
    (from.addr, to.addr, carrier, vlan, tunnel_id)
}

/// The way of answers that belong to no requests.
fn strange(connection: &Connection) -> Option<Way> {
    let is_strange = connection.directions().into_iter().any(|way| way.has_strange_answers);
    if !is_one_way(connection) || connection.learned_from.is_some() || !is_strange {
        return None;
    }
    let (from, to, carrier, vlan, tunnel_id) = way_back(connection);
    Some((to, from, carrier, vlan, tunnel_id))
}

/// No answers were captured at all.
fn take_back(connection: &mut Connection) {
    take_back_told(connection);
    let tries = connection.directions().into_iter().filter_map(|d| d.unanswered_tries).max();
    if tries.is_some_and(|tries| tries >= GIVEN_UP) {
        connection.outcome = Outcome::Unanswered;
    }
}

/// The answers may have been captured, or they were not.
fn take_back_told(connection: &mut Connection) {
    for direction in [&mut connection.a_to_b, &mut connection.b_to_a] {
        if direction.retransmitted_packets > 0 {
            take_back_causes(direction);
        }
    }
    if matches!(connection.outcome, Outcome::RetryExceeded | Outcome::Stalled) {
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
        ..
    } = *direction.retransmissions;
    let all = [nak_driven, gap_driven, rnr_driven, timeout_driven, unknown];
    let unknown = all.into_iter().fold(0, u64::saturating_add);
    let rounds = Retransmissions { unknown, go_back_n, selective, ..Retransmissions::default() };
    direction.retransmissions = rounds.into();
    direction.duplicate_requests = 0;
    let without_after =
        |loss| Loss { after_capture: 0, perhaps_answers: 0, after_is_at_least: false, ..loss };
    direction.loss = direction.loss.map(without_after);
    direction.lost_or_late = None;
    let proofs = std::mem::take(&mut direction.proofs).into_vec();
    direction.proofs = without_answers(proofs).collect();
}
