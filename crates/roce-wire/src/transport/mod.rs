//! The transport headers, one file each, and the packet they make: BTH to ICRC.

mod aeth;
mod atomic_ack_eth;
mod atomic_eth;
mod bth;
mod deth;
mod feth;
mod ieth;
mod imm_dt;
mod packet;
mod rdeth;
mod reth;
mod xrceth;

pub use aeth::{AckKind, Aeth, NakCode, RnrTimer, Syndrome};
pub use atomic_ack_eth::AtomicAckEth;
pub use atomic_eth::AtomicEth;
pub use bth::Bth;
pub use deth::Deth;
pub use feth::Feth;
pub use ieth::Ieth;
pub use imm_dt::ImmDt;
pub use packet::Packet;
pub use rdeth::Rdeth;
pub use reth::Reth;
pub use xrceth::XrcEth;
