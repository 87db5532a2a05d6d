//! What RDMA_CM's settings are now, or why they cannot be seen.

use std::fmt;
use std::path::PathBuf;

use crate::host::check_name;
use crate::sysfs::{Port, RdmaDevice, read};
use crate::{Error, Host, PortRef, RoceMode, Target};

/// RDMA_CM's settings of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeStatus {
    /// They can be read.
    Known {
        /// The mode; absent when the kernel's word is none of ours.
        mode: Option<RoceMode>,
        /// The kernel's word, such as `IB/RoCE v1`.
        text: Option<String>,
        /// The ToS of new connections; absent on kernels that do not have the setting.
        tos: Option<u8>,
    },
    /// They are not to be seen yet.
    Hidden(Obstacle),
}

/// Why RDMA_CM's settings cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The kernel has no configfs, or its module is not loaded.
    NoConfigfs {
        /// Where it would be mounted.
        at: PathBuf,
    },
    /// configfs is there and not mounted.
    NotMounted {
        /// Where it should be mounted.
        at: PathBuf,
    },
    /// The module `rdma_cm` is not loaded.
    NotLoaded,
    /// `rdma_cm` is loaded and was built without its configfs part.
    NotBuilt,
    /// All is ready, but the device's directory was not made. That says nothing of the setting:
    /// one that was written outlives the directory.
    NotMade {
        /// The directory to make.
        dir: PathBuf,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfigfs { at } => write!(
                f,
                "{} is missing: the kernel has no configfs; load it with `modprobe configfs`",
                at.display()
            ),
            Self::NotMounted { at } => write!(
                f,
                "configfs is not mounted; mount it with `mount -t configfs none {}`",
                at.display()
            ),
            Self::NotLoaded => f.write_str(
                "the kernel module rdma_cm is not loaded; load it with `modprobe rdma_cm`",
            ),
            Self::NotBuilt => f.write_str(
                "this kernel's rdma_cm has no configfs settings; it needs a kernel built with \
                 CONFIG_INFINIBAND_ADDR_TRANS_CONFIGFS",
            ),
            Self::NotMade { dir } => write!(
                f,
                "the settings of this device can be read only after `mkdir {}`",
                dir.display()
            ),
        }
    }
}

impl Host {
    /// The mode and ToS of `port`. Reads only: nothing is mounted and no directory is made.
    ///
    /// # Errors
    /// When the files exist and cannot be read.
    pub fn mode(&self, port: &PortRef) -> Result<ModeStatus, Error> {
        check_name(&port.device)?;
        if let Some(obstacle) = self.obstacle(&port.device) {
            return Ok(ModeStatus::Hidden(obstacle));
        }
        let dir = self.mode_dir(port);
        let file = dir.join("default_roce_mode");
        let text = read::text(&file).map_err(|error| Error::io("read", &file, error))?;
        Ok(ModeStatus::Known {
            mode: text.parse().ok(),
            tos: read::number(&dir.join("default_roce_tos")),
            text: (!text.is_empty()).then_some(text),
        })
    }

    /// All RoCE ports of this host.
    ///
    /// # Errors
    /// When there is no RDMA device at all. No RoCE port among them is not an error.
    pub fn all_roce_ports(&self) -> Result<Vec<PortRef>, Error> {
        let devices = self.rdma_devices()?;
        if devices.is_empty() {
            return Err(Error::NoRdmaDevice { dir: self.path("sys/class/infiniband") });
        }
        let of = |device: &RdmaDevice| -> Vec<PortRef> {
            let roce = device.ports.iter().filter(|port| device.is_roce(port));
            roce.map(|port| PortRef { device: device.name.clone(), port: port.number }).collect()
        };
        Ok(devices.iter().flat_map(of).collect())
    }

    /// The ports that `target` means, all of them RoCE ports.
    ///
    /// # Errors
    /// When there is no such device or port, or it does not speak RoCE.
    pub fn roce_ports(&self, target: &Target) -> Result<Vec<PortRef>, Error> {
        let device = self.rdma_device(&target.device)?;
        let port_ref = |port: &Port| PortRef { device: device.name.clone(), port: port.number };
        let not_roce = |port: &Port| Error::NotRoce {
            port: port_ref(port),
            link_layer: match port.link_layer.as_deref() {
                Some("Ethernet") => "Ethernet (iWARP)".to_owned(),
                Some(other) => other.to_owned(),
                None => "unknown".to_owned(),
            },
        };
        let no_port = |number| Error::NoSuchPort {
            device: device.name.clone(),
            port: number,
            known: device.ports.iter().map(|port| port.number).collect(),
        };
        if let Some(number) = target.port {
            let port = device.port(number).ok_or_else(|| no_port(number))?;
            return if device.is_roce(port) {
                Ok(vec![port_ref(port)])
            } else {
                Err(not_roce(port))
            };
        }
        let first = device.ports.first().ok_or_else(|| no_port(1))?;
        let roce: Vec<_> =
            device.ports.iter().filter(|port| device.is_roce(port)).map(port_ref).collect();
        if roce.is_empty() { Err(not_roce(first)) } else { Ok(roce) }
    }
}

impl RoceMode {
    /// The mode that the kernel starts a port with, before anyone sets it: v2 where the port has it,
    /// else v1 (Linux `drivers/infiniband/core/cma.c`, `cma_add_one`). Kernels from before 2017
    /// chose v1. Absent when the port has no GID to tell by.
    #[must_use]
    pub fn kernel_default(port: &Port) -> Option<Self> {
        [Self::V2, Self::V1].into_iter().find(|mode| port.gids.offers(*mode))
    }
}
