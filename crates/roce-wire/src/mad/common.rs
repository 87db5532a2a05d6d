//! MAD common header, 24 bytes: what every management datagram begins with.
//!
//! ```text
//!      0               1               2               3
//!  0  | BaseVersion   | MgmtClass     | ClassVersion  |R| Method      |
//!  4  | Status                        | ClassSpecific                 |
//!  8  | TransactionID (8 bytes)                                       |
//! 16  | AttributeID                   | reserved                      |
//! 20  | AttributeModifier                                             |
//! ```
//! R is set in responses. Source: Linux `include/rdma/ib_mad.h`.

use core::fmt;
use zerocopy::network_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::cm::CmAttribute;
use super::{Method, MgmtClass};
use crate::{Fields, Header};

/// MAD common header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Mad {
    /// Version of this header; 1.
    pub base_version: u8,
    /// Who is spoken to.
    pub mgmt_class: MgmtClass,
    /// Version of the class; 2 for connection management.
    pub class_version: u8,
    /// What is asked or answered.
    pub method: Method,
    status: U16,
    class_specific: U16,
    transaction_id: U64,
    /// What it is about; the number's meaning depends on the class.
    pub attribute_id: AttributeId,
    reserved: U16,
    attribute_modifier: U32,
}

const _: () = assert!(size_of::<Mad>() == 24);

impl Mad {
    /// The length of a whole management datagram, this header included, in bytes.
    pub const DATAGRAM_LEN: usize = 256;

    /// A header of connection management: base version 1, class version 2, method Send.
    #[must_use]
    pub const fn cm(attribute: CmAttribute, transaction_id: u64) -> Self {
        Self {
            base_version: 1,
            mgmt_class: MgmtClass::CM,
            class_version: 2,
            method: Method::SEND,
            status: U16::new(0),
            class_specific: U16::new(0),
            transaction_id: U64::new(transaction_id),
            attribute_id: attribute.id(),
            reserved: U16::new(0),
            attribute_modifier: U32::new(0),
        }
    }

    /// Zero, or what went wrong; [`MadStatus`] says it in words.
    #[must_use]
    pub const fn status(&self) -> MadStatus {
        MadStatus(self.status.get())
    }

    /// For the class to use.
    #[must_use]
    pub const fn class_specific(&self) -> u16 {
        self.class_specific.get()
    }

    /// The same in a request, its repetitions and its answers.
    ///
    /// In connection management it stays the same from REQ to RTU.
    #[must_use]
    pub const fn transaction_id(&self) -> u64 {
        self.transaction_id.get()
    }

    /// Narrows the attribute down.
    #[must_use]
    pub const fn attribute_modifier(&self) -> u32 {
        self.attribute_modifier.get()
    }

    /// The same with another status.
    #[must_use]
    pub const fn with_status(self, status: MadStatus) -> Self {
        Self { status: U16::new(status.0), ..self }
    }

    /// The same with another class specific field.
    #[must_use]
    pub const fn with_class_specific(self, bits: u16) -> Self {
        Self { class_specific: U16::new(bits), ..self }
    }

    /// The same in another transaction.
    #[must_use]
    pub const fn with_transaction_id(self, id: u64) -> Self {
        Self { transaction_id: U64::new(id), ..self }
    }

    /// The same with another attribute modifier.
    #[must_use]
    pub const fn with_attribute_modifier(self, modifier: u32) -> Self {
        Self { attribute_modifier: U32::new(modifier), ..self }
    }

    /// Which message of connection management this header announces, also when the message
    /// behind it was cut off.
    ///
    /// `None` in another class, for another attribute, and in versions other than 1 and 2, whose
    /// layout is not known here.
    #[must_use]
    pub const fn cm_attribute(&self) -> Option<CmAttribute> {
        match (self.base_version, self.mgmt_class, self.class_version) {
            (1, MgmtClass::CM, 2) => CmAttribute::from_id(self.attribute_id),
            _ => None,
        }
    }

    /// What the attribute is called in this class, when that is known.
    #[must_use]
    pub fn attribute_name(&self) -> Option<&'static str> {
        self.cm_attribute().map(CmAttribute::name).or_else(|| self.attribute_id.name())
    }
}

impl Header for Mad {
    const NAME: &'static str = "MAD";

