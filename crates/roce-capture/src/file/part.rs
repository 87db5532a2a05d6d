//! Everything that stands in a file, frame by frame and block by block: what a copy is made from.

use super::byte_order::ByteOrder;
use super::damage::Stop;
use super::{Decoder, FileReader, Record, pcapng};
use crate::{Error, Frame};

/// What stands next in a file.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// What carries no frame: the header of a pcap file, or a block of pcapng such as those that
    /// describe sections and interfaces.
    Block(Block<'a>),
    /// A frame, and how its record is written.
    Frame(Frame<'a>, Envelope<'a>),
}

/// Bytes of a file that carry no frame, as they stand.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) order: ByteOrder,
    /// The block's type in pcapng.
    pub(crate) kind: Option<u32>,
}

/// What is around a frame in its file: time, lengths and options, as they stand.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    pub(crate) form: Form,
    pub(crate) order: ByteOrder,
    /// The bytes in front of the frame.
    pub(crate) head: &'a [u8],
    /// The bytes behind it.
    pub(crate) tail: &'a [u8],
    /// The frame as it stands, and its length on the wire in bytes.
    pub(crate) data: &'a [u8],
    pub(crate) wire_len: u32,
}

/// How a record says its lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Pcap,
    /// An enhanced packet block, or the obsolete one: their lengths stand in the same places.
    Packet,
    /// A simple packet block, which is cut at this length unless it is 0.
    Simple(u32),
    Erf,
}

impl FileReader {
    /// The next frame or block, or `None` at the end of what can be read, as
    /// [`Self::next_frame`]. Asked from the start, all parts together are the whole file.
    ///
    /// # Errors
    /// [`Error::Read`] when the system fails to read on.
    pub fn next_part(&mut self) -> Result<Option<Part<'_>>, Error> {
        if self.done {
            return Ok(None);
        }
        if let Some(len) = self.untold_header() {
            return Ok(Some(Part::Block(self.header(len))));
        }
        match self.step() {
            Ok(Some((Step::Record(record), form))) => {
                let order = self.order();
                let bytes = self.buffer.take(record.total);
                self.number = self.number.saturating_add(1);
                Ok(Some(part(bytes, &record, self.number, form, order)))
            }
            Ok(Some((Step::Block { total, kind }, _))) => {
                let order = self.order();
                let bytes = self.buffer.take(total);
                Ok(Some(Part::Block(Block { bytes, order, kind: Some(kind) })))
            }
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(stop) => self.stop(stop).map(|()| None),
        }
    }

    /// The length of the file header, the first time and only if nothing has been read since.
    fn untold_header(&mut self) -> Option<usize> {
        if core::mem::replace(&mut self.header_told, true) {
            return None;
        }
        let len = self.buffer.taken().len();
        (len > 0 && self.buffer.offset() == len as u64).then_some(len)
    }

    fn header(&self, len: usize) -> Block<'_> {
        let bytes = self.buffer.taken().get(..len).unwrap_or_default();
        let kind = matches!(self.decoder, Decoder::Pcapng(_)).then_some(pcapng::SECTION);
        Block { bytes, order: self.order(), kind }
    }

    const fn order(&self) -> ByteOrder {
        match &self.decoder {
            Decoder::Pcap(pcap) => pcap.order(),
            Decoder::Pcapng(pcapng) => pcapng.order(),
            Decoder::Erf => ByteOrder::Big,
        }
    }

    /// Finds the next record or block and leaves it in the buffer.
    fn step(&mut self) -> Result<Option<(Step, Form)>, Stop> {
        let (record, form) = match &mut self.decoder {
            Decoder::Pcap(pcap) => (pcap.next(&mut self.buffer)?, Form::Pcap),
            Decoder::Erf => (super::erf::next(&mut self.buffer)?, Form::Erf),
            Decoder::Pcapng(pcapng) => {
                let Some(block) = pcapng.block(&mut self.buffer)? else { return Ok(None) };
                let form = match block.kind {
                    pcapng::SIMPLE_PACKET => Form::Simple(pcapng.first_snaplen()),
                    _ => Form::Packet,
                };
                let pcapng::Block { kind, total, record } = block;
                let Some(record) = record else {
                    return Ok(Some((Step::Block { total, kind }, form)));
                };
                (Some(record), form)
            }
        };
        Ok(record.map(|record| (Step::Record(record), form)))
    }
}

/// What was found in the buffer.
enum Step {
    Record(Record),
    Block { total: usize, kind: u32 },
}

/// Divides the bytes of a record.
fn part<'a>(
    bytes: &'a [u8],
    record: &Record,
    number: u64,
    form: Form,
    order: ByteOrder,
) -> Part<'a> {
    let (head, rest) = bytes.split_at_checked(record.head).unwrap_or((bytes, &[]));
    let (data, tail) = rest.split_at_checked(record.captured).unwrap_or((rest, &[]));
    let &Record { time_ns, link_type, interface, wire_len, .. } = record;
    let frame = Frame { number, time_ns, link_type, wire_len, data, interface };
    Part::Frame(frame, Envelope { form, order, head, tail, data, wire_len })
}
