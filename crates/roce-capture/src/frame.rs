//! One captured frame.

use crate::LinkType;

/// A captured frame; its bytes are borrowed from the reader until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The frame's number, from 1, as in Wireshark; it runs on over several files.
    pub number: u64,
    /// Nanoseconds since the epoch; a pcapng simple packet block has no time.
    pub time_ns: Option<u64>,
    /// What the first byte of `data` is the start of.
    pub link_type: LinkType,
    /// The frame's length on the wire in bytes; never less than `data.len()`.
    pub wire_len: u32,
    /// The bytes that were captured.
    pub data: &'a [u8],
    /// The interface the frame was seen on, from 0; in pcapng counted over all sections.
    pub interface: u32,
}

impl Frame<'_> {
    /// Whether the capture holds less of the frame than the wire did.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        u32::try_from(self.data.len()).is_ok_and(|len| len < self.wire_len)
    }
}