    fn fields(&self, f: &mut Fields<'_>) {
        f.uint("base_version", 8, self.base_version);
        f.named("mgmt_class", 8, self.mgmt_class.0, &self.mgmt_class);
        f.uint("class_version", 8, self.class_version);
        f.named("method", 8, self.method.0, &self.method);
        f.named("status", 16, self.status.get(), &self.status());
        f.hex("class_specific", 16, self.class_specific.get());
        f.hex("transaction_id", 64, self.transaction_id());
        match self.attribute_name() {
            Some(name) => f.named("attribute_id", 16, self.attribute_id.get(), &name),
            None => f.hex("attribute_id", 16, self.attribute_id.get()),
        }
        f.reserved(16, self.reserved.get());
        f.hex("attribute_modifier", 32, self.attribute_modifier());
    }
}

impl fmt::Display for Mad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.mgmt_class, self.method)?;
        match self.attribute_name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "attribute {}", self.attribute_id)?,
        }
        if self.status().0 != 0 {
            write!(f, " status {}", self.status())?;
        }
        write!(f, " tid {:#018x}", self.transaction_id())
    }
}

/// An attribute; its number means different things in different classes.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct AttributeId(U16);

impl AttributeId {
    /// What a class can do; the same number in every class.
    pub const CLASS_PORT_INFO: Self = Self::new(0x0001);

    /// From the number.
    #[must_use]
    pub const fn new(id: u16) -> Self {
        Self(U16::new(id))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }

    /// The name that holds in every class; [`Mad::attribute_name`] knows more.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self.get() {
            0x0001 => Some("ClassPortInfo"),
            _ => None,
        }
    }
}

impl fmt::Display for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#06x}", self.get()),
        }
    }
}

/// The status of a MAD: bit 0 busy, bit 1 redirect, bits 2 to 4 a code; the rest is the class's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MadStatus(pub u16);

impl MadStatus {
    /// What the common code says; `None` for 0 and for reserved codes.
    #[must_use]
    pub const fn code_name(self) -> Option<&'static str> {
        match self.0 >> 2 & 7 {
            1 => Some("bad version"),
            2 => Some("method not supported"),
            3 => Some("method and attribute not supported"),
            7 => Some("bad value"),
            _ => None,
        }
    }
}

impl fmt::Display for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.code_name()) {
            (0, _) => f.write_str("ok"),
            (1, _) => f.write_str("busy"),
            (2, _) => f.write_str("redirect"),
            (_, Some(name)) => write!(f, "{:#06x} {name}", self.0),
            (_, None) => write!(f, "{:#06x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 24 bytes of the REQ of a Linux soft-RoCE `rping`.
    const REQ: [u8; 24] = [
        0x01, 0x07, 0x02, 0x03, 0, 0, 0, 0, 0, 0, 0, 0x06, 0x6d, 0x2c, 0x85, 0xc0, 0, 0x10, 0, 0,
        0, 0, 0, 0,
    ];

    #[test]
    fn a_captured_header_reads_as_tshark_reads_it() {
        let (mad, _) = Mad::parse(&REQ).unwrap();
        assert_eq!((mad.base_version, mad.class_version), (1, 2));
        assert_eq!((mad.mgmt_class, mad.method), (MgmtClass::CM, Method::SEND));
        assert_eq!(mad.transaction_id(), 0x0000_0006_6d2c_85c0);
        assert_eq!(mad.cm_attribute(), Some(CmAttribute::Req));
        assert_eq!(mad.to_string(), "CM Send REQ tid 0x000000066d2c85c0");
    }

    #[test]
    fn it_is_built_as_captured() {
        assert_eq!(Mad::cm(CmAttribute::Req, 0x0000_0006_6d2c_85c0).as_bytes(), REQ);
    }

    #[test]
    fn an_attribute_has_its_name_in_its_own_class_only() {
        let mut mad = Mad::cm(CmAttribute::Req, 0);
        mad.mgmt_class = MgmtClass::SUBN_ADM;
        assert_eq!((mad.cm_attribute(), mad.attribute_name()), (None, None));
        assert_eq!(mad.to_string(), "SubnAdm Send attribute 0x0010 tid 0x0000000000000000");
        mad.attribute_id = AttributeId::CLASS_PORT_INFO;
        assert_eq!(mad.attribute_name(), Some("ClassPortInfo"));
        let mut old = Mad::cm(CmAttribute::Req, 0);
        old.class_version = 1;
        assert_eq!(old.cm_attribute(), None);
    }

    #[test]
    fn a_status_prints_its_code_in_words() {
        assert_eq!(MadStatus(1).to_string(), "busy");
        assert_eq!(MadStatus(0x000c).to_string(), "0x000c method and attribute not supported");
        assert_eq!(MadStatus(0x8000).to_string(), "0x8000");
    }
}
