//! The verdict on files by several threads: each looks through batches of its own, and the parts of
//! a verdict can be put together in any order.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use roce_analyze::verdict::{Config, Verdict};

use super::Watch;
use crate::batches::{Batch, Feeder, lock};
use crate::cli::SourceArgs;
use crate::drive::{Filter, Run, Trace};
use crate::source::{self, Input};
use crate::stop::Stop;

/// Looks through all inputs as one trace.
pub(super) fn verdict(
    inputs: &[Input],
    args: &SourceArgs,
    config: Config,
    quiet: bool,
    threads: usize,
) -> Result<(Verdict, Trace)> {
    let ports = source::ports(args)?;
    let stop = Stop::listen().context("cannot listen to signals")?;
    let feeder = Mutex::new(Feeder::new(inputs, args, &stop, quiet));
    let work = || -> Result<Verdict> {
        let mut watch = Watch { verdict: Verdict::new(config), live: None, beside: None };
        let mut filter = Filter::new(args.filter.clone())?;
        let mut run = Run::new(&mut watch, &stop, &ports);
        let mut batch = Batch::default();
        while lock(&feeder).fill(&mut batch)? {
            for captured in batch.chunk.frames() {
                if filter.matches(&captured)? {
                    run.frame(&captured)?;
                }
            }
        }
        Ok(watch.verdict)
    };
    let parts: Vec<Result<Verdict>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results = handles.into_iter().map(thread::ScopedJoinHandle::join);
        results.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut whole = Verdict::new(config);
    for part in parts {
        whole.merge(part?);
    }
    whole.settle();
    let feeder = feeder.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((whole, feeder.into_trace()))
}
