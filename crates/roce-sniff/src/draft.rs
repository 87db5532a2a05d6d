//! Files under another name until they are whole.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A file that is not ready.
pub(crate) struct Draft {
    path: PathBuf,
    becomes: PathBuf,
    is_done: bool,
}

impl Draft {
    /// Beside the file it becomes; `None` for what cannot be replaced, such as a device or a pipe.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let draft = if is_replaceable(path) { beside(path, "part") } else { None }?;
        Some(Self { path: draft, becomes: path.to_owned(), is_done: false })
    }

    /// What is only needed while `path` is being made: beside it, else among temporary files. It
    /// becomes nothing.
    pub(crate) fn for_now(path: &Path, label: &str) -> Self {
        let place = if is_replaceable(path) { beside(path, label) } else { None };
        let place = place.unwrap_or_else(|| {
            env::temp_dir().join(format!("roce-sniff.{}.{label}.pcapng", std::process::id()))
        });
        Self { path: place.clone(), becomes: place, is_done: false }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it where it is; returns where.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.is_done = true;
        self.path.clone()
    }

    /// Gives it its name.
    pub(crate) fn publish(mut self) -> Result<()> {
        fs::rename(&self.path, &self.becomes)
            .with_context(|| format!("{}: cannot be written", self.becomes.display()))?;
        self.is_done = true;
        Ok(())
    }
}

/// Whether a new file can take the place of what is there, if anything is.
fn is_replaceable(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
}

fn beside(path: &Path, label: &str) -> Option<PathBuf> {
    let mut name = path.file_name()?.to_owned();
    name.push(format!(".{}.{label}", std::process::id()));
    // The end of the name says what kind of file it is.
    if let Some(end) = path.extension() {
        name.push(".");
        name.push(end);
    }
    Some(path.with_file_name(name))
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            // Nobody is left to tell; what is left over says by its name what it is.
            let _ = fs::remove_file(&self.path);
        }
    }
}
