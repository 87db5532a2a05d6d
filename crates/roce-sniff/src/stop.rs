//! Ctrl-C and SIGTERM end a capture in good order; a second one ends it at once.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Becomes true when the user wants to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens to SIGINT and SIGTERM from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down and only raises it.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
            flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Self(stop))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream that ends when the user wants to stop, even while nothing comes in: standard input, a
/// FIFO, a terminal.
#[derive(Debug)]
pub(crate) struct Stoppable<S> {
    stream: S,
    stop: Stop,
}

impl Stoppable<io::Stdin> {
    pub(crate) fn stdin(stop: &Stop) -> Self {
        Self { stream: io::stdin(), stop: stop.clone() }
    }
}

impl Stoppable<File> {
    /// Opens something that is no regular file.
    pub(crate) fn open(path: &Path, stop: &Stop) -> io::Result<Self> {
        // Opening a FIFO would wait for its writer, where no signal is heard.
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let stream = File::options().read(true).custom_flags(nonblocking).open(path)?;
        Ok(Self { stream, stop: stop.clone() })
    }
}

impl<S: AsFd> Read for Stoppable<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        while !self.stop.is_wanted() {
            let mut ready = [PollFd::new(&self.stream, PollFlags::IN)];
            match poll(&mut ready, Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match rustix::io::read(&self.stream, &mut *buffer) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
        Ok(0)
    }
}
