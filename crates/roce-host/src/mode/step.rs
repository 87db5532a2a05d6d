//! The steps of the documented procedure, as data.

use std::fmt;
use std::path::PathBuf;

use crate::{PortRef, RoceMode};

/// One step; its text is the shell command that does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Mount configfs.
    MountConfigfs {
        /// Where.
        at: PathBuf,
    },
    /// See that RDMA_CM has its directory, which needs its module. Nothing is loaded.
    RequireRdmaCm {
        /// The directory.
        dir: PathBuf,
    },
    /// Make the device's directory, which opens its settings.
    MakeDevice {
        /// The directory.
        dir: PathBuf,
        /// The device.
        device: String,
    },
    /// Write the mode.
    WriteMode {
        /// The file.
        file: PathBuf,
        /// The mode.
        mode: RoceMode,
        /// The port.
        port: PortRef,
        /// The types of the port's GIDs, to explain a refusal.
        gid_types: Vec<String>,
    },
    /// Write the ToS.
    WriteTos {
        /// The file.
        file: PathBuf,
        /// The ToS.
        tos: u8,
    },
    /// Read the mode back.
    VerifyMode {
        /// The file.
        file: PathBuf,
        /// What it must say.
        mode: RoceMode,
    },
    /// Read the ToS back.
    VerifyTos {
        /// The file.
        file: PathBuf,
        /// What it must say.
        tos: u8,
    },
    /// Write the systemd unit that does all this again after a reboot.
    WriteUnit {
        /// The file.
        file: PathBuf,
        /// Its text.
        text: String,
    },
    /// Have systemd start the unit at boot, by the link that `systemctl enable` makes.
    EnableUnit {
        /// The link.
        link: PathBuf,
        /// What it points to.
        target: PathBuf,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MountConfigfs { at } => write!(f, "mount -t configfs none {}", at.display()),
            Self::RequireRdmaCm { dir } => {
                write!(f, "test -d {}   # else: modprobe rdma_cm", dir.display())
            }
            Self::MakeDevice { dir, .. } => write!(f, "mkdir {}", dir.display()),
            Self::WriteMode { file, mode, .. } => {
                let name = mode.kernel_names().first().copied().unwrap_or_default();
                write!(f, "echo {name:?} > {}", file.display())
            }
            Self::WriteTos { file, tos } => write!(f, "echo {tos} > {}", file.display()),
            Self::VerifyMode { file, mode } => {
                let name = mode.kernel_names().first().copied().unwrap_or_default();
                write!(f, "cat {}   # must say {name}", file.display())
            }
            Self::VerifyTos { file, tos } => write!(f, "cat {}   # must say {tos}", file.display()),
            Self::WriteUnit { file, text } => {
                write!(f, "cat > {} <<'END'\n{text}END", file.display())
            }
            Self::EnableUnit { link, target } => {
                write!(f, "ln -sf {} {}", target.display(), link.display())
            }
        }
    }
}
