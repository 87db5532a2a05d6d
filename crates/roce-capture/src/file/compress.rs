//! Compressed captures: a stream that decompresses as it is read, in constant memory.

use std::io::{self, BufReader, Read};

use super::Compression;

/// The largest zstd window that is allocated, as a power of two: 32 MiB, which leaves room in the
/// 64 MiB that reading a capture may take. Every level up to 19 needs 8 MiB at most; only
/// `--ultra` and `--long` ask for more.
const ZSTD_WINDOW_LOG: u32 = 25;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What compression, if any, starts with these bytes (RFC 1952, RFC 8878).
pub(super) fn detect(start: &[u8]) -> Compression {
    if start.starts_with(&GZIP) {
        return Compression::Gzip;
    }
    // A zstd file may begin with a frame to be skipped, whose magic has 16 variants.
    let skippable = matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    if start.starts_with(&ZSTD) || skippable { Compression::Zstd } else { Compression::None }
}

/// Wraps `source` in the decompressor; each reads any number of members or frames.
pub(super) fn decompress(
    source: impl Read + Send + 'static,
    compression: Compression,
) -> io::Result<Box<dyn Read + Send>> {
    let source = BufReader::with_capacity(128 << 10, source);
    Ok(match compression {
        Compression::None => Box::new(source),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    })
}
