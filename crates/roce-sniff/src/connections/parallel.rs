//! Connections of files by several threads: one follows them, the others read ahead.
//!
//! What can be said of a frame without the others is said ahead: whether it passes the filter, and
//! its ICRC, which together with the reading is half of all work. Then one thread takes the frames
//! in the order of the capture, so the connections are the same however many threads there are. It
//! is always the same thread: handing them on from core to core costs more than looking ahead
//! saves.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use roce_capture::Frame as Captured;
use roce_wire::{IcrcState, Ports};

use super::Watch;
use crate::batches::{Batch, Feeder, lock};
use crate::cli::SourceArgs;
use crate::drive::{Filter, Trace, parse};
use crate::source::{self, Input};
use crate::stop::Stop;

/// When a batch is full, in bytes. With smaller ones the threads wake each other more often than it
/// is worth.
const BATCH: usize = 1 << 19;
/// Batches for each thread that reads ahead: one in its hands, the others on their way.
const BATCHES: usize = 3;

/// Follows the connections of all inputs as one trace.
pub(super) fn follow(
    mut watch: Watch,
    inputs: &[Input],
    args: &SourceArgs,
    quiet: bool,
    threads: usize,
) -> Result<(Watch, Trace)> {
    let ports = source::ports(args)?;
    let stop = Stop::listen().context("cannot listen to signals")?;
    let feeder = Mutex::new(Feeder::new(inputs, args, &stop, quiet));
    let readers = threads.saturating_sub(1).max(1);
    let (empty, empties) = channel();
    for _ in 0..readers.saturating_mul(BATCHES) {
        let _ = empty.send(Looked::default());
    }
    let ahead = Ahead { feeder, empties: Mutex::new(empties), args, ports: &ports };
    let result = thread::scope(|scope| {
        let (full, fulls) = channel();
        for _ in 0..readers {
            let (full, ahead) = (full.clone(), &ahead);
            scope.spawn(move || {
                if let Err(error) = ahead.read(&full) {
                    let _ = full.send(Err(error));
                }
            });
        }
        drop(full);
        // When this ends early both channels close, and with them the threads end.
        in_order(fulls, empty, |looked| {
            for (captured, look) in looked.batch.frames().zip(&looked.looks) {
                if let Look::Passes(icrc) = look {
                    watch.take(&captured, &parse(&captured, &ports), *icrc);
                }
            }
        })
    });
    result?;
    let feeder = ahead.feeder.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((watch, feeder.into_trace()))
}

/// Takes the batches as they stand in the capture, and gives them back. There are only so many, so
/// no thread is far ahead of another.
fn in_order(
    fulls: Receiver<Result<Looked>>,
    empty: Sender<Looked>,
    mut take: impl FnMut(&Looked),
) -> Result<()> {
    let (mut early, mut next) = (BTreeMap::new(), 0u64);
    for full in fulls {
        let full = full?;
        early.insert(full.batch.number(), full);
        while let Some(looked) = early.remove(&next) {
            take(&looked);
            next = next.saturating_add(1);
            // Whoever would fill it may have come to the end of the files.
            let _ = empty.send(looked);
        }
    }
    Ok(())
}

/// Frames, and what is known of each.
struct Looked {
    batch: Batch,
    looks: Vec<Look>,
}

impl Default for Looked {
    fn default() -> Self {
        Self { batch: Batch::new(BATCH), looks: Vec::new() }
    }
}

/// What is said of a frame without the others.
#[derive(Clone, Copy)]
enum Look {
    /// The filter leaves it out.
    Left,
    /// With the state of its ICRC, if it is checked and there is one.
    Passes(Option<IcrcState>),
}

/// What the threads share that read ahead.
struct Ahead<'a> {
    feeder: Mutex<Feeder<'a>>,
    empties: Mutex<Receiver<Looked>>,
    args: &'a SourceArgs,
    ports: &'a Ports,
}

impl Ahead<'_> {
    /// Reads batches and looks at them until there are no more, or nobody wants them.
    fn read(&self, full: &Sender<Result<Looked>>) -> Result<()> {
        let mut filter = Filter::new(self.args.filter.clone())?;
        loop {
            let Ok(mut looked) = lock(&self.empties).recv() else { return Ok(()) };
            if !lock(&self.feeder).fill(&mut looked.batch)? {
                return Ok(());
            }
            looked.looks.clear();
            for captured in looked.batch.frames() {
                looked.looks.push(self.look(&mut filter, &captured)?);
            }
            if full.send(Ok(looked)).is_err() {
                return Ok(());
            }
        }
    }

    #[inline]
    fn look(&self, filter: &mut Filter, captured: &Captured<'_>) -> Result<Look> {
        if !filter.matches(captured)? {
            return Ok(Look::Left);
        }
        let icrc = if self.args.no_icrc { None } else { parse(captured, self.ports).icrc_state() };
        Ok(Look::Passes(icrc))
    }
}
