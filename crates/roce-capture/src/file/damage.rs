//! Where and why a capture file stops making sense.

use std::{fmt, io};

use crate::file::{Buffer, Compression, MAX_RECORD};

/// The place where the reading of a file ended before its end, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte offset of the record that cannot be read, in the uncompressed stream.
    pub offset: u64,
    /// The number that its packet would have.
    pub packet: u64,
    /// What is wrong with it.
    pub what: DamageKind,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, packet, what } = self;
        write!(f, "packet {packet} at byte {offset}: {what}")
    }
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file ends in the middle of it.
    Cut {
        /// How many bytes it needs, as far as is known.
        needed: u64,
        /// How many there are.
        had: u64,
    },
    /// The captured length is beyond reason.
    RecordLength {
        /// The length it claims, in bytes.
        length: u32,
        /// The most that is believed.
        limit: u32,
    },
    /// A pcapng block length is no multiple of 4, less than the block's fields, or beyond reason.
    BlockLength {
        /// The type of the block.
        block: u32,
        /// The length it claims, in bytes.
        length: u32,
    },
    /// A pcapng block says another length at its end than at its start.
    TrailingLength {
        /// The length at the start.
        leading: u32,
        /// The length at the end.
        trailing: u32,
    },
    /// A packet claims more bytes than its block holds.
    Overrun {
        /// The captured length it claims, in bytes.
        captured: u32,
        /// How many bytes the block has room for.
        room: u32,
    },
    /// A packet names an interface that the section does not describe.
    NoInterface {
        /// The interface number.
        id: u32,
        /// How many interfaces the section has described so far.
        known: u32,
    },
    /// The file describes more interfaces than are kept.
    TooManyInterfaces,
    /// An interface's options run over the end of its block, so its clock is not known.
    Options,
    /// A section starts with a byte-order mark that is none.
    ByteOrder(u32),
    /// A section in a version of the format that is not known.
    Version {
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// An ERF record header that cannot be one.
    ErfRecord {
        /// The type it claims.
        kind: u8,
        /// The record length it claims, in bytes.
        length: u16,
    },
    /// The compressed data around it is corrupt, in the decompressor's words.
    Compressed(String),
    /// The compressed data around it ends early, in the decompressor's words.
    CompressedCut(String),
}

impl DamageKind {
    /// Whether nothing is wrong but that the rest of the file is not there, as when it was copied
    /// while it was written.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::Cut { .. } | Self::CompressedCut(_))
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { needed, had } => {
                write!(f, "the file ends in it: {had} of {needed} bytes are there")
            }
            Self::RecordLength { length, limit } => {
                write!(f, "a captured length of {length} bytes, more than {limit}")
            }
            Self::BlockLength { block, length } => {
                write!(f, "a block of type {block:#x} cannot be {length} bytes long")
            }
            Self::TrailingLength { leading, trailing } => {
                write!(f, "the block says {leading} bytes at its start and {trailing} at its end")
            }
            Self::Overrun { captured, room } => {
                write!(f, "a captured length of {captured} bytes in a block with room for {room}")
            }
            Self::NoInterface { id, known } => {
                write!(f, "interface {id}, but the section describes {known}")
            }
            Self::TooManyInterfaces => f.write_str("more interfaces than any capture has"),
            Self::Options => f.write_str("the options of an interface run over its block"),
            Self::ByteOrder(mark) => write!(f, "{mark:#010x} is no byte-order mark"),
            Self::Version { major, minor } => {
                write!(f, "a section of version {major}.{minor}, which is not known")
            }
            Self::ErfRecord { kind, length } => {
                write!(f, "no ERF record is of type {kind} and {length} bytes long")
            }
            Self::Compressed(message) => write!(f, "the compressed data is damaged: {message}"),
            Self::CompressedCut(message) => f.write_str(message),
        }
    }
}

/// Why no further record can be read.
pub(super) enum Stop {
    Damage(DamageKind),
    Io(io::Error),
}

impl Stop {
    /// Tells damage from a failure of the system.
    ///
    /// A decompressor reports bad data as an `io::Error` too; only the system's carry its code.
    pub(super) fn settle(self, compression: Compression) -> Result<DamageKind, io::Error> {
        match self {
            Self::Damage(what) => Ok(what),
            Self::Io(e) if compression == Compression::None || e.raw_os_error().is_some() => Err(e),
            Self::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(DamageKind::CompressedCut(compression.explain(&e)))
            }
            Self::Io(e) => Ok(DamageKind::Compressed(compression.explain(&e))),
        }
    }
}

impl From<DamageKind> for Stop {
    fn from(what: DamageKind) -> Self {
        Self::Damage(what)
    }
}

impl From<io::Error> for Stop {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// A stream that ends between records has ended in order; one that ends inside is cut.
#[cold]
pub(super) fn at_end<T>(buffer: &Buffer, needed: usize) -> Result<Option<T>, Stop> {
    match buffer.available().len() {
        0 => Ok(None),
        had => Err(DamageKind::Cut { needed: needed as u64, had: had as u64 }.into()),
    }
}

/// A length from the file as a size, known to be at most [`MAX_RECORD`].
#[inline]
pub(super) fn size(length: u32) -> usize {
    usize::try_from(length.min(MAX_RECORD)).unwrap_or(usize::MAX)
}
