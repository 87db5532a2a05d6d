//! The built command on a wire: a veth pair between two network namespaces.
//!
//! It takes root, iproute2 and tcpreplay; without one of them each test says so and is skipped.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may be blunt"
)]

mod counts;
mod ends;
mod probe;
mod refusals;
mod rig;
mod screen;
mod send;
mod without_libpcap;
