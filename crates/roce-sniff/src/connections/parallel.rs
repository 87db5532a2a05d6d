//! Connections of files: one thread follows them, the others look ahead.
//!
//! One thread takes the frames in the order of the capture, so the connections are the same however
//! many threads there are. It is always the same thread: handing them on from core to core costs
//! more than looking ahead saves. When nothing is left to follow it looks ahead itself.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use roce_wire::Ports;

use super::Watch;
use super::looked::Looked;
use crate::batches::{Feeder, lock};
use crate::cli::SourceArgs;
use crate::drive::{Filter, Trace};
use crate::source::{self, Input};
use crate::stop::Stop;

/// Batches for each thread: one in its hands, one on its way.
const BATCHES: usize = 2;

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
    let ahead = Ahead { feeder, empties: Empties::new(threads), args, ports: &ports };
    let result = thread::scope(|scope| {
        let (full, fulls) = channel();
        for _ in 1..threads {
            let (full, ahead) = (full.clone(), &ahead);
            scope.spawn(move || {
                if let Err(error) = ahead.read(&full) {
                    let _ = full.send(Err(error));
                }
            });
        }
        drop(full);
        let result = in_order(&ahead, &fulls, |looked| looked.follow(&mut watch, &ports));
        // Whatever ended it, nobody waits for a batch any more.
        ahead.empties.close();
        result
    });
    result?;
    let feeder = ahead.feeder.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((watch, feeder.into_trace()))
}

/// Takes the batches as they stand in the capture, and gives them back. There are only so many, so
/// no thread is far ahead of another.
fn in_order(
    ahead: &Ahead<'_>,
    fulls: &Receiver<Result<Looked>>,
    mut take: impl FnMut(&Looked),
) -> Result<()> {
    let mut filter = ahead.filter()?;
    let (mut early, mut next) = (BTreeMap::new(), 0u64);
    let mut is_read = false;
    loop {
        for full in fulls.try_iter() {
            let full = full?;
            early.insert(full.batch.number(), full);
        }
        if let Some(looked) = early.remove(&next) {
            take(&looked);
            next = next.saturating_add(1);
            ahead.empties.put(looked);
            continue;
        }
        if !is_read && let Some(empty) = ahead.empties.take() {
            match ahead.look(empty, &mut filter)? {
                Some(full) => _ = early.insert(full.batch.number(), full),
                None => is_read = true,
            }
            continue;
        }
        // What comes next is in another's hands.
        match fulls.recv() {
            Ok(full) => {
                let full = full?;
                early.insert(full.batch.number(), full);
            }
            Err(_) if is_read => return Ok(()),
            Err(_) => {}
        }
    }
}

/// Batches that may be filled.
struct Empties {
    /// `None` when nobody wants any more.
    list: Mutex<Option<Vec<Looked>>>,
    changed: Condvar,
}

impl Empties {
    fn new(threads: usize) -> Self {
        let list = (0..threads.saturating_mul(BATCHES)).map(|_| Looked::default()).collect();
        Self { list: Mutex::new(Some(list)), changed: Condvar::new() }
    }

    /// One that is there now.
    fn take(&self) -> Option<Looked> {
        lock(&self.list).as_mut()?.pop()
    }

    /// One, if need be later; `None` when nobody wants it filled.
    fn wait(&self) -> Option<Looked> {
        let is_empty = |list: &mut Option<Vec<Looked>>| list.as_ref().is_some_and(Vec::is_empty);
        let list = self.changed.wait_while(lock(&self.list), is_empty);
        list.unwrap_or_else(PoisonError::into_inner).as_mut()?.pop()
    }

    fn put(&self, looked: Looked) {
        if let Some(list) = lock(&self.list).as_mut() {
            list.push(looked);
        }
        self.changed.notify_one();
    }

    fn close(&self) {
        lock(&self.list).take();
        self.changed.notify_all();
    }
}

/// What the threads share that look ahead.
struct Ahead<'a> {
    feeder: Mutex<Feeder<'a>>,
    empties: Empties,
    args: &'a SourceArgs,
    ports: &'a Ports,
}

impl Ahead<'_> {
    fn filter(&self) -> Result<Filter> {
        Filter::new(self.args.filter.clone())
    }

    /// Reads batches and looks at them until there are no more, or nobody wants them.
    fn read(&self, full: &Sender<Result<Looked>>) -> Result<()> {
        let mut filter = self.filter()?;
        while let Some(empty) = self.empties.wait()
            && let Some(looked) = self.look(empty, &mut filter)?
            && full.send(Ok(looked)).is_ok()
        {}
        Ok(())
    }

    /// Fills a batch and looks at it; `None` when there is no more.
    fn look(&self, mut looked: Looked, filter: &mut Filter) -> Result<Option<Looked>> {
        if !lock(&self.feeder).fill(&mut looked.batch)? {
            return Ok(None);
        }
        looked.look(filter, self.ports, !self.args.no_icrc)?;
        Ok(Some(looked))
    }
}
