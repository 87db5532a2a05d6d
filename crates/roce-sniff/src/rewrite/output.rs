//! The capture being written: under another name until it is whole.

use std::io;
use std::path::Path;

use anyhow::Result;
use roce_capture::WriterOptions;
use roce_capture::{Block, Container, Envelope, FileCopy, FileReader, FileWriter, Frame};

use crate::draft::Draft;

/// Where frames go.
pub(super) struct Output {
    writer: Writer,
    draft: Option<Draft>,
}

enum Writer {
    /// Made of the parts of the capture that is read.
    Copy(FileCopy),
    /// From the frames alone, where input and output differ in kind.
    New(FileWriter),
}

impl Output {
    /// `nameless` leaves out what may name somebody beside the frames.
    pub(super) fn create(path: &Path, reader: &FileReader, nameless: bool) -> Result<Self> {
        let format = reader.format();
        let to_stdout = path.as_os_str() == "-";
        let is_pcap = !to_stdout
            && path.extension().is_some_and(|end| {
                end.eq_ignore_ascii_case("pcap") || end.eq_ignore_ascii_case("cap")
            });
        let is_same = match format.container {
            Container::Pcap => is_pcap,
            Container::Pcapng => !is_pcap,
            Container::Erf => false,
        };
        let draft = if to_stdout { None } else { Draft::of(path) };
        let place = draft.as_ref().map_or(path, Draft::path);
        let stdout = || ("standard output".to_owned(), Box::new(io::stdout()));
        let mut options = WriterOptions::default();
        if let Some(resolution) = format.resolution {
            options.nanoseconds = resolution.needs_nanoseconds();
        } else {
            options.nanoseconds = true;
        }
        let writer = match (is_same, to_stdout) {
            (true, false) => Writer::Copy(FileCopy::create(place)?),
            (true, true) => {
                let (name, sink) = stdout();
                Writer::Copy(FileCopy::to_write(name, sink))
            }
            (false, false) => Writer::New(FileWriter::create(place, &options)?),
            (false, true) => {
                let (name, sink) = stdout();
                Writer::New(FileWriter::to_write(name, sink, &options))
            }
        };
        let writer = match writer {
            Writer::Copy(copy) if nameless => Writer::Copy(copy.nameless()),
            writer => writer,
        };
        Ok(Self { writer, draft })
    }

    pub(super) fn block(&mut self, block: &Block<'_>) -> Result<()> {
        match &mut self.writer {
            Writer::Copy(copy) => copy.block(block)?,
            Writer::New(_) => {}
        }
        Ok(())
    }

    pub(super) fn frame(&mut self, frame: &Frame<'_>, envelope: &Envelope<'_>) -> Result<()> {
        match &mut self.writer {
            Writer::Copy(copy) => copy.frame(frame, envelope)?,
            Writer::New(writer) => writer.write(frame)?,
        }
        Ok(())
    }

    /// Ends the capture and gives it its name; returns how many frames are in it.
    pub(super) fn finish(self) -> Result<u64> {
        let frames = match self.writer {
            Writer::Copy(copy) => copy.finish()?,
            Writer::New(writer) => writer.finish()?,
        };
        if let Some(draft) = self.draft {
            draft.publish()?;
        }
        Ok(frames)
    }
}
