//! The verdict's host pairs as CSV: one line for each direction and way of carrying.

use std::io::Write;

use anyhow::Result;
use roce_analyze::verdict::{CARRIERS, Direction};
use roce_wire::Addr;

use super::Report;

pub(super) fn write(out: &mut impl Write, report: &Report<'_>) -> Result<()> {
    writeln!(out, "src,dst,version,packets,first_frame")?;
    for pair in report.verdict.pairs.iter() {
        direction(out, pair.a, pair.b, &pair.a_to_b)?;
        direction(out, pair.b, pair.a, &pair.b_to_a)?;
    }
    Ok(())
}

fn direction(out: &mut impl Write, src: Addr, dst: Addr, way: &Direction) -> Result<()> {
    for ((carrier, packets), first) in CARRIERS.into_iter().zip(way.packets).zip(way.first_frame) {
        if packets > 0 {
            writeln!(out, "{src},{dst},{},{packets},{first}", carrier.key())?;
        }
    }
    Ok(())
}
