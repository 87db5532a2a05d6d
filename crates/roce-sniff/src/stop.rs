//! Ctrl-C and SIGTERM end a capture in good order; a second one ends it at once.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// Standard input that ends when the user wants to stop, even while nothing comes in.
#[derive(Debug)]
pub(crate) struct StoppableStdin(pub(crate) Stop);

impl Read for StoppableStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        while !self.0.is_wanted() {
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut ready, Some(&wait)) {
                Ok(0) => {}
                Ok(_) => return Ok(rustix::io::read(&stdin, buffer)?),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(0)
    }
}
