//! The mode for a person: the answer first, then the GIDs it chooses among.

use std::io::{self, Write};

use anyhow::Result;
use roce_host::{ModeStatus, Obstacle, RoceMode};

use super::{Report, State};
use crate::devices::text::gids;
use crate::text::style::{ANSWER, DIM, WARN};
use crate::text::wrap::paragraph;

pub(super) fn write(out: &mut impl Write, report: &Report, width: usize) -> Result<()> {
    if report.dry_run {
        return Ok(paragraph(out, DIM, "", "Nothing was done: --dry-run.", width)?);
    }
    if report.wants_change {
        writeln!(out)?;
    }
    for (at, state) in report.ports.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        self::state(out, state, width)?;
    }
    if report.wants_change {
        lasts(out, report, width)?;
    }
    Ok(())
}

fn state(out: &mut impl Write, state: &State, width: usize) -> io::Result<()> {
    let port = &state.port;
    match &state.status {
        ModeStatus::Known { mode, text, tos } => {
            let name = match (mode, text) {
                (Some(mode), _) => mode.to_string(),
                (None, Some(text)) => format!("{text:?}, which this program does not know"),
                (None, None) => "a mode that the kernel does not name".to_owned(),
            };
            let tos = tos.map_or_else(String::new, |tos| format!(", ToS {tos}{}", dscp(tos)));
            let line = format!("{port}: RDMA_CM opens new connections with {name}{tos}.");
            paragraph(out, ANSWER, "", &line, width)?;
        }
        ModeStatus::Hidden(obstacle) => hidden(out, state, obstacle, width)?,
    }
    if let (Some(mode), Some(described)) = (state.mode(), &state.described)
        && !described.gids.offers(mode)
    {
        let text = format!("{port} has no GID of type {mode}: it can open no connection now.");
        paragraph(out, WARN, " - ", &text, width)?;
    }
    match &state.described {
        Some(described) => gids(out, described),
        None => Ok(()),
    }
}

fn hidden(
    out: &mut impl Write,
    state: &State,
    obstacle: &Obstacle,
    width: usize,
) -> io::Result<()> {
    let port = &state.port;
    let line = match state.kernel_default() {
        Some(default) => {
            format!(
                "{port}: {default}, the kernel's default, unless somebody has set another mode."
            )
        }
        None => format!("{port}: the mode is not known."),
    };
    paragraph(out, ANSWER, "", &line, width)?;
    paragraph(out, WARN, " - ", &format!("{obstacle}."), width)
}

fn dscp(tos: u8) -> String {
    if tos == 0 { String::new() } else { format!(" (DSCP {})", tos >> 2) }
}

/// How long a change lasts, and whom it concerns.
fn lasts(out: &mut impl Write, report: &Report, width: usize) -> io::Result<()> {
    let persists =
        report.steps.iter().any(|step| matches!(step, roce_host::Step::EnableUnit { .. }));
    let text = if persists {
        "Verified by reading back. systemd sets it again after a reboot. Connections that are open \
         keep what they have."
    } else {
        "Verified by reading back. It lasts until the device goes or the host reboots; --persist \
         keeps it. Connections that are open keep what they have."
    };
    writeln!(out)?;
    paragraph(out, DIM, "", text, width)?;
    if report.ports.iter().any(|state| state.mode() == Some(RoceMode::V1)) {
        let text = "RoCE v1 does not cross routers, and mixing versions is not supported: set \
                    both ends to v1.";
        paragraph(out, WARN, "", text, width)?;
    }
    Ok(())
}
