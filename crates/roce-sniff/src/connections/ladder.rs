//! One connection as a sequence diagram in text: time, both ends, what went which way, and why.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use anyhow::Result;
use roce_analyze::connections::{Connection, DirectionReport, Milliseconds, OverTime};
use roce_capture::Frame as Captured;
use roce_wire::{AckKind, Addr, Ecn, Frame, IcrcState, Net, Packet, Ports, Qpn};

use super::table::{end, micros, version};
use super::{ConnectionsArgs, rates};
use crate::drive::{Sink, Took, Trace, drive, parse};
use crate::printer;
use crate::source::Source;
use crate::text::style::{ANSWER, BAD, DIM, WARN};
use crate::text::wrap::{Line, paragraph};

/// A silence of this many nanoseconds gets a line of its own.
const GAP: u64 = 10_000_000;

/// Reads the source again for the frames of one connection: draws them, writes them where that is
/// asked for. Returns how much went each way, millisecond by millisecond.
pub(super) fn show(
    source: &Source,
    args: &ConnectionsArgs,
    connection: &Connection,
    is_drawn: bool,
) -> Result<(Trace, [Option<OverTime>; 2])> {
    let mut out = printer::open(args.output.color);
    let width = printer::width();
    if is_drawn {
        head(&mut out, connection, width)?;
    }
    let why = why(connection);
    let (milliseconds, start, last) = Default::default();
    let mut ladder = Ladder { connection, why, out, width, is_drawn, milliseconds, start, last };
    let trace = drive(source, &args.source, args.output.quiet, &mut ladder)?;
    ladder.out.flush()?;
    Ok((trace, ladder.milliseconds.map(Milliseconds::finish)))
}

/// What stands above the diagram.
fn head(out: &mut printer::Out, connection: &Connection, width: usize) -> io::Result<()> {
    let head = format!(
        "Connection {}: {} {}, {} ↔ {}, {}.",
        connection.id,
        version(connection.carrier),
        connection.service,
        end(&connection.a),
        end(&connection.b),
        connection.outcome.key().replace('_', " ")
    );
    paragraph(out, ANSWER, "", &head, width)?;
    rates::write(out, connection, width)?;
    let lane = lane(width);
    writeln!(out, "\n{:>8} {:>12}  {:<lane$}{:>lane$}", "frame", "time", "A", "B")
}

/// Columns in front of the diagram: frame and time.
const MARGIN: usize = 23;

/// Columns of each half of the diagram.
fn lane(width: usize) -> usize {
    (width.saturating_sub(MARGIN) / 2).clamp(20, 26)
}

/// What the engine says of single frames.
fn why(connection: &Connection) -> BTreeMap<u64, Vec<String>> {
    let mut why: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let ways = connection.directions().into_iter().zip([", A → B", ", B → A"]);
    let proofs = ways
        .flat_map(|(way, name): (&DirectionReport, _)| way.proofs.iter().map(move |p| (p, name)));
    for (proof, way) in proofs {
        if let Some(text) = proof.event.text() {
            let way = if proof.event.is_loss() { way } else { "" };
            why.entry(proof.frame).or_default().push(format!("{text}{way}"));
        }
    }
    why
}

struct Ladder<'l> {
    connection: &'l Connection,
    why: BTreeMap<u64, Vec<String>>,
    out: printer::Out,
    width: usize,
    /// Whether it is drawn, or the frames are only written to a file.
    is_drawn: bool,
    /// From A to B, from B to A.
    milliseconds: [Milliseconds; 2],
    start: Option<u64>,
    last: Option<u64>,
}

impl Sink for Ladder<'_> {
    fn frame(&mut self, captured: &Captured<'_>, ports: &Ports) -> Result<Took> {
        let skipped = Took { write: false, count: false };
        let span = self.connection.first_frame..=self.connection.last_frame;
        if !span.contains(&captured.number) {
            return Ok(skipped);
        }
        let frame = &parse(captured, ports);
        if !frame.is_roce() {
            return Ok(skipped);
        }
        let Some((net, packet)) = frame.packet() else { return Ok(skipped) };
        let Some(forth) = self.direction(captured.number, net, packet) else { return Ok(skipped) };
        let [there, back] = &mut self.milliseconds;
        let counted = if forth { there } else { back };
        counted.record(captured.time_ns, captured.wire_len);
        if self.is_drawn {
            self.rung(captured, frame, net, packet, forth)?;
        }
        Ok(Took { write: true, count: true })
    }
}

