//! Making frames: a typed builder for new ones, and mending of those that were edited.
//!
//! ```
//! use core::net::Ipv4Addr;
//! use roce_wire::{FrameBuilder, MacAddr, Opcode, PacketBuilder, Psn, Qpn};
//!
//! let (a, b) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
//! let head = FrameBuilder::ethernet(b, a)
//!     .vlan(3, 100)
//!     .ipv4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
//!     .traffic_class(0x68)
//!     .udp(0xc123);
//! let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x11), Psn::new(7))
//!     .payload(b"hello");
//!
//! let mut frame = Vec::new();
//! head.emit(&packet, &mut frame).unwrap();
//! // Ethernet 14, tag 4, IPv4 20, UDP 8, BTH 12, payload 5, pad 3, ICRC 4.
//! assert_eq!(frame.len(), 70);
//! ```
//!
//! Into a slice, without any allocation; what has no room is told by [`TooShort`]:
//!
//! ```
//! # use core::net::Ipv4Addr;
//! # use roce_wire::{FrameBuilder, MacAddr, Opcode, PacketBuilder, Psn, Qpn};
//! # let mac = MacAddr([2, 0, 0, 0, 0, 1]);
//! # let ip = Ipv4Addr::new(10, 0, 0, 1);
//! let head = FrameBuilder::ethernet(mac, mac).ipv4(ip, ip).udp(0xc000);
//! let packet = PacketBuilder::new(Opcode::RC_SEND_ONLY, Qpn::new(0x11), Psn::new(7));
//! let mut room = [0u8; 64];
//! let mut rest = &mut room[..];
//! head.emit(&packet, &mut rest).unwrap();
//! assert_eq!(64 - rest.len(), head.len(&packet));
//! assert!(head.emit(&packet, &mut rest).is_err());
//! ```
//!
//! [`TooShort`]: crate::TooShort

mod checksum;
mod flow_control;
mod frame_builder;
mod gmp;
mod head;
mod mend;
mod packet_builder;
mod part;

pub use flow_control::FlowControl;
pub use frame_builder::{CarriesIp, FrameBuilder, OnIp, OnLink, OnShim, Ready};
pub use gmp::Gmp;
pub use head::Head;
pub use mend::{Extent, Mend, Mended, mend};
pub use packet_builder::{IcrcFill, PacketBuilder};
