//! Frames of priority flow control and PAUSE.

use std::sync::Arc;

use roce_wire::FlowControl;

use crate::plan::PausePlan;

/// The frames of one sender.
#[derive(Debug)]
pub(crate) struct PauseStream {
    plan: Arc<PausePlan>,
    next: u64,
    captured: u64,
}

impl PauseStream {
    pub(crate) fn new(plan: &Arc<PausePlan>) -> Self {
        Self { plan: Arc::clone(plan), next: 0, captured: 0 }
    }

    /// How many frames the capture has, and whether they are of priority flow control.
    pub(crate) fn captured(&self) -> (u64, bool) {
        (self.captured, self.plan.priorities.is_some())
    }

    pub(crate) fn next_time(&self) -> Option<u64> {
        self.plan.frame_time(self.next)
    }

    /// Counts the frame that was made.
    pub(crate) const fn count(&mut self, is_captured: bool) {
        self.next = self.next.saturating_add(1);
        if is_captured {
            self.captured = self.captured.saturating_add(1);
        }
    }

    /// Makes the next frame.
    pub(crate) fn make(&self, out: &mut Vec<u8>) {
        let is_resume = self.next >= self.plan.count;
        let quanta = if is_resume { 0 } else { self.plan.quanta };
        let frame = match self.plan.priorities {
            None => FlowControl::pause(self.plan.from, quanta),
            Some(set) => {
                let mut times = [0; 8];
                for (priority, time) in (0u8..).zip(&mut times) {
                    if set >> priority & 1 == 1 {
                        *time = quanta;
                    }
                }
                FlowControl::pfc(self.plan.from, set, times)
            }
        };
        out.clear();
        out.extend_from_slice(frame.bytes());
    }
}
