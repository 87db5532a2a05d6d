//! RoCE v1, RoCE v2 and native InfiniBand packets: zero-copy parse, byte-exact emit.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

mod addr;
mod build;
mod ecn;
mod field;
mod frame;
mod header;
pub mod icrc;
mod icrc_fault;
mod keys;
mod link;
pub mod mad;
mod net;
mod opcode;
mod psn;
mod transport;
mod tunnel;

pub use addr::{Gid, Lid, MacAddr};
pub use build::{
    CarriesIp, Extent, FlowControl, FrameBuilder, Gmp, IcrcFill, Mend, Mended, OnIp, OnLink,
    OnShim, PacketBuilder, Ready, mend,
};
pub use ecn::Ecn;
pub use field::{Field, Fields, Value};
pub use frame::{
    Addr, Carrier, Content, Frame, IcrcState, Layer, Link, MAX_LAYERS, Net, NoBth, Oddities, Other,
    Ports, Reject, Tunnels, Version,
};
pub use header::{AnyHeader, Header, TooShort};
pub use icrc::Icrc;
pub use icrc_fault::IcrcFault;
pub use keys::{PKey, QKey, Qpn, RKey, VirtAddr};
pub use link::{Erf, EtherType, Ethernet, Null, Pause, Pfc, Sll, Sll2, VlanTag};
pub use mad::cm::{CommId, PathMtu, ServiceId};
pub use mad::{Mad, Management};
pub use net::{ExtensionHeaders, Grh, Ipv4, Ipv6, Lnh, Lrh, Udp};
pub use opcode::{Class, ExtHeaders, OPCODES, Opcode, OpcodeInfo, PayloadRule, Service};
pub use psn::{Msn, Psn};
pub use transport::{
    AckKind, Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Ieth, ImmDt, NakCode, Packet, Rdeth,
    Reth, RnrTimer, Syndrome, XrcEth,
};
pub use tunnel::{ErspanII, ErspanIII, Geneve, Gre, MplsLabel, Vxlan};
