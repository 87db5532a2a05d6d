//! `check -w`: the frames once more, with comments. Which frames take part in a finding is known
//! only at the end, so the source is read a second time. What comes only once is kept meanwhile: of
//! a stream its bytes, of a live capture its frames.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use roce_analyze::findings::MANY_FRAMES;
use roce_capture::{CommentedCopy, Envelope, FileReader, Frame as Captured, Part, WriterOptions};
use roce_wire::Ports;

use super::CheckArgs;
use super::comments::{Comments, is_ours};
use crate::draft::Draft;
use crate::drive::{Filter, is_written, parse};
use crate::printer::{long_remark, remark};
use crate::progress::Progress;
use crate::source::{self, Input, Source};
use crate::stop::Stop;
use crate::text::number::{Grouped, plural};

/// The copy to be.
pub(super) struct Copy {
    path: PathBuf,
    /// What is read the second time.
    inputs: Vec<Input>,
    /// What is kept until then.
    kept: Vec<Draft>,
    is_live: bool,
}

impl Copy {
    /// Returns what is to be read the first time, too.
    pub(super) fn prepare(source: Source, path: PathBuf) -> Result<(Source, Self)> {
        if ["pcap", "cap"]
            .iter()
            .any(|end| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(end)))
        {
            let name = path.display();
            bail!("-w {name}: pcap has no room for comments; name a .pcapng file");
        }
        source.allow_write(&path)?;
        let mut copy = Self { path, inputs: Vec::new(), kept: Vec::new(), is_live: false };
        let source = match source {
            Source::Files(inputs) => {
                Source::Files(inputs.into_iter().map(|input| copy.input(input)).collect())
            }
            live @ Source::Live(_) => {
                copy.is_live = true;
                let file = copy.keep();
                copy.inputs.push(Input::File(file));
                live
            }
        };
        Ok((source, copy))
    }

    /// Takes an input; returns how it is to be read the first time.
    fn input(&mut self, input: Input) -> Input {
        if !input.is_stream() {
            self.inputs.push(input.clone());
            return input;
        }
        let file = self.keep();
        self.inputs.push(Input::File(file.clone()));
        Input::Kept(Box::new(input), file)
    }

    fn keep(&mut self) -> PathBuf {
        let draft = Draft::for_now(&self.path, &format!("kept{}", self.kept.len()));
        let path = draft.path().to_owned();
        self.kept.push(draft);
        path
    }

    /// Where a live capture is to put its frames meanwhile.
    pub(super) fn live_frames(&self) -> Option<PathBuf> {
        self.kept.first().filter(|_| self.is_live).map(|draft| draft.path().to_owned())
    }

    /// Reads again, up to frame `last`, and writes. What was kept is left where it is if that fails.
    pub(super) fn write(self, args: &CheckArgs, comments: &Comments<'_>, last: u64) -> Result<()> {
        let name = self.path.display().to_string();
        let draft = Draft::of(&self.path);
        let place = draft.as_ref().map_or(self.path.as_path(), Draft::path);
        let again = Again::new(args, comments, last, self.is_live)
            .and_then(|again| again.copy(&self.inputs, place))
            .and_then(|counts| draft.map_or(Ok(()), Draft::publish).map(|()| counts));
        let (frames, commented) = match again {
            Ok(counts) => counts,
            Err(error) => {
                let kept = self.kept.into_iter().map(Draft::keep).find(|file| file.exists());
                return Err(match kept {
                    Some(kept) => error.context(format!("{} has the frames", kept.display())),
                    None => error,
                });
            }
        };
        if args.output.quiet {
            return Ok(());
        }
        let frames = plural(frames, "frame", "frames");
        remark(&format!("{name}: {frames}, {} of them with a comment", Grouped(commented)));
        if comments.are_cut {
            long_remark(&format!(
                "{name}: there are comments for the first {} frames of a finding; there may be more",
                Grouped(u64::try_from(MANY_FRAMES).unwrap_or(u64::MAX))
            ));
        }
        Ok(())
    }
}

/// The second reading.
struct Again<'a> {
    comments: &'a Comments<'a>,
    /// The last frame of the first reading.
    last: u64,
    ports: Ports,
    filter: Filter,
    stop: Stop,
    progress: Progress,
    frames: u64,
    commented: u64,
}

impl<'a> Again<'a> {
    fn new(args: &CheckArgs, comments: &'a Comments<'a>, last: u64, is_live: bool) -> Result<Self> {
        // The kernel has filtered what was captured.
        let filter = args.source.filter.clone().filter(|_| !is_live);
        Ok(Self {
            comments,
            last,
            ports: source::ports(&args.source)?,
            filter: Filter::new(filter)?,
            stop: Stop::listen().context("cannot listen to signals")?,
            progress: Progress::new(args.output.quiet),
            frames: 0,
            commented: 0,
        })
    }

    /// Returns how many frames were written, and how many of them with a comment.
    fn copy(mut self, inputs: &[Input], to: &Path) -> Result<(u64, u64)> {
        let output = CommentedCopy::create(to, &WriterOptions::default())?;
        // What was said of a capture before is said anew.
        let mut output = output.without(is_ours);
        let mut number = 1;
        for input in inputs {
            if number > self.last {
                break;
            }
            let mut reader = input.open(&self.stop, number)?;
            let end = self.file(&mut reader, &mut output);
            self.progress.clear();
            end?;
            number = reader.last_number().saturating_add(1);
        }
        output.finish()?;
        Ok((self.frames, self.commented))
    }

    fn file(&mut self, reader: &mut FileReader, output: &mut CommentedCopy) -> Result<()> {
        loop {
            let (bytes_read, total) = (reader.bytes_read(), reader.total_bytes());
            let is_behind = reader.last_number() >= self.last;
            match reader.next_part() {
                // Where the first reading ended as well.
                Err(_) if is_behind => return Ok(()),
                Err(error) => return Err(error.into()),
                Ok(None) => return Ok(()),
                Ok(Some(Part::Block(block))) => output.block(&block)?,
                Ok(Some(Part::Frame(captured, _))) if captured.number > self.last => return Ok(()),
                Ok(Some(Part::Frame(captured, envelope))) => {
                    self.frame(&captured, &envelope, output)?;
                    let number = captured.number;
                    // The clock and the signals are looked at now and then, not for every frame.
                    if number.is_multiple_of(4096) {
                        self.progress.update(bytes_read, total, number);
                        if self.stop.is_wanted() {
                            bail!("stopped: the file with the comments is not written");
                        }
                    }
                }
            }
        }
    }

    fn frame(
        &mut self,
        captured: &Captured<'_>,
        envelope: &Envelope<'_>,
        output: &mut CommentedCopy,
    ) -> Result<()> {
        if !self.filter.matches(captured)? {
            return Ok(());
        }
        let now = self.frames.saturating_add(1);
        let comment = self.comments.on(captured.number, now);
        // What is no RoCE may have proved something: that a port is closed.
        if comment.is_none() && !is_written(&parse(captured, &self.ports)) {
            return Ok(());
        }
        self.frames = now;
        self.commented = self.commented.saturating_add(u64::from(comment.is_some()));
        output.frame(captured, envelope, comment.as_deref().unwrap_or_default())?;
        Ok(())
    }
}
