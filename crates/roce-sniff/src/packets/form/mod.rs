//! A packet in every form that `packets` prints. The fuzz targets print as well: nothing here knows
//! more of the command than `text`.

pub(crate) mod csv;
pub(crate) mod hex;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod tree;

use roce_capture::Frame as Captured;
use roce_wire::{Frame, IcrcState};

/// A packet and all that is printed of it besides its own fields.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'l> {
    pub(crate) captured: &'l Captured<'l>,
    pub(crate) frame: &'l Frame<'l>,
    /// `None` when it is not to be checked.
    pub(crate) icrc: Option<IcrcState>,
}
