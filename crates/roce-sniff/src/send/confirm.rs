//! Says what is about to happen on a network, and asks.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Result, bail};

use super::link::Link;
use super::origin::Origin;
use super::{SendArgs, rate};
use crate::printer::remark;
use crate::text::number::Grouped;

/// Goes on without a word when the frames stay on this host.
pub(super) fn confirm(args: &SendArgs, origin: &Origin, link: &Link) -> Result<()> {
    if link.is_local() {
        return Ok(());
    }
    let says = !args.output.quiet || !args.yes;
    if says {
        remark(&intent(args, origin, link));
    }
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        bail!("{}: other hosts will get these frames; if you mean it, add --yes", link.name);
    }
    let _ = write!(io::stderr(), "Other hosts will get these frames. Go on? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was sent"),
    }
}

/// In one sentence.
fn intent(args: &SendArgs, origin: &Origin, link: &Link) -> String {
    let mut text = format!("about to send the {} {}", origin.kind(), origin.name());
    match args.passes {
        1 => text.push_str(" once"),
        u64::MAX => text.push_str(" over and over"),
        passes => text.push_str(&format!(" {} times", Grouped(passes))),
    }
    text.push_str(&format!(" by {}, {}", link.describe(), rate::describe(args.rate)));
    if let Some(count) = args.count {
        text.push_str(&format!(", at most {} frames", Grouped(count)));
    }
    if let Some(time) = args.duration {
        text.push_str(&format!(", for at most {time:?}"));
    }
    let set = [
        ("source MAC", args.src_mac.map(|set| set.to_string())),
        ("destination MAC", args.dst_mac.map(|set| set.to_string())),
        ("source IP", args.src_ip.map(|set| set.to_string())),
        ("destination IP", args.dst_ip.map(|ip| ip.to_string())),
    ];
    let set: Vec<String> =
        set.into_iter().filter_map(|(what, to)| Some(format!("{what} {}", to?))).collect();
    match set.as_slice() {
        [] => text.push_str(", to the addresses that are in it"),
        set => text.push_str(&format!(", with {}", set.join(", "))),
    }
    text
}
