//! Connections as the connection manager makes them: from REQ to DREP.

use std::collections::VecDeque;

use hashbrown::HashMap;
use roce_wire::mad::Management;
use roce_wire::mad::cm::{CmMessage, Dreq, Rep, Req, SidrRep, SidrReq};
use roce_wire::{Addr, Carrier, Gid, Packet, Qpn, Service};
use std::net::IpAddr;

use super::cm::{Ends, Exchange};
use super::connection::Conn;
use super::direction::flag;
use super::key::FlowKey;
use super::report::LearnedFrom;
use super::seen::Seen;
use super::tracker::Tracker;
use super::unreachable::Unreachable;

/// The host that asks and its id of the connection, or of the resolution of a service.
type ExchangeKey = (Addr, u32, bool);

/// Exchanges by who asked.
#[derive(Clone, Debug, Default)]
pub(super) struct CmTable {
    /// Where each is in the table of connections, and the number of the connection.
    slots: HashMap<ExchangeKey, (usize, u64), foldhash::fast::RandomState>,
    /// The same of the newest requests, by who asked and who was asked.
    asked: HashMap<(Addr, Addr), VecDeque<(usize, u64)>, foldhash::fast::RandomState>,
}

/// How many requests between two hosts an ICMP error may be about: the newest.
const MAX_ASKED: usize = 64;

impl CmTable {
    /// The connection is gone.
    pub(super) fn forget(&mut self, conn: &Conn) {
        if let Some((cm, host)) = conn.cm.as_ref().zip(conn.requester()) {
            // Whoever ended it stands for who asked when that was not captured.
            let peer = conn.peer_of_requester().unwrap_or(host);
            for host in [host, peer] {
                let exchange = (host, cm.local_comm_id, cm.is_sidr);
                self.forget_exchange(&exchange, conn.id);
            }
            if let Some(asked) = self.asked.get_mut(&(host, peer)) {
                asked.retain(|(_, id)| *id != conn.id);
                if asked.is_empty() {
                    self.asked.remove(&(host, peer));
                }
            }
        }
    }

    fn add(&mut self, exchange: ExchangeKey, peer: Option<Addr>, at: (usize, u64)) {
        self.slots.insert(exchange, at);
        if let Some(peer) = peer {
            let asked = self.asked.entry((exchange.0, peer)).or_default();
            if asked.len() >= MAX_ASKED {
                asked.pop_front();
            }
            asked.push_back(at);
        }
    }

    fn forget_exchange(&mut self, exchange: &ExchangeKey, id: u64) {
        if self.slots.get(exchange).is_some_and(|(_, known)| *known == id) {
            self.slots.remove(exchange);
        }
    }
}

impl Conn {
    /// The host that asked for the connection.
    fn requester(&self) -> Option<Addr> {
        let [there, back] = &self.dirs;
        there.key.map(|key| key.src()).or_else(|| back.key.map(|key| key.dst()))
    }
}

impl Tracker {
    /// A management datagram.
    pub(super) fn connection_manager(&mut self, packet: &Packet<'_>, key: &FlowKey, seen: &Seen) {
        let Ok(management) = Management::parse(packet.payload) else { return };
        let Some(message) = management.message else { return };
        match message {
            CmMessage::Req(req) => self.req(req, management.mad.transaction_id(), key, seen),
            CmMessage::Rep(rep) => self.rep(rep, key, seen),
            CmMessage::SidrReq(req) => {
                self.sidr_req(req, management.mad.transaction_id(), key, seen)
            }
            CmMessage::SidrRep(rep) => self.sidr_rep(rep, key, seen),
            other => self.other_message(&other, key, seen),
        }
    }

    /// The copy of a message that was captured before says nothing but that its exchange goes on.
    pub(super) fn copied_message(&mut self, packet: &Packet<'_>, key: &FlowKey, seen: &Seen) {
        let Ok(management) = Management::parse(packet.payload) else { return };
        let Some(message) = management.message else { return };
        let src = if let CmMessage::Req(req) = message { hosts_of(req, key).0 } else { key.src() };
        let local = message.local_comm_id().map(|id| (src, id.get(), false));
        let remote = message.remote_comm_id().map(|id| (key.dst(), id.get(), false));
        let asked = message.request_id().map(|id| (src, id.get(), true));
        let answered = message.request_id().map(|id| (key.dst(), id.get(), true));
        for exchange in [local, remote, asked, answered].into_iter().flatten() {
            if let Some(cm) = self.exchange(&exchange) {
                cm.last_time = cm.last_time.max(seen.time);
            }
        }
    }

