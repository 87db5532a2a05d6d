//! What this Linux host is configured to do about RoCE.
//!
//! The wire says what happens, the host says what was meant. This crate reads, and where asked
//! changes, the host's side: RDMA devices with their ports and GID tables, the plain interfaces
//! under them, what a capture has to do to see their traffic, the mode that RDMA_CM uses for new
//! connections, hardware counters, and over RDMA netlink the queue pairs and CM ids of processes.
//!
//! Every file is looked up below a root directory, so a tree copied from another machine reads
//! like this one:
//!
//! ```no_run
//! use roce_host::Host;
//! # fn main() -> Result<(), roce_host::Error> {
//! let host = Host::local(); // or Host::at("/tmp/copied-tree")
//! for device in host.rdma_devices()? {
//!     println!("{}: {}", device.name, device.visibility);
//!     for port in &device.ports {
//!         for gid in &port.gids.entries {
//!             println!("  {}/{} GID {}: {} {}", device.name, port.number, gid.index, gid.gid, gid.kind);
//!         }
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! | to learn | start at |
//! | --- | --- |
//! | devices, ports, GIDs | [`Host::rdma_devices`] |
//! | interfaces and what is on them | [`Host::interfaces`], [`Topology`] |
//! | how to capture a device | [`Visibility`] |
//! | RDMA_CM's mode and ToS | [`Host::mode`] |
//! | how to change them | [`Host::plan`], [`Plan::apply`] |
//! | which modes work together | [`compat`] |
//! | counters | [`Host::hw_counters`], [`events`] |
//! | queue pairs, CM ids | [`netlink`] |
//! | routes, neighbours | [`RouteNetlink`] |
//! | one interface, its counters | [`LinkNetlink`] |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

pub mod compat;
mod error;
pub mod events;
mod host;
mod link;
mod mode;
pub mod netlink;
mod route;
mod sysfs;

pub use error::Error;
pub use host::Host;
pub use link::{LinkNetlink, LinkSent, NetLink};
pub use mode::{
    Applied, Change, Failed, ModeStatus, Obstacle, Plan, PortRef, RoceMode, Step, Target, Unit,
    parse_tos,
};
pub use route::{Neighbour, Route, RouteKind, RouteNetlink};
pub use sysfs::{
    CaptureWay, Coded, CounterChange, Counters, GidEntry, GidTable, GidType, Guid, Interface, Port,
    Rate, RdmaDevice, RdmaLink, Topology, Visibility,
};