impl Ladder<'_> {
    /// Whether the packet goes from A to B; `None` when it is not of this connection.
    fn direction(&self, number: u64, net: &Net<'_>, packet: &Packet<'_>) -> Option<bool> {
        let Connection { a, b, carrier, cm, .. } = self.connection;
        if net.carrier() != *carrier {
            return None;
        }
        // What goes to a queue pair that nobody knows is of this connection only where that asks for
        // it.
        let asks = cm.as_ref().is_some_and(|cm| cm.frames.contains(&number));
        let to = |from: Addr, to: Addr, qpn: Option<u32>| {
            net.src() == from
                && net.dst() == to
                && qpn.map_or(asks, |qpn| packet.bth.dest_qp() == Qpn::new(qpn))
        };
        match (to(a.addr, b.addr, b.qpn), to(b.addr, a.addr, a.qpn)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    fn rung(
        &mut self,
        captured: &Captured<'_>,
        frame: &Frame<'_>,
        net: &Net<'_>,
        packet: &Packet<'_>,
        forth: bool,
    ) -> io::Result<()> {
        self.silence(captured.time_ns)?;
        let since = captured.time_ns.map(|now| now.saturating_sub(*self.start.get_or_insert(now)));
        let time = since.map_or_else(
            || "-".to_owned(),
            |ns| format!("{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000),
        );
        let margin = format!("{:>8} {time:>12}  ", captured.number);
        let text = what(packet);
        let lane = lane(self.width).saturating_mul(2).saturating_sub(4);
        let arrow = match forth {
            true => format!("──{text:─<lane$}─►"),
            false => format!("◄─{text:─>lane$}──"),
        };
        write!(self.out, "{margin}{arrow}")?;
        let column = margin.chars().count().saturating_add(arrow.chars().count());
        let mut notes = Vec::new();
        if net.traffic_class().map(Ecn::from_tos) == Some(Ecn::Ce) {
            notes.push((WARN, "CE"));
        }
        if frame.icrc_state() == Some(IcrcState::Bad) {
            notes.push((BAD, "ICRC wrong"));
        }
        let why = self.why.get(&captured.number).into_iter().flatten();
        notes.extend(why.map(|why| (WARN, why.as_str())));
        let (indent, width) = (MARGIN.saturating_add(2), self.width);
        let mut line = Line { out: &mut self.out, column, indent, width };
        let mut between = " ";
        for (style, note) in notes {
            line.put(between, style, note)?;
            between = ", ";
        }
        line.end()
    }

    /// A line for a long silence.
    fn silence(&mut self, now: Option<u64>) -> io::Result<()> {
        let last = std::mem::replace(&mut self.last, now);
        let silent = now.zip(last).map_or(0, |(now, last)| now.saturating_sub(last));
        if silent >= GAP {
            writeln!(self.out, "{:>21}  {DIM}⋮ {} without a packet{DIM:#}", "", micros(silent))?;
        }
        Ok(())
    }
}

/// The packet in few words.
fn what(packet: &Packet<'_>) -> String {
    let opcode = packet.bth.opcode.to_string();
    let opcode = opcode.split_once('_').map_or(opcode.as_str(), |(_, operation)| operation);
    let mut text = format!(" {opcode} {}", packet.bth.psn());
    if let Some(aeth) = packet.aeth {
        match aeth.syndrome().kind() {
            AckKind::Ack(_) => {}
            _ => text = format!(" {} {}", aeth.syndrome(), packet.bth.psn()),
        }
    }
    if packet.bth.ack_req() {
        text.push_str(" [A]");
    }
    text.push(' ');
    text
}
