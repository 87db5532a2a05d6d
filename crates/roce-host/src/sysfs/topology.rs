//! Which RDMA port stands on which interface, both ways, also through VLANs, bonds and bridges.

use super::device::RdmaDevice;
use super::interface::Interface;
use super::port::Port;
use crate::{Error, Host, PortRef};

/// All devices and interfaces of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// RDMA devices by name.
    pub devices: Vec<RdmaDevice>,
    /// Interfaces by name.
    pub interfaces: Vec<Interface>,
}

/// An RDMA port that an interface's traffic goes through.
#[derive(Clone, Debug)]
pub struct RdmaLink<'a> {
    /// The device.
    pub device: &'a RdmaDevice,
    /// The port.
    pub port: &'a Port,
    /// The interface that the port names as its own.
    pub netdev: &'a str,
    /// How many interfaces lie between: 0 when the port stands on the interface itself, 1 for a
    /// VLAN on it or a bond of it.
    pub distance: usize,
}

impl RdmaLink<'_> {
    /// The port's name.
    #[must_use]
    pub fn port_ref(&self) -> PortRef {
        PortRef { device: self.device.name.clone(), port: self.port.number }
    }
}

impl Topology {
    /// The RDMA ports below interface `name`, nearest first.
    #[must_use]
    pub fn rdma_of(&self, name: &str) -> Vec<RdmaLink<'_>> {
        let mut found: Vec<RdmaLink<'_>> = Vec::new();
        for (netdev, distance) in self.below(name) {
            for device in &self.devices {
                for port in &device.ports {
                    let known = |link: &RdmaLink<'_>| {
                        link.device.name == device.name && link.port.number == port.number
                    };
                    let own = port.netdevs.iter().find(|own| **own == netdev);
                    if let Some(netdev) = own.filter(|_| !found.iter().any(known)) {
                        found.push(RdmaLink { device, port, netdev, distance });
                    }
                }
            }
        }
        found
    }

    /// The interface itself and all it is stacked on, each once, with the number of steps down.
    fn below(&self, name: &str) -> Vec<(String, usize)> {
        let mut seen = vec![(name.to_owned(), 0_usize)];
        let mut next = 0;
        // Each name enters once, so a loop of links ends too.
        while let Some((name, distance)) = seen.get(next).cloned() {
            let lower = self.interface(&name).map_or(&[][..], |interface| &interface.lower);
            for name in lower {
                if !seen.iter().any(|(known, _)| known == name) {
                    seen.push((name.clone(), distance.saturating_add(1)));
                }
            }
            next = next.saturating_add(1);
        }
        seen
    }

    /// The interface of this name.
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    /// The RDMA device of this name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&RdmaDevice> {
        self.devices.iter().find(|device| device.name == name)
    }
}

impl Host {
    /// Reads all devices and interfaces.
    ///
    /// # Errors
    /// As [`Host::rdma_devices`] and [`Host::interfaces`].
    pub fn topology(&self) -> Result<Topology, Error> {
        Ok(Topology { devices: self.rdma_devices()?, interfaces: self.interfaces()? })
    }
}
