//! Copies captures into one file: `copy OUT FILE…`

use std::path::Path;

use roce_capture::{Error, FileReader, FileWriter, WriterOptions};

fn main() {
    if let Err(e) = run() {
        eprintln!("{e}");
        std::process::exit(2);
    }
}

fn run() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let out = args.next().unwrap_or_default();
    let mut writer = FileWriter::create(Path::new(&out), &WriterOptions::default())?;
    let mut next = 1;
    for name in args {
        let mut file = FileReader::open(Path::new(&name))?.with_first_number(next);
        while let Some(frame) = file.next_frame()? {
            writer.write(&frame)?;
        }
        next = file.last_number().saturating_add(1);
    }
    println!("{out}: {} frames", writer.finish()?);
    Ok(())
}
