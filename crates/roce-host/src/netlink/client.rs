//! The conversation: one request, its answers, an end.

use std::io;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_RDMA};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::attr::{self, Attrs};
use super::message::{Command, Message, messages, request};
use super::resource::{self, CmId, NlDevice, NlPort, QpInfo, Resources};
use crate::{Counters, Error};

/// The kernel fills at most 32 KiB of a dump into one datagram.
const DATAGRAM: usize = 64 * 1024;
/// A host with a million queue pairs sends some 100 MB; more than this is not an answer.
const MAX_ANSWER: usize = 256 * 1024 * 1024;
/// The kernel answers at once; silence means that it has no such command.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A conversation with the kernel of this host. Needs no privilege; containers may see less.
#[derive(Debug)]
pub struct RdmaNetlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl RdmaNetlink {
    /// Opens the conversation.
    ///
    /// # Errors
    /// When the kernel has no RDMA netlink: `ib_core` is not loaded.
    pub fn open() -> Result<Self, Error> {
        let open = || {
            let mut socket = Socket::new(NETLINK_RDMA)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            socket.set_non_blocking(true)?;
            Ok(socket)
        };
        let failed = |source| Error::Netlink { what: "opening a socket", source };
        Ok(Self { socket: open().map_err(failed)?, sequence: 0, buffer: Vec::new() })
    }

    /// All RDMA devices that this network namespace sees.
    ///
    /// # Errors
    /// When the conversation fails.
    pub fn devices(&mut self) -> Result<Vec<NlDevice>, Error> {
        let mut found = Vec::new();
        self.ask(Command::Devices, &[], |attrs| found.extend(resource::device(attrs)))?;
        Ok(found)
    }

    /// The ports of a device.
    ///
    /// # Errors
    /// When the conversation fails, or there is no such device.
    pub fn ports(&mut self, device: u32) -> Result<Vec<NlPort>, Error> {
        let mut found = Vec::new();
        self.ask(Command::Ports, &[(attr::DEV_INDEX, device)], |attrs| {
            found.extend(resource::port(attrs));
        })?;
        Ok(found)
    }

    /// The queue pairs of a device.
    ///
    /// # Errors
    /// When the conversation fails, or there is no such device.
    pub fn queue_pairs(&mut self, device: u32) -> Result<Vec<QpInfo>, Error> {
        let mut found = Vec::new();
        self.ask(Command::QueuePairs, &[(attr::DEV_INDEX, device)], |attrs| {
            found.extend(resource::queue_pairs(attrs));
        })?;
        Ok(found)
    }

    /// The CM ids of a device.
    ///
    /// # Errors
    /// When the conversation fails, or there is no such device.
    pub fn cm_ids(&mut self, device: u32) -> Result<Vec<CmId>, Error> {
        let mut found = Vec::new();
        self.ask(Command::CmIds, &[(attr::DEV_INDEX, device)], |attrs| {
            found.extend(resource::cm_ids(attrs));
        })?;
        Ok(found)
    }

    /// The queue pairs and CM ids of all devices. A device that goes meanwhile is passed over.
    ///
    /// # Errors
    /// When the conversation fails.
    pub fn resources(&mut self) -> Result<Resources, Error> {
        let mut found = Resources::default();
        for device in self.devices()? {
            found.queue_pairs.extend(unless_gone(self.queue_pairs(device.index))?);
            found.cm_ids.extend(unless_gone(self.cm_ids(device.index))?);
        }
        Ok(found)
    }

    /// The hardware counters of a port.
    ///
    /// # Errors
    /// When the conversation fails, or there is no such port.
    pub fn counters(&mut self, device: u32, port: u32) -> Result<Counters, Error> {
        let mut found = Counters::default();
        let which = [(attr::DEV_INDEX, device), (attr::PORT_INDEX, port)];
        self.ask(Command::Counters, &which, |attrs| resource::counters(attrs, &mut found))?;
        Ok(found)
    }

    /// Sends a request and hands each answer to `visit`, until the kernel says that it is done.
    fn ask(
        &mut self,
        command: Command,
        attrs: &[(u16, u32)],
        mut visit: impl FnMut(Attrs<'_>),
    ) -> Result<(), Error> {
        let what = command.what();
        let failed = |source| Error::Netlink { what, source };
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = request(command, self.sequence, attrs);
        self.socket.send(&bytes, 0).map_err(failed)?;
        let mut received = 0_usize;
        while received < MAX_ANSWER {
            received = received.saturating_add(self.receive().map_err(failed)?);
            for message in messages(&self.buffer, self.sequence) {
                let message = message.map_err(|damaged| Error::NetlinkAnswer {
                    what,
                    offset: damaged.offset,
                    detail: damaged.detail,
                })?;
                match message {
                    Message::Data { attrs } => visit(attrs),
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

/// The kernel says EINVAL of a device that is not there.
fn unless_gone<T>(answer: Result<Vec<T>, Error>) -> Result<Vec<T>, Error> {
    match answer {
        Err(Error::Netlink { source, .. }) if source.raw_os_error() == Some(libc::EINVAL) => {
            Ok(Vec::new())
        }
        other => other,
    }
}
