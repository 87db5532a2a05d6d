//! Scenarios: small TOML files that say who talks to whom, and what happens to the frames.

mod builtin;
mod check;
mod check_event;
mod check_op;
mod error;
pub(crate) mod file;
mod file_event;
mod values;

use std::sync::Arc;

pub use builtin::{BUILTIN, Builtin, builtin};
pub use error::ScenarioError;

pub(crate) use check::has_udp;

use crate::plan::Plan;

/// A scenario that was read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) plan: Plan,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// [`ScenarioError`] says what is wrong and in which line: text that is no TOML, a key that is
    /// unknown, a value that cannot be.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let file: file::File =
            toml::from_str(text).map_err(|error| ScenarioError::from_toml(text, &error))?;
        check::Check::run(text, &file).map(|plan| Self { plan })
    }

    /// What an operator would ask.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.plan.question
    }

    /// What there is to see in the frames.
    #[must_use]
    pub fn answer(&self) -> &str {
        &self.plan.answer
    }

    /// The seed of everything random in it.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// The same with this many connections: those of the file in turn, each with queue pairs and
    /// PSNs of its own. A million at most: each takes some 20 kB.
    #[must_use]
    pub fn with_connections(mut self, connections: u32) -> Self {
        let connections = connections.min(1_000_000);
        let kinds = u32::try_from(self.plan.connections.len()).unwrap_or(u32::MAX);
        let each = connections.checked_div(kinds).unwrap_or(0);
        let more = connections.checked_rem(kinds).unwrap_or(0);
        for (index, plan) in (0u32..).zip(&mut self.plan.connections) {
            let plan = Arc::make_mut(plan);
            plan.repeat = each.saturating_add(u32::from(index < more));
            // The numbers of the file hold for one connection only.
            if plan.repeat > 1 {
                plan.qpn = None;
                plan.psn = None;
            }
        }
        self.plan.connections.retain(|plan| plan.repeat > 0);
        self
    }

    /// The same that ends after exactly this many frames: operations go on until then.
    #[must_use]
    pub fn with_packets(mut self, packets: u64) -> Self {
        self.plan.max_frames = Some(packets);
        for plan in &mut self.plan.connections {
            let plan = Arc::make_mut(plan);
            for ops in [&mut plan.ops.forth, &mut plan.ops.back] {
                // Only the last goes on: the others would never let it begin.
                if let Some(op) = ops.last_mut() {
                    op.count = u64::MAX;
                }
            }
        }
        self
    }
}
