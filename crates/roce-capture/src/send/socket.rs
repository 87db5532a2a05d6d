//! The packet socket.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockType, bind, sendmmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike as _};

use super::{Batch, Tally};
use crate::Error;

/// How long to wait for room in the socket before looking whether to go on.
const LOOK_MS: i64 = 100;
/// How long an interface may take no frame before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause when a queue is full: time enough to send some frames at a gigabit.
const PAUSE: Duration = Duration::from_micros(50);

/// Puts frames on an interface.
pub struct FrameSender {
    name: String,
    socket: OwnedFd,
    headers: MultiHeaders<LinkAddr>,
}

/// What the kernel did with a batch.
enum Took {
    /// That many frames of it, at least one.
    Frames(usize),
    /// None for now.
    Busy,
    /// Not the first one.
    Refused(Errno),
}

impl FrameSender {
    /// Opens a socket to send by one interface.
    ///
    /// # Errors
    /// When there is no such interface, it is no Ethernet, or the permission is missing.
    pub fn open(name: &str) -> Result<Self, Error> {
        let address = address(name)?;
        let failed = |errno| failure(name, errno);
        let flags = SockFlag::SOCK_CLOEXEC;
        // Without a protocol: nothing is received.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(failed)?;
        let patience = TimeVal::milliseconds(LOOK_MS);
        setsockopt(&socket, sockopt::SendTimeout, &patience).map_err(failed)?;
        bind(socket.as_raw_fd(), &address).map_err(failed)?;
        let headers = MultiHeaders::preallocate(Batch::FULL, None);
        Ok(Self { name: name.to_owned(), socket, headers })
    }

    /// Sends a batch and counts what became of its frames. While the interface takes none,
    /// `goes_on` is asked about ten times a second; on false the rest is left.
    ///
    /// # Errors
    /// When the interface goes away or down, or takes no frame for five seconds.
    pub fn send(
        &mut self,
        batch: &Batch,
        tally: &mut Tally,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        let mut done = 0_usize;
        let mut busy_since: Option<Instant> = None;
        while done < batch.len() {
            match self.hand_over(batch, done)? {
                Took::Frames(count) => {
                    for (_, frame) in batch.frames(done).take(count) {
                        tally.took(frame.len());
                    }
                    done = done.saturating_add(count);
                    busy_since = None;
                }
                Took::Refused(errno) => {
                    for (number, frame) in batch.frames(done).take(1) {
                        tally.refused(number, frame.len(), || reason(errno));
                    }
                    done = done.saturating_add(1);
                    busy_since = None;
                }
                Took::Busy if !goes_on() => return Ok(()),
                Took::Busy => {
                    if busy_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                        let message = "it takes no frame for 5 seconds".to_owned();
                        return Err(Error::Send { name: self.name.clone(), message });
                    }
                    thread::sleep(PAUSE);
                }
            }
        }
        Ok(())
    }

    /// One system call.
    fn hand_over(&mut self, batch: &Batch, from: usize) -> Result<Took, Error> {
        let mut slices = [[IoSlice::new(&[])]; Batch::FULL];
        let mut count = 0_usize;
        for (slot, (_, frame)) in slices.iter_mut().zip(batch.frames(from)) {
            *slot = [IoSlice::new(frame)];
            count = count.saturating_add(1);
        }
        let slices = slices.get(..count).unwrap_or_default();
        let fd = self.socket.as_raw_fd();
        let to = [None; Batch::FULL];
        let sent = sendmmsg(fd, &mut self.headers, slices, to, [], MsgFlags::empty());
        match sent.map(Iterator::count) {
            Ok(0) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS | Errno::ENOMEM) => {
                Ok(Took::Busy)
            }
            Ok(count) => Ok(Took::Frames(count)),
            Err(errno @ (Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV)) => {
                Err(failure(&self.name, errno))
            }
            Err(errno) => Ok(Took::Refused(errno)),
        }
    }
}

/// The link address of an interface, which names it to the kernel.
fn address(name: &str) -> Result<LinkAddr, Error> {
    let mut existing = Vec::new();
    for entry in getifaddrs().map_err(|errno| failure(name, errno))? {
        let Some(link) = entry.address.and_then(|address| address.as_link_addr().copied()) else {
            continue;
        };
        if entry.interface_name == name {
            return Ok(link);
        }
        existing.push(entry.interface_name);
    }
    Err(Error::NoSuchInterface { name: name.to_owned(), existing })
}

/// Why a frame was refused.
fn reason(errno: Errno) -> String {
    match errno {
        Errno::EMSGSIZE => "longer than the MTU of the interface allows".to_owned(),
        Errno::EINVAL => "shorter than an Ethernet header".to_owned(),
        errno => io::Error::from(errno).to_string(),
    }
}

fn exists(name: &str) -> bool {
    if_nametoindex(name).is_ok()
}

fn failure(name: &str, errno: Errno) -> Error {
    let name = name.to_owned();
    match errno {
        Errno::EPERM | Errno::EACCES => Error::NoPermissionToSend { name },
        // That is what an interface says first when it goes away.
        Errno::ENETDOWN if exists(&name) => Error::InterfaceDown { name },
        Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV => {
            Error::Send { name, message: "the interface has gone away".to_owned() }
        }
        errno => Error::Send { name, message: io::Error::from(errno).to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_named_with_those_that_are() {
        match FrameSender::open("no-such-link") {
            Err(Error::NoSuchInterface { name, existing }) => {
                assert_eq!(name, "no-such-link");
                assert!(existing.contains(&"lo".to_owned()), "{existing:?}");
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("opened"),
        }
    }
}
