//! The mode and ToS that RDMA_CM uses for connections this host opens.
//!
//! They live in configfs, `rdma_cm/DEVICE/ports/PORT/default_roce_mode` and `default_roce_tos`;
//! the directory of a device exists only after someone made it (Linux
//! `Documentation/ABI/testing/configfs-rdma_cm`). The kernel keeps what was
//! written until the device goes, whether or not the directory stays.

mod apply;
mod configfs;
mod name;
mod persist;
mod plan;
mod status;
mod step;

pub use apply::{Applied, Failed};
pub use name::{PortRef, RoceMode, Target, parse_tos};
pub use persist::Unit;
pub use plan::{Change, Plan};
pub use status::{ModeStatus, Obstacle};
pub use step::Step;
