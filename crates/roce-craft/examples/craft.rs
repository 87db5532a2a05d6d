//! Writes a scenario as a capture, with its truth beside it: `craft NAME|FILE.toml OUT.pcap`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use roce_craft::{Craft, Scenario, builtin};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("craft: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(name), Some(path)) = (args.next(), args.next()) else {
        return Err("usage: craft NAME|FILE.toml OUT.pcap [CONNECTIONS PACKETS]".into());
    };
    let text = match builtin(&name) {
        Some(scenario) => scenario.text.to_owned(),
        None => std::fs::read_to_string(&name)?,
    };
    let mut scenario = Scenario::parse(&text).map_err(|error| format!("{name}: {error}"))?;
    if let (Some(connections), Some(packets)) = (args.next(), args.next()) {
        scenario = scenario.with_connections(connections.parse()?).with_packets(packets.parse()?);
    }
    let mut out = BufWriter::with_capacity(1 << 16, File::create(&path)?);
    // Nanosecond pcap, Ethernet, little-endian.
    out.write_all(&0xa1b2_3c4du32.to_le_bytes())?;
    out.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0])?;
    let truth = Craft::new(&scenario).run(|frame| -> io::Result<()> {
        let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        let (seconds, nanos) = (frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000);
        let mut header = [0u8; 16];
        for (room, value) in header.chunks_exact_mut(4).zip([
            number(seconds),
            number(nanos),
            number(frame.bytes.len() as u64),
            number(frame.wire_len as u64),
        ]) {
            room.copy_from_slice(&value);
        }
        out.write_all(&header)?;
        out.write_all(frame.bytes)
    })?;
    out.flush()?;
    println!("{} frames, {} connections", truth.frames, truth.connections.len());
    let json = serde_json::to_string_pretty(&truth)?;
    std::fs::write(format!("{path}.truth.json"), json)?;
    Ok(())
}
