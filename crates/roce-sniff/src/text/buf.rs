//! A line being written. Formatting a packet through `core::fmt` costs more than parsing it, so
//! numbers and addresses are put here by hand.

use std::net::IpAddr;

use roce_wire::Addr;

/// Bytes of text that are added to; reused for every line.
#[derive(Debug, Default)]
pub(crate) struct Buf(Vec<u8>);

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Buf {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// A decimal number.
    pub(crate) fn number(&mut self, value: impl Into<u64>) {
        self.padded(value, 1);
    }

    /// A decimal number of at least `width` digits (at most 20), zeros in front.
    pub(crate) fn padded(&mut self, value: impl Into<u64>, width: usize) {
        let mut value = value.into();
        let mut digits = [b'0'; 20];
        let mut used = 0usize;
        for digit in digits.iter_mut().rev() {
            if value == 0 && used >= width {
                break;
            }
            *digit = b'0'.wrapping_add(low_byte(value % 10));
            value /= 10;
            used = used.saturating_add(1);
        }
        let start = digits.len().saturating_sub(used);
        self.0.extend_from_slice(digits.get(start..).unwrap_or_default());
    }

    /// A hexadecimal number of `digits` digits with `0x` in front.
    pub(crate) fn hex(&mut self, value: impl Into<u64>, digits: u32) {
        let value = value.into();
        self.text("0x");
        for place in (0..digits).rev() {
            let nibble = value.checked_shr(place.saturating_mul(4)).unwrap_or(0) & 0xf;
            self.0.push(HEX.get(usize::from(low_byte(nibble))).copied().unwrap_or(b'?'));
        }
    }

    /// The shortest hexadecimal number with `0x` in front.
    pub(crate) fn short_hex(&mut self, value: impl Into<u64>) {
        let value = value.into();
        let bits = 64u32.saturating_sub(value.leading_zeros()).max(1);
        self.hex(value, bits.div_ceil(4));
    }

    /// Bytes as hexadecimal digits without anything between.
    pub(crate) fn hex_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            for nibble in [byte >> 4, byte & 0xf] {
                self.0.push(HEX.get(usize::from(nibble)).copied().unwrap_or(b'?'));
            }
        }
    }

    /// An address.
    pub(crate) fn addr(&mut self, addr: Addr) {
        match addr {
            Addr::Ip(IpAddr::V4(ip)) => {
                let [a, b, c, d] = ip.octets();
                self.number(a);
                for octet in [b, c, d] {
                    self.byte(b'.');
                    self.number(octet);
                }
            }
            other => self.display(&other),
        }
    }

    /// Anything that prints; for what is rare.
    pub(crate) fn display(&mut self, value: &dyn std::fmt::Display) {
        use std::io::Write as _;
        // A vector takes every byte, so there is no error to report.
        let _ = write!(self.0, "{value}");
    }
}

impl std::fmt::Write for Buf {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.text(text);
        Ok(())
    }
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Buf)) -> String {
        let mut buf = Buf::default();
        write(&mut buf);
        String::from_utf8(buf.0).unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for value in [0, 1, 9, 10, 99, 100, 12_345, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(written(|buf| buf.number(value)), value.to_string());
            assert_eq!(written(|buf| buf.padded(value, 6)), format!("{value:06}"));
            assert_eq!(written(|buf| buf.short_hex(value)), format!("{value:#x}"));
            assert_eq!(
                written(|buf| buf.hex(value & 0xff_ffff, 6)),
                format!("{:#08x}", value & 0xff_ffff)
            );
        }
    }

    #[test]
    fn addresses_are_those_of_the_standard_library() {
        for text in ["10.77.0.1", "255.255.255.255", "0.0.0.0", "fd77::1", "fe80::1:2"] {
            let ip: IpAddr = text.parse().unwrap();
            assert_eq!(written(|buf| buf.addr(Addr::Ip(ip))), text);
        }
    }
}
