//! The report as data: schema `roce-sniff/connections/1`.

mod flow_control;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

pub use flow_control::Congestion;

use super::report::{Connection, End, Evicted, Exchange, OverTime, Owner, Report};

/// The name of the schema.
pub const SCHEMA: &str = "roce-sniff/connections/1";

/// A report as one document. Absent keys are unknown.
#[derive(Clone, Copy, Debug)]
pub struct Document<'r>(pub &'r Report);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { connections, evicted, wire, totals, milliseconds, lacks_proofs: _ } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", SCHEMA)?;
        entry(&mut map, "wire", wire.as_ref())?;
        map.serialize_entry("congestion", &Congestion(totals))?;
        entry(&mut map, "milliseconds", milliseconds.as_deref().map(Both).as_ref())?;
        map.serialize_entry("connections", connections)?;
        let Evicted { connections, packets } = evicted;
        map.serialize_entry("evicted", &Lost { connections: *connections, packets: *packets })?;
        // Of a flow that never had a right one: their numbers may be what is wrong.
        let elsewhere = Some(totals.icrc_bad_elsewhere).filter(|packets| *packets > 0);
        entry(&mut map, "icrc_bad_elsewhere", elsewhere.as_ref())?;
        map.end()
    }
}

/// What is known of both directions.
struct Both<'r>(&'r [Option<OverTime>; 2]);

impl Serialize for Both<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [a_to_b, b_to_a] = self.0;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "a_to_b", a_to_b.as_ref())?;
        entry(&mut map, "b_to_a", b_to_a.as_ref())?;
        map.end()
    }
}

#[derive(Serialize)]
struct Lost {
    connections: u64,
    packets: u64,
}

/// An end and who has it.
struct Owned<'r>(&'r End, Option<&'r Owner>);

impl Serialize for Owned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(end, owner) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("addr", &end.addr.to_string())?;
        entry(&mut map, "qpn", end.qpn.as_ref())?;
        entry(&mut map, "start_psn", end.start_psn.as_ref())?;
        entry(&mut map, "process", owner.and_then(|owner| owner.process.as_ref()))?;
        entry(&mut map, "pid", owner.and_then(|owner| owner.pid.as_ref()))?;
        entry(&mut map, "cm_port", owner.and_then(|owner| owner.cm_port.as_ref()))?;
        map.end()
    }
}

impl Serialize for Connection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("version", self.carrier.key())?;
        map.serialize_entry("service", self.service.name())?;
        let [of_a, of_b] = self.owners.each_ref().map(Option::as_deref);
        map.serialize_entry("a", &Owned(&self.a, of_a))?;
        map.serialize_entry("b", &Owned(&self.b, of_b))?;
        entry(&mut map, "vlan", self.vlan.as_ref())?;
        entry(&mut map, "tunnel_id", self.tunnel_id.as_ref())?;
        entry(&mut map, "learned_from", self.learned_from.map(|by| by.key()).as_ref())?;
        let confidence = self.confidence.map(|percent| f64::from(percent) / 100.0);
        entry(&mut map, "confidence", confidence.as_ref())?;
        entry(&mut map, "pmtu", self.pmtu.as_ref())?;
        entry(&mut map, "first_ns", self.first_ns.as_ref())?;
        entry(&mut map, "last_ns", self.last_ns.as_ref())?;
        map.serialize_entry("frames", &[self.first_frame, self.last_frame])?;
        map.serialize_entry("outcome", self.outcome.key())?;
        if let Some((code, frame)) = self.fatal {
            map.serialize_entry("ended_by", &Fatal { nak: code.to_string(), frame })?;
        }
        if self.is_mirrored {
            map.serialize_entry("mirrored", &true)?;
        }
        entry(&mut map, "cm", self.cm.as_ref().map(|cm| Cm(cm, self)).as_ref())?;
        map.serialize_entry("a_to_b", &self.a_to_b)?;
        map.serialize_entry("b_to_a", &self.b_to_a)?;
        map.end()
    }
}

