//! The capture being written: under another name until it is whole.

use std::io;
use std::path::Path;

use anyhow::{Error, Result};
use roce_capture::WriterOptions;
use roce_capture::{Block, Container, Envelope, FileCopy, FileReader, FileWriter, Frame};

use crate::target::{Sink, Target};

/// Where frames go.
pub(super) struct Output {
    writer: Writer,
    target: Target,
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
        let (target, sink) = Target::open(path)?;
        let is_pcap = FileWriter::names_pcap(path);
        let is_same = match format.container {
            Container::Pcap => is_pcap,
            Container::Pcapng => !is_pcap,
            Container::Erf => false,
        };
        let mut options = WriterOptions::default();
        if let Some(resolution) = format.resolution {
            options.nanoseconds = resolution.needs_nanoseconds();
        } else {
            options.nanoseconds = true;
        }
        let stdout = || (target.name(), Box::new(io::stdout()));
        let writer = match (is_same, sink) {
            (true, Sink::File(file)) => Writer::Copy(FileCopy::to_file(file, path)),
            (true, Sink::Stdout) => {
                let (name, sink) = stdout();
                Writer::Copy(FileCopy::to_write(name, sink))
            }
            (false, Sink::File(file)) => Writer::New(FileWriter::to_file(file, path, &options)),
            (false, Sink::Stdout) => {
                let (name, sink) = stdout();
                Writer::New(FileWriter::to_write(name, sink, &options))
            }
        };
        let writer = match writer {
            Writer::Copy(copy) if nameless => Writer::Copy(copy.nameless()),
            writer => writer,
        };
        Ok(Self { writer, target })
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

    /// How the file is called.
    pub(super) fn name(&self) -> String {
        self.target.name()
    }

    /// Why the file is not made.
    pub(super) fn explain(&self, error: Error) -> Error {
        self.target.explain(error)
    }

    /// Ends the capture and gives it its name; returns how many frames are in it.
    pub(super) fn finish(self) -> Result<u64> {
        let frames = match self.writer {
            Writer::Copy(copy) => copy.finish(),
            Writer::New(writer) => writer.finish(),
        };
        let frames = frames.map_err(|error| self.target.explain(error.into()))?;
        self.target.publish()?;
        Ok(frames)
    }
}
