//! What a file is, told by its content and never by its name.

use std::io::{self, Read};

use super::damage::Stop;
use super::{Buffer, Compression, Container, DamageKind, Decoder, Format};
use super::{compress, erf, pcap, pcapng};
use crate::Error;

/// A source whose file header has been read.
pub(super) struct Opened {
    pub(super) buffer: Buffer,
    pub(super) decoder: Decoder,
    pub(super) format: Format,
}

/// Why a source is not opened; becomes an [`Error`] when it learns the file's name.
pub(super) enum Fault {
    Empty,
    Unknown(&'static str),
    Header { format: Container, compression: Compression, offset: u64, stop: Stop },
}

/// Enough bytes to know every magic number by.
const MAGIC: usize = 4;

/// Finds out what `source` is and reads its header.
pub(super) fn open(source: Box<dyn Read + Send>) -> Result<Opened, Fault> {
    let mut buffer = Buffer::new(source);
    let mut compression = Compression::None;
    probe(&mut buffer, compression, MAGIC)?;
    match compress::detect(buffer.available()) {
        Compression::None => {}
        found => {
            compression = found;
            let inner = compress::decompress(buffer.into_source(), found)
                .map_err(|e| fault(compression, 0, e.into()))?;
            buffer = Buffer::new(inner);
            probe(&mut buffer, compression, MAGIC)?;
        }
    }
    if buffer.available().is_empty() {
        return Err(Fault::Empty);
    }
    let (container, decoder) = header(&mut buffer, compression)?;
    let format = Format { container, compression, resolution: None };
    Ok(Opened { buffer, decoder, format })
}

/// Reads the file header of whatever format this is.
fn header(buffer: &mut Buffer, compression: Compression) -> Result<(Container, Decoder), Fault> {
    let opened = if pcap::detect(buffer.available()) {
        pcap::Pcap::open(buffer).map(Decoder::Pcap).map_err(|stop| (Container::Pcap, stop))
    } else if pcapng::detect(buffer.available()) {
        pcapng::Pcapng::open(buffer).map(Decoder::Pcapng).map_err(|stop| (Container::Pcapng, stop))
    } else {
        match erf::detect(buffer) {
            Ok(true) => Ok(Decoder::Erf),
            Ok(false) => return Err(Fault::Unknown(looks_like(buffer.available()))),
            Err(e) => return Err(fault(compression, buffer.offset(), e.into())),
        }
    };
    match opened {
        Ok(decoder) => {
            let container = match decoder {
                Decoder::Pcap(_) => Container::Pcap,
                Decoder::Pcapng(_) => Container::Pcapng,
                Decoder::Erf => Container::Erf,
            };
            Ok((container, decoder))
        }
        Err((format, stop)) => {
            Err(Fault::Header { format, compression, offset: buffer.offset(), stop })
        }
    }
}

fn probe(buffer: &mut Buffer, compression: Compression, needed: usize) -> Result<(), Fault> {
    match buffer.fill(needed) {
        Ok(_) => Ok(()),
        Err(e) => Err(fault(compression, buffer.offset(), e.into())),
    }
}

fn fault(compression: Compression, offset: u64, stop: Stop) -> Fault {
    Fault::Header { format: Container::Pcap, compression, offset, stop }
}

impl Fault {
    pub(super) fn into_error(self, name: &str) -> Error {
        let file = name.to_owned();
        match self {
            Self::Empty => Error::Empty { file },
            Self::Unknown(looks_like) => Error::NotACapture { file, looks_like },
            Self::Header { format, compression, offset, stop } => match stop.settle(compression) {
                Ok(DamageKind::Version { major, minor }) => {
                    let format = if format == Container::Pcap { "pcap" } else { "pcapng" };
                    Error::UnsupportedVersion { file, format, major, minor }
                }
                Ok(what) => Error::BadHeader { file, offset, what },
                Err(e) if e.kind() == io::ErrorKind::IsADirectory => Error::Directory { file },
                Err(source) => Error::Read { file, offset, packet: 1, source },
            },
        }
    }
}

/// Files that people take for captures, by how they start, and what to do with each.
const LOOKS: [(&[u8], &str); 13] = [
    (b"\xfd7zXZ\0", "an xz file; use `xz -dc FILE | roce-sniff -`"),
    (b"BZh", "a bzip2 file; use `bzip2 -dc FILE | roce-sniff -`"),
    (b"\x04\x22\x4d\x18", "an lz4 file; use `lz4 -dc FILE | roce-sniff -`"),
    (b"\x1f\x8b", "gzip inside of a compressed file; decompress it once more"),
    (b"\x28\xb5\x2f\xfd", "zstd inside of a compressed file; decompress it once more"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"snoop\0\0\0", "a snoop capture; convert it with `editcap FILE OUT.pcapng`"),
    (b"GMBU", "a Network Monitor capture; convert it with `editcap FILE OUT.pcapng`"),
    (b"RTSS", "a Network Monitor capture; convert it with `editcap FILE OUT.pcapng`"),
    (b"TRSNIFF data", "a Sniffer capture; convert it with `editcap FILE OUT.pcapng`"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
];

/// What a file that is no capture looks like, for the error message.
fn looks_like(start: &[u8]) -> &'static str {
    let known = LOOKS.iter().find(|(magic, _)| start.starts_with(magic));
    if let Some((_, name)) = known {
        return name;
    }
    if start.get(257..262) == Some(b"ustar") {
        return "a tar archive; unpack it first";
    }
    let sample = start.get(..512).unwrap_or(start);
    if sample.iter().all(|&byte| byte == 0) {
        return "nothing but zeros";
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    match sample.iter().all(is_text) {
        true if sample.is_ascii() || std::str::from_utf8(sample).is_ok() => "text",
        _ => "binary data of an unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_a_file_looks_like() {
        assert!(looks_like(b"\xfd7zXZ\0\0").starts_with("an xz file"));
        assert_eq!(looks_like(b"frame 1: 66 bytes"), "text");
        assert_eq!(looks_like(&[0; 64]), "nothing but zeros");
        assert_eq!(looks_like(&[1, 2, 3, 0xff]), "binary data of an unknown kind");
    }
}
