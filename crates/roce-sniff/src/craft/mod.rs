//! `roce-sniff craft`: plays a scenario into a capture and writes the truth beside it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use roce_capture::{FileWriter, Frame, LinkType, WriterOptions};
use roce_craft::{BUILTIN, Craft, Scenario, builtin};

use crate::Outcome;
use crate::printer::{self, remark};
use crate::stop::Stop;
use crate::text::number::{Bytes, plural};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff craft --list                          what comes built in
  roce-sniff craft rnr -o rnr.pcapng               a capture, and rnr.pcapng.truth.json
  roce-sniff craft --show rnr > mine.toml          a starting point for your own
  roce-sniff craft mine.toml -o mine.pcap --seed 7
  roce-sniff craft small-messages -o big.pcapng --connections 10000 --packets 100000000")]
pub(crate) struct CraftArgs {
    /// A scenario file, or the name of a built-in one
    #[arg(required_unless_present_any = ["list", "show"])]
    scenario: Option<String>,
    /// The capture to write: .pcap or .pcapng
    #[arg(short = 'o', long, value_name = "FILE", required_unless_present_any = ["list", "show"])]
    output: Option<PathBuf>,
    /// Where the truth goes, instead of FILE.truth.json
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// The seed of everything random; the same file and seed give the same bytes
    #[arg(long)]
    seed: Option<u64>,
    /// Play this many connections: those of the scenario in turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    /// End after exactly this many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Microseconds instead of nanoseconds, in pcap
    #[arg(long)]
    micros: bool,
    /// List the built-in scenarios
    #[arg(long, conflicts_with = "show")]
    list: bool,
    /// Print a built-in scenario
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
    /// Say nothing
    #[arg(short = 'q', long)]
    quiet: bool,
}

pub(crate) fn run(args: &CraftArgs) -> Result<Outcome> {
    if args.list {
        return list();
    }
    if let Some(name) = &args.show {
        let Some(scenario) = builtin(name) else {
            bail!("{name}: no such built-in scenario; see --list");
        };
        io::stdout().lock().write_all(scenario.text.as_bytes())?;
        return Ok(Outcome::Done);
    }
    let (Some(name), Some(output)) = (&args.scenario, &args.output) else {
        bail!("name a scenario and, with -o, the capture to write");
    };
    play(args, load(name)?, output)
}

fn list() -> Result<Outcome> {
    let width = BUILTIN.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for scenario in BUILTIN {
        let parsed = Scenario::parse(scenario.text).with_context(|| scenario.name.to_owned())?;
        writeln!(out, "{:width$}  {}", scenario.name, parsed.question())?;
    }
    Ok(Outcome::Done)
}

/// The scenario in a file of this name, else the built-in one.
pub(crate) fn load(name: &str) -> Result<Scenario> {
    let text = match (fs::read_to_string(name), builtin(name)) {
        (Ok(text), _) => text,
        (Err(_), Some(scenario)) => scenario.text.to_owned(),
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{name}: no such file and no such built-in scenario; see craft --list")
        }
        (Err(error), None) => return Err(error).with_context(|| format!("{name}: cannot read")),
    };
    Scenario::parse(&text).with_context(|| name.to_owned())
}

fn play(args: &CraftArgs, mut scenario: Scenario, output: &Path) -> Result<Outcome> {
    if let Some(seed) = args.seed {
        scenario = scenario.with_seed(seed);
    }
    if let Some(connections) = args.connections {
        scenario = scenario.with_connections(connections);
    }
    if let Some(packets) = args.packets {
        scenario = scenario.with_packets(packets);
    }
    let stop = Stop::listen().context("cannot listen to signals")?;
    let options = WriterOptions { nanoseconds: !args.micros, ..WriterOptions::default() };
    let mut writer = FileWriter::create(output, &options)?;
    let mut craft = Craft::new(&scenario);
    while let Some(frame) = craft.next_frame() {
        writer.write(&Frame {
            number: frame.number,
            time_ns: Some(frame.time_ns),
            link_type: LinkType::ETHERNET,
            wire_len: u32::try_from(frame.wire_len).unwrap_or(u32::MAX),
            data: frame.bytes,
            interface: 0,
        })?;
        if frame.number.is_multiple_of(4096) && stop.is_wanted() {
            break;
        }
    }
    let truth = craft.finish();
    let written = writer.finish()?;
    let truth_path = args.truth.clone().unwrap_or_else(|| beside(output));
    let mut text = serde_json::to_vec_pretty(&truth)?;
    text.push(b'\n');
    fs::write(&truth_path, text)
        .with_context(|| format!("{}: cannot write", truth_path.display()))?;
    if !args.quiet {
        let frames = plural(written, "frame", "frames");
        let (capture, truth_file) = (output.display(), truth_path.display());
        remark(&format!(
            "{capture}: {frames}, {}; the truth is in {truth_file}",
            Bytes(truth.bytes)
        ));
    }
    if stop.is_wanted() {
        printer::remark("stopped before the end; the truth is that of the frames written");
    }
    Ok(Outcome::Done)
}

fn beside(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".truth.json");
    PathBuf::from(name)
}
