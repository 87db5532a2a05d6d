//! The network and transport headers under RoCE: IPv4, IPv6, UDP, GRH and LRH.

mod grh;
mod ipv4;
mod ipv6;
mod lrh;
mod udp;

pub use grh::Grh;
pub use ipv4::Ipv4;
pub use ipv6::{ExtensionHeaders, Ipv6};
pub use lrh::{Lnh, Lrh};
pub use udp::Udp;
