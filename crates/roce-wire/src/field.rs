//! A header's fields as data: what a detailed listing prints, and what tests hold against the bits.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::addr::{Gid, MacAddr};

/// One field of a header: where it is and what it says.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// The field's name in the standard's words, lower snake case.
    pub name: &'static str,
    /// First bit, counted from the header's first byte, most significant bit first.
    pub bit: u32,
    /// How many bits.
    pub bits: u32,
    /// What they say.
    pub value: Value<'a>,
}

/// The value of a [`Field`].
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// A number best read in decimal.
    Uint(u64),
    /// A number best read in hexadecimal.
    Hex(u64),
    /// One bit.
    Flag(bool),
    /// Bits that the standard reserves.
    Reserved(u64),
    /// A number and the text of what it stands for.
    Named(u64, &'a dyn fmt::Display),
    /// An Ethernet address.
    Mac(MacAddr),
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address or a GID.
    Ipv6(Ipv6Addr),
    /// Bytes without further structure.
    Bytes(&'a [u8]),
}

/// Walks the fields of a header in wire order, keeping count of the bits.
pub struct Fields<'v> {
    bit: u32,
    visit: &'v mut dyn FnMut(Field<'_>),
}

impl<'v> Fields<'v> {
    /// Starts at bit 0; `visit` is called once per field.
    pub fn new(visit: &'v mut dyn FnMut(Field<'_>)) -> Self {
        Self { bit: 0, visit }
    }

    /// How many bits were walked so far.
    #[must_use]
    pub const fn bit(&self) -> u32 {
        self.bit
    }

    /// A field of `bits` bits with any value.
    pub fn field(&mut self, name: &'static str, bits: u32, value: Value<'_>) {
        (self.visit)(Field { name, bit: self.bit, bits, value });
        self.bit = self.bit.saturating_add(bits);
    }

    /// A number best read in decimal.
    pub fn uint(&mut self, name: &'static str, bits: u32, value: impl Into<u64>) {
        self.field(name, bits, Value::Uint(value.into()));
    }

    /// A number best read in hexadecimal.
    pub fn hex(&mut self, name: &'static str, bits: u32, value: impl Into<u64>) {
        self.field(name, bits, Value::Hex(value.into()));
    }

    /// One bit.
    pub fn flag(&mut self, name: &'static str, value: bool) {
        self.field(name, 1, Value::Flag(value));
    }

    /// Reserved bits.
    pub fn reserved(&mut self, bits: u32, value: impl Into<u64>) {
        self.field("reserved", bits, Value::Reserved(value.into()));
    }

    /// A number and the text of what it stands for.
    pub fn named(
        &mut self,
        name: &'static str,
        bits: u32,
        value: impl Into<u64>,
        text: &dyn fmt::Display,
    ) {
        self.field(name, bits, Value::Named(value.into(), text));
    }

    /// An Ethernet address.
    pub fn mac(&mut self, name: &'static str, value: MacAddr) {
        self.field(name, 48, Value::Mac(value));
    }

    /// An IPv4 address.
    pub fn ipv4(&mut self, name: &'static str, value: Ipv4Addr) {
        self.field(name, 32, Value::Ipv4(value));
    }

    /// A GID, which is written as an IPv6 address.
    pub fn gid(&mut self, name: &'static str, value: Gid) {
        self.field(name, 128, Value::Ipv6(value.ipv6()));
    }

    /// Bytes without further structure.
    pub fn bytes(&mut self, name: &'static str, value: &[u8]) {
        let bits = u32::try_from(value.len()).unwrap_or(u32::MAX).saturating_mul(8);
        self.field(name, bits, Value::Bytes(value));
    }
}
