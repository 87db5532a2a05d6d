//! RDMA netlink: the kernel's list of queue pairs, CM ids and counters of this host.
//!
//! What `rdma resource` shows, without a program: for a connection on the wire the numbers of
//! both queue pairs, and the process that owns it. Message and attribute numbers are those of
//! Linux `include/uapi/rdma/rdma_netlink.h`. Parsing is separate from the socket; it holds no
//! state and takes any bytes.

pub(crate) mod attr;
mod client;
pub(crate) mod conversation;
pub(crate) mod message;
mod resource;
#[cfg(test)]
mod tests;

pub use client::RdmaNetlink;
pub use resource::{
    CmId, CmState, NlDevice, NlPort, PortSpace, QpInfo, QpState, QpType, Resources,
};
