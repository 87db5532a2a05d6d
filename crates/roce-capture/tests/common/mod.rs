//! Capture files put together by hand from the format specifications, and ways to read them.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use roce_capture::{Chunk, Damage, Error, FileReader, Frame, LinkType};

/// What was written, for who looks at it afterwards.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Every capture of the fixtures that is not compressed.
pub(crate) fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let files = ["made", "rxe"].map(|name| std::fs::read_dir(folder.join(name)).unwrap());
    let paths = files.into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_capture = |path: &PathBuf| {
        path.extension().is_some_and(|end| ["pcap", "pcapng", "erf"].iter().any(|e| end == *e))
    };
    paths.filter(is_capture).collect()
}

/// A frame that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) number: u64,
    pub(crate) time_ns: Option<u64>,
    pub(crate) link_type: LinkType,
    pub(crate) wire_len: u32,
    pub(crate) data: Vec<u8>,
    pub(crate) interface: u32,
}

/// Everything a file gives.
#[derive(Debug, PartialEq)]
pub(crate) struct Trace {
    pub(crate) frames: Vec<Owned>,
    pub(crate) damage: Option<Damage>,
}

pub(crate) fn open(bytes: &[u8]) -> Result<FileReader, Error> {
    FileReader::from_read("test".to_owned(), Box::new(Cursor::new(bytes.to_vec())))
}

pub(crate) fn read(bytes: &[u8]) -> Trace {
    let trace = drain(open(bytes).unwrap());
    // However much comes at once, many at a time are the same.
    for at_once in [usize::MAX, 7, 1000] {
        let drip = Drip(Cursor::new(bytes.to_vec()), at_once);
        let reader = FileReader::from_read("test".to_owned(), Box::new(drip)).unwrap();
        assert_eq!(drain_chunks(reader), trace);
    }
    trace
}

fn drain_chunks(mut reader: FileReader) -> Trace {
    let (mut frames, mut chunk) = (Vec::new(), Chunk::default());
    while reader.fill_chunk(&mut chunk).unwrap() {
        assert!(!chunk.is_empty());
        frames.extend(chunk.frames().map(owned));
        assert_eq!(chunk.frame(chunk.len() - 1).map(owned).as_ref(), frames.last());
    }
    assert!(!reader.fill_chunk(&mut chunk).unwrap(), "the end stays the end");
    Trace { frames, damage: reader.damaged().cloned() }
}

fn owned(frame: Frame<'_>) -> Owned {
    let Frame { number, time_ns, link_type, wire_len, data, interface } = frame;
    Owned { number, time_ns, link_type, wire_len, data: data.to_vec(), interface }
}

pub(crate) fn drain(mut reader: FileReader) -> Trace {
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(owned(frame));
    }
    assert!(reader.next_frame().unwrap().is_none(), "the end stays the end");
    Trace { frames, damage: reader.damaged().cloned() }
}

/// Gives at most `n` bytes at a time, as a pipe may.
pub(crate) struct Drip(pub(crate) Cursor<Vec<u8>>, pub(crate) usize);

impl Read for Drip {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(self.1);
        self.0.read(&mut out[..n])
    }
}

/// Writes numbers in one byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, n: u16) -> [u8; 2] {
        if self == Self::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub(crate) fn u32(self, n: u32) -> [u8; 4] {
        if self == Self::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub(crate) fn u64(self, n: u64) -> [u8; 8] {
        if self == Self::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }
}

/// A pcap file header, version 2.4.
pub(crate) fn pcap_header(order: Order, magic: u32, snaplen: u32, link_type: u32) -> Vec<u8> {
    let mut out = order.u32(magic).to_vec();
    out.extend(order.u16(2));
    out.extend(order.u16(4));
    out.extend([0; 8]);
    out.extend(order.u32(snaplen));
    out.extend(order.u32(link_type));
    out
}

/// A pcap record.
pub(crate) fn pcap_record(order: Order, time: (u32, u32), wire: u32, data: &[u8]) -> Vec<u8> {
    let mut out = order.u32(time.0).to_vec();
    out.extend(order.u32(time.1));
    out.extend(order.u32(data.len() as u32));
    out.extend(order.u32(wire));
    out.extend(data);
    out
}

/// A pcapng block around a body, padded to 4 bytes.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut out = order.u32(kind).to_vec();
    out.extend(length);
    out.extend(body);
    out.resize(8 + padded, 0);
    out.extend(length);
    out
}

/// A section header block of unspecified length.
pub(crate) fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend(order.u64(u64::MAX));
    block(order, 0x0a0d_0d0a, &body)
}

/// An interface description block.
pub(crate) fn interface(order: Order, link_type: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    let mut body = order.u16(link_type).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(snaplen));
    body.extend(options);
    block(order, 1, &body)
}

/// An option, padded to 4 bytes.
pub(crate) fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut out = order.u16(code).to_vec();
    out.extend(order.u16(value.len() as u16));
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// An enhanced packet block.
pub(crate) fn enhanced(order: Order, id: u32, ticks: u64, wire: u32, data: &[u8]) -> Vec<u8> {
    let mut body = order.u32(id).to_vec();
    body.extend(order.u32((ticks >> 32) as u32));
    body.extend(order.u32(ticks as u32));
    body.extend(order.u32(data.len() as u32));
    body.extend(order.u32(wire));
    body.extend(data);
    block(order, 6, &body)
}

/// A simple packet block.
pub(crate) fn simple(order: Order, wire: u32, data: &[u8]) -> Vec<u8> {
    let mut body = order.u32(wire).to_vec();
    body.extend(data);
    block(order, 3, &body)
}

/// An obsolete packet block.
pub(crate) fn obsolete(order: Order, id: u16, ticks: u64, wire: u32, data: &[u8]) -> Vec<u8> {
    let mut body = order.u16(id).to_vec();
    body.extend(order.u16(3));
    body.extend(order.u32((ticks >> 32) as u32));
    body.extend(order.u32(ticks as u32));
    body.extend(order.u32(data.len() as u32));
    body.extend(order.u32(wire));
    body.extend(data);
    block(order, 2, &body)
}

/// An ERF record, padded to 8 bytes as capture cards do.
pub(crate) fn erf_record(seconds: u32, kind: u8, wire: u16, payload: &[u8]) -> Vec<u8> {
    let length = (16 + payload.len()).next_multiple_of(8);
    let mut out = vec![0, 0, 0, 0x80];
    out.extend(seconds.to_le_bytes());
    out.extend([kind, 0x05]);
    out.extend((length as u16).to_be_bytes());
    out.extend([0; 2]);
    out.extend(wire.to_be_bytes());
    out.extend(payload);
    out.resize(length, 0);
    out
}
