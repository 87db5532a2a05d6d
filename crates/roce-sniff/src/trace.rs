//! What is known of a source when it has ended.

use std::time::Duration;

use anyhow::{Result, bail};
use roce_analyze::findings::JITTER;
use roce_capture::{FileReader, Stats};

use crate::printer::{long_remark, remark};

/// What is known of a source when it has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// What cannot be read of the files, and where.
    pub(crate) damaged: Option<String>,
    /// Whether that is more than an end that was cut off.
    pub(crate) is_senseless: bool,
    /// The kernel's account of a live capture.
    pub(crate) stats: Option<Stats>,
    /// All frames that passed the interface meanwhile, those that the filter left out included.
    pub(crate) passed: Option<u64>,
    /// Why the source ended before its time.
    pub(crate) failure: Option<String>,
    /// Whether the user stopped the reading of files before their end.
    pub(crate) is_interrupted: bool,
    /// The last file, and the time of its last frame.
    ended: Option<(String, u64)>,
    /// That a file begins before the one in front of it ends.
    disorder: Option<String>,
}

/// The times of a file's first and last frame, in nanoseconds.
pub(crate) type Times = Option<(u64, u64)>;

/// Takes the time of one more frame, or of none.
pub(crate) fn add_time(times: &mut Times, time_ns: Option<u64>) {
    if let Some(now) = time_ns {
        *times = Some((times.map_or(now, |(first, _)| first), now));
    }
}

/// Whether reading or writing captures failed, and not the output of what was found.
pub(crate) fn is_of_capture(error: &anyhow::Error) -> bool {
    error.downcast_ref::<roce_capture::Error>().is_some()
}

impl Trace {
    /// Takes the end of a file into account. A stream that the user stopped is cut anywhere.
    pub(crate) fn add_file(
        &mut self,
        reader: &FileReader,
        times: Times,
        end: Result<()>,
        was_stopped: bool,
    ) -> Result<()> {
        if let Some(damage) = reader.damaged().filter(|_| !was_stopped) {
            self.is_senseless |= !damage.what.is_cut();
            self.damaged.get_or_insert_with(|| format!("{}: {damage}", reader.name()));
        }
        self.add_times(reader.name(), times);
        match end {
            Err(error) if is_of_capture(&error) => {
                self.failure.get_or_insert_with(|| error.to_string());
                Ok(())
            }
            other => other,
        }
    }

    /// Takes the times of a file, or of the part of it that was looked at.
    pub(crate) fn add_times(&mut self, name: &str, times: Times) {
        if let Some((first, last)) = times {
            if let Some((before, ended)) = &self.ended
                && let Some(early) = ended.checked_sub(first).filter(|early| *early > JITTER)
                && self.disorder.is_none()
            {
                let early = Duration::from_millis(early / 1_000_000);
                self.disorder = Some(format!("{name} begins {early:?} before {before} ends"));
            }
            self.ended = Some((name.to_owned(), last));
        }
    }

    /// Says that the files are no trace in the order of time: then what is told of time is doubtful.
    pub(crate) fn say_disorder(&self) {
        if let Some(disorder) = &self.disorder {
            long_remark(&format!(
                "{disorder}: as one trace, name files in the order of time; look at others one by one"
            ));
        }
    }

    /// What is left to say when the report is out: damage as a remark, unless the report told of it,
    /// failure as an error.
    pub(crate) fn settle(&self, is_told: bool) -> Result<()> {
        if let Some(failure) = &self.failure {
            bail!("{failure}");
        }
        if self.is_interrupted && !is_told {
            remark("stopped before the end: the rest was not read");
        }
        match &self.damaged {
            Some(damaged) if self.is_senseless => {
                bail!("{damaged}; everything before it was read");
            }
            Some(damaged) if !is_told => remark(&format!("{damaged}; everything before was read")),
            _ => {}
        }
        Ok(())
    }
}
