//! The tracker: takes frames one by one, and says in the end what happened.

use std::collections::VecDeque;

use roce_wire::{Content, Frame, IcrcFault, IcrcState, Net, Packet, Qpn, Service};

use super::awaited::Awaited;
use super::cm_track::CmTable;
use super::config::Config;
use super::connection::Conn;
use super::copies::Copies;
use super::key::FlowKey;
use super::log::LogRoom;
use super::merge;
use super::outcome::{self, CaptureEnd};
use super::proof::{Proofs, Room};
use super::report::{Connection, Evicted, Report};
use super::reuse::Restarts;
use super::seen::Seen;
use super::sighting::Sightings;
use super::strange::{Oddity, Sight};
use super::suspects::Suspects;
use super::table::Table;
use super::timing::Budget;
use super::totals::Totals;
use super::unheard;
use super::unpaired::Unpaired;
use super::unreachable;

/// Most series over time. One takes up to 10 kB.
const MAX_SERIES: u32 = 16_384;
/// Bytes of an ICRC.
const ICRC_LEN: u32 = 4;

/// Watches the connections of one capture.
///
/// ```
/// use roce_analyze::connections::{Config, Tracker};
/// use roce_wire::{Frame, Link, Ports};
///
/// let mut tracker = Tracker::new(Config::default());
/// let bytes = [0u8; 60];
/// let frame = Frame::parse(Link::Ethernet, &bytes, bytes.len(), &Ports::default());
/// tracker.observe(&frame, 1, Some(1_000));
/// let report = tracker.finish();
/// assert_eq!((report.totals.frames, report.connections.len()), (1, 0));
/// ```
#[derive(Clone, Debug)]
pub struct Tracker {
    pub(super) config: Config,
    pub(super) table: Table,
    pub(super) unpaired: Unpaired,
    /// Those that a REQ has asked for and no REP has answered.
    pub(super) awaited: Awaited,
    pub(super) log_room: LogRoom,
    pub(super) suspects: Suspects,
    pub(super) restarts: Restarts,
    cm: CmTable,
    /// Those that are over, whose numbers may be used again.
    finished: VecDeque<Connection>,
    /// Packets that will be looked up together.
    pub(super) waiting: Sightings,
    pub(super) totals: Totals,
    evicted: Evicted,
    pub(super) budget: Budget,
    pub(super) copies: Copies,
    next_id: u64,
    /// For the frames that prove something, where more than the first few are asked for.
    room: Option<Room>,
}

