//! RoCE v1, RoCE v2 and native InfiniBand packets: zero-copy parse, byte-exact emit.
//!
//! No file, no socket, no state, no allocation while parsing; no panic whatever the bytes are.
//!
//! Make a frame, with lengths, checksum, pad and ICRC filled in:
//!
//! ```
//! use core::net::Ipv4Addr;
//! use roce_wire::{FrameBuilder, MacAddr, Opcode, PacketBuilder, Psn, Qpn};
//!
//! let (a, b) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
//! let mut bytes = Vec::new();
//! FrameBuilder::ethernet(b, a)
//!     .ipv4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
//!     .udp(0xc123)
//!     .emit(
//!         &PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x11), Psn::new(7)).payload(b"hi"),
//!         &mut bytes,
//!     )?;
//! # Ok::<(), roce_wire::TooShort>(())
//! ```
//!
//! and take one apart:
//!
//! ```
//! use roce_wire::{Carrier, Frame, IcrcState, Link, Opcode, Ports};
//!
//! # let (a, b) = (roce_wire::MacAddr([2; 6]), roce_wire::MacAddr([4; 6]));
//! # let ip = core::net::Ipv4Addr::new(10, 0, 0, 1);
//! # let mut bytes = Vec::new();
//! # let packet = roce_wire::PacketBuilder::new(
//! #     Opcode::RC_SEND_ONLY, roce_wire::Qpn::new(0x11), roce_wire::Psn::new(7)).payload(b"hi");
//! # roce_wire::FrameBuilder::ethernet(b, a).ipv4(ip, ip).udp(0xc123).emit(&packet, &mut bytes)?;
//! let frame = Frame::parse(Link::Ethernet, &bytes, bytes.len(), &Ports::default());
//! assert!(frame.is_roce());
//! let (net, packet) = frame.packet().expect("there is one");
//! assert_eq!(net.carrier(), Carrier::V2Ipv4);
//! assert_eq!((packet.bth.opcode, packet.bth.psn().get()), (Opcode::RC_SEND_ONLY, 7));
//! assert_eq!((packet.payload, packet.pad.len()), (&b"hi"[..], 2));
//! assert_eq!(frame.icrc_state(), Some(IcrcState::Ok));
//!
//! // Byte for byte what it was.
//! let mut again = Vec::new();
//! frame.emit(&mut again)?;
//! assert_eq!(again, bytes);
//! # Ok::<(), roce_wire::TooShort>(())
//! ```
//!
//! | to find | look at |
//! | --- | --- |
//! | what a frame carries, its layers, whether it is RoCE | [`Frame`], [`Content`], [`Layer`], [`Reject`] |
//! | a packet and its headers | [`Packet`], [`Bth`], [`Reth`], [`Aeth`], … |
//! | what each opcode carries | [`OPCODES`], [`Opcode::info`] |
//! | the ICRC, and mistakes in it | [`icrc`], [`Frame::icrc_state`], [`IcrcFault`], [`Origins`] |
//! | connection management | [`mad`], [`Management`] |
//! | making and mending frames | [`FrameBuilder`], [`PacketBuilder`], [`mend()`] |
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
    CarriesIp, Extent, FlowControl, FrameBuilder, Gmp, Head, IcrcFill, Mend, Mended, OnIp, OnLink,
    OnShim, PacketBuilder, Ready, mend,
};
pub use ecn::Ecn;
pub use field::{Field, Fields, Value};
pub use frame::{
    Addr, Carrier, Content, Frame, IcrcState, Layer, Link, MAX_LAYERS, Net, NoBth, Oddities, Other,
    Plain, PlainNet, PlainUse, Ports, Reject, Sound, Tunnels, Version, plain,
};
pub use header::{AnyHeader, Header, TooShort};
pub use icrc::Icrc;
pub use icrc_fault::{IcrcFault, Origins, Unmasked};
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
