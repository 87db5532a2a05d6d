//! Which hardware counter counts which event on the wire.
//!
//! Sources: Linux `hw/mlx5/counters.c`, `hw/bnxt_re/hw_counters.c`, `sw/rxe/rxe_hw_counters.c`.
//! The soft-RoCE column was also compared with captures of known runs.

use std::fmt;

use crate::Counters;

/// An event that both a capture and an adapter can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WireEvent {
    /// NAK for a PSN sequence error, sent by this host as responder.
    SequenceNakSent,
    /// NAK for a PSN sequence error, received by this host as requester.
    SequenceNakReceived,
    /// A gap in READ responses, which stands for a NAK.
    ImpliedNak,
    /// A request that had been executed before: the other side sent it again.
    DuplicateRequest,
    /// No ACK came in time, so this host sends again.
    AckTimeout,
    /// RNR NAK sent by this host: no receive buffer was posted.
    RnrNakSent,
    /// RNR NAK received by this host.
    RnrNakReceived,
    /// This host gave up after its retries.
    RetriesExceeded,
    /// This host gave up after its retries on RNR NAKs.
    RnrRetriesExceeded,
    /// A packet with the ECN mark CE arrived.
    CeReceived,
    /// CNP sent.
    CnpSent,
    /// CNP received, and the flow was slowed down.
    CnpHandled,
    /// CNP received and not acted on.
    CnpIgnored,
    /// A packet with a wrong ICRC arrived.
    BadIcrc,
    /// A RoCE packet sent.
    PacketSent,
    /// A RoCE packet received.
    PacketReceived,
}

/// A set of counter names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterFamily {
    /// ConnectX-4 and later.
    Mlx5,
    /// Broadcom NetXtreme-E and Thor.
    BnxtRe,
    /// Linux soft-RoCE.
    Rxe,
}

impl CounterFamily {
    /// The family of a driver, named as in [`crate::RdmaDevice::driver`].
    #[must_use]
    pub fn of_driver(driver: &str) -> Option<Self> {
        match driver {
            "mlx5_core" | "mlx5_core.sf" => Some(Self::Mlx5),
            "bnxt_en" => Some(Self::BnxtRe),
            "rdma_rxe" => Some(Self::Rxe),
            _ => None,
        }
    }
}

/// One line of the table: an event and its counters in each family. Where several are named,
/// their sum counts the event; where none is, the family does not count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The event.
    pub event: WireEvent,
    /// Counters of ConnectX.
    pub mlx5: &'static [&'static str],
    /// Counters of Broadcom.
    pub bnxt_re: &'static [&'static str],
    /// Counters of soft-RoCE.
    pub rxe: &'static [&'static str],
}

impl Row {
    /// The counters of one family.
    #[must_use]
    pub const fn counters(&self, family: CounterFamily) -> &'static [&'static str] {
        match family {
            CounterFamily::Mlx5 => self.mlx5,
            CounterFamily::BnxtRe => self.bnxt_re,
            CounterFamily::Rxe => self.rxe,
        }
    }
}

/// The whole table.
#[rustfmt::skip] // One event a line, one family a column.
pub const TABLE: &[Row] = &[
    row(WireEvent::SequenceNakSent, &["out_of_sequence"], &["out_of_sequence"], &["out_of_seq_request"]),
    row(WireEvent::SequenceNakReceived, &["packet_seq_err"], &["packet_seq_err"], &["rcvd_seq_err"]),
    row(WireEvent::ImpliedNak, &["implied_nak_seq_err"], &["implied_nak_seq_err"], &[]),
    row(WireEvent::DuplicateRequest, &["duplicate_request"], &["duplicate_request"], &["duplicate_request"]),
    row(WireEvent::AckTimeout, &["local_ack_timeout_err"], &["local_ack_timeout_err"], &["completer_retry_err"]),
    row(WireEvent::RnrNakSent, &["out_of_buffer"], &["out_of_buffer"], &["send_rnr_err"]),
    row(WireEvent::RnrNakReceived, &["rnr_nak_retry_err"], &["rnr_nak_retry_err"], &["rcvd_rnr_err"]),
    row(WireEvent::RetriesExceeded, &["req_transport_retries_exceeded"], &["max_retry_exceeded"], &["retry_exceeded_err"]),
    row(WireEvent::RnrRetriesExceeded, &["req_rnr_retries_exceeded"], &[], &["retry_rnr_exceeded_err"]),
    row(WireEvent::CeReceived, &["np_ecn_marked_roce_packets"], &["np_ecn_marked_roce_packets"], &[]),
    row(WireEvent::CnpSent, &["np_cnp_sent"], &["np_cnp_pkts"], &[]),
    row(WireEvent::CnpHandled, &["rp_cnp_handled"], &["rp_cnp_handled"], &[]),
    row(WireEvent::CnpIgnored, &["rp_cnp_ignored"], &[], &[]),
    row(WireEvent::BadIcrc, &["rx_icrc_encapsulated"], &[], &[]),
    row(WireEvent::PacketSent, &[], &[], &["sent_pkts"]),
    row(WireEvent::PacketReceived, &[], &[], &["rcvd_pkts"]),
];

