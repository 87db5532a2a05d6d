//! What can be asked about RDMA devices.

use netlink_sys::protocols::NETLINK_RDMA;

use super::attr::{self, Attrs};
use super::conversation::Conversation;
use super::message::{Command, Family, request};
use super::resource::{self, CmId, NlDevice, NlPort, QpInfo, Resources};
use crate::{Counters, Error};

/// A conversation with the kernel of this host. Needs no privilege; containers may see less.
#[derive(Debug)]
pub struct RdmaNetlink {
    conversation: Conversation,
}

impl RdmaNetlink {
    /// Opens the conversation.
    ///
    /// # Errors
    /// When the kernel has no RDMA netlink: `ib_core` is not loaded.
    pub fn open() -> Result<Self, Error> {
        let conversation = Conversation::open(NETLINK_RDMA, Family::Rdma)?;
        Ok(Self { conversation })
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
        let bytes = request(command, self.conversation.next_sequence(), attrs);
        self.conversation.ask(command.what(), &bytes, |_, _, attrs| visit(attrs))
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
