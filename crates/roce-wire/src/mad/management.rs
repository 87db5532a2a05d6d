//! One management datagram: the common header and, of connection management, the message.

use bytes::BufMut;
use core::fmt;

use super::cm::{CmAttribute, CmMessage};
use super::{Mad, RdmaCmHeader};
use crate::header::put;
use crate::{AnyHeader, Header, TooShort};

/// A management datagram. The fields stand in wire order.
///
/// ```
/// use roce_wire::mad::Management;
/// use roce_wire::mad::cm::CmAttribute;
///
/// let mut payload = [0u8; 256];
/// payload[..4].copy_from_slice(&[1, 7, 2, 3]); // connection management, Send
/// payload[17] = 0x10; // REQ
/// let whole = Management::parse(&payload)?;
/// assert!(whole.message.is_some());
///
/// // Cut by the capture: still counted by its name.
/// let cut = Management::parse(&payload[..64])?;
/// assert_eq!(cut.cm_attribute(), Some(CmAttribute::Req));
/// assert_eq!(cut.missing().unwrap().to_string(), "CM REQ at byte 24 needs 232 bytes, there are 40");
/// # Ok::<(), roce_wire::TooShort>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Management<'a> {
    /// The common header.
    pub mad: &'a Mad,
    /// The message of connection management, when it is one and is there whole.
    pub message: Option<CmMessage<'a>>,
    /// What follows: the data of another class, what is left of a message that was cut, or what
    /// stands behind a whole one (nothing, in a datagram of the right length).
    pub rest: &'a [u8],
    missing: Option<TooShort>,
}

impl<'a> Management<'a> {
    /// Lays a datagram over `payload`, the payload of a packet to QP1.
    ///
    /// # Errors
    /// [`TooShort`] when there is no whole common header. A message that is not there whole is no
    /// error: [`missing`](Self::missing) names it.
    pub fn parse(payload: &'a [u8]) -> Result<Self, TooShort> {
        let (mad, rest) = Mad::parse(payload)?;
        let bare = Self { mad, message: None, rest, missing: None };
        let Some(attribute) = mad.cm_attribute() else { return Ok(bare) };
        Ok(match CmMessage::of(attribute, rest) {
            Ok(message) => Self {
                message: Some(message),
                rest: rest.get(CmMessage::LEN..).unwrap_or_default(),
                ..bare
            },
            Err(error) => Self { missing: Some(error.at(Mad::LEN)), ..bare },
        })
    }

    /// Appends the datagram as it is, byte for byte.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room; what was written before stays.
    pub fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        let Self { mad, message, rest, missing: _ } = *self;
        mad.emit(out)?;
        message.map_or(Ok(()), |message| message.emit(out))?;
        put("MAD data", rest, out)
    }

    /// Which message of connection management it is, also when it was cut: what counts go by.
    #[must_use]
    pub const fn cm_attribute(&self) -> Option<CmAttribute> {
        self.mad.cm_attribute()
    }

    /// The message that is announced and not there whole; its offset counts from the MAD.
    #[must_use]
    pub const fn missing(&self) -> Option<TooShort> {
        self.missing
    }

    /// RDMA_CM's header in a REQ or SIDR_REQ to an RDMA_CM port, and its consumer's private data.
    #[must_use]
    pub fn rdma_cm(&self) -> Option<(&'a RdmaCmHeader, &'a [u8])> {
        self.message.and_then(|message| message.rdma_cm())
    }

    /// Calls `visit` for the common header and the message, in wire order.
    ///
    /// RDMA_CM's header is not visited: it stands inside the message, in its private data.
    pub fn for_each_header(&self, visit: &mut dyn FnMut(&dyn AnyHeader)) {
        visit(self.mad);
        if let Some(message) = self.message {
            visit(message.as_header());
        }
    }
}

impl fmt::Display for Management<'_> {
    /// The message in one line, or the common header when there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message, self.cm_attribute()) {
            (Some(message), _) => write!(f, "CM {message}"),
            (None, Some(attribute)) => write!(f, "CM {attribute} (cut)"),
            (None, None) => write!(f, "MAD {}", self.mad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use zerocopy::IntoBytes;

    use crate::mad::test_data::{NO_LISTENER_REJ, RPING_REQ, mad};
    use crate::mad::{AttributeId, MgmtClass};

    #[test]
    fn a_whole_datagram_has_its_message_and_nothing_behind_it() {
        let bytes = mad(NO_LISTENER_REJ);
        let management = Management::parse(&bytes).unwrap();
        assert_eq!((management.missing(), management.rest), (None, &[][..]));
        assert_eq!(management.to_string(), "CM REJ to 0xf4852c6d of REQ: invalid service id");
        let mut names = Vec::new();
        management.for_each_header(&mut |header| names.push(header.name()));
        assert_eq!(names, ["MAD", "CM REJ"]);
    }

    #[test]
    fn every_cut_says_what_is_missing_and_keeps_the_name() {
        let bytes = mad(RPING_REQ);
        for len in 0..Mad::LEN {
            assert_eq!(Management::parse(&bytes[..len]).unwrap_err().needed, 24);
        }
        for len in Mad::LEN..bytes.len() {
            let management = Management::parse(&bytes[..len]).unwrap();
            assert!(management.message.is_none() && management.rdma_cm().is_none());
            assert_eq!(management.cm_attribute(), Some(CmAttribute::Req));
            assert_eq!(management.to_string(), "CM REQ (cut)");
            let missing = management.missing().unwrap();
            assert_eq!((missing.offset, missing.needed, missing.had), (24, 232, len - 24));
        }
    }

    #[test]
    fn other_classes_keep_their_data() {
        let mut bytes = mad(RPING_REQ);
        bytes[1] = MgmtClass::PERF.0;
        let management = Management::parse(&bytes).unwrap();
        assert!(management.message.is_none() && management.missing().is_none());
        assert_eq!(management.rest, &bytes[24..]);
        assert!(management.to_string().starts_with("MAD Perf Send attribute 0x0010"));
        bytes[1] = MgmtClass::CM.0;
        bytes[16..18].copy_from_slice(AttributeId::CLASS_PORT_INFO.as_bytes());
        let management = Management::parse(&bytes).unwrap();
        assert!(management.message.is_none() && management.missing().is_none());
        assert!(management.to_string().starts_with("MAD CM Send ClassPortInfo"));
    }

    #[test]
    fn what_stands_behind_a_datagram_is_kept() {
        let mut long = mad(RPING_REQ).to_vec();
        long.extend([1, 2, 3]);
        assert_eq!(Management::parse(&long).unwrap().rest, [1, 2, 3]);
        for len in 24..=long.len() {
            let mut out = Vec::new();
            Management::parse(&long[..len]).unwrap().emit(&mut out).unwrap();
            assert_eq!(out, long[..len]);
        }
    }
}
