//! Doing the steps, and undoing them when one fails.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::plan::Plan;
use super::status::Obstacle;
use super::step::Step;
use crate::sysfs::read;
use crate::{Error, RoceMode};

/// What was done, which can be undone.
#[derive(Debug, Default)]
pub struct Applied {
    undo: Vec<Undo>,
}

/// How to take a step back.
#[derive(Debug)]
enum Undo {
    Unmount(PathBuf),
    RemoveDir(PathBuf),
    RemoveFile(PathBuf),
    Restore { file: PathBuf, text: String },
    RestoreLink { link: PathBuf, target: PathBuf },
}

/// A step failed. What had been done before it was undone.
#[derive(Debug)]
pub struct Failed {
    /// The step.
    pub step: Step,
    /// Why.
    pub error: Error,
    /// What could not be undone, in words; normally nothing.
    pub left: Vec<String>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", self.error)?;
        if self.left.is_empty() {
            f.write_str("nothing was changed")
        } else {
            write!(f, "not undone: {}", self.left.join("; "))
        }
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Plan {
    /// Does the steps in order; `before` is called with each before it is done.
    ///
    /// # Errors
    /// With the first step that fails, after the steps before it were undone.
    pub fn apply(&self, before: &mut dyn FnMut(&Step)) -> Result<Applied, Box<Failed>> {
        let mut applied = Applied::default();
        for step in &self.steps {
            before(step);
            if let Err(error) = applied.take(step) {
                return Err(Box::new(Failed { step: step.clone(), error, left: applied.undo() }));
            }
        }
        Ok(applied)
    }
}

impl Applied {
    /// Takes everything back, last first. Returns in words what could not be taken back.
    ///
    /// To look at settings that were hidden and leave no trace: apply a [`crate::Change`] with
    /// nothing in it, read, undo.
    pub fn undo(mut self) -> Vec<String> {
        let mut left = Vec::new();
        while let Some(undo) = self.undo.pop() {
            if let Err(error) = undo.run() {
                left.push(format!("{undo}: {error}"));
            }
        }
        left
    }

    fn take(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::MountConfigfs { at } => self.mount(at),
            Step::RequireRdmaCm { dir } if dir.is_dir() => Ok(()),
            Step::RequireRdmaCm { .. } => Err(Error::Obstacle(Obstacle::NotLoaded)),
            Step::MakeDevice { dir, device } => self.make_device(dir, device),
            Step::WriteMode { file, mode, port, gid_types } => {
                self.write_mode(file, *mode)?.then_some(()).ok_or_else(|| Error::ModeRefused {
                    port: port.clone(),
                    mode: *mode,
                    gid_types: gid_types.clone(),
                })
            }
            Step::WriteTos { file, tos } => self
                .write_setting(file, &tos.to_string())
                .map_err(|error| Error::io("write", file, error)),
            Step::VerifyMode { file, mode } => {
                verify(file, &mode.to_string(), |text| text.parse().ok() == Some(*mode))
            }
            Step::VerifyTos { file, tos } => {
                verify(file, &tos.to_string(), |text| text.parse().ok() == Some(*tos))
            }
            Step::WriteUnit { file, text } => self.write_unit(file, text),
            Step::EnableUnit { link, target } => self.link(link, target),
        }
    }

    fn mount(&mut self, at: &Path) -> Result<(), Error> {
        use rustix::mount::{MountFlags, mount};
        mount("none", at, "configfs", MountFlags::empty(), None)
            .map_err(|errno| Error::io("mount configfs on", at, errno.into()))?;
        self.undo.push(Undo::Unmount(at.to_owned()));
        Ok(())
    }

