//! Whatever the bytes are: no panic, and what was parsed comes back byte for byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may be blunt"
)]

use proptest::prelude::*;
use roce_wire::{Content, Frame, Link, Ports};

/// Everything that can be asked of a frame, so that a panic anywhere is found.
fn ask_everything(link: Link, bytes: &[u8], wire_len: usize) {
    let frame = Frame::parse(link, bytes, wire_len, &Ports::default());
    let mut out = Vec::new();
    frame.emit(&mut out).unwrap();
    assert_eq!(out, bytes, "{link:?} {:?}", frame.content);
    let _ = (frame.rejection(), frame.icrc_state(), frame.right_icrc());
    for (_, layer) in frame.layers() {
        layer.for_each_header(&mut |header| header.each_field(&mut |_| {}));
    }
    if let Content::Packet(net, packet) = &frame.content {
        let _ = (net.src().to_string(), net.dst().to_string(), packet.payload_wire_len());
        packet.for_each_header(&mut |header| header.each_field(&mut |_| {}));
        let short = &mut [0u8; 40][..];
        let _ = packet.emit(&mut &mut *short);
    }
}

/// Bytes that begin like a frame the walk knows, so that it gets far before they turn random.
fn nearly_a_frame() -> impl Strategy<Value = Vec<u8>> {
    let heads: Vec<Vec<u8>> = vec![
        vec![0; 12],
        [&[0; 12][..], &[0x89, 0x15]].concat(),
        [&[0; 12][..], &[0x81, 0, 0, 100, 0x88, 0xa8, 0, 5, 0x86, 0xdd]].concat(),
        [&[0; 12][..], &[0x08, 0, 0x45, 0, 0, 90, 0, 0, 0x40, 0, 64, 17]].concat(),
        [&[0; 12][..], &[0x08, 0, 0x47, 0, 0, 90, 0, 0, 0x40, 0, 64, 47]].concat(),
        [
            &[0; 12][..],
            &[0x08, 0, 0x45, 0, 0, 90, 0, 0, 0, 0, 64, 17],
            &[1; 8],
            &[0, 1, 0x12, 0xb7],
        ]
        .concat(),
        [
            &[0; 12][..],
            &[0x08, 0, 0x45, 0, 0, 90, 0, 0, 0, 0, 64, 17],
            &[1; 8],
            &[0, 1, 0x12, 0xb5],
        ]
        .concat(),
        [&[0; 12][..], &[0x88, 0x47]].concat(),
        [&[0; 12][..], &[0x88, 0x08, 0x01, 0x01]].concat(),
        [&[0; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 80, 0, 64]].concat(),
    ];
    (prop::sample::select(heads), prop::collection::vec(any::<u8>(), 0..200))
        .prop_map(|(head, tail)| [head, tail].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_bytes(link in prop::sample::select(&Link::ALL[..]),
                    bytes in prop::collection::vec(any::<u8>(), 0..300), more in 0usize..64) {
        ask_everything(link, &bytes, bytes.len() + more);
    }

    #[test]
    fn nearly_frames(bytes in nearly_a_frame(), more in 0usize..64) {
        ask_everything(Link::Ethernet, &bytes, bytes.len() + more);
        ask_everything(Link::RawIp, bytes.get(14..).unwrap_or(&[]), bytes.len());
    }
}
