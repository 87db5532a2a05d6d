//! Where a file that was asked for goes. Whatever goes wrong, a full disk or Ctrl-C, its name holds
//! either all of the new file or what it held before.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result};
use roce_capture::Error as CaptureError;

use crate::draft::Draft;
use crate::source::refuse_compressed;

/// A file that is being made, or a stream.
pub(crate) struct Target {
    name: PathBuf,
    draft: Option<Draft>,
}

/// What takes the bytes.
#[derive(Debug)]
pub(crate) enum Sink {
    File(File),
    Stdout,
}

impl Target {
    /// Opens what is to become `name`; `-` is standard output. Devices and pipes take the bytes as
    /// they come.
    pub(crate) fn open(name: &Path) -> Result<(Self, Sink)> {
        refuse_compressed(name)?;
        let name = name.to_owned();
        if name.as_os_str() == "-" {
            return Ok((Self { name, draft: None }, Sink::Stdout));
        }
        let cannot = || format!("{}: cannot create", name.display());
        let Some(draft) = Draft::of(&name) else {
            let file = File::create(&name).with_context(cannot)?;
            return Ok((Self { name, draft: None }, Sink::File(file)));
        };
        // A file that may not be written is not replaced either.
        let mode = match File::options().write(true).open(&name) {
            Ok(old) => Some(old.metadata().with_context(cannot)?.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(cannot),
        };
        let file = File::create(draft.path()).with_context(cannot)?;
        if let Some(mode) = mode {
            file.set_permissions(mode).with_context(cannot)?;
        }
        Ok((Self { name, draft: Some(draft) }, Sink::File(file)))
    }

    /// Whether the bytes are gone as soon as they are written.
    pub(crate) const fn is_stream(&self) -> bool {
        self.draft.is_none()
    }

    /// How it is called.
    pub(crate) fn name(&self) -> String {
        match self.name.to_str() {
            Some("-") => "standard output".to_owned(),
            _ => self.name.display().to_string(),
        }
    }

    /// The file is whole: gives it its name.
    pub(crate) fn publish(self) -> Result<()> {
        self.draft.map_or(Ok(()), Draft::publish)
    }

    /// Why the file is not made, where that is what went wrong: of a draft nothing is kept.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if self.draft.is_none() {
            return error;
        }
        match error.downcast::<CaptureError>() {
            Ok(CaptureError::Write { file, source, .. }) => {
                Error::new(source).context(format!("{file}: cannot write, so it is not made"))
            }
            Ok(other) => Error::new(other),
            Err(error) => error,
        }
    }
}