const fn row(
    event: WireEvent,
    mlx5: &'static [&'static str],
    bnxt_re: &'static [&'static str],
    rxe: &'static [&'static str],
) -> Row {
    Row { event, mlx5, bnxt_re, rxe }
}

/// How often an event happened between two snapshots, by the adapter's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCount {
    /// The event.
    pub event: WireEvent,
    /// The counters that count it, as named by the driver.
    pub counters: &'static [&'static str],
    /// How often; absent when a counter went back in between.
    pub count: Option<u64>,
}

/// The events that an adapter counted between two snapshots of its hardware counters, zeros
/// included. Events whose counters are not all in both snapshots are left out.
#[must_use]
pub fn counts(family: CounterFamily, before: &Counters, after: &Counters) -> Vec<EventCount> {
    let count = |row: &Row| {
        let counters = row.counters(family);
        let mut sum = Some(0_u64);
        for name in counters {
            let (before, after) = (before.get(name)?, after.get(name)?);
            let delta = after.checked_sub(before);
            sum = sum.zip(delta).map(|(sum, delta)| sum.saturating_add(delta));
        }
        (!counters.is_empty()).then_some(EventCount { event: row.event, counters, count: sum })
    };
    TABLE.iter().filter_map(count).collect()
}

impl WireEvent {
    /// The name used in machine-readable output.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::SequenceNakSent => "sequence_nak_sent",
            Self::SequenceNakReceived => "sequence_nak_received",
            Self::ImpliedNak => "implied_nak",
            Self::DuplicateRequest => "duplicate_request",
            Self::AckTimeout => "ack_timeout",
            Self::RnrNakSent => "rnr_nak_sent",
            Self::RnrNakReceived => "rnr_nak_received",
            Self::RetriesExceeded => "retries_exceeded",
            Self::RnrRetriesExceeded => "rnr_retries_exceeded",
            Self::CeReceived => "ce_received",
            Self::CnpSent => "cnp_sent",
            Self::CnpHandled => "cnp_handled",
            Self::CnpIgnored => "cnp_ignored",
            Self::BadIcrc => "bad_icrc",
            Self::PacketSent => "packet_sent",
            Self::PacketReceived => "packet_received",
        }
    }
}

impl fmt::Display for WireEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SequenceNakSent => "sequence-error NAKs sent",
            Self::SequenceNakReceived => "sequence-error NAKs received",
            Self::ImpliedNak => "implied NAKs (gaps in READ responses)",
            Self::DuplicateRequest => "duplicate requests received",
            Self::AckTimeout => "ACK timeouts",
            Self::RnrNakSent => "RNR NAKs sent",
            Self::RnrNakReceived => "RNR NAKs received",
            Self::RetriesExceeded => "retries exceeded",
            Self::RnrRetriesExceeded => "RNR retries exceeded",
            Self::CeReceived => "CE-marked packets received",
            Self::CnpSent => "CNPs sent",
            Self::CnpHandled => "CNPs received and handled",
            Self::CnpIgnored => "CNPs received and ignored",
            Self::BadIcrc => "packets with a bad ICRC received",
            Self::PacketSent => "packets sent",
            Self::PacketReceived => "packets received",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_once_and_no_counter_twice_in_a_family() {
        for family in [CounterFamily::Mlx5, CounterFamily::BnxtRe, CounterFamily::Rxe] {
            let mut names: Vec<_> = TABLE.iter().flat_map(|row| row.counters(family)).collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "{family:?}");
        }
        for (n, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..n].iter().all(|other| other.event != row.event), "{}", row.event);
        }
    }

    /// The names a 6.12 kernel's soft-RoCE shows.
    #[test]
    fn soft_roce_has_the_counters_named() {
        const SEEN: [&str; 16] = [
            "ack_deferred",
            "completer_retry_err",
            "duplicate_request",
            "lifespan",
            "link_downed",
            "out_of_seq_request",
            "rcvd_pkts",
            "rcvd_rnr_err",
            "rcvd_seq_err",
            "rdma_recvs",
            "rdma_sends",
            "retry_exceeded_err",
            "retry_rnr_exceeded_err",
            "send_err",
            "send_rnr_err",
            "sent_pkts",
        ];
        for name in TABLE.iter().flat_map(|row| row.rxe) {
            assert!(SEEN.contains(name), "{name}");
        }
    }
}
