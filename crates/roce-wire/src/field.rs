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

/// Holds the field walk of `H` against the bits it stands for, over several byte patterns.
///
/// The fields must cover the header without gap or overlap. A number must be the big-endian bits
/// at its place, an address or a byte string the bytes there.
#[cfg(test)]
pub(crate) fn check_fields<H: crate::Header>() {
    for bytes in patterns(H::LEN) {
        let (header, rest) = H::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        let mut end = 0;
        header.fields(&mut Fields::new(&mut |field| {
            let Field { name, bit, bits, value } = field;
            assert_eq!(bit, end, "{} {name} leaves a gap", H::NAME);
            end += bits;
            let place = bit as usize..end as usize;
            let whole = bytes.get(place.start / 8..place.end / 8).unwrap_or_default();
            let (holds, aligned) = match value {
                Value::Uint(n) | Value::Hex(n) | Value::Reserved(n) | Value::Named(n, _) => {
                    assert!(bits <= 64, "{} {name} is no number", H::NAME);
                    (n == number(&bytes, place.clone()), true)
                }
                Value::Flag(on) => (bits == 1 && u64::from(on) == number(&bytes, place), true),
                Value::Mac(mac) => (mac.0 == whole, bit % 8 == 0),
                Value::Ipv4(ip) => (ip.octets() == whole, bit % 8 == 0),
                Value::Ipv6(ip) => (ip.octets() == whole, bit % 8 == 0),
                Value::Bytes(data) => (data == whole, bit % 8 == 0),
            };
            assert!(holds && aligned, "{} {name} is not what bits {bit}+{bits} say", H::NAME);
        }));
        assert_eq!(end as usize, H::LEN * 8, "{} does not end at its end", H::NAME);
    }
}

/// All zero, all ones, counting, single bits, and pseudo-random bytes.
#[cfg(test)]
fn patterns(len: usize) -> Vec<Vec<u8>> {
    let mut patterns = vec![vec![0; len], vec![0xff; len], (1..=len).map(|n| n as u8).collect()];
    for shift in 0..8 {
        patterns.push(vec![1 << shift; len]);
    }
    // A linear congruential generator (Knuth's MMIX constants), for the same bytes on each run.
    let mut state = 0x5eed_u64;
    for _ in 0..200 {
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(0x14057b7ef767814f);
            (state >> 56) as u8
        };
        patterns.push((0..len).map(byte).collect());
    }
    patterns
}

/// The bits of `bytes` at `place`, most significant first, as a number.
#[cfg(test)]
fn number(bytes: &[u8], place: core::ops::Range<usize>) -> u64 {
    place.fold(0, |number, bit| number << 1 | u64::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
}

#[cfg(test)]
mod tests {
    use super::check_fields;
    use crate::mad::{self, cm};

    #[test]
    fn transport_fields_stand_where_they_say() {
        check_fields::<crate::Bth>();
        check_fields::<crate::Rdeth>();
        check_fields::<crate::Deth>();
        check_fields::<crate::XrcEth>();
        check_fields::<crate::Feth>();
        check_fields::<crate::Reth>();
        check_fields::<crate::AtomicEth>();
        check_fields::<crate::Aeth>();
        check_fields::<crate::AtomicAckEth>();
        check_fields::<crate::ImmDt>();
        check_fields::<crate::Ieth>();
        check_fields::<crate::Icrc>();
    }

    #[test]
    fn link_fields_stand_where_they_say() {
        check_fields::<crate::Ethernet>();
        check_fields::<crate::VlanTag>();
        check_fields::<crate::Sll>();
        check_fields::<crate::Sll2>();
        check_fields::<crate::Null>();
        check_fields::<crate::Erf>();
        check_fields::<crate::Pfc>();
        check_fields::<crate::Pause>();
    }

    #[test]
    fn tunnel_fields_stand_where_they_say() {
        check_fields::<crate::Vxlan>();
        check_fields::<crate::Geneve>();
        check_fields::<crate::Gre>();
        check_fields::<crate::ErspanII>();
        check_fields::<crate::ErspanIII>();
        check_fields::<crate::MplsLabel>();
    }

    #[test]
    fn network_fields_stand_where_they_say() {
        check_fields::<crate::Ipv4>();
        check_fields::<crate::Ipv6>();
        check_fields::<crate::Udp>();
        check_fields::<crate::Grh>();
        check_fields::<crate::Lrh>();
    }

    #[test]
    fn management_fields_stand_where_they_say() {
        check_fields::<mad::Mad>();
        check_fields::<mad::Rmpp>();
        check_fields::<mad::RdmaCmHeader>();
        check_fields::<cm::Req>();
        check_fields::<cm::Mra>();
        check_fields::<cm::Rej>();
        check_fields::<cm::Rep>();
        check_fields::<cm::Rtu>();
        check_fields::<cm::Dreq>();
        check_fields::<cm::Drep>();
        check_fields::<cm::SidrReq>();
        check_fields::<cm::SidrRep>();
        check_fields::<cm::Lap>();
        check_fields::<cm::Apr>();
    }
}
