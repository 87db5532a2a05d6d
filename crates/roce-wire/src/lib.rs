//! RoCE v1, RoCE v2 and native InfiniBand packets: zero-copy parse, byte-exact emit.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

mod addr;
mod ecn;
mod field;
mod header;
pub mod icrc;
mod keys;
mod net;
mod opcode;
mod psn;
mod transport;

pub use addr::{Gid, Lid, MacAddr};
pub use ecn::Ecn;
pub use field::{Field, Fields, Value};
pub use header::{AnyHeader, Header, TooShort};
pub use icrc::Icrc;
pub use keys::{PKey, QKey, Qpn, RKey, VirtAddr};
pub use net::{ExtensionHeaders, Grh, Ipv4, Ipv6, Lnh, Lrh, Udp};
pub use opcode::{Class, ExtHeaders, OPCODES, Opcode, OpcodeInfo, PayloadRule, Service};
pub use psn::{Msn, Psn};
pub use transport::{
    AckKind, Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Ieth, ImmDt, NakCode, Packet, Rdeth,
    Reth, RnrTimer, Syndrome, XrcEth,
};