    fn req(&mut self, req: &Req, transaction_id: u64, key: &FlowKey, seen: &Seen) {
        let ends = Ends::of_req(req);
        let (src, dst) = hosts_of(req, key);
        let exchange_key = (src, req.local_comm_id.get(), false);
        if let Some(cm) = self.exchange(&exchange_key)
            && cm.transaction_id == transaction_id
        {
            cm.req(seen.time);
            cm.note_frame(seen.frame, seen.time);
            return;
        }
        let mut cm = Exchange::of_req(req, transaction_id);
        cm.req(seen.time);
        cm.note_frame(seen.frame, seen.time);
        // Answers and requests of the other side will go to the queue pair that the REQ names.
        let back = key.between(src, dst).back_to_qp(ends.qpn);
        self.retire_flow(&back);
        let mut conn = self.new_exchange(cm, [None, Some(back)], ends.service, seen);
        // With this PSN the other side is to begin.
        conn.dirs[1].start = ends.start;
        conn.dirs[1].set(flag::START_KNOWN, true);
        if let Some(bytes) = req.path_mtu().bytes() {
            conn.pmtu.agree(bytes);
        }
        self.add_exchange(conn, exchange_key);
    }

    fn rep(&mut self, rep: &Rep, key: &FlowKey, seen: &Seen) {
        let (requester, comm_id) = (key.dst(), rep.remote_comm_id.get());
        let Some(slot) = self.slot_of(&(requester, comm_id, false)) else { return };
        let there = {
            let (table, ..) = self.parts();
            let Some(conn) = table.get_mut(slot) else { return };
            if let Some(cm) = &mut conn.cm {
                cm.rep(rep);
                cm.note_frame(seen.frame, seen.time);
            }
            if conn.dirs[0].key.is_some() {
                return;
            }
            conn.dirs[0].start = rep.starting_psn();
            conn.dirs[0].set(flag::START_KNOWN, true);
            conn.pairing = Some((LearnedFrom::Cm, 100));
            let Some(back) = conn.dirs[1].key else { return };
            back.back_to_qp(rep.local_qpn().get())
        };
        self.retire_flow(&there);
        self.awaited.remove(&there.hosts(), slot);
        let (table, ..) = self.parts();
        if let Some(conn) = table.get_mut(slot) {
            conn.dirs[0].key = Some(there);
            table.enter(slot, 0);
        }
    }

    fn other_message(&mut self, message: &CmMessage<'_>, key: &FlowKey, seen: &Seen) {
        let local = message.local_comm_id().map(|id| (key.src(), id.get(), false));
        let remote = message.remote_comm_id().map(|id| (key.dst(), id.get(), false));
        // The sender asked, or it was asked.
        let found = [(local, true), (remote, false)].into_iter().find_map(|(exchange, by)| {
            let exchange = exchange?;
            self.slot_of(&exchange).map(|_| (exchange, by))
        });
        let Some((exchange, from_requester)) = found else {
            if let CmMessage::Dreq(dreq) = message {
                self.unknown_dreq(dreq, key, seen);
            }
            return;
        };
        let Some(slot) = self.slot_of(&exchange) else { return };
        let (table, ..) = self.parts();
        let Some(conn) = table.get_mut(slot) else { return };
        if let Some(cm) = &mut conn.cm {
            cm.other(message, from_requester, (seen.frame, seen.time));
            cm.note_frame(seen.frame, seen.time);
            conn.is_over |= cm.is_over();
        }
    }

    /// The end of a connection whose beginning was not captured: it is told by its queue pair.
    fn unknown_dreq(&mut self, dreq: &Dreq, key: &FlowKey, seen: &Seen) {
        let exchange = (key.src(), dreq.local_comm_id.get(), false);
        let (table, cm, _) = self.parts();
        let Some(at) = table.find(&key.to_qp(dreq.remote_qpn().get())) else { return };
        let Some(conn) = table.get_mut(at.slot()) else { return };
        conn.is_over = true;
        let record = conn.cm.get_or_insert_with(|| {
            Box::new(Exchange {
                local_comm_id: dreq.local_comm_id.get(),
                remote_comm_id: Some(dreq.remote_comm_id.get()),
                ..Exchange::default()
            })
        });
        record.dreqs = record.dreqs.saturating_add(1);
        record.note_frame(seen.frame, seen.time);
        cm.slots.insert(exchange, (at.slot(), conn.id));
    }

    fn sidr_req(&mut self, req: &SidrReq, transaction_id: u64, key: &FlowKey, seen: &Seen) {
        let exchange_key = (key.src(), req.request_id.get(), true);
        if let Some(cm) = self.exchange(&exchange_key)
            && cm.transaction_id == transaction_id
        {
            cm.req(seen.time);
            cm.note_frame(seen.frame, seen.time);
            return;
        }
        let data = req.rdma_cm().map_or(&req.private_data[..], |(_, data)| data);
        let mut cm = Exchange {
            transaction_id,
            local_comm_id: req.request_id.get(),
            service_id: req.service_id.get(),
            port: req.service_id.port(),
            upper: super::upper::of(req.service_id, data),
            source_port: req.rdma_cm().map(|(header, _)| header.source_port()),
            p_key: Some(req.p_key.get()),
            is_sidr: true,
            ..Exchange::default()
        };
        cm.req(seen.time);
        cm.note_frame(seen.frame, seen.time);
        let conn =
            self.new_exchange(cm, [Some(key.to_qp(Qpn::GSI.get())), None], Service::Ud, seen);
        self.add_exchange(conn, exchange_key);
    }

