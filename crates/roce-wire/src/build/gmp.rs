//! A management datagram to be made: common header and message, 256 bytes.

use zerocopy::IntoBytes;

use crate::mad::Mad;
use crate::mad::cm::CmMessage;

/// The 256 bytes of a management datagram: the payload of a packet to QP1.
///
/// ```
/// use roce_wire::mad::cm::{CmMessage, CommId, Rtu};
/// use roce_wire::{Gmp, PacketBuilder, Psn};
/// let rtu = Rtu::new(CommId::new(1), CommId::new(2));
/// let datagram = Gmp::cm(0x1234, CmMessage::Rtu(&rtu));
/// let packet = PacketBuilder::gmp(Psn::new(5), &datagram);
/// // BTH 12, DETH 8, datagram 256, ICRC 4.
/// assert_eq!(packet.len(), 280);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gmp {
    bytes: [u8; Mad::DATAGRAM_LEN],
}

impl Gmp {
    /// A message of connection management in a transaction.
    #[must_use]
    pub fn cm(transaction_id: u64, message: CmMessage<'_>) -> Self {
        Self::new(&Mad::cm(message.attribute(), transaction_id), message)
    }

    /// A message behind any common header.
    #[must_use]
    pub fn new(mad: &Mad, message: CmMessage<'_>) -> Self {
        let mut bytes = [0; Mad::DATAGRAM_LEN];
        let (head, body) = bytes.split_at_mut(size_of::<Mad>());
        head.copy_from_slice(mad.as_bytes());
        // Every message is as long as the room behind the header, so this cannot fail.
        let emitted = message.emit(&mut &mut *body);
        debug_assert!(emitted.is_ok(), "a message fits a datagram");
        Self { bytes }
    }

    /// The datagram.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Mad::DATAGRAM_LEN] {
        &self.bytes
    }
}
