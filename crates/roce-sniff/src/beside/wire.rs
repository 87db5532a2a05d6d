//! The events of a port as the wire shows them, to be put beside the adapter's own counts.

use std::collections::HashSet;
use std::net::IpAddr;

use roce_analyze::connections::{Config, Tracker};
use roce_capture::Frame as Captured;
use roce_host::events::WireEvent;
use roce_wire::{
    AckKind, Addr, Content, Ecn, Frame, IcrcState, NakCode, Net, Opcode, Packet, Version,
};

/// Connections that are remembered to tell requests that were executed before.
const MAX_CONNECTIONS: usize = 10_000;

pub(super) struct WireCounts {
    /// The port's own addresses.
    local: HashSet<IpAddr>,
    counts: [u64; EVENTS.len()],
    /// Packets of each version that the port sent and received: v1, v2.
    pub(super) sent: [u64; 2],
    pub(super) received: [u64; 2],
    /// Tells duplicate requests; there when the adapter counts them.
    tracker: Option<Box<Tracker>>,
}

/// What one packet can tell.
const EVENTS: [WireEvent; 10] = [
    WireEvent::PacketSent,
    WireEvent::PacketReceived,
    WireEvent::SequenceNakSent,
    WireEvent::SequenceNakReceived,
    WireEvent::RnrNakSent,
    WireEvent::RnrNakReceived,
    WireEvent::CnpSent,
    WireEvent::CnpHandled,
    WireEvent::CeReceived,
    WireEvent::BadIcrc,
];

impl WireCounts {
    /// Counts the packets of these addresses; `follows` the connections, too.
    pub(super) fn new(local: HashSet<IpAddr>, follows: bool) -> Self {
        let config = Config::default()
            .with_max_connections(MAX_CONNECTIONS)
            .with_max_histograms(0)
            .with_check_icrc(false);
        Self {
            local,
            counts: [0; EVENTS.len()],
            sent: [0; 2],
            received: [0; 2],
            tracker: follows.then(|| Box::new(Tracker::new(config))),
        }
    }

    /// Whether the counts are to be put beside the adapter's.
    pub(super) const fn follows(&self) -> bool {
        self.tracker.is_some()
    }

    #[inline]
    pub(super) fn frame(&mut self, captured: &Captured<'_>, frame: &Frame<'_>, is_bad: bool) {
        let Content::Packet(net, packet) = &frame.content else { return };
        if self.local.is_empty() {
            return;
        }
        if let Some(tracker) = &mut self.tracker {
            let icrc = Some(if is_bad { IcrcState::Bad } else { IcrcState::Ok });
            tracker.observe_checked(frame, captured.number, captured.time_ns, icrc);
        }
        let is_local = |addr| matches!(addr, Addr::Ip(ip) if self.local.contains(&ip));
        let (from_here, to_here) = (is_local(net.src()), is_local(net.dst()));
        if from_here {
            bump_version(&mut self.sent, net);
            self.bump(WireEvent::PacketSent);
            self.kind(
                packet,
                WireEvent::SequenceNakSent,
                WireEvent::RnrNakSent,
                WireEvent::CnpSent,
            );
        }
        if to_here {
            bump_version(&mut self.received, net);
            if is_bad {
                // Adapters drop it before they count it.
                return self.bump(WireEvent::BadIcrc);
            }
            self.bump(WireEvent::PacketReceived);
            self.kind(
                packet,
                WireEvent::SequenceNakReceived,
                WireEvent::RnrNakReceived,
                WireEvent::CnpHandled,
            );
            if net.traffic_class().is_some_and(|class| Ecn::from_tos(class) == Ecn::Ce) {
                self.bump(WireEvent::CeReceived);
            }
        }
    }

    fn kind(&mut self, packet: &Packet<'_>, nak: WireEvent, rnr: WireEvent, cnp: WireEvent) {
        match packet.aeth.map(|aeth| aeth.syndrome().kind()) {
            Some(AckKind::Nak(NakCode::PSN_SEQUENCE_ERROR)) => self.bump(nak),
            Some(AckKind::RnrNak(_)) => self.bump(rnr),
            _ if packet.bth.opcode == Opcode::CNP => self.bump(cnp),
            _ => {}
        }
    }

    fn bump(&mut self, event: WireEvent) {
        let counts = EVENTS.iter().zip(&mut self.counts);
        for (_, count) in counts.filter(|(one, _)| **one == event) {
            *count = count.saturating_add(1);
        }
    }

    /// What was counted; events that a capture cannot see are not in it.
    pub(super) fn counts(self) -> Vec<(WireEvent, u64)> {
        let mut counts: Vec<_> = EVENTS.into_iter().zip(self.counts).collect();
        let Some(tracker) = self.tracker else { return counts };
        let is_local = |addr: Addr| matches!(addr, Addr::Ip(ip) if self.local.contains(&ip));
        let mut duplicates = 0_u64;
        for connection in tracker.finish().connections {
            for (end, way) in
                [(connection.a, &connection.b_to_a), (connection.b, &connection.a_to_b)]
            {
                if is_local(end.addr) {
                    duplicates = duplicates.saturating_add(way.duplicate_requests);
                }
            }
        }
        counts.push((WireEvent::DuplicateRequest, duplicates));
        counts
    }
}

fn bump_version(counts: &mut [u64; 2], net: &Net<'_>) {
    let [v1, v2] = counts;
    match net.carrier().version() {
        Some(Version::V1) => *v1 = v1.saturating_add(1),
        Some(Version::V2) => *v2 = v2.saturating_add(1),
        None => {}
    }
}
