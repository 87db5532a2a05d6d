//! Any of the eleven messages.

use bytes::BufMut;
use core::fmt;

use super::{Apr, CmAttribute, CommId, Drep, Dreq, Lap, Mra, Rej, Rep, Req, Rtu, SidrRep, SidrReq};
use crate::mad::{AttributeId, RdmaCmHeader};
use crate::{AnyHeader, Header, TooShort};

/// A message of connection management.
#[derive(Clone, Copy, Debug)]
pub enum CmMessage<'a> {
    /// Connection request.
    Req(&'a Req),
    /// Message receipt acknowledgement.
    Mra(&'a Mra),
    /// Connection reject.
    Rej(&'a Rej),
    /// Connection reply.
    Rep(&'a Rep),
    /// Ready to use.
    Rtu(&'a Rtu),
    /// Disconnection request.
    Dreq(&'a Dreq),
    /// Disconnection reply.
    Drep(&'a Drep),
    /// Service id resolution request.
    SidrReq(&'a SidrReq),
    /// Service id resolution reply.
    SidrRep(&'a SidrRep),
    /// Load alternate path.
    Lap(&'a Lap),
    /// Alternate path response.
    Apr(&'a Apr),
}

impl<'a> CmMessage<'a> {
    /// The length of every message, in bytes.
    pub const LEN: usize = 232;

    /// Lays the message that `attribute` announces over the start of `bytes`, which follow the
    /// MAD common header; `None` when the attribute is no message of connection management.
    ///
    /// # Errors
    /// [`TooShort`] when `bytes` has fewer than [`Self::LEN`] bytes.
    pub fn parse(attribute: AttributeId, bytes: &'a [u8]) -> Result<Option<Self>, TooShort> {
        CmAttribute::from_id(attribute).map(|known| Self::of(known, bytes)).transpose()
    }

    /// Lays the message over the start of `bytes`, which follow the MAD common header.
    ///
    /// # Errors
    /// [`TooShort`] when `bytes` has fewer than [`Self::LEN`] bytes.
    pub fn of(attribute: CmAttribute, bytes: &'a [u8]) -> Result<Self, TooShort> {
        Ok(match attribute {
            CmAttribute::Req => Self::Req(Req::parse(bytes)?.0),
            CmAttribute::Mra => Self::Mra(Mra::parse(bytes)?.0),
            CmAttribute::Rej => Self::Rej(Rej::parse(bytes)?.0),
            CmAttribute::Rep => Self::Rep(Rep::parse(bytes)?.0),
            CmAttribute::Rtu => Self::Rtu(Rtu::parse(bytes)?.0),
            CmAttribute::Dreq => Self::Dreq(Dreq::parse(bytes)?.0),
            CmAttribute::Drep => Self::Drep(Drep::parse(bytes)?.0),
            CmAttribute::SidrReq => Self::SidrReq(SidrReq::parse(bytes)?.0),
            CmAttribute::SidrRep => Self::SidrRep(SidrRep::parse(bytes)?.0),
            CmAttribute::Lap => Self::Lap(Lap::parse(bytes)?.0),
            CmAttribute::Apr => Self::Apr(Apr::parse(bytes)?.0),
        })
    }

    /// Appends the message as it is, byte for byte.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room; nothing is written then.
    pub fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        match *self {
            Self::Req(message) => message.emit(out),
            Self::Mra(message) => message.emit(out),
            Self::Rej(message) => message.emit(out),
            Self::Rep(message) => message.emit(out),
            Self::Rtu(message) => message.emit(out),
            Self::Dreq(message) => message.emit(out),
            Self::Drep(message) => message.emit(out),
            Self::SidrReq(message) => message.emit(out),
            Self::SidrRep(message) => message.emit(out),
            Self::Lap(message) => message.emit(out),
            Self::Apr(message) => message.emit(out),
        }
    }

    /// Which message it is.
    #[must_use]
    pub const fn attribute(&self) -> CmAttribute {
        match self {
            Self::Req(_) => CmAttribute::Req,
            Self::Mra(_) => CmAttribute::Mra,
            Self::Rej(_) => CmAttribute::Rej,
            Self::Rep(_) => CmAttribute::Rep,
            Self::Rtu(_) => CmAttribute::Rtu,
            Self::Dreq(_) => CmAttribute::Dreq,
            Self::Drep(_) => CmAttribute::Drep,
            Self::SidrReq(_) => CmAttribute::SidrReq,
            Self::SidrRep(_) => CmAttribute::SidrRep,
            Self::Lap(_) => CmAttribute::Lap,
            Self::Apr(_) => CmAttribute::Apr,
        }
    }

    /// The standard's abbreviation, such as `SIDR_REQ`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.attribute().name()
    }

    /// The sender's id of the connection; `None` in service id resolution, and in a REJ whose
    /// sender had given none yet.
    #[must_use]
    pub fn local_comm_id(&self) -> Option<CommId> {
        match *self {
            Self::Req(m) => Some(m.local_comm_id),
            Self::Mra(m) => Some(m.local_comm_id),
            Self::Rej(m) => Some(m.local_comm_id).filter(|id| id.get() != 0),
            Self::Rep(m) => Some(m.local_comm_id),
            Self::Rtu(m) => Some(m.local_comm_id),
            Self::Dreq(m) => Some(m.local_comm_id),
            Self::Drep(m) => Some(m.local_comm_id),
            Self::Lap(m) => Some(m.local_comm_id),
            Self::Apr(m) => Some(m.local_comm_id),
            Self::SidrReq(_) | Self::SidrRep(_) => None,
        }
    }

    /// The receiver's id of the connection; `None` in a REQ, which comes before it, in service id
    /// resolution, and in a REJ whose sender had not learnt it.
    #[must_use]
    pub fn remote_comm_id(&self) -> Option<CommId> {
        match *self {
            Self::Mra(m) => Some(m.remote_comm_id),
            Self::Rej(m) => Some(m.remote_comm_id).filter(|id| id.get() != 0),
            Self::Rep(m) => Some(m.remote_comm_id),
            Self::Rtu(m) => Some(m.remote_comm_id),
            Self::Dreq(m) => Some(m.remote_comm_id),
            Self::Drep(m) => Some(m.remote_comm_id),
            Self::Lap(m) => Some(m.remote_comm_id),
            Self::Apr(m) => Some(m.remote_comm_id),
            Self::Req(_) | Self::SidrReq(_) | Self::SidrRep(_) => None,
        }
    }

    /// The number of a service id resolution, the same in request and reply.
    #[must_use]
    pub const fn request_id(&self) -> Option<CommId> {
        match *self {
            Self::SidrReq(m) => Some(m.request_id),
            Self::SidrRep(m) => Some(m.request_id),
            _ => None,
        }
    }

    /// All the bytes that are the service's own: 92 in a REQ, up to 224 in others.
    #[must_use]
    pub const fn private_data(&self) -> &'a [u8] {
        match *self {
            Self::Req(m) => &m.private_data,
            Self::Mra(m) => &m.private_data,
            Self::Rej(m) => &m.private_data,
            Self::Rep(m) => &m.private_data,
            Self::Rtu(m) => &m.private_data,
            Self::Dreq(m) => &m.private_data,
            Self::Drep(m) => &m.private_data,
            Self::SidrReq(m) => &m.private_data,
            Self::SidrRep(m) => &m.private_data,
            Self::Lap(m) => &m.private_data,
            Self::Apr(m) => &m.private_data,
        }
    }

    /// RDMA_CM's header in a REQ or SIDR_REQ to an RDMA_CM port, and its consumer's private data.
    #[must_use]
    pub fn rdma_cm(&self) -> Option<(&'a RdmaCmHeader, &'a [u8])> {
        match *self {
            Self::Req(m) => m.rdma_cm(),
            Self::SidrReq(m) => m.rdma_cm(),
            _ => None,
        }
    }

    /// The message as a header among others.
    #[must_use]
    pub fn as_header(&self) -> &'a dyn AnyHeader {
        match *self {
            Self::Req(message) => message,
            Self::Mra(message) => message,
            Self::Rej(message) => message,
            Self::Rep(message) => message,
            Self::Rtu(message) => message,
            Self::Dreq(message) => message,
            Self::Drep(message) => message,
            Self::SidrReq(message) => message,
            Self::SidrRep(message) => message,
            Self::Lap(message) => message,
            Self::Apr(message) => message,
        }
    }
}

impl fmt::Display for CmMessage<'_> {
    /// The name and what an operator wants to know, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::Req(message) => write!(f, "{name} {message}"),
            Self::Mra(message) => write!(f, "{name} {message}"),
            Self::Rej(message) => write!(f, "{name} {message}"),
            Self::Rep(message) => write!(f, "{name} {message}"),
            Self::Rtu(message) => write!(f, "{name} {message}"),
            Self::Dreq(message) => write!(f, "{name} {message}"),
            Self::Drep(message) => write!(f, "{name} {message}"),
            Self::SidrReq(message) => write!(f, "{name} {message}"),
            Self::SidrRep(message) => write!(f, "{name} {message}"),
            Self::Lap(message) => write!(f, "{name} {message}"),
            Self::Apr(message) => write!(f, "{name} {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_parses_as_its_own_message() {
        // Private data sizes of `enum ib_cm_data_size`, Linux `include/rdma/ib_cm.h`.
        let sizes = [92, 222, 148, 196, 224, 220, 224, 216, 136, 168, 148];
        for (attribute, size) in CmAttribute::ALL.into_iter().zip(sizes) {
            let bytes = [0x5a; 232];
            let message = CmMessage::parse(attribute.id(), &bytes).unwrap().unwrap();
            assert_eq!((message.attribute(), message.name()), (attribute, attribute.name()));
            assert_eq!(message.private_data().len(), size, "{attribute}");
            assert_eq!(message.as_header().name(), format!("CM {attribute}"));
            assert!(message.to_string().starts_with(attribute.name()));
            let mut out = Vec::new();
            message.emit(&mut out).unwrap();
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn other_attributes_are_no_messages_and_a_cut_is_an_error() {
        assert!(CmMessage::parse(AttributeId::CLASS_PORT_INFO, &[]).unwrap().is_none());
        let error = CmMessage::parse(CmAttribute::Rtu.id(), &[0; 231]).unwrap_err();
        assert_eq!(error.to_string(), "CM RTU at byte 0 needs 232 bytes, there are 231");
    }

    #[test]
    fn ids_are_there_where_they_make_sense() {
        let zero = [0; 232];
        for attribute in CmAttribute::ALL {
            let message = CmMessage::of(attribute, &zero).unwrap();
            let sidr = matches!(attribute, CmAttribute::SidrReq | CmAttribute::SidrRep);
            assert_eq!(message.request_id().is_some(), sidr);
            let local = !sidr && attribute != CmAttribute::Rej;
            assert_eq!(message.local_comm_id().is_some(), local);
            let remote = local && attribute != CmAttribute::Req;
            assert_eq!(message.remote_comm_id().is_some(), remote);
        }
    }
}
