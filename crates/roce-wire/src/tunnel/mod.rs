//! Tunnels that carry RoCE through other networks and to mirrors.

mod erspan;
mod geneve;
mod gre;
mod mpls;
mod vxlan;

pub use erspan::{ErspanII, ErspanIII};
pub use geneve::Geneve;
pub use gre::Gre;
pub use mpls::MplsLabel;
pub use vxlan::Vxlan;
