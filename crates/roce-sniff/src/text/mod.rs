//! How things are written: numbers, addresses, escapes, tables, colours.

pub(crate) mod buf;
pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod number;
pub(crate) mod style;
pub(crate) mod wrap;
