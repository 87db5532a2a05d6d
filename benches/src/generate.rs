//! Writes a capture to measure on: `generate FILE FRAMES PAYLOAD_BYTES [FLOWS [answered]]`.
//!
//! `answered`: every second frame is the acknowledgement of the one before.

use std::error::Error;
use std::path::PathBuf;

use roce_capture::{FileWriter, Frame, LinkType, WriterOptions};

/// Nanoseconds between two frames.
const GAP: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: generate FILE FRAMES PAYLOAD_BYTES [FLOWS [answered]]";
    let path = PathBuf::from(args.next().ok_or(usage)?);
    let frames: u32 = args.next().ok_or(usage)?.parse()?;
    let payload = vec![0xa5; args.next().ok_or(usage)?.parse()?];
    let flows: u32 = args.next().map_or(Ok(64), |flows| flows.parse())?;
    let is_answered = args.next().is_some_and(|word| word == "answered");
    let options = WriterOptions { nanoseconds: false, ..WriterOptions::default() };
    let mut writer = FileWriter::create(&path, &options)?;
    for n in 0..frames {
        let data = match n {
            n if !is_answered => roce_sniff_benches::frame(n, flows, &payload)?,
            n if n % 2 == 0 => roce_sniff_benches::frame(n / 2, flows, &payload)?,
            n => roce_sniff_benches::answer(n / 2, flows)?,
        };
        writer.write(&Frame {
            number: u64::from(n).saturating_add(1),
            time_ns: Some(
                1_700_000_000_000_000_000u64.saturating_add(u64::from(n).saturating_mul(GAP)),
            ),
            link_type: LinkType::ETHERNET,
            wire_len: u32::try_from(data.len())?,
            data: &data,
            interface: 0,
        })?;
    }
    writer.finish()?;
    Ok(())
}
