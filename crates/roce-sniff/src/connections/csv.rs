//! Connections as CSV: one line for each direction.

use std::io::{self, Write};

use roce_analyze::connections::{Connection, DirectionReport, End, Report};

use super::table::naks;

pub(super) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "id,version,service,outcome,src,src_qpn,dst,dst_qpn,packets,bytes,payload_bytes,\
         goodput_bytes,sends,writes,reads,atomics,retransmitted_packets,missing_psns,\
         lost_before_capture,lost_after_capture,out_of_order_packets,naks,rnr_naks,acks,cnps,\
         ecn_ce,icrc_bad,completion_p50_ns,completion_p99_ns"
    )?;
    for connection in &report.connections {
        let Connection { a, b, .. } = connection;
        direction(out, connection, a, b, &connection.a_to_b)?;
        direction(out, connection, b, a, &connection.b_to_a)?;
    }
    Ok(())
}

fn direction(
    out: &mut impl Write,
    connection: &Connection,
    src: &End,
    dst: &End,
    way: &DirectionReport,
) -> io::Result<()> {
    let optional = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let qpn = |end: &End| optional(end.qpn.map(u64::from));
    write!(
        out,
        "{},{},{},{},{},{},{},{}",
        connection.id,
        connection.carrier.key(),
        connection.service,
        connection.outcome.key(),
        src.addr,
        qpn(src),
        dst.addr,
        qpn(dst)
    )?;
    for number in [
        Some(way.packets),
        Some(way.bytes),
        Some(way.payload_bytes),
        Some(way.goodput_bytes),
        Some(way.messages.send),
        Some(way.messages.write),
        Some(way.messages.read),
        Some(way.messages.atomic),
        Some(way.retransmitted_packets),
        Some(way.missing_psns),
        way.loss.map(|loss| loss.before_capture),
        way.loss.map(|loss| loss.after_capture),
        Some(way.out_of_order_packets),
        Some(naks(way)),
        Some(way.rnr_naks),
        Some(way.acks),
        Some(way.cnps),
        Some(way.ecn_ce),
        Some(way.icrc_bad),
    ] {
        write!(out, ",{}", optional(number))?;
    }
    let times = way.completion_ns.as_ref();
    let p50 = optional(times.and_then(|times| times.p50));
    let p99 = optional(times.and_then(|times| times.p99));
    writeln!(out, ",{p50},{p99}")
}
