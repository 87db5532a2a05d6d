//! The command `roce-sniff`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

mod batches;
mod beside;
mod check;
mod cli;
mod connections;
mod craft;
mod devices;
mod draft;
mod drive;
mod generate;
mod mode;
mod packets;
mod ping;
mod printer;
mod probe;
mod progress;
mod rewrite;
mod send;
mod sorted;
mod source;
mod stop;
mod target;
#[cfg(test)]
#[path = "../../roce-host/tests/host/tree.rs"]
#[allow(dead_code, reason = "the tests of roce-host use more of it")]
mod test_tree;
mod text;
mod trace;
mod usage;
mod verdict;

use std::io;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

/// How a command ended, when it ended well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// As asked, as expected.
    Done,
    /// The wire disagrees with what was expected.
    Disagrees,
}

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            match usage::mistake(&error) {
                Some(mistake) => printer::remark(&mistake),
                // Help that meets a closed pipe is still help.
                None => drop(error.print()),
            }
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
                _ => ExitCode::from(2),
            };
        }
    };
    let result = match cli.command {
        Some(cli::Command::Packets(args)) => packets::run(&args),
        Some(cli::Command::Connections(args)) => connections::run(&args),
        Some(cli::Command::Check(args)) => check::run(&args),
        Some(cli::Command::Craft(args)) => craft::run(&args),
        Some(cli::Command::Rewrite(args)) => rewrite::run(&args),
        Some(cli::Command::Devices(args)) => devices::run(&args),
        Some(cli::Command::Mode(args)) => mode::run(&args),
        Some(cli::Command::Probe(args)) => probe::run(&args),
        Some(cli::Command::Ping(args)) => ping::run(&args),
        Some(cli::Command::Send(args)) => send::run(&args),
        Some(cli::Command::Generate(args)) => generate::run(args.what),
        None => verdict::run(&cli.verdict),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Disagrees) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            printer::remark(&told(&error));
            ExitCode::from(2)
        }
    }
}

/// The error and its causes, but for those that it has named itself.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let between = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{between}{cause}");
        }
    }
    text
}

/// Whoever read the output has had enough of it.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}
