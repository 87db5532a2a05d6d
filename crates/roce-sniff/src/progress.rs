//! How far a long read has come, on standard error when that is a terminal.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Nothing is shown before this time, so that short work stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears when the work turns out to be long.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        // Lines of packets on the same terminal would run through the bar.
        let wanted = !quiet && std::io::stderr().is_terminal();
        Self { start: Instant::now(), wanted, bar: None }
    }

    /// Shows that `done` of `total` bytes are read, and how many frames that were.
    pub(crate) fn update(&mut self, done: u64, total: Option<u64>, frames: u64) {
        if !self.wanted || self.start.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| bar(total));
        bar.set_position(done);
        bar.set_message(format!("{frames} frames"));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{bar:30} {percent:>3} %  {binary_bytes_per_sec}  {msg}  {eta} left",
        ),
        None => (ProgressBar::no_length(), "{spinner} {binary_bytes}  {msg}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
