//! Walks capture files and says what is in them and how long a frame took.
//!
//! `cargo run --release --example walk -- FILE…`

use std::path::Path;
use std::time::Instant;

use roce_capture::FileReader;

fn main() -> Result<(), roce_capture::Error> {
    for name in std::env::args().skip(1) {
        let started = Instant::now();
        let mut file = FileReader::open(Path::new(&name))?;
        let (mut frames, mut bytes, mut link_types) = (0_u64, 0_u64, Vec::new());
        while let Some(frame) = file.next_frame()? {
            frames = frames.saturating_add(1);
            bytes = bytes.saturating_add(frame.wire_len.into());
            if !link_types.contains(&frame.link_type) {
                link_types.push(frame.link_type);
            }
        }
        let each = started.elapsed().as_nanos().checked_div(frames.into()).unwrap_or(0);
        let kinds: Vec<String> = link_types.iter().map(ToString::to_string).collect();
        println!(
            "{name}: {}, {} frames, {bytes} bytes on the wire, {}, {each} ns a frame",
            file.format(),
            frames,
            kinds.join(" and "),
        );
        if let Some(damage) = file.damaged() {
            println!("{name}: damaged: {damage}");
        }
    }
    Ok(())
}
