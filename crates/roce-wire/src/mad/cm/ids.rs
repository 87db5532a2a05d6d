//! The numbers by which connection management names things.

use core::fmt;
use zerocopy::network_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::keys::word;

word! {
    /// A communication id: one side's number for a connection that is being made or is open.
    ///
    /// Each side has its own; which is "local" is told from the sender's side.
    CommId, U32, u32, "{:#010x}"
}
word! {
    /// A globally unique identifier of an adapter (EUI-64).
    Guid, U64, u64, "{:#018x}"
}
