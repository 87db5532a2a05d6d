//! `roce-sniff craft`: plays a scenario into a capture and writes the truth beside it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use roce_capture::{FileWriter, Frame, LinkType, WriterOptions, same_file};
use roce_craft::truth::Truth;
use roce_craft::{BUILTIN, Craft, Scenario, builtin};

use crate::Outcome;
use crate::printer::remark;
use crate::stop::Stop;
use crate::target::{Sink, Target};
use crate::text::number::{Bytes, plural};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff craft --list                          what comes built in
  roce-sniff craft rnr -o rnr.pcapng               a capture, and rnr.pcapng.truth.json
  roce-sniff craft --show rnr > mine.toml          a starting point for your own
  roce-sniff craft mine.toml -o mine.pcap --seed 7
  roce-sniff craft small-messages -o big.pcapng --connections 10000 --packets 100000000
  roce-sniff craft rnr -o - | tcpdump -n -r -

Both files get their names when they are whole: on Ctrl-C, or when a disk is full, whatever had
these names stays as it was. What goes to standard output or a pipe then ends with a whole frame.")]
pub(crate) struct CraftArgs {
    /// A scenario file, or the name of a built-in one
    #[arg(required_unless_present_any = ["list", "show"])]
    scenario: Option<String>,
    /// The capture to write: pcap when it ends in .pcap, else pcapng; `-` for standard output
    #[arg(short = 'o', long, value_name = "FILE", required_unless_present_any = ["list", "show"])]
    output: Option<PathBuf>,
    /// Where the truth goes, instead of FILE.truth.json; of standard output, a pipe or a device no
    /// truth is written but here
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
    let truth = args.truth.as_deref().filter(|path| path.as_os_str() != "-");
    for written in [Some(output.as_path()), truth].into_iter().flatten() {
        if same_file(Path::new(name), written) {
            bail!("{}: is the scenario that is being read", written.display());
        }
    }
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
    let text = match (read(name), builtin(name)) {
        (Ok(text), _) => text,
        (Err(_), Some(scenario)) => scenario.text.to_owned(),
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{name}: no such file and no such built-in scenario; see craft --list")
        }
        (Err(error), None) => return Err(error).with_context(|| format!("{name}: cannot read")),
    };
    Scenario::parse(&text).with_context(|| name.to_owned())
}

/// A scenario is short; what has no end is none.
fn read(name: &str) -> io::Result<String> {
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    let taken = File::open(name)?.take(MOST).read_to_string(&mut text)?;
    if u64::try_from(taken).unwrap_or(MOST) >= MOST {
        return Err(io::Error::other("longer than 1 MiB, so it is no scenario"));
    }
    Ok(text)
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
    let (target, sink) = Target::open(output)?;
    let has_one_name = args.truth.as_deref() == Some(output);
    if has_one_name && (!target.is_stream() || output.as_os_str() == "-") {
        bail!("--truth {}: is where the capture goes", output.display());
    }
    // Beside what keeps no file there is no place for the truth.
    let truth_path = match &args.truth {
        None if target.is_stream() => None,
        None => Some(beside(output)),
        Some(path) => Some(path.clone()),
    };
    let truth_target = truth_path.as_deref().map(Target::open).transpose()?;
    let options =
        WriterOptions { nanoseconds: !args.micros, uncached: true, ..WriterOptions::default() };
    let writer = match sink {
        Sink::File(file) => FileWriter::to_file(file, output, &options),
        Sink::Stdout => FileWriter::to_write(target.name(), Box::new(io::stdout()), &options),
    };
    let (truth, written) =
        write_frames(&scenario, writer, &stop).map_err(|error| target.explain(error))?;
    if stop.is_wanted() && !target.is_stream() {
        bail!("stopped: {} is not written", target.name());
    }
    let mut place = String::new();
    if let Some((truth_target, sink)) = truth_target {
        place = format!("; the truth is in {}", truth_target.name());
        write_truth(&truth, sink).with_context(|| {
            format!("{}: cannot write, so nothing is made", truth_target.name())
        })?;
        truth_target.publish()?;
    }
    let (name, frames) = (target.name(), plural(written, "frame", "frames"));
    target.publish()?;
    if !args.quiet {
        remark(&format!("{name}: {frames}, {}{place}", Bytes(truth.bytes)));
    }
    if stop.is_wanted() {
        remark("stopped before the end; the truth is that of the frames written");
    }
    Ok(Outcome::Done)
}

/// Writes the frames until the end or until the user wants to stop; the truth about those written,
/// and how many they are.
fn write_frames(scenario: &Scenario, mut writer: FileWriter, stop: &Stop) -> Result<(Truth, u64)> {
    let mut craft = Craft::new(scenario);
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
    Ok((craft.finish(), writer.finish()?))
}

fn write_truth(truth: &Truth, sink: Sink) -> io::Result<()> {
    let sink: Box<dyn Write> = match sink {
        Sink::File(file) => Box::new(file),
        Sink::Stdout => Box::new(io::stdout().lock()),
    };
    let mut out = BufWriter::new(sink);
    serde_json::to_writer_pretty(&mut out, truth)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn beside(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".truth.json");
    PathBuf::from(name)
}
