//! `roce-sniff rewrite`, run as built on every fixture.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod anonymous;
mod common;
mod edits;
mod files;
mod merged;
mod shapes;
