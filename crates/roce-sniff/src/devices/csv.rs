//! The GID tables as CSV, one line for each GID.

use std::io::Write;

use anyhow::Result;

use super::Report;
use crate::text::layout::csv;

pub(super) fn write(out: &mut impl Write, report: &Report) -> Result<()> {
    writeln!(out, "device,port,index,gid,type,netdev")?;
    for device in &report.topology.devices {
        for port in &device.ports {
            for entry in &port.gids.entries {
                writeln!(
                    out,
                    "{},{},{},{},{},{}",
                    csv(&device.name),
                    port.number,
                    entry.index,
                    entry.gid,
                    csv(&entry.kind.to_string()),
                    csv(entry.netdev.as_deref().unwrap_or_default())
                )?;
            }
        }
    }
    Ok(())
}
