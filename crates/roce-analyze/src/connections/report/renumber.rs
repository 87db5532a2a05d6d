//! Frames by other numbers: a capture that was followed in another order than it stands in.

use core::num::{NonZeroU32, NonZeroU64};

use super::{Connection, DirectionReport, Exchange, Report, Totals};

impl Report {
    /// Gives frames the numbers that `number` makes of those that they were observed by.
    ///
    /// A tracker takes the numbers of frames for their order. Whoever observes them in another order
    /// than that of the capture counts them anew, and tells here where each of them stands.
    pub fn renumber(&mut self, number: impl Fn(u64) -> u64) {
        let number = &number as &dyn Fn(u64) -> u64;
        self.connections.iter_mut().for_each(|connection| connection.renumber(number));
        self.totals.renumber(number);
    }
}

impl Connection {
    fn renumber(&mut self, number: &dyn Fn(u64) -> u64) {
        let ends = [&mut self.first_frame, &mut self.last_frame];
        // A connection that the capture has no frame of has none to begin with.
        for frame in ends.into_iter().filter(|frame| **frame > 0) {
            *frame = number(*frame);
        }
        if let Some((_, frame)) = &mut self.fatal {
            *frame = number(*frame);
        }
        if let Some(cm) = &mut self.cm {
            cm.renumber(number);
        }
        self.a_to_b.renumber(number);
        self.b_to_a.renumber(number);
    }
}

impl Exchange {
    fn renumber(&mut self, number: &dyn Fn(u64) -> u64) {
        let rejected = self.rejected.as_mut().map(|rejected| &mut rejected.frame);
        let single = rejected.into_iter().chain(&mut self.unreachable);
        single.chain(&mut self.frames).for_each(|frame| *frame = number(*frame));
    }
}

impl DirectionReport {
    fn renumber(&mut self, number: &dyn Fn(u64) -> u64) {
        self.proofs.iter_mut().for_each(|proof| proof.frame = number(proof.frame));
        let not_ect = self.first_not_ect_frame.map(|frame| number(frame.get()));
        self.first_not_ect_frame = not_ect.and_then(NonZeroU64::new);
        let first = self.first_frame.map(|frame| number(frame.get().into()));
        self.first_frame =
            first.and_then(|frame| NonZeroU32::new(u32::try_from(frame).unwrap_or(0)));
    }
}

impl Totals {
    fn renumber(&mut self, number: &dyn Fn(u64) -> u64) {
        let pauses = self.flow_control.senders.iter_mut().flat_map(|sender| {
            sender.priorities.iter_mut().chain([&mut sender.link]).flat_map(|p| &mut p.frames)
        });
        let lists = self.cut_frame_numbers.iter_mut().chain(pauses);
        let lists = lists.chain(self.strange.iter_mut().flat_map(|strange| &mut strange.frames));
        let lists = lists.chain(self.bad_icrc.iter_mut().flat_map(|bad| &mut bad.frames));
        let lists = lists.chain(self.unreachable.iter_mut().map(|(_, frame)| frame));
        lists.for_each(|frame| *frame = number(*frame));
        let single = [&mut self.last_frame, &mut self.disorder.first_frame];
        for frame in single.into_iter().filter(|frame| **frame > 0) {
            *frame = number(*frame);
        }
    }
}