    fn make_device(&mut self, dir: &Path, device: &str) -> Result<(), Error> {
        match fs::create_dir(dir) {
            Ok(()) => self.undo.push(Undo::RemoveDir(dir.to_owned())),
            // Someone else was faster, which is as good.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                return Err(Error::UnknownToCm { device: device.to_owned() });
            }
            Err(error) => return Err(Error::io("make", dir, error)),
        }
        Ok(())
    }

    /// Writes the first name the kernel takes; false when it takes none (EINVAL).
    fn write_mode(&mut self, file: &Path, mode: RoceMode) -> Result<bool, Error> {
        for name in mode.kernel_names() {
            match self.write_setting(file, name) {
                Ok(()) => return Ok(true),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
                Err(error) => return Err(Error::io("write", file, error)),
            }
        }
        Ok(false)
    }

    /// Writes a setting and remembers what it was, also when the write failed half-way.
    fn write_setting(&mut self, file: &Path, text: &str) -> io::Result<()> {
        let old = read::text(file)?;
        let result = write(file, text);
        if result.is_ok() || read::text(file).is_ok_and(|now| now != old) {
            self.undo.push(Undo::Restore { file: file.to_owned(), text: old });
        }
        result
    }

    fn write_unit(&mut self, file: &Path, text: &str) -> Result<(), Error> {
        if let Some(dir) = file.parent() {
            self.make_dirs(dir)?;
        }
        let undo = match fs::read_to_string(file) {
            Ok(text) => Undo::Restore { file: file.to_owned(), text },
            Err(_) => Undo::RemoveFile(file.to_owned()),
        };
        self.undo.push(undo);
        fs::write(file, text).map_err(|error| Error::io("write", file, error))
    }

    fn link(&mut self, link: &Path, target: &Path) -> Result<(), Error> {
        if let Some(dir) = link.parent() {
            self.make_dirs(dir)?;
        }
        let undo = match fs::read_link(link) {
            Ok(old) if old == target => return Ok(()),
            Ok(old) => {
                fs::remove_file(link).map_err(|error| Error::io("replace", link, error))?;
                Undo::RestoreLink { link: link.to_owned(), target: old }
            }
            Err(_) => Undo::RemoveFile(link.to_owned()),
        };
        self.undo.push(undo);
        std::os::unix::fs::symlink(target, link).map_err(|error| Error::io("link", link, error))
    }

    /// Makes a directory and those above it, remembering which were not there.
    fn make_dirs(&mut self, dir: &Path) -> Result<(), Error> {
        let missing: Vec<_> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
        for dir in missing.into_iter().rev() {
            fs::create_dir(dir).map_err(|error| Error::io("make", dir, error))?;
            self.undo.push(Undo::RemoveDir(dir.to_owned()));
        }
        Ok(())
    }
}

impl Undo {
    fn run(&self) -> io::Result<()> {
        match self {
            Self::Unmount(at) => {
                Ok(rustix::mount::unmount(at, rustix::mount::UnmountFlags::empty())?)
            }
            Self::RemoveDir(dir) => fs::remove_dir(dir),
            Self::RemoveFile(file) => match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            Self::Restore { file, text } => write(file, text.trim_end()),
            Self::RestoreLink { link, target } => {
                let _ = fs::remove_file(link);
                std::os::unix::fs::symlink(target, link)
            }
        }
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmount(at) => write!(f, "umount {}", at.display()),
            Self::RemoveDir(dir) => write!(f, "rmdir {}", dir.display()),
            Self::RemoveFile(file) => write!(f, "rm {}", file.display()),
            Self::Restore { file, .. } => write!(f, "restoring {}", file.display()),
            Self::RestoreLink { link, .. } => write!(f, "restoring {}", link.display()),
        }
    }
}

/// Writes a line to a file that exists, in one call, as the kernel wants it.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut open = OpenOptions::new().write(true).truncate(true).open(file)?;
    open.write_all(format!("{text}\n").as_bytes())
}

fn verify(file: &Path, wrote: &str, agrees: impl Fn(&str) -> bool) -> Result<(), Error> {
    let text = read::text(file).map_err(|error| Error::io("read", file, error))?;
    if agrees(&text) {
        return Ok(());
    }
    Err(Error::NotVerified { path: file.to_owned(), wrote: wrote.to_owned(), read: text })
}
