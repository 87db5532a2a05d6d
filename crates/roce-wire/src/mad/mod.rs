//! Management datagrams (MADs): what is sent to QP1, and to QP0 on native InfiniBand.
//!
//! A datagram is the payload of a UD SEND Only with the well-known Q_Key: a common header of 24
//! bytes and 232 bytes of its class. On RoCE the class is connection management, [`cm`].

mod bits;
mod class;
pub mod cm;
mod common;
mod management;
mod method;
mod rdma_cm;
mod rmpp;
#[cfg(test)]
mod test_data;

pub use class::MgmtClass;
pub use common::{AttributeId, Mad, MadStatus};
pub use management::Management;
pub use method::Method;
pub use rdma_cm::RdmaCmHeader;
pub use rmpp::{Rmpp, RmppType};
