//! The path MTU as a code of 4 bits.

use core::fmt;

/// The largest payload of a packet on a path, as a code: 1 to 5 for 256 to 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PathMtu(pub u8);

impl PathMtu {
    /// The code of a length in bytes; `None` when there is none.
    #[must_use]
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        Some(Self(match bytes {
            256 => 1,
            512 => 2,
            1024 => 3,
            2048 => 4,
            4096 => 5,
            _ => return None,
        }))
    }

    /// The length in bytes; `None` for a reserved code.
    #[must_use]
    pub const fn bytes(self) -> Option<u32> {
        Some(match self.0 {
            1 => 256,
            2 => 512,
            3 => 1024,
            4 => 2048,
            5 => 4096,
            _ => return None,
        })
    }
}

impl fmt::Display for PathMtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes() {
            Some(bytes) => write!(f, "{bytes}"),
            None => write!(f, "code {:#x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_lengths_are_each_others_mirror() {
        for (code, bytes) in [(1, 256), (2, 512), (3, 1024), (4, 2048), (5, 4096)] {
            assert_eq!(PathMtu(code).bytes(), Some(bytes));
            assert_eq!(PathMtu::from_bytes(bytes), Some(PathMtu(code)));
        }
        assert_eq!((PathMtu(0).bytes(), PathMtu(6).bytes()), (None, None));
        assert_eq!((PathMtu::from_bytes(1500), PathMtu(6).to_string()), (None, "code 0x6".into()));
    }
}
