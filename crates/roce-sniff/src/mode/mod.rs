//! `roce-sniff mode`: which RoCE RDMA_CM opens connections with, shown and set.

mod json;
mod text;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use roce_host::{
    Change, Host, ModeStatus, Plan, Port, PortRef, RoceMode, Step, Target, Unit, parse_tos,
};

use crate::Outcome;
use crate::cli::{Format, OutputArgs};
use crate::devices::host_at;
use crate::printer;
use crate::text::layout::csv;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff mode                          the mode of every RoCE port
  roce-sniff mode mlx5_0 --set v1          set it, step by step, and read it back
  roce-sniff mode mlx5_0/1 --set v2 --set-tos 106 --persist   also after a reboot
  roce-sniff mode mlx5_0 --set v1 --dry-run   only say what would be done")]
pub(crate) struct ModeArgs {
    /// An RDMA device such as mlx5_0, or one port of it such as mlx5_0/1
    #[arg(value_name = "DEVICE[/PORT]")]
    pub(crate) target: Option<Target>,
    /// Open new connections with this version: v1 or v2, in any spelling of the manuals
    #[arg(long, value_name = "MODE")]
    pub(crate) set: Option<RoceMode>,
    /// Give new connections this type of service, 0 to 255: DSCP times four, and 2 for ECT(0)
    #[arg(long, value_name = "TOS", value_parser = parse_tos)]
    pub(crate) set_tos: Option<u8>,
    /// Write a systemd unit that sets it again after a reboot
    #[arg(long)]
    pub(crate) persist: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Work on the files of a host below this directory instead of /
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A port and what is known of it.
struct State {
    port: PortRef,
    status: ModeStatus,
    /// The port as sysfs describes it; absent when it went away meanwhile.
    described: Option<Port>,
}

/// All there is to report.
struct Report {
    ports: Vec<State>,
    /// The steps to a change, in order.
    steps: Vec<Step>,
    wants_change: bool,
    dry_run: bool,
}

pub(crate) fn run(args: &ModeArgs) -> Result<Outcome> {
    let host = host_at(&args.root)?;
    let wants_change = args.set.is_some() || args.set_tos.is_some();
    if !wants_change && (args.persist || args.dry_run) {
        bail!("--persist and --dry-run go with --set or --set-tos");
    }
    let mut out = printer::open(args.output.color);
    let shows_steps = args.output.format == Format::Text && !args.output.quiet;
    let (ports, steps) = if wants_change {
        let plan = plan(&host, args)?;
        apply(&mut out, args, &plan, shows_steps)?;
        (plan.ports, plan.steps)
    } else {
        (ports(&host, args.target.as_ref())?, Vec::new())
    };
    let states = ports.into_iter().map(|port| State::of(&host, port)).collect::<Result<_>>()?;
    let report = Report { ports: states, steps, wants_change, dry_run: args.dry_run };
    if !args.output.quiet {
        match args.output.format {
            Format::Text => text::write(&mut out, &report, printer::width())?,
            Format::Json => json::write(&mut out, &report)?,
            Format::Csv => write_csv(&mut out, &report)?,
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// Does the steps, or only shows them.
fn apply(out: &mut impl Write, args: &ModeArgs, plan: &Plan, shows: bool) -> Result<()> {
    if args.dry_run {
        for step in plan.steps.iter().filter(|_| shows) {
            writeln!(out, "{step}")?;
        }
        return Ok(());
    }
    let mut printed = Ok(());
    let applied = plan.apply(&mut |step| {
        // A step is shown before it is done, so that a failure stands under its own step.
        if shows && printed.is_ok() {
            printed = writeln!(out, "{step}").and_then(|()| out.flush());
        }
    });
    applied.map_err(|failed| anyhow::anyhow!("{failed}"))?;
    Ok(printed?)
}

fn plan(host: &Host, args: &ModeArgs) -> Result<Plan> {
    let target = match &args.target {
        Some(target) => target.clone(),
        None => only_target(host)?,
    };
    let persist = if args.persist {
        let program = std::env::current_exe().context("--persist: cannot find this program")?;
        Some(Unit::new(&program, &target, args.set, args.set_tos))
    } else {
        None
    };
    Ok(host.plan(&target, &Change { mode: args.set, tos: args.set_tos, persist })?)
}

/// The one RoCE port there is; among several, the user has to choose.
fn only_target(host: &Host) -> Result<Target> {
    let ports = host.all_roce_ports()?;
    match ports.as_slice() {
        [port] => Ok(Target { device: port.device.clone(), port: Some(port.port) }),
        [] => bail!("no RoCE port on this host; `roce-sniff devices` lists what there is"),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            bail!("which of {}? Name a device or a port to set", names.join(", "))
        }
    }
}

fn ports(host: &Host, target: Option<&Target>) -> Result<Vec<PortRef>> {
    match target {
        Some(target) => Ok(host.roce_ports(target)?),
        None => match host.all_roce_ports()? {
            ports if ports.is_empty() => {
                bail!("no RoCE port on this host; `roce-sniff devices` lists what there is")
            }
            ports => Ok(ports),
        },
    }
}

impl State {
    fn of(host: &Host, port: PortRef) -> Result<Self> {
        let status = host.mode(&port)?;
        let described = host.rdma_device(&port.device)?.port(port.port).cloned();
        Ok(Self { port, status, described })
    }

    /// What the kernel starts with, by the GIDs there are.
    fn kernel_default(&self) -> Option<RoceMode> {
        self.described.as_ref().and_then(RoceMode::kernel_default)
    }

    /// The mode, where it can be read.
    const fn mode(&self) -> Option<RoceMode> {
        match self.status {
            ModeStatus::Known { mode, .. } => mode,
            ModeStatus::Hidden(_) => None,
        }
    }
}

fn write_csv(out: &mut impl Write, report: &Report) -> Result<()> {
    writeln!(out, "device,port,mode,tos,kernel_default")?;
    for state in &report.ports {
        let short = |mode: Option<RoceMode>| mode.map_or("", RoceMode::short);
        let tos = match state.status {
            ModeStatus::Known { tos: Some(tos), .. } => tos.to_string(),
            _ => String::new(),
        };
        let (mode, default) = (short(state.mode()), short(state.kernel_default()));
        let device = csv(&state.port.device);
        writeln!(out, "{device},{},{mode},{tos},{default}", state.port.port)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