    fn sidr_rep(&mut self, rep: &SidrRep, key: &FlowKey, seen: &Seen) {
        let Some(slot) = self.slot_of(&(key.dst(), rep.request_id.get(), true)) else { return };
        let (table, ..) = self.parts();
        let Some(conn) = table.get_mut(slot) else { return };
        let Some(cm) = &mut conn.cm else { return };
        cm.reps = cm.reps.saturating_add(1);
        cm.note_frame(seen.frame, seen.time);
        if rep.status.0 == 0 {
            cm.q_key = Some(rep.q_key.get());
            cm.sidr_qpn = Some(rep.qpn().get());
            conn.pairing = Some((LearnedFrom::Cm, 100));
        } else {
            cm.sidr_status = Some(rep.status.0);
        }
    }

    /// An ICMP error quotes a datagram: of the REQs from there to here that nobody has answered.
    pub(super) fn note_unreachable(&mut self, error: &Unreachable, number: u64) {
        let (table, cm, totals) = self.parts();
        if totals.unreachable.len() < super::totals::MAX_FRAMES {
            totals.unreachable.push((error.dst, number));
        }
        // One error is enough for each: those that it is about need not be found again.
        for (slot, id) in cm.asked.remove(&(error.src, error.dst)).unwrap_or_default() {
            let conn = table.get_mut(slot).filter(|conn| conn.id == id);
            if let Some(cm) = conn.and_then(|conn| conn.cm.as_mut()).filter(|cm| !cm.is_answered())
            {
                cm.unreachable.get_or_insert(number);
            }
        }
    }

    fn slot_of(&mut self, exchange: &ExchangeKey) -> Option<usize> {
        let (table, cm, _) = self.parts();
        let (slot, id) = cm.slots.get(exchange).copied()?;
        table.get(slot).is_some_and(|conn| conn.id == id).then_some(slot)
    }

    fn exchange(&mut self, exchange: &ExchangeKey) -> Option<&mut Exchange> {
        let slot = self.slot_of(exchange)?;
        let (table, ..) = self.parts();
        table.get_mut(slot)?.cm.as_deref_mut()
    }

    /// The flow belonged to a connection that is over.
    fn retire_flow(&mut self, key: &FlowKey) {
        let Some(at) = self.table.find(key) else { return };
        if let Some(conn) = self.table.remove(at.slot()) {
            self.forget_pairing(&conn, at.slot());
            self.retire(conn);
        }
    }

    fn new_exchange(
        &mut self,
        cm: Exchange,
        keys: [Option<FlowKey>; 2],
        service: Service,
        seen: &Seen,
    ) -> Conn {
        self.make_room();
        let mut conn = self.new_conn(keys, service);
        conn.first_seen = Some(Box::new((seen.frame, seen.time)));
        conn.cm = Some(Box::new(cm));
        conn
    }

    fn add_exchange(&mut self, conn: Conn, exchange: ExchangeKey) {
        if let Some(old) = self.slot_of(&exchange) {
            let (table, ..) = self.parts();
            // The same id for another request: the exchange before is over, its flows may go on.
            if let Some(conn) = table.get_mut(old)
                && conn.packets() == 0
                && let Some(conn) = table.remove(old)
            {
                self.forget_pairing(&conn, old);
                self.retire(conn);
            }
        }
        let (table, cm, _) = self.parts();
        let id = conn.id;
        let back = conn.dirs[1].key;
        let peer = conn.peer_of_requester();
        if let Some(slot) = table.add(conn) {
            cm.add(exchange, peer, (slot, id));
            if let Some(back) = back {
                self.awaited.add(&back, slot);
            }
        }
    }
}

impl Conn {
    fn peer_of_requester(&self) -> Option<Addr> {
        let [there, back] = &self.dirs;
        there.key.map(|key| key.dst()).or_else(|| back.key.map(|key| key.src()))
    }
}

/// The hosts that a REQ names, which need not be those that it travels between.
fn hosts_of(req: &Req, key: &FlowKey) -> (Addr, Addr) {
    let (local, remote) = (req.primary.local_gid, req.primary.remote_gid);
    if key.carrier() == Carrier::InfiniBand || local.is_zero() || remote.is_zero() {
        return (key.src(), key.dst());
    }
    (addr_of(local), addr_of(remote))
}

fn addr_of(gid: Gid) -> Addr {
    Addr::Ip(gid.ipv4().map_or(IpAddr::V6(gid.ipv6()), IpAddr::V4))
}
