//! What every header has in common: a name, a fixed length, `parse` and its mirror `emit`.

use bytes::BufMut;
use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::field::{Field, Fields};

/// A fixed-length header that is at once the view, the value and the encoding.
///
/// The struct is laid over the bytes; nothing is copied and nothing is interpreted. Every bit
/// survives a round trip, reserved ones included.
pub trait Header: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + Copy {
    /// The name of the header in the standard's words, such as `BTH`.
    const NAME: &'static str;

    /// The length in bytes.
    const LEN: usize = size_of::<Self>();

    /// Lays the header over the start of `bytes`; returns it and what follows.
    ///
    /// # Errors
    /// [`TooShort`] when `bytes` has fewer than [`Self::LEN`] bytes. Its offset is 0: who knows
    /// where `bytes` stands in the frame adds it with [`TooShort::at`].
    #[inline]
    fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), TooShort> {
        Self::ref_from_prefix(bytes).map_err(|_| TooShort {
            header: Self::NAME,
            offset: 0,
            needed: Self::LEN,
            had: bytes.len(),
        })
    }

    /// Appends the header to `out`.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room for [`Self::LEN`] bytes; nothing is written then.
    #[inline]
    fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        put(Self::NAME, self.as_bytes(), out)
    }

    /// Walks the fields in wire order; together they cover every bit of the header.
    fn fields(&self, fields: &mut Fields<'_>);
}

/// Any header, for code that lists them without knowing which it is.
pub trait AnyHeader {
    /// [`Header::NAME`].
    fn name(&self) -> &'static str;
    /// Its bytes as on the wire.
    fn bytes(&self) -> &[u8];
    /// Calls `visit` for each field, in wire order.
    fn each_field(&self, visit: &mut dyn FnMut(Field<'_>));
}

impl<H: Header> AnyHeader for H {
    fn name(&self) -> &'static str {
        H::NAME
    }

    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn each_field(&self, visit: &mut dyn FnMut(Field<'_>)) {
        self.fields(&mut Fields::new(visit));
    }
}

/// Appends `bytes`, which belong to `header`, or writes nothing when there is no room.
#[inline]
pub(crate) fn put(
    header: &'static str,
    bytes: &[u8],
    out: &mut impl BufMut,
) -> Result<(), TooShort> {
    let had = out.remaining_mut();
    if had < bytes.len() {
        return Err(TooShort { header, offset: 0, needed: bytes.len(), had });
    }
    out.put_slice(bytes);
    Ok(())
}

/// There are fewer bytes than the header needs. The same error in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Which header.
    pub header: &'static str,
    /// Where it starts, in bytes from the start of what was parsed.
    pub offset: usize,
    /// How many bytes it needs.
    pub needed: usize,
    /// How many there were.
    pub had: usize,
}

impl TooShort {
    /// The same error with its offset moved by `base`.
    #[must_use]
    pub const fn at(self, base: usize) -> Self {
        Self { offset: self.offset.saturating_add(base), ..self }
    }
}

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, offset, needed, had } = self;
        write!(f, "{header} at byte {offset} needs {needed} bytes, there are {had}")
    }
}

impl core::error::Error for TooShort {}
