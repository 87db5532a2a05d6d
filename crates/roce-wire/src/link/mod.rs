//! The link layers a capture can begin with, and MAC control: Ethernet, VLAN, cooked, null, ERF.

mod erf;
mod ethernet;
mod mac_control;
mod null;
mod sll;
mod vlan;

pub use erf::Erf;
pub use ethernet::{EtherType, Ethernet};
pub use mac_control::{Pause, Pfc};
pub use null::Null;
pub use sll::{Sll, Sll2};
pub use vlan::VlanTag;
