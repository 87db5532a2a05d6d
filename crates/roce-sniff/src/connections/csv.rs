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
        way.packets,
        way.bytes,
        way.payload_bytes,
        way.goodput_bytes,
        way.messages.send,
        way.messages.write,
        way.messages.read,
        way.messages.atomic,
        way.retransmitted_packets,
        way.missing_psns,
        way.loss.before_capture,
        way.loss.after_capture,
        way.out_of_order_packets,
        naks(way),
        way.rnr_naks,
        way.acks,
        way.cnps,
        way.ecn_ce,
        way.icrc_bad,
    ] {
        write!(out, ",{number}")?;
    }
    let times = way.completion_ns;
    let p50 = optional(times.and_then(|times| times.p50));
    let p99 = optional(times.and_then(|times| times.p99));
    writeln!(out, ",{p50},{p99}")
}