#[derive(Serialize)]
struct Fatal {
    nak: String,
    frame: u64,
}

/// An entry when the value is known.
fn entry<M: SerializeMap, T: Serialize>(
    map: &mut M,
    key: &'static str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

/// An exchange, and the connection that it was about.
struct Cm<'r>(&'r Exchange, &'r Connection);

impl Serialize for Cm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cm = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", if cm.is_sidr { "SIDR" } else { "REQ" })?;
        map.serialize_entry("transaction_id", &cm.transaction_id)?;
        map.serialize_entry("service_id", &cm.service_id)?;
        entry(&mut map, "port", cm.port.as_ref())?;
        entry(&mut map, "application", cm.upper.as_ref())?;
        entry(&mut map, "source_port", cm.source_port.as_ref())?;
        entry(&mut map, "predicted_udp_src_port", cm.predicted_src_port.as_ref())?;
        entry(&mut map, "is_udp_src_port_as_predicted", self.1.is_port_as_predicted().as_ref())?;
        map.serialize_entry("local_comm_id", &cm.local_comm_id)?;
        entry(&mut map, "remote_comm_id", cm.remote_comm_id.as_ref())?;
        map.serialize_entry("retries", &cm.retries())?;
        for (name, count) in [
            ("reqs", cm.reqs),
            ("mras", cm.mras),
            ("reps", cm.reps),
            ("rtus", cm.rtus),
            ("dreqs", cm.dreqs),
            ("dreps", cm.dreps),
        ] {
            map.serialize_entry(name, &count)?;
        }
        if let Some(rejected) = cm.rejected {
            map.serialize_entry("reason", &rejected.reason.get())?;
            map.serialize_entry("reason_text", &rejected.reason.to_string())?;
            let by = if rejected.by_requester { "requester" } else { "responder" };
            map.serialize_entry("rejected_by", by)?;
        }
        entry(&mut map, "reason", cm.sidr_status.as_ref())?;
        self.parameters(&mut map)?;
        map.serialize_entry("frames", &cm.frames)?;
        entry(&mut map, "unreachable_frame", cm.unreachable.as_ref())?;
        map.end()
    }
}

impl Cm<'_> {
    /// What the messages say of the connection to be.
    fn parameters<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let cm = self.0;
        entry(map, "path_mtu", cm.path_mtu.as_ref())?;
        entry(map, "retry_count", cm.retry_count.as_ref())?;
        entry(map, "rnr_retry_count", cm.rnr_retry_count.as_ref())?;
        entry(map, "responder_rnr_retry_count", cm.rnr_retry_count_of_responder.as_ref())?;
        entry(map, "ack_timeout_ns", cm.ack_timeout.as_ref())?;
        entry(map, "responder_resources", cm.responder_resources.as_ref())?;
        entry(map, "initiator_depth", cm.initiator_depth.as_ref())?;
        entry(map, "p_key", cm.p_key.as_ref())?;
        entry(map, "q_key", cm.q_key.as_ref())?;
        entry(map, "setup_ns", cm.setup.as_ref())
    }
}

/// Whether there is nothing to tell.
pub(super) fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// The numbers of the bits that are set.
pub(super) fn bits<S: Serializer>(set: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    for number in (0u32..64).filter(|number| set.checked_shr(*number).unwrap_or(0) & 1 == 1) {
        list.serialize_element(&number)?;
    }
    list.end()
}

/// The same of eight bits.
pub(super) fn bits_of_byte<S: Serializer>(set: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    bits(&u64::from(*set), serializer)
}

/// Counts by ECN codepoint.
pub(super) fn by_ecn<S: Serializer>(counts: &[u64; 4], serializer: S) -> Result<S::Ok, S::Error> {
    let names = ["not_ect", "ect1", "ect0", "ce"];
    serializer.collect_map(names.into_iter().zip(counts))
}
