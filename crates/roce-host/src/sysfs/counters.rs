//! Counters of a port: snapshots and what changed between two of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::read;
use crate::{Error, Host};

/// The names of the CM counter directories since Linux 5.10.
const CM_GROUPS: [&str; 4] = ["cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates"];

/// A snapshot of counters by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Name to value.
    pub values: BTreeMap<String, u64>,
    /// For how long, in milliseconds, the kernel repeats a value before it asks the device again.
    /// A change younger than this may be missing.
    pub lifespan_ms: Option<u64>,
}

/// One counter in two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterChange {
    /// Its name.
    pub name: String,
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

impl CounterChange {
    /// By how much it grew; absent when it went back, which is a reset or a wrap of unknown width.
    #[must_use]
    pub const fn delta(&self) -> Option<u64> {
        self.after.checked_sub(self.before)
    }
}

impl Counters {
    /// The value of a counter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }

    /// The counters that are in both snapshots, by name, unchanged ones included.
    #[must_use]
    pub fn since(&self, before: &Self) -> Vec<CounterChange> {
        self.values
            .iter()
            .filter_map(|(name, &after)| {
                Some(CounterChange { name: name.clone(), before: before.get(name)?, after })
            })
            .collect()
    }

    /// Adds the counters in `dir` under `prefix`. What is not a number is passed over: some read
    /// `N/A (no PMA)`.
    fn add(&mut self, dir: &Path, prefix: &str) -> Result<(), Error> {
        for name in read::names(dir)? {
            let Some(value) = read::number::<u64>(&dir.join(&name)) else { continue };
            if name == "lifespan" {
                self.lifespan_ms = Some(value);
            } else {
                self.values.insert(format!("{prefix}{name}"), value);
            }
        }
        Ok(())
    }
}

impl Host {
    /// The driver's own counters of a port (`hw_counters`).
    ///
    /// Network namespaces other than the first do not see these files; there
    /// [`crate::netlink::RdmaNetlink::counters`] has the same numbers.
    ///
    /// # Errors
    /// When there is no such port, or its directory cannot be listed.
    pub fn hw_counters(&self, device: &str, port: u32) -> Result<Counters, Error> {
        self.counters_in(device, port, "hw_counters")
    }

    /// The standard counters of a port (`counters`); the `port_*_data` ones count 4-byte words.
    /// Soft-RoCE has none.
    ///
    /// # Errors
    /// When there is no such port, or its directory cannot be listed.
    pub fn port_counters(&self, device: &str, port: u32) -> Result<Counters, Error> {
        self.counters_in(device, port, "counters")
    }

    /// The counters of the connection manager, named such as `cm_tx_msgs/req`.
    ///
    /// # Errors
    /// When there is no such port, or its directory cannot be listed.
    pub fn cm_counters(&self, device: &str, port: u32) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        let port_dir = self.existing_port(device, port)?;
        // Before Linux 5.10 they stood in a class of their own.
        let old = self.path("sys/class/infiniband_cm").join(device).join(port.to_string());
        for group in CM_GROUPS {
            let dir = Some(port_dir.join(group)).filter(|dir| dir.is_dir());
            let dir = dir.unwrap_or_else(|| old.join(group));
            counters.add(&dir, &format!("{group}/"))?;
        }
        Ok(counters)
    }

    fn counters_in(&self, device: &str, port: u32, dir: &str) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        counters.add(&self.existing_port(device, port)?.join(dir), "")?;
        Ok(counters)
    }

    fn existing_port(&self, device: &str, port: u32) -> Result<PathBuf, Error> {
        let dir = self.port_dir(device, port)?;
        if dir.is_dir() {
            return Ok(dir);
        }
        let known = self.rdma_device(device)?.ports.iter().map(|port| port.number).collect();
        Err(Error::NoSuchPort { device: device.to_owned(), port, known })
    }
}
