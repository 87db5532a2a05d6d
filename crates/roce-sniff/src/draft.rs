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
        let becomes = replaceable(path)?;
        Some(Self { path: beside(&becomes, "part")?, becomes, is_done: false })
    }

    /// What is only needed while `path` is being made: beside it, else among temporary files. It
    /// becomes nothing.
    pub(crate) fn for_now(path: &Path, label: &str) -> Self {
        let place = replaceable(path).and_then(|path| beside(&path, label));
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

/// The file behind a name, links followed, if a new one can take its place; `None` for devices,
/// pipes, and what the kernel shows of open files, such as `/dev/stdout`.
fn replaceable(path: &Path) -> Option<PathBuf> {
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return None;
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => fs::canonicalize(path).ok().filter(|file| file.is_file()),
        Ok(meta) => meta.is_file().then(|| path.to_owned()),
        Err(_) => Some(path.to_owned()),
    }
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