impl Tracker {
    /// A tracker that has seen nothing.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            table: Table::default(),
            unpaired: Unpaired::default(),
            awaited: Awaited::default(),
            log_room: LogRoom::default(),
            suspects: Suspects::default(),
            restarts: Restarts::default(),
            cm: CmTable::default(),
            finished: VecDeque::new(),
            waiting: Sightings::default(),
            totals: Totals::new(&config),
            evicted: Evicted::default(),
            budget: Budget { histograms: config.max_histograms, series: MAX_SERIES },
            copies: Copies::default(),
            next_id: 1,
            room: config.all_proofs.then(Room::new),
        }
    }

    /// Takes a frame: its number, from 1, and its time in nanoseconds since the epoch.
    ///
    /// Frames come in the order of the capture. Those that are not RoCE count too: flow control
    /// and errors about RoCE tell something. Returns whether it is RoCE, as [`Frame::is_roce`] does.
    pub fn observe(&mut self, frame: &Frame<'_>, number: u64, time_ns: Option<u64>) -> bool {
        let icrc = if self.config.check_icrc { frame.icrc_state() } else { None };
        self.observe_checked(frame, number, time_ns, icrc)
    }

    /// The same with an ICRC that was checked before; `None` when it was not.
    pub fn observe_checked(
        &mut self,
        frame: &Frame<'_>,
        number: u64,
        time_ns: Option<u64>,
        icrc: Option<IcrcState>,
    ) -> bool {
        self.follow_waiting();
        let totals = &mut self.totals;
        let len = u64::try_from(frame.wire_len()).unwrap_or(u64::MAX);
        totals.count_frame(number, time_ns, len, frame.is_cut());
        match &frame.content {
            Content::Packet(net, packet) => {
                let icrc = icrc.unwrap_or(IcrcState::Unchecked);
                return self.packet(frame, (net, packet), (number, time_ns), icrc);
            }
            Content::NoBth(no_bth) => {
                totals.cut_headers = totals.cut_headers.saturating_add(1);
                count_carrier(totals, no_bth.carrier);
                return true;
            }
            Content::Pfc(pfc) => {
                totals.pfc = totals.pfc.saturating_add(1);
                totals.flow_control.pfc(pfc, frame, number, time_ns);
            }
            Content::Pause(pause) => {
                totals.pause = totals.pause.saturating_add(1);
                totals.flow_control.pause(pause, frame, number, time_ns);
            }
            Content::Rejected(reject) => self.rejected_early(frame, number, *reject),
            Content::Other(_) => {
                totals.other = totals.other.saturating_add(1);
                self.other(frame, number);
            }
        }
        false
    }

    fn packet(
        &mut self,
        frame: &Frame<'_>,
        (net, packet): (&Net<'_>, &Packet<'_>),
        (number, time): (u64, Option<u64>),
        icrc: IcrcState,
    ) -> bool {
        if let Some(reject) = frame.rejection() {
            self.rejected(frame, (net, packet), number, reject);
            return false;
        }
        count_carrier(&mut self.totals, net.carrier());
        let key = FlowKey::of(frame, net, packet);
        let fault = self.count_icrc(frame, &key, number, icrc);
        let Some(mut seen) = Seen::of(frame, (net, packet), (number, time), icrc) else {
            // A vendor's own opcode on InfiniBand.
            self.totals.refused = self.totals.refused.saturating_add(1);
            return true;
        };
        seen.is_known_fault = fault.is_some_and(|fault| fault != IcrcFault::Unknown);
        if fault == Some(IcrcFault::Missing) && packet.icrc.is_some() {
            // What was taken for it is payload.
            seen.payload = seen.payload.saturating_add(ICRC_LEN);
        }
        seen.is_accepted_fault = fault == Some(IcrcFault::SoftRoceFlush);
        if packet.bth.dest_qp() == Qpn::GSI || packet.bth.dest_qp() == Qpn::SMI {
            self.totals.count_marks(&seen);
            self.management(packet, &key, &seen);
        } else {
            self.flow_out_of_line(&key, &seen);
        }
        true
    }

    /// Counts the state of the ICRC; says what is wrong with a wrong one.
    #[inline]
    fn count_icrc(
        &mut self,
        frame: &Frame<'_>,
        key: &FlowKey,
        number: u64,
        icrc: IcrcState,
    ) -> Option<IcrcFault> {
        let [ok, bad, unchecked] = &mut self.totals.icrc;
        match icrc {
            IcrcState::Ok => *ok = ok.saturating_add(1),
            IcrcState::Unchecked => *unchecked = unchecked.saturating_add(1),
            IcrcState::Bad => {
                *bad = bad.saturating_add(1);
                let ends = (key.src(), key.dst());
                return Some(self.totals.note_bad_icrc(frame, ends, number));
            }
        }
        None
    }

    fn management(&mut self, packet: &Packet<'_>, key: &FlowKey, seen: &Seen) {
        self.totals.management = self.totals.management.saturating_add(1);
        if seen.icrc == IcrcState::Bad && !seen.is_known_fault {
            return;
        }
        if let Some(repeat) = self.copies.begin(key, seen) {
            let copied = repeat.soon();
            self.copies.settle(seen, copied);
            if copied.is_some() {
                return self.copied_message(packet, key, seen);
            }
        }
        let is_gsi = packet.bth.dest_qp() == Qpn::GSI;
        if is_gsi && seen.q_key.is_some_and(|q_key| q_key != roce_wire::QKey::GSI.get()) {
            let sight = Sight {
                ends: Some((key.src(), key.dst())),
                frame: seen.frame,
                dest_qp: Some(key.dest_qp()),
                value: seen.q_key,
                is_missed: false,
            };
            self.totals.note_strange(Oddity::GsiQKey, &sight);
        }
        self.connection_manager(packet, key, seen);
    }

    /// A connection with the next number.
    pub(super) fn new_conn(&mut self, keys: [Option<FlowKey>; 2], service: Service) -> Conn {
        let id = self.next_id;
        self.next_id = id.saturating_add(1);
        self.conn_of(id, keys, service)
    }

    /// A connection with this number.
    pub(super) fn conn_of(&self, id: u64, keys: [Option<FlowKey>; 2], service: Service) -> Conn {
        let mut conn = Conn::new(id, keys, service);
        if let Some(room) = &self.room {
            for dir in &mut conn.dirs {
                dir.trouble().proofs = Proofs::with_room(room.clone());
            }
        }
        conn
    }

    /// A connection is over: what is left of it is its report.
    pub(super) fn retire(&mut self, mut conn: Conn) {
        self.cm.forget(&conn);
        self.finished.push_back(outcome::report(&mut conn, self.end()));
    }

    /// Where the capture is now.
    fn end(&self) -> CaptureEnd {
        CaptureEnd { time: self.totals.times.map(|(_, last)| last), frame: None }
    }

    /// Whatever is about to be added, there is room for it.
    pub(super) fn make_room(&mut self) {
        let max = self.config.max_connections.max(1);
        while self.table.len().saturating_add(self.finished.len()) >= max {
            let packets = if let Some(oldest) = self.finished.pop_front() {
                oldest.packets()
            } else if let Some(slot) = self.table.oldest()
                && let Some(mut conn) = self.table.remove(slot)
            {
                conn.let_go();
                self.forget_pairing(&conn, slot);
                self.cm.forget(&conn);
                conn.packets()
            } else {
                return;
            };
            self.evicted.connections = self.evicted.connections.saturating_add(1);
            self.evicted.packets = self.evicted.packets.saturating_add(packets);
        }
    }

    /// The connection is not to be paired any more.
    pub(super) fn forget_pairing(&mut self, conn: &Conn, slot: usize) {
        let hosts = conn.dirs.iter().find_map(|dir| dir.key).map(|key| key.hosts());
        if let Some(hosts) = hosts.filter(|_| conn.is_paired() && conn.trial > 0) {
            self.unpaired.end_trial(&hosts, slot);
        }
        if let Some(hosts) = hosts.filter(|_| !conn.is_paired()) {
            self.unpaired.remove(&hosts, slot);
            self.awaited.remove(&hosts, slot);
        }
    }

    /// What has nothing to do with RoCE but may speak of it.
    fn other(&mut self, frame: &Frame<'_>, number: u64) {
        if let Some(error) = unreachable::of(frame) {
            self.note_unreachable(&error, number);
        }
    }

    /// How many connections are being watched or were, and are remembered. The newest packets of
    /// [`Self::observe_plain`] may still wait to be looked up together, up to fifteen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len().saturating_add(self.finished.len())
    }

    /// Whether there is no connection yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.follow_waiting();
        let end = CaptureEnd { frame: Some(self.totals.last_frame), ..self.end() };
        self.conclude(end)
    }

    /// What was found so far, `silence` nanoseconds after the newest frame: the capture goes on, and
    /// what has no answer yet may have one soon.
    #[must_use]
    pub fn so_far(&self, silence: u64) -> Report {
        let mut this = self.clone();
        this.follow_waiting();
        let end = this.end();
        let time = end.time.map(|last| last.saturating_add(silence));
        this.conclude(CaptureEnd { time, ..end })
    }

    fn conclude(mut self, end: CaptureEnd) -> Report {
        self.totals.flow_control.end(self.totals.times);
        self.pair_at_end();
        self.pair_faulty();
        let mut connections: Vec<Connection> = self.finished.into();
        // What takes room in a report is in boxes: they go where the connections were.
        connections.reserve_exact(self.table.len());
        self.table.drain(|conn| connections.push(outcome::report(conn, end)));
        merge::datagrams(&mut connections);
        merge::answered_unseen(&mut connections);
        connections.sort_unstable_by_key(|conn| (conn.first_frame, conn.id));
        // Flows that turned out to be the other direction of a connection leave gaps.
        for (id, connection) in (1..).zip(&mut connections) {
            connection.id = id;
        }
        outcome::compare(&mut connections);
        unheard::settle(&mut connections);
        if self.totals.frames > 1 && end_is_beginning(&self.totals) {
            connections.iter_mut().for_each(Connection::forget_durations);
        }
        let lacks_proofs = self.room.is_some_and(|room| room.is_used_up());
        Report {
            connections,
            totals: self.totals,
            evicted: self.evicted,
            lacks_proofs,
            wire: None,
            milliseconds: None,
        }
    }

    pub(super) const fn parts(&mut self) -> (&mut Table, &mut CmTable, &mut Totals) {
        (&mut self.table, &mut self.cm, &mut self.totals)
    }
}

/// Whether all frames have the same time: then the capture does not tell any.
fn end_is_beginning(totals: &Totals) -> bool {
    totals.times.is_some_and(|(first, last)| first == last)
}

#[inline]
pub(super) fn count_carrier(totals: &mut Totals, carrier: roce_wire::Carrier) {
    let [v1, v2_ipv4, v2_ipv6, infiniband] = &mut totals.carriers;
    let count = match carrier {
        roce_wire::Carrier::V1 => v1,
        roce_wire::Carrier::V2Ipv4 => v2_ipv4,
        roce_wire::Carrier::V2Ipv6 => v2_ipv6,
        roce_wire::Carrier::InfiniBand => infiniband,
    };
    *count = count.wrapping_add(1);
}
