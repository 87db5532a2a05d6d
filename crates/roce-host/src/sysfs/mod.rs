//! Reading `/sys/class/infiniband` and `/sys/class/net`.

mod coded;
mod counters;
mod device;
mod driver;
mod gid;
mod interface;
mod port;
pub(crate) mod read;
mod topology;
mod visibility;

pub use coded::{Coded, Guid, Rate};
pub use counters::{CounterChange, Counters};
pub use device::RdmaDevice;
pub use gid::{GidEntry, GidTable, GidType};
pub use interface::Interface;
pub use port::Port;
pub use topology::{RdmaLink, Topology};
pub use visibility::{CaptureWay, Visibility};
