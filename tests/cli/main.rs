//! The built command on files: what it prints, what it counts, how it ends.
//!
//! `UPDATE_GOLDEN=1 cargo test -p roce-sniff-tests --test cli golden` writes the golden results
//! anew; look at what changed before you commit it.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod analysis;
mod captures;
mod commented;
mod counts;
mod expect;
mod golden;
mod inputs;
mod making;
mod manual;
mod refusals;
mod selection;
mod terminal;
mod threads;
mod tree;
mod widths;
mod writing;
