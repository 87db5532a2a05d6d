//! What RoCE frames mean.
//!
//! State machines that are fed frames and say what they saw. They know no file, no socket and no
//! clock: time is an argument.
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

pub mod connections;
pub mod findings;
pub mod spread;
mod thousandths;
pub mod verdict;

pub use thousandths::Thousandths;
