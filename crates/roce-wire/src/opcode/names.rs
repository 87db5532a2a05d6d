//! The known opcodes by name.

use super::Opcode;

impl Opcode {
    /// `RC_SEND_FIRST`.
    pub const RC_SEND_FIRST: Self = Self(0x00);
    /// `RC_SEND_MIDDLE`.
    pub const RC_SEND_MIDDLE: Self = Self(0x01);
    /// `RC_SEND_LAST`.
    pub const RC_SEND_LAST: Self = Self(0x02);
    /// `RC_SEND_LAST_WITH_IMMEDIATE`.
    pub const RC_SEND_LAST_WITH_IMMEDIATE: Self = Self(0x03);
    /// `RC_SEND_ONLY`.
    pub const RC_SEND_ONLY: Self = Self(0x04);
    /// `RC_SEND_ONLY_WITH_IMMEDIATE`.
    pub const RC_SEND_ONLY_WITH_IMMEDIATE: Self = Self(0x05);
    /// `RC_RDMA_WRITE_FIRST`.
    pub const RC_RDMA_WRITE_FIRST: Self = Self(0x06);
    /// `RC_RDMA_WRITE_MIDDLE`.
    pub const RC_RDMA_WRITE_MIDDLE: Self = Self(0x07);
    /// `RC_RDMA_WRITE_LAST`.
    pub const RC_RDMA_WRITE_LAST: Self = Self(0x08);
    /// `RC_RDMA_WRITE_LAST_WITH_IMMEDIATE`.
    pub const RC_RDMA_WRITE_LAST_WITH_IMMEDIATE: Self = Self(0x09);
    /// `RC_RDMA_WRITE_ONLY`.
    pub const RC_RDMA_WRITE_ONLY: Self = Self(0x0a);
    /// `RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE`.
    pub const RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE: Self = Self(0x0b);
    /// `RC_RDMA_READ_REQUEST`.
    pub const RC_RDMA_READ_REQUEST: Self = Self(0x0c);
    /// `RC_RDMA_READ_RESPONSE_FIRST`.
    pub const RC_RDMA_READ_RESPONSE_FIRST: Self = Self(0x0d);
    /// `RC_RDMA_READ_RESPONSE_MIDDLE`.
    pub const RC_RDMA_READ_RESPONSE_MIDDLE: Self = Self(0x0e);
    /// `RC_RDMA_READ_RESPONSE_LAST`.
    pub const RC_RDMA_READ_RESPONSE_LAST: Self = Self(0x0f);
    /// `RC_RDMA_READ_RESPONSE_ONLY`.
    pub const RC_RDMA_READ_RESPONSE_ONLY: Self = Self(0x10);
    /// `RC_ACKNOWLEDGE`.
    pub const RC_ACKNOWLEDGE: Self = Self(0x11);
    /// `RC_ATOMIC_ACKNOWLEDGE`.
    pub const RC_ATOMIC_ACKNOWLEDGE: Self = Self(0x12);
    /// `RC_COMPARE_SWAP`.
    pub const RC_COMPARE_SWAP: Self = Self(0x13);
    /// `RC_FETCH_ADD`.
    pub const RC_FETCH_ADD: Self = Self(0x14);
    /// `RC_SEND_LAST_WITH_INVALIDATE`.
    pub const RC_SEND_LAST_WITH_INVALIDATE: Self = Self(0x16);
    /// `RC_SEND_ONLY_WITH_INVALIDATE`.
    pub const RC_SEND_ONLY_WITH_INVALIDATE: Self = Self(0x17);
    /// `RC_FLUSH`.
    pub const RC_FLUSH: Self = Self(0x1c);
    /// `RC_ATOMIC_WRITE`.
    pub const RC_ATOMIC_WRITE: Self = Self(0x1d);
    /// `UC_SEND_FIRST`.
    pub const UC_SEND_FIRST: Self = Self(0x20);
    /// `UC_SEND_MIDDLE`.
    pub const UC_SEND_MIDDLE: Self = Self(0x21);
    /// `UC_SEND_LAST`.
    pub const UC_SEND_LAST: Self = Self(0x22);
    /// `UC_SEND_LAST_WITH_IMMEDIATE`.
    pub const UC_SEND_LAST_WITH_IMMEDIATE: Self = Self(0x23);
    /// `UC_SEND_ONLY`.
    pub const UC_SEND_ONLY: Self = Self(0x24);
    /// `UC_SEND_ONLY_WITH_IMMEDIATE`.
    pub const UC_SEND_ONLY_WITH_IMMEDIATE: Self = Self(0x25);
    /// `UC_RDMA_WRITE_FIRST`.
    pub const UC_RDMA_WRITE_FIRST: Self = Self(0x26);
    /// `UC_RDMA_WRITE_MIDDLE`.
    pub const UC_RDMA_WRITE_MIDDLE: Self = Self(0x27);
    /// `UC_RDMA_WRITE_LAST`.
    pub const UC_RDMA_WRITE_LAST: Self = Self(0x28);
    /// `UC_RDMA_WRITE_LAST_WITH_IMMEDIATE`.
    pub const UC_RDMA_WRITE_LAST_WITH_IMMEDIATE: Self = Self(0x29);
    /// `UC_RDMA_WRITE_ONLY`.
    pub const UC_RDMA_WRITE_ONLY: Self = Self(0x2a);
    /// `UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE`.
    pub const UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE: Self = Self(0x2b);
    /// `RD_SEND_FIRST`.
    pub const RD_SEND_FIRST: Self = Self(0x40);
    /// `RD_SEND_MIDDLE`.
    pub const RD_SEND_MIDDLE: Self = Self(0x41);
    /// `RD_SEND_LAST`.
    pub const RD_SEND_LAST: Self = Self(0x42);
    /// `RD_SEND_LAST_WITH_IMMEDIATE`.
    pub const RD_SEND_LAST_WITH_IMMEDIATE: Self = Self(0x43);
    /// `RD_SEND_ONLY`.
    pub const RD_SEND_ONLY: Self = Self(0x44);
    /// `RD_SEND_ONLY_WITH_IMMEDIATE`.
    pub const RD_SEND_ONLY_WITH_IMMEDIATE: Self = Self(0x45);
    /// `RD_RDMA_WRITE_FIRST`.
    pub const RD_RDMA_WRITE_FIRST: Self = Self(0x46);
    /// `RD_RDMA_WRITE_MIDDLE`.
    pub const RD_RDMA_WRITE_MIDDLE: Self = Self(0x47);
    /// `RD_RDMA_WRITE_LAST`.
    pub const RD_RDMA_WRITE_LAST: Self = Self(0x48);
    /// `RD_RDMA_WRITE_LAST_WITH_IMMEDIATE`.
    pub const RD_RDMA_WRITE_LAST_WITH_IMMEDIATE: Self = Self(0x49);
    /// `RD_RDMA_WRITE_ONLY`.
    pub const RD_RDMA_WRITE_ONLY: Self = Self(0x4a);
    /// `RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE`.
    pub const RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE: Self = Self(0x4b);
    /// `RD_RDMA_READ_REQUEST`.
    pub const RD_RDMA_READ_REQUEST: Self = Self(0x4c);
    /// `RD_RDMA_READ_RESPONSE_FIRST`.
    pub const RD_RDMA_READ_RESPONSE_FIRST: Self = Self(0x4d);
    /// `RD_RDMA_READ_RESPONSE_MIDDLE`.
    pub const RD_RDMA_READ_RESPONSE_MIDDLE: Self = Self(0x4e);
    /// `RD_RDMA_READ_RESPONSE_LAST`.
    pub const RD_RDMA_READ_RESPONSE_LAST: Self = Self(0x4f);
    /// `RD_RDMA_READ_RESPONSE_ONLY`.
    pub const RD_RDMA_READ_RESPONSE_ONLY: Self = Self(0x50);
    /// `RD_ACKNOWLEDGE`.
    pub const RD_ACKNOWLEDGE: Self = Self(0x51);
    /// `RD_ATOMIC_ACKNOWLEDGE`.
    pub const RD_ATOMIC_ACKNOWLEDGE: Self = Self(0x52);
    /// `RD_COMPARE_SWAP`.
    pub const RD_COMPARE_SWAP: Self = Self(0x53);
    /// `RD_FETCH_ADD`.
    pub const RD_FETCH_ADD: Self = Self(0x54);
    /// `RD_RESYNC`.
    pub const RD_RESYNC: Self = Self(0x55);
    /// `RD_FLUSH`.
    pub const RD_FLUSH: Self = Self(0x5c);
    /// `UD_SEND_ONLY`.
    pub const UD_SEND_ONLY: Self = Self(0x64);
    /// `UD_SEND_ONLY_WITH_IMMEDIATE`.
    pub const UD_SEND_ONLY_WITH_IMMEDIATE: Self = Self(0x65);
    /// `CNP`.
    pub const CNP: Self = Self(0x81);
    /// `XRC_SEND_FIRST`.
    pub const XRC_SEND_FIRST: Self = Self(0xa0);
    /// `XRC_SEND_MIDDLE`.
    pub const XRC_SEND_MIDDLE: Self = Self(0xa1);
    /// `XRC_SEND_LAST`.
    pub const XRC_SEND_LAST: Self = Self(0xa2);
    /// `XRC_SEND_LAST_WITH_IMMEDIATE`.
    pub const XRC_SEND_LAST_WITH_IMMEDIATE: Self = Self(0xa3);
    /// `XRC_SEND_ONLY`.
    pub const XRC_SEND_ONLY: Self = Self(0xa4);
    /// `XRC_SEND_ONLY_WITH_IMMEDIATE`.
    pub const XRC_SEND_ONLY_WITH_IMMEDIATE: Self = Self(0xa5);
    /// `XRC_RDMA_WRITE_FIRST`.
    pub const XRC_RDMA_WRITE_FIRST: Self = Self(0xa6);
    /// `XRC_RDMA_WRITE_MIDDLE`.
    pub const XRC_RDMA_WRITE_MIDDLE: Self = Self(0xa7);
    /// `XRC_RDMA_WRITE_LAST`.
    pub const XRC_RDMA_WRITE_LAST: Self = Self(0xa8);
    /// `XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE`.
    pub const XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE: Self = Self(0xa9);
    /// `XRC_RDMA_WRITE_ONLY`.
    pub const XRC_RDMA_WRITE_ONLY: Self = Self(0xaa);
    /// `XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE`.
    pub const XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE: Self = Self(0xab);
    /// `XRC_RDMA_READ_REQUEST`.
    pub const XRC_RDMA_READ_REQUEST: Self = Self(0xac);
    /// `XRC_RDMA_READ_RESPONSE_FIRST`.
    pub const XRC_RDMA_READ_RESPONSE_FIRST: Self = Self(0xad);
    /// `XRC_RDMA_READ_RESPONSE_MIDDLE`.
    pub const XRC_RDMA_READ_RESPONSE_MIDDLE: Self = Self(0xae);
    /// `XRC_RDMA_READ_RESPONSE_LAST`.
    pub const XRC_RDMA_READ_RESPONSE_LAST: Self = Self(0xaf);
    /// `XRC_RDMA_READ_RESPONSE_ONLY`.
    pub const XRC_RDMA_READ_RESPONSE_ONLY: Self = Self(0xb0);
    /// `XRC_ACKNOWLEDGE`.
    pub const XRC_ACKNOWLEDGE: Self = Self(0xb1);
    /// `XRC_ATOMIC_ACKNOWLEDGE`.
    pub const XRC_ATOMIC_ACKNOWLEDGE: Self = Self(0xb2);
    /// `XRC_COMPARE_SWAP`.
    pub const XRC_COMPARE_SWAP: Self = Self(0xb3);
    /// `XRC_FETCH_ADD`.
    pub const XRC_FETCH_ADD: Self = Self(0xb4);
    /// `XRC_SEND_LAST_WITH_INVALIDATE`.
    pub const XRC_SEND_LAST_WITH_INVALIDATE: Self = Self(0xb6);
    /// `XRC_SEND_ONLY_WITH_INVALIDATE`.
    pub const XRC_SEND_ONLY_WITH_INVALIDATE: Self = Self(0xb7);
}
