//! Where configfs is, and the files of RDMA_CM in it.

use std::path::PathBuf;

use super::status::Obstacle;
use crate::sysfs::read;
use crate::{Host, PortRef};

/// A host with thousands of mounts has a table of some hundred kilobytes.
const MAX_MOUNTS: u64 = 4 * 1024 * 1024;

impl Host {
    /// Where configfs is mounted or, when it is not, should be.
    pub(crate) fn configfs(&self) -> (PathBuf, bool) {
        let usual = self.path("sys/kernel/config");
        if usual.join("rdma_cm").is_dir() {
            return (usual, true);
        }
        match self.configfs_mount() {
            Some(elsewhere) => (self.path(elsewhere.trim_start_matches('/')), true),
            None => (usual, false),
        }
    }

    /// The mount point of configfs by the mount table. Older instructions mount it on `/config`.
    fn configfs_mount(&self) -> Option<String> {
        let table = read::text_of_at_most(&self.path("proc/self/mounts"), MAX_MOUNTS)
            .or_else(|_| read::text_of_at_most(&self.path("proc/mounts"), MAX_MOUNTS))
            .ok()?;
        table.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (_source, point, kind) = (words.next()?, words.next()?, words.next()?);
            (kind == "configfs").then(|| point.to_owned())
        })
    }

    /// What stands between here and the directory of `device`, if anything.
    pub(crate) fn obstacle(&self, device: &str) -> Option<Obstacle> {
        let (configfs, mounted) = self.configfs();
        if !mounted {
            return Some(if configfs.is_dir() {
                Obstacle::NotMounted { at: configfs }
            } else {
                Obstacle::NoConfigfs { at: configfs }
            });
        }
        let rdma_cm = configfs.join("rdma_cm");
        if !rdma_cm.is_dir() {
            return Some(if self.path("sys/module/rdma_cm").is_dir() {
                Obstacle::NotBuilt
            } else {
                Obstacle::NotLoaded
            });
        }
        let dir = rdma_cm.join(device);
        (!dir.is_dir()).then_some(Obstacle::NotMade { dir })
    }

    /// The directory of RDMA_CM's settings for `port`.
    pub(crate) fn mode_dir(&self, port: &PortRef) -> PathBuf {
        self.configfs()
            .0
            .join("rdma_cm")
            .join(&port.device)
            .join("ports")
            .join(port.port.to_string())
    }
}
