//! The man page and the completions, made from the command line's own description.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Outcome;
use crate::cli::{Cli, Generate};

pub(crate) fn run(what: Generate) -> Result<Outcome> {
    let mut command = Cli::command();
    let mut text = Vec::new();
    let shell = match what {
        Generate::Man => None,
        Generate::Bash => Some(Shell::Bash),
        Generate::Elvish => Some(Shell::Elvish),
        Generate::Fish => Some(Shell::Fish),
        Generate::Powershell => Some(Shell::PowerShell),
        Generate::Zsh => Some(Shell::Zsh),
    };
    match shell {
        Some(shell) => clap_complete::generate(shell, &mut command, "roce-sniff", &mut text),
        None => clap_mangen::Man::new(command).render(&mut text)?,
    }
    io::stdout().lock().write_all(&text)?;
    Ok(Outcome::Done)
}
