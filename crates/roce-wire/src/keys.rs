//! Keys and queue pair numbers: P_Key, Q_Key, R_Key, QPN, and the addresses that R_Keys open.

use core::fmt;
use zerocopy::network_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A wire word with a meaning of its own: constructor, getter, and how it prints.
macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $wire:ty, $int:ty, $format:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
        #[repr(transparent)]
        pub struct $name($wire);

        impl $name {
            /// From the number.
            #[must_use]
            pub const fn new(value: $int) -> Self {
                Self(<$wire>::new(value))
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> $int {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.get())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(", $format, ")"), self.get())
            }
        }
    };
}
pub(crate) use word;

word! {
    /// A partition key: 15 bits and, on top, whether the membership is full.
    PKey, U16, u16, "{:#06x}"
}
word! {
    /// A queue key of datagram services.
    QKey, U32, u32, "{:#010x}"
}
word! {
    /// The key that gives a remote side access to a memory region or window.
    RKey, U32, u32, "{:#010x}"
}
word! {
    /// A virtual address on the responder's side, in bytes.
    VirtAddr, U64, u64, "{:#x}"
}

impl PKey {
    /// The default partition, full member.
    pub const DEFAULT: Self = Self::new(0xffff);

    /// The partition without the membership bit.
    #[must_use]
    pub const fn partition(self) -> u16 {
        self.get() & 0x7fff
    }

    /// Whether the sender is a full member (bit 15).
    #[must_use]
    pub const fn is_full_member(self) -> bool {
        self.get() & 0x8000 != 0
    }
}

impl QKey {
    /// The well-known key of QP1 (Linux `include/rdma/ib_mad.h`, `IB_QP1_QKEY`).
    pub const GSI: Self = Self::new(0x8001_0000);
}

/// A queue pair number: 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Qpn(u32);

impl Qpn {
    /// QP0, subnet management; does not exist on RoCE.
    pub const SMI: Self = Self(0);
    /// QP1, the general services interface: where connection management speaks.
    pub const GSI: Self = Self(1);
    /// The destination of multicast.
    pub const MULTICAST: Self = Self(0xff_ffff);

    /// From the number; bits above the 24th are dropped.
    #[must_use]
    pub const fn new(qpn: u32) -> Self {
        Self(qpn & 0x00ff_ffff)
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#08x}", self.0)
    }
}

impl fmt::Debug for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Qpn({:#x})", self.0)
    }
}
