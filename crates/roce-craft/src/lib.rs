//! Scenarios of RoCE traffic: a small TOML file in, frames and the truth about them out.
//!
//! A scenario says which hosts talk, what they do, and what happens to their frames on the way.
//! The frames are those of real requesters and responders: acknowledgements coalesce, responses
//! to a READ take the PSNs of the request, what was lost is sent again as the standard says. The
//! same scenario and seed give the same bytes on every platform.
//!
//! [`Scenario`] reads and checks a file, [`BUILTIN`] lists the scenarios that come with this
//! crate, [`Craft`] plays one, and [`Truth`] tells what an ideal observer would have found.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation))]

mod engine;
mod plan;
mod queue;
mod rng;
mod scenario;
pub mod truth;

pub use engine::{Craft, CraftedFrame};
pub use scenario::{BUILTIN, Builtin, Scenario, ScenarioError, builtin};
pub use truth::Truth;
