//! What can be typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::devices::DevicesArgs;
use crate::mode::ModeArgs;
use crate::ping::PingArgs;
use crate::probe::ProbeArgs;
use crate::send::SendArgs;

const EXAMPLES: &str = "\
Examples:
  roce-sniff eth2                      which RoCE is on eth2? Ctrl-C ends it
  roce-sniff trace.pcapng              the same of a file: pcap, pcapng, ERF, gzip, zstd
  tcpdump -i eth2 -w - | roce-sniff -  the same of a stream
  roce-sniff -i mlx5_0                 an RDMA device: traffic that bypasses the kernel
  roce-sniff trace.pcap --expect v2    for scripts: exit code 1 unless it is all v2
  roce-sniff packets trace.pcap        a line per packet; -V every field, -x every byte
  roce-sniff connections trace.pcap    did it come up, what was lost, how long did it take?
  roce-sniff check trace.pcap          what is wrong, and what to do

Exit codes:
  0  done; with --expect, as expected
  1  the wire disagrees with --expect, check found what it is to fail on, or a probe no answer
  2  wrong usage, unreadable input, missing permission, no such interface";

/// Says which RoCE is on the wire: v1 or v2, over IPv4 or IPv6, and whether both ends agree.
#[derive(Parser, Debug)]
#[command(name = "roce-sniff", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// A line per packet; -V an indented tree of every field
    Packets(PacketsArgs),
    /// A row per connection, both directions; --id N one as a ladder
    Connections(crate::connections::ConnectionsArgs),
    /// What is wrong on this wire, with proof, and what to do
    Check(crate::check::CheckArgs),
    /// Plays a scenario into a capture, with the truth beside it
    Craft(crate::craft::CraftArgs),
    /// Edits a capture: names, marks, versions, tunnels, payloads; or makes it anonymous
    Rewrite(Box<crate::rewrite::RewriteArgs>),
    /// RDMA devices and interfaces of this host, and how to capture each
    Devices(DevicesArgs),
    /// Shows or sets which RoCE RDMA_CM opens connections with
    Mode(ModeArgs),
    /// Asks a host whether its RDMA connection manager answers, and in which RoCE
    Probe(ProbeArgs),
    /// Measures how long an RDMA_CM server takes to connect and to disconnect
    Ping(PingArgs),
    /// Puts the frames of a capture or a scenario on an interface, at a given rate
    Send(SendArgs),
    /// Prints the man page or a shell's completions
    Generate(GenerateArgs),
}

#[derive(Args, Debug)]
pub(crate) struct VerdictArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Exit with 1 unless the wire is as expected
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<Expect>,
    /// Time between updates of a live capture
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(crate) interval: Duration,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  roce-sniff packets trace.pcap             a line per packet
  roce-sniff packets -V -c 1 trace.pcap     every field of the first packet
  roce-sniff packets -f 'host 10.0.0.1' eth2
  roce-sniff packets --format json trace.pcap | jq 'select(.icrc == \"bad\")'

With --format json an object a line: packets have `version`, PFC frames `pfc`, PAUSE frames `pause`.
What bears the port or Ethertype of RoCE and is not RoCE is not listed but counted on standard error.")]
pub(crate) struct PacketsArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Every field of every header, with its offset in bytes
    #[arg(short = 'V', long)]
    pub(crate) verbose: bool,
    /// Every byte in hexadecimal, behind each packet
    #[arg(short = 'x', long)]
    pub(crate) hex: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// What to print
    pub(crate) what: Generate,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum Generate {
    Man,
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SourceArgs {
    /// Capture files, `-` for standard input, or one interface or RDMA device
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Read a capture file, whatever its name; repeated files are one trace
    #[arg(short = 'r', long = "read", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Capture from an interface or RDMA device, whatever its name
    #[arg(short = 'i', long, value_name = "NAME", conflicts_with = "files")]
    pub(crate) interface: Option<String>,
    /// Look only at frames that match a BPF expression, as tcpdump takes it
    #[arg(short = 'f', long, value_name = "EXPR")]
    pub(crate) filter: Option<String>,
    /// Stop after this many frames; with `packets`, after this many lines
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Stop after this time, such as 10s, 500ms or 2m; in a file, of the capture's time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Do not check the ICRC
    #[arg(long)]
    pub(crate) no_icrc: bool,
    /// Also write the RoCE, InfiniBand and MAC control frames to a file (.pcap or .pcapng)
    #[arg(short = 'w', long = "write", value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Take another UDP destination port for RoCE v2 as well; repeatable
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Vec<u16>,
    /// Live: look into VXLAN, Geneve, GRE, ERSPAN, MPLS and IP-in-IP as well
    #[arg(long)]
    pub(crate) tunnels: bool,
    /// Live: bytes to capture of each frame
    #[arg(long, value_name = "BYTES", default_value_t = 262_144)]
    #[arg(value_parser = clap::value_parser!(u32).range(64..=262_144))]
    pub(crate) snaplen: u32,
    /// Live: hand over each frame as it comes, not in blocks of at most 10 ms; drops sooner
    #[arg(long)]
    pub(crate) immediate: bool,
    /// Live: size of the kernel's buffer in MiB
    #[arg(long, value_name = "MIB", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) buffer_size: u32,
}

#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print nothing but errors
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Expect {
    V1,
    V2,
    V2Ipv4,
    V2Ipv6,
    None,
}

/// A time such as `10s`, `500ms`, `2m`, `1h` or a plain number of seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at).unwrap_or((text, ""));
    let number: f64 = number.parse().map_err(|_| "expected a time such as 10s or 500ms")?;
    let seconds = match unit {
        "" | "s" => number,
        "ms" => number / 1e3,
        "us" | "µs" => number / 1e6,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err("the unit must be us, ms, s, m or h".to_owned()),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("the time must be more than nothing".to_owned()),
    }
}

/// A rate such as `100G`, `25Gbps` or a plain number of bits a second.
pub(crate) fn parse_bit_rate(text: &str) -> Result<u64, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at).unwrap_or((text, ""));
    let number: f64 = number.parse().map_err(|_| "expected a rate such as 100G")?;
    let unit = unit.trim_end_matches("bps").trim_end_matches("bit/s").to_ascii_uppercase();
    let factor = match unit.as_str() {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return Err("the unit must be K, M, G or T".to_owned()),
    };
    let rate = number * factor;
    if !(1.0..=1e15).contains(&rate) {
        return Err("the rate must be at least 1 bit/s and at most 1000T".to_owned());
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 1..=1e15")]
    Ok(rate as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        let millis = |text| parse_duration(text).map(|time| time.as_millis());
        assert_eq!(millis("10"), Ok(10_000));
        assert_eq!(millis("1.5s"), Ok(1_500));
        assert_eq!(millis("500ms"), Ok(500));
        assert_eq!(millis("2m"), Ok(120_000));
        for wrong in ["", "0", "-1s", "5 s", "1d", "s", "1e3", "9e99h", "∞"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_have_units() {
        assert_eq!(parse_bit_rate("100G"), Ok(100_000_000_000));
        assert_eq!(parse_bit_rate("25Gbps"), Ok(25_000_000_000));
        assert_eq!(parse_bit_rate("400gbit/s"), Ok(400_000_000_000));
        assert_eq!(parse_bit_rate("10000000000"), Ok(10_000_000_000));
        for wrong in ["", "0", "0.1", "-1G", "G", "1X", "2000T", "nan", "1e3"] {
            assert!(parse_bit_rate(wrong).is_err(), "{wrong}");
        }
    }
}
