//! Linux cooked captures: SLL, 16 bytes, and SLL2, 20 bytes (libpcap link types 113 and 276).
//!
//! ```text
//! SLL  0               1               2               3
//!  0  | packet type                   | ARPHRD type                   |
//!  4  | address length                | address (8 bytes)             |
//! 12  | ...                           | protocol                      |
//!
//! SLL2 0               1               2               3
//!  0  | protocol                      | reserved                      |
//!  4  | interface index                                               |
//!  8  | ARPHRD type                   | packet type   | address length|
//! 12  | address (8 bytes)                                             |
//! ```

use core::fmt;
use zerocopy::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EtherType, Fields, Header};

/// Linux cooked header, version 1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Sll {
    packet_type: U16,
    arphrd: U16,
    addr_len: U16,
    /// The sender's link address; only the first `addr_len` bytes count.
    pub addr: [u8; 8],
    protocol: U16,
}

const _: () = assert!(size_of::<Sll>() == 16);

impl Sll {
    /// An Ethernet frame sent to us.
    #[must_use]
    pub const fn new(protocol: EtherType) -> Self {
        Self {
            packet_type: U16::new(0),
            arphrd: U16::new(1),
            addr_len: U16::new(6),
            addr: [0; 8],
            protocol: U16::new(protocol.0),
        }
    }

    /// 0 to us, 1 broadcast, 2 multicast, 3 to another host, 4 sent by us.
    #[must_use]
    pub const fn packet_type(&self) -> u16 {
        self.packet_type.get()
    }

    /// What follows.
    #[must_use]
    pub const fn protocol(&self) -> EtherType {
        EtherType(self.protocol.get())
    }
}

impl Header for Sll {
    const NAME: &'static str = "SLL";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("packet_type", 16, self.packet_type());
        f.uint("arphrd", 16, self.arphrd.get());
        f.uint("addr_len", 16, self.addr_len.get());
        f.bytes("addr", &self.addr);
        f.named("protocol", 16, self.protocol().0, &self.protocol());
    }
}

impl fmt::Display for Sll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cooked {}", self.protocol())
    }
}

/// Linux cooked header, version 2.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Sll2 {
    protocol: U16,
    reserved: U16,
    interface: U32,
    arphrd: U16,
    /// As in [`Sll::packet_type`].
    pub packet_type: u8,
    /// How many bytes of `addr` count.
    pub addr_len: u8,
    /// The sender's link address.
    pub addr: [u8; 8],
}

const _: () = assert!(size_of::<Sll2>() == 20);

impl Sll2 {
    /// An Ethernet frame sent to us on the interface with this index.
    #[must_use]
    pub const fn new(protocol: EtherType, interface: u32) -> Self {
        Self {
            protocol: U16::new(protocol.0),
            reserved: U16::new(0),
            interface: U32::new(interface),
            arphrd: U16::new(1),
            packet_type: 0,
            addr_len: 6,
            addr: [0; 8],
        }
    }

    /// What follows.
    #[must_use]
    pub const fn protocol(&self) -> EtherType {
        EtherType(self.protocol.get())
    }

    /// The index of the interface.
    #[must_use]
    pub const fn interface(&self) -> u32 {
        self.interface.get()
    }
}

impl Header for Sll2 {
    const NAME: &'static str = "SLL2";

    fn fields(&self, f: &mut Fields<'_>) {
        f.named("protocol", 16, self.protocol().0, &self.protocol());
        f.reserved(16, self.reserved.get());
        f.uint("interface", 32, self.interface());
        f.uint("arphrd", 16, self.arphrd.get());
        f.uint("packet_type", 8, self.packet_type);
        f.uint("addr_len", 8, self.addr_len);
        f.bytes("addr", &self.addr);
    }
}

impl fmt::Display for Sll2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cooked {} interface {}", self.protocol(), self.interface())
    }
}
