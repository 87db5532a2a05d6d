//! Targets that take a whole capture file, of any format.

use std::io::Cursor;

use roce_capture::{FileReader, MAX_RECORD};
use roce_wire::{Frame, Link, Ports};

/// After how many frames a target has seen enough: a few compressed bytes can be very many.
pub const MAX_FRAMES: u64 = 20_000;

/// Reads the file to its end or damage. Frames are numbered without a gap and never longer than
/// they were on the wire.
pub fn file(input: &[u8]) {
    let source = Box::new(Cursor::new(input.to_vec()));
    let mut reader = match FileReader::from_read("fuzz".to_owned(), source) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut number = 0;
    while number < MAX_FRAMES {
        let Some(frame) = reader.next_frame().unwrap() else { break };
        number += 1;
        assert_eq!(frame.number, number);
        assert!(frame.data.len() as u64 <= u64::from(frame.wire_len));
        assert!(frame.data.len() as u64 <= u64::from(MAX_RECORD));
        let link = Link::from_linktype(frame.link_type.0);
        let wire_len = usize::try_from(frame.wire_len).unwrap();
        let _ = Frame::parse(link, frame.data, wire_len, &Ports::default()).icrc_state();
    }
    let ended = number < MAX_FRAMES;
    let _ = (reader.format(), reader.bytes_read());
    if let Some(damage) = reader.damaged() {
        assert!(!damage.to_string().is_empty());
    }
    // The end stays the end.
    assert!(!ended || reader.next_frame().unwrap().is_none());
}
