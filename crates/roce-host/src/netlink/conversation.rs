//! The conversation: one request, its answers, an end.

use std::io;

use netlink_sys::{Socket, SocketAddr};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::attr::Attrs;
use super::message::{Family, Message, messages};
use crate::Error;

/// The kernel fills at most 32 KiB of a dump into one datagram.
const DATAGRAM: usize = 64 * 1024;
/// A host with a million queue pairs sends some 100 MB; more than this is not an answer.
const MAX_ANSWER: usize = 256 * 1024 * 1024;
/// The kernel answers at once; silence means that it has no such command.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A socket to one part of the kernel.
#[derive(Debug)]
pub(crate) struct Conversation {
    family: Family,
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Conversation {
    /// Opens a socket of a netlink protocol.
    pub(crate) fn open(protocol: isize, family: Family) -> Result<Self, Error> {
        let open = || {
            let mut socket = Socket::new(protocol)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            socket.set_non_blocking(true)?;
            Ok(socket)
        };
        let failed = |source| Error::Netlink { what: "opening a socket", source };
        let socket = open().map_err(failed)?;
        Ok(Self { family, socket, sequence: 0, buffer: Vec::new() })
    }

    /// The number for the next request.
    pub(crate) const fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// Sends a request and hands each answer to `visit`, until the kernel says that it is done:
    /// its type, the bytes in front of its attributes, its attributes.
    pub(crate) fn ask(
        &mut self,
        what: &'static str,
        request: &[u8],
        mut visit: impl FnMut(u16, &[u8], Attrs<'_>),
    ) -> Result<(), Error> {
        let failed = |source| Error::Netlink { what, source };
        self.socket.send(request, 0).map_err(failed)?;
        let mut received = 0_usize;
        while received < MAX_ANSWER {
            received = received.saturating_add(self.receive().map_err(failed)?);
            for message in messages(self.family, &self.buffer, self.sequence) {
                let message = message.map_err(|damaged| Error::NetlinkAnswer {
                    what,
                    offset: damaged.offset,
                    detail: damaged.detail,
                })?;
                match message {
                    Message::Data { kind, fixed, attrs } => visit(kind, fixed, attrs),
                    Message::End { errno: 0 } => return Ok(()),
                    Message::End { errno } => {
                        return Err(failed(io::Error::from_raw_os_error(errno)));
                    }
                    Message::Other => {}
                }
            }
        }
        Err(failed(io::Error::other("the answer does not end")))
    }

    /// Waits for one datagram and puts it into the buffer; returns its length, at least 1.
    fn receive(&mut self) -> io::Result<usize> {
        loop {
            let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut ready, Some(&PATIENCE)) {
                Ok(0) => {
                    let silence = "the kernel does not answer";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, silence));
                }
                Err(Errno::INTR) => {}
                other => break other.map(|_| ())?,
            }
        }
        self.buffer.clear();
        self.buffer.reserve(DATAGRAM);
        // With MSG_TRUNC the true length is returned, whatever fits.
        let length = self.socket.recv(&mut self.buffer, libc::MSG_TRUNC)?;
        if length > self.buffer.len() {
            return Err(io::Error::other("an answer longer than the kernel makes them"));
        }
        Ok(length.max(1))
    }
}
