//! A time that may not be known, in eight bytes.

use core::fmt;

/// A time in nanoseconds since the epoch, if the capture says it. The last one that can be told, in
/// the year 2554, is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl Moment {
    #[inline]
    pub(super) const fn get(self) -> Option<u64> {
        if self.0 == u64::MAX { None } else { Some(self.0) }
    }
}

impl Default for Moment {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl From<Option<u64>> for Moment {
    #[inline]
    fn from(time: Option<u64>) -> Self {
        Self(time.unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
