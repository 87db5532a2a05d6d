//! An RDMA device.

use std::path::Path;

use super::coded::{Coded, Guid};
use super::driver;
use super::port::Port;
use super::read;
use super::visibility::Visibility;
use crate::{Error, Host};

/// An RDMA device, such as `mlx5_0` or `rxe0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaDevice {
    /// Its name.
    pub name: String,
    /// The driver: that of the adapter's PCI function (`mlx5_core`, `ice`, `bnxt_en`), or
    /// `rdma_rxe` and `siw` for devices made of software.
    pub driver: Option<String>,
    /// Firmware version; absent for devices made of software.
    pub firmware: Option<String>,
    /// Node GUID.
    pub node_guid: Option<Guid>,
    /// GUID that all devices of one adapter share.
    pub sys_image_guid: Option<Guid>,
    /// `1: CA`, or `4: RNIC` for iWARP.
    pub node_type: Option<Coded>,
    /// Board identifier.
    pub board: Option<String>,
    /// Free text, often the host's name.
    pub node_desc: Option<String>,
    /// Its ports by number.
    pub ports: Vec<Port>,
    /// Where its traffic can be captured.
    pub visibility: Visibility,
}

impl RdmaDevice {
    fn read(dir: &Path, name: &str) -> Result<Self, Error> {
        let attribute = |file: &str| read::attribute(&dir.join(file));
        let numbers = read::numbers(&dir.join("ports"))?;
        let mut ports = Vec::with_capacity(numbers.len());
        for &number in &numbers {
            ports.push(Port::read(dir, number, numbers.len() == 1)?);
        }
        let driver = driver::of(dir, name);
        Ok(Self {
            name: name.to_owned(),
            firmware: attribute("fw_ver"),
            node_guid: attribute("node_guid").and_then(|text| Guid::parse(&text)),
            sys_image_guid: attribute("sys_image_guid").and_then(|text| Guid::parse(&text)),
            node_type: attribute("node_type").and_then(|text| Coded::parse(&text)),
            board: attribute("board_id"),
            node_desc: attribute("node_desc"),
            visibility: Visibility::of_driver(driver.as_deref()),
            ports,
            driver,
        })
    }

    /// The port of this number.
    #[must_use]
    pub fn port(&self, number: u32) -> Option<&Port> {
        self.ports.iter().find(|port| port.number == number)
    }

    /// Whether the port speaks RoCE: Ethernet below, and not iWARP.
    #[must_use]
    pub fn is_roce(&self, port: &Port) -> bool {
        const CA: u32 = 1;
        port.is_ethernet() && self.node_type.as_ref().is_none_or(|kind| kind.code == CA)
    }
}

impl Host {
    /// All RDMA devices by name; none is not an error.
    ///
    /// # Errors
    /// When the directory of devices cannot be listed. What cannot be read of a device is absent.
    pub fn rdma_devices(&self) -> Result<Vec<RdmaDevice>, Error> {
        let class = self.path("sys/class/infiniband");
        let names = read::names(&class)?;
        names.iter().map(|name| RdmaDevice::read(&class.join(name), name)).collect()
    }

    /// The RDMA device of this name.
    ///
    /// # Errors
    /// When there is none of this name; the error names those there are.
    pub fn rdma_device(&self, name: &str) -> Result<RdmaDevice, Error> {
        let dir = self.device_dir(name)?;
        if dir.is_dir() {
            return RdmaDevice::read(&dir, name);
        }
        let class = self.path("sys/class/infiniband");
        let known = read::names(&class)?;
        Err(if known.is_empty() {
            Error::NoRdmaDevice { dir: class }
        } else {
            Error::NoSuchDevice { name: name.to_owned(), known }
        })
    }
}
