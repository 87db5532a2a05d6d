//! What can go wrong: what, where, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::{GidType, Obstacle, PortRef, RoceMode};

/// An error of this crate. Each text is one line and ends with what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory could not be read, written, made or mounted.
    #[error("cannot {action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The host has no RDMA device.
    #[error(
        "no RDMA device: {} is empty or missing; load the driver of the adapter, or make a \
         soft-RoCE device with `rdma link add rxe0 type rxe netdev IFACE`",
        dir.display()
    )]
    NoRdmaDevice {
        /// Where devices would be.
        dir: PathBuf,
    },

    /// There is no RDMA device of this name.
    #[error("no RDMA device {name:?}; there is {}", known.join(", "))]
    NoSuchDevice {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },

    /// The device has no such port.
    #[error("{device} has no port {port}; it has {}", list(known))]
    NoSuchPort {
        /// The device.
        device: String,
        /// The port asked for.
        port: u32,
        /// The ports there are.
        known: Vec<u32>,
    },

    /// A name that no RDMA device can have.
    #[error(
        "{given:?} is not the name of an RDMA device; give DEVICE or DEVICE/PORT, such as mlx5_0/1"
    )]
    DeviceName {
        /// What was given.
        given: String,
    },

    /// The port does not speak RoCE, so it has no RoCE mode.
    #[error(
        "{port} has link layer {link_layer}: only Ethernet ports of RoCE devices have a RoCE mode"
    )]
    NotRoce {
        /// The port.
        port: PortRef,
        /// What it speaks.
        link_layer: String,
    },

    /// Not the name of a RoCE mode.
    #[error("{given:?} is not a RoCE mode: use `v1` or `v2`{}", number_advice(given))]
    ModeName {
        /// What was given.
        given: String,
    },

    /// Not a ToS value.
    #[error(
        "{given:?} is not a ToS: use a number from 0 to 255 (DSCP times four, and 2 for ECT(0)), such as 106 or 0x6a"
    )]
    TosValue {
        /// What was given.
        given: String,
    },

    /// The setting cannot be reached.
    #[error("{0}")]
    Obstacle(Obstacle),

    /// The kernel refused a mode with EINVAL.
    #[error(
        "the kernel refuses {mode} on {port}: {}",
        refusal(*mode, gid_types)
    )]
    ModeRefused {
        /// The port.
        port: PortRef,
        /// The mode that was refused.
        mode: RoceMode,
        /// The types of the GIDs the port has, as text.
        gid_types: Vec<String>,
    },

    /// RDMA_CM does not know the device: `mkdir` gave ENODEV.
    #[error("RDMA_CM does not know {device}; it has no device of that name, see `rdma dev`")]
    UnknownToCm {
        /// The device.
        device: String,
    },

    /// What was read back is not what was written.
    #[error(
        "{}: wrote {wrote:?} but it says {read:?}; see what else writes it, and try again",
        path.display()
    )]
    NotVerified {
        /// The file.
        path: PathBuf,
        /// What was written.
        wrote: String,
        /// What was read.
        read: String,
    },

    /// The netlink conversation failed.
    #[error("netlink, {what}: {source}{}", advice(source))]
    Netlink {
        /// What was asked.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },

    /// The kernel's netlink answer does not make sense.
    #[error("netlink, {what}: the answer is not understood at byte {offset}: {detail}")]
    NetlinkAnswer {
        /// What was asked.
        what: &'static str,
        /// Where in the datagram, in bytes.
        offset: usize,
        /// What is wrong.
        detail: String,
    },
}

impl Error {
    /// An I/O error on `path`.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// What to do about the I/O errors that users meet.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run it as root",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; it is mounted read-only, as in most containers: run it on the host itself"
        }
        io::ErrorKind::NotFound => "; is the device still there?",
        _ => "",
    }
}

/// Numbers have meant different modes in different tools, so none is accepted.
fn number_advice(given: &str) -> &'static str {
    if given.trim().parse::<i64>().is_ok() {
        "; numbers are not taken, since 1 is v1 in some tools and v2 in others"
    } else {
        ""
    }
}

fn list(ports: &[u32]) -> String {
    if ports.is_empty() {
        return "none".to_owned();
    }
    ports.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Why the kernel refuses a mode, by the GIDs that the port has.
fn refusal(mode: RoceMode, types: &[String]) -> String {
    if types.is_empty() {
        return "the port has no GID; set its interface up and give it an address".to_owned();
    }
    if types.iter().any(|text| GidType::parse(text).mode() == Some(mode)) {
        return "the port has GIDs of that type, yet its driver does not offer it; see `dmesg`"
            .to_owned();
    }
    let why = match mode {
        RoceMode::V1 => "soft-RoCE and some adapters know v2 alone",
        RoceMode::V2 => "older adapters, such as ConnectX-3, know v1 alone",
    };
    format!("the port has no GID of that type, only {}; {why}", types.join(", "))
}
