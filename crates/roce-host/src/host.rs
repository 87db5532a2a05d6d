//! The host: one root directory below which everything is looked up.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::sysfs::read;

/// A Linux host, live or as a tree of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    /// The host this program runs on.
    #[must_use]
    pub fn local() -> Self {
        Self::at("/")
    }

    /// The host whose `/` is `root`.
    #[must_use]
    pub fn at(root: impl AsRef<Path>) -> Self {
        Self { root: root.as_ref().to_owned() }
    }

    /// Its root directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this is the live host. Sockets speak of the live host only.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The name of process `pid`, at most 15 bytes long; absent when it is gone or hidden.
    #[must_use]
    pub fn process_name(&self, pid: u32) -> Option<String> {
        read::attribute(&self.path(&format!("proc/{pid}/comm")))
    }

    /// `relative`, which has no leading slash, below the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// `/sys/class/infiniband/DEVICE` below the root.
    pub(crate) fn device_dir(&self, device: &str) -> Result<PathBuf, Error> {
        check_name(device)?;
        Ok(self.path("sys/class/infiniband").join(device))
    }

    /// `/sys/class/infiniband/DEVICE/ports/PORT` below the root.
    pub(crate) fn port_dir(&self, device: &str, port: u32) -> Result<PathBuf, Error> {
        Ok(self.device_dir(device)?.join("ports").join(port.to_string()))
    }
}

/// Refuses a device name that would lead out of its directory. The kernel allows 63 bytes.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let plain = !name.is_empty()
        && name.len() < 64
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '"', '\''])
        && !name.chars().any(|c| c.is_control() || c.is_whitespace());
    if plain { Ok(()) } else { Err(Error::DeviceName { given: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        for good in ["mlx5_0", "rxe0", "rocep1s0f0", "mlx5_bond_0", "irdma-roce.1"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../etc", "a/b", "a b", "a\nb", "a\"b", &"x".repeat(64)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
