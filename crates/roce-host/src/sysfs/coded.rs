//! Values that sysfs writes in its own way: `4: ACTIVE`, `10 Gb/sec (1X FDR10)`, GUIDs.

use std::fmt;

/// A number with the kernel's word for it, written `4: ACTIVE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The number.
    pub code: u32,
    /// The kernel's word.
    pub text: String,
}

impl Coded {
    /// Reads `NUMBER: TEXT`.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (code, text) = line.split_once(':')?;
        Some(Self { code: code.trim().parse().ok()?, text: text.trim().to_owned() })
    }
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() { write!(f, "{}", self.code) } else { f.write_str(&self.text) }
    }
}

/// A port's rate, written `10 Gb/sec (1X FDR10)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Megabits per second of all lanes together.
    pub mbit_per_sec: u64,
    /// The kernel's text.
    pub text: String,
}

impl Rate {
    /// Reads the kernel's text; rates such as `2.5 Gb/sec` have one decimal.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (value, unit) = line.split_once(' ')?;
        if !unit.starts_with("Gb/sec") {
            return None;
        }
        let (whole, tenths) = value.split_once('.').unwrap_or((value, "0"));
        let whole: u64 = whole.parse().ok()?;
        let tenths: u64 = tenths.parse().ok().filter(|tenths| *tenths < 10)?;
        let mbit_per_sec = whole.checked_mul(1000)?.checked_add(tenths.checked_mul(100)?)?;
        Some(Self { mbit_per_sec, text: line.to_owned() })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A 64-bit globally unique identifier, written `0000:00ff:fe77:0001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub u64);

impl Guid {
    /// Reads four groups of four hexadecimal digits. All zeros means that there is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut value: u64 = 0;
        let mut groups = 0_u32;
        for group in text.split(':') {
            if group.len() != 4 || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
                return None;
            }
            value = value.checked_shl(16)? | u64::from(u16::from_str_radix(group, 16).ok()?);
            groups = groups.saturating_add(1);
        }
        (groups == 4 && value != 0).then_some(Self(value))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0.to_be_bytes();
        write!(f, "{a:02x}{b:02x}:{c:02x}{d:02x}:{e:02x}{g:02x}:{h:02x}{i:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_spellings() {
        let state = Coded::parse("4: ACTIVE").unwrap();
        assert_eq!((state.code, state.text.as_str()), (4, "ACTIVE"));
        assert_eq!(Coded::parse("ACTIVE"), None);

        assert_eq!(Rate::parse("10 Gb/sec (1X FDR10)").unwrap().mbit_per_sec, 10_000);
        assert_eq!(Rate::parse("2.5 Gb/sec (1X SDR)").unwrap().mbit_per_sec, 2_500);
        assert_eq!(Rate::parse("400 Gb/sec (4X NDR)").unwrap().mbit_per_sec, 400_000);
        assert_eq!(Rate::parse("fast"), None);

        let guid = Guid::parse("0000:00ff:fe77:0001").unwrap();
        assert_eq!(guid, Guid(0xff_fe77_0001));
        assert_eq!(guid.to_string(), "0000:00ff:fe77:0001");
        for bad in ["", "0000:0000:0000:0000", "1:2:3:4", "0000:00ff:fe77:0001:0001", "+123:0:0:0"]
        {
            assert_eq!(Guid::parse(bad), None, "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,40}", guid in 1_u64..) {
            let _ = (Coded::parse(&text), Rate::parse(&text), Guid::parse(&text));
            proptest::prop_assert_eq!(Guid::parse(&Guid(guid).to_string()), Some(Guid(guid)));
        }
    }
}
