//! What most directions have nothing of.

use core::ops::Deref;

use serde::{Serialize, Serializer};

/// Counts that are zero on most directions. They are read like a `T`, and take memory only where
/// one of them is not zero.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rare<T>(Option<Box<T>>);

/// Counts of which there may be none.
pub trait Counts: PartialEq + 'static {
    /// All are zero.
    const ZERO: &'static Self;
}

impl<T: Counts> From<T> for Rare<T> {
    fn from(counts: T) -> Self {
        Self((counts != *T::ZERO).then(|| Box::new(counts)))
    }
}

impl<T: Counts> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::ZERO)
    }
}

impl<T: Counts + Serialize> Serialize for Rare<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize(self, serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Naks;
    use super::*;

    #[test]
    fn nothing_takes_no_memory_and_reads_as_zero() {
        let none = Rare::from(Naks::default());
        assert_eq!((none.0.is_none(), none.other, *none), (true, 0, Naks::default()));
        let one = Rare::from(Naks { other: 1, ..Naks::default() });
        assert_eq!((one.0.is_some(), one.other), (true, 1));
    }
}
