//! The eleven messages of connection management, by name and attribute id.

use core::fmt;

use crate::mad::AttributeId;

/// Which message of connection management it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CmAttribute {
    /// Connection request.
    Req,
    /// Message receipt acknowledgement: the answer takes longer.
    Mra,
    /// Connection reject.
    Rej,
    /// Connection reply.
    Rep,
    /// Ready to use.
    Rtu,
    /// Disconnection request.
    Dreq,
    /// Disconnection reply.
    Drep,
    /// Service id resolution request: which queue pair serves datagrams.
    SidrReq,
    /// Service id resolution reply.
    SidrRep,
    /// Load alternate path.
    Lap,
    /// Alternate path response.
    Apr,
}

impl CmAttribute {
    /// All of them, in the order of their attribute ids; `attribute as usize` is the index.
    pub const ALL: [Self; 11] = [
        Self::Req,
        Self::Mra,
        Self::Rej,
        Self::Rep,
        Self::Rtu,
        Self::Dreq,
        Self::Drep,
        Self::SidrReq,
        Self::SidrRep,
        Self::Lap,
        Self::Apr,
    ];

    /// From the attribute id of the MAD header; `None` when it is no message.
    #[must_use]
    pub const fn from_id(id: AttributeId) -> Option<Self> {
        Some(match id.get() {
            0x10 => Self::Req,
            0x11 => Self::Mra,
            0x12 => Self::Rej,
            0x13 => Self::Rep,
            0x14 => Self::Rtu,
            0x15 => Self::Dreq,
            0x16 => Self::Drep,
            0x17 => Self::SidrReq,
            0x18 => Self::SidrRep,
            0x19 => Self::Lap,
            0x1a => Self::Apr,
            _ => return None,
        })
    }

    /// The attribute id of the MAD header.
    #[must_use]
    pub const fn id(self) -> AttributeId {
        AttributeId::new(match self {
            Self::Req => 0x10,
            Self::Mra => 0x11,
            Self::Rej => 0x12,
            Self::Rep => 0x13,
            Self::Rtu => 0x14,
            Self::Dreq => 0x15,
            Self::Drep => 0x16,
            Self::SidrReq => 0x17,
            Self::SidrRep => 0x18,
            Self::Lap => 0x19,
            Self::Apr => 0x1a,
        })
    }

    /// The standard's abbreviation, such as `SIDR_REQ`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Req => "REQ",
            Self::Mra => "MRA",
            Self::Rej => "REJ",
            Self::Rep => "REP",
            Self::Rtu => "RTU",
            Self::Dreq => "DREQ",
            Self::Drep => "DREP",
            Self::SidrReq => "SIDR_REQ",
            Self::SidrRep => "SIDR_REP",
            Self::Lap => "LAP",
            Self::Apr => "APR",
        }
    }
}

impl fmt::Display for CmAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_names_and_indices_agree() {
        // Ids of Linux `include/rdma/ib_cm.h`.
        for (index, attribute) in CmAttribute::ALL.into_iter().enumerate() {
            assert_eq!(attribute as usize, index);
            assert_eq!(usize::from(attribute.id().get()), 0x10 + index);
            assert_eq!(CmAttribute::from_id(attribute.id()), Some(attribute));
        }
        let ids = (0..=u16::MAX).filter(|&n| CmAttribute::from_id(AttributeId::new(n)).is_some());
        assert_eq!(ids.count(), 11);
    }
}
