//! How much goes over the wire in how short a time, over time, and after congestion was told.

use super::direction::{Direction, flag};
use super::reaction::Reaction;
use super::series::Series;
use super::timing::Budget;

pub(super) const NANOS_PER_MILLISECOND: u64 = 1_000_000;
pub(super) const MILLISECONDS_PER_SECOND: u64 = 1_000;
/// So that 400 Gbit/s for a second fit into 32 bits.
const SECOND_UNIT: u64 = 256;
/// A silence of this many nanoseconds is a gap.
pub(super) const IDLE_GAP: u64 = 10_000_000;
/// A direction with fewer packets has no series.
const SERIES_PACKETS: u64 = 16;

/// The millisecond that is open. Every packet asks whether it is over, and nothing more: what was
/// in it is the difference of what was counted.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rate {
    /// The lower half of the bytes of the direction when it began.
    bytes_at: u32,
    /// Bytes of the millisecond before it.
    last: u32,
    /// Most bytes of frames in a millisecond of the clock.
    peak: u32,
}

/// What is told of a direction's rates.
pub(super) struct Rates {
    pub peak_millisecond: u64,
    /// When it began, in nanoseconds.
    pub peak_at: u64,
    pub peak_second: u64,
    pub series: Option<Box<Series>>,
    pub reaction: Option<Box<Reaction>>,
}

/// The lower half of a number.
#[allow(clippy::cast_possible_truncation, reason = "half of it is wanted")]
const fn low(number: u64) -> u32 {
    number as u32
}

impl Direction {
    /// Time goes on, with a packet of either direction.
    #[inline]
    pub(super) fn tick(&mut self, time: Option<u64>, budget: &mut Budget) {
        if let Some(time) = time
            && time >= self.millisecond_end
        {
            self.turn(time, budget);
        }
    }

    /// The millisecond is over.
    #[inline(never)]
    fn turn(&mut self, time: u64, budget: &mut Budget) {
        let next = time / NANOS_PER_MILLISECOND;
        if self.millisecond_end > 0 {
            let done = (self.millisecond_end / NANOS_PER_MILLISECOND).saturating_sub(1);
            let bytes = self.close_millisecond(done);
            let is_next = done.checked_add(1) == Some(next);
            self.rate.last = if is_next { bytes } else { 0 };
            if self.has(flag::NOTIFIED)
                && let Some(reaction) = self.more.as_mut().and_then(|more| more.reaction.as_mut())
            {
                reaction.close(done, bytes.into(), next);
            }
            let second = done / MILLISECONDS_PER_SECOND;
            if second != next / MILLISECONDS_PER_SECOND {
                self.close_second(second, budget);
            }
        }
        self.rate.bytes_at = low(self.bytes);
        self.millisecond_end = next.saturating_add(1).saturating_mul(NANOS_PER_MILLISECOND);
    }

    fn close_millisecond(&mut self, done: u64) -> u32 {
        // At 400 Gbit/s it is 50 MB.
        let bytes = low(self.bytes).wrapping_sub(self.rate.bytes_at);
        if bytes > self.rate.peak {
            self.rate.peak = bytes;
            self.peak_at = done.saturating_mul(NANOS_PER_MILLISECOND);
        }
        bytes
    }

    fn close_second(&mut self, second: u64, budget: &mut Budget) {
        let (bytes_at, goodput_at) = self.second_at;
        let bytes = self.bytes.saturating_sub(bytes_at);
        let goodput = self.goodput.saturating_sub(goodput_at);
        self.second_at = (self.bytes, self.goodput);
        let units = u32::try_from(bytes.div_ceil(SECOND_UNIT)).unwrap_or(u32::MAX);
        self.peak_second = self.peak_second.max(units);
        let has_series = self.more.as_ref().is_some_and(|more| more.series.is_some());
        if has_series || self.packets >= SERIES_PACKETS {
            self.add_to_series(second, (bytes, goodput), budget);
        }
    }

    fn add_to_series(&mut self, second: u64, (bytes, goodput): (u64, u64), budget: &mut Budget) {
        let has_series = self.more.as_ref().is_some_and(|more| more.series.is_some());
        if !has_series {
            let Some(left) = budget.series.checked_sub(1) else { return };
            budget.series = left;
        }
        let series = &mut self.more().series;
        let series = series.get_or_insert_with(|| Box::new(Series::new(second)));
        series.add(second, bytes, goodput);
    }

    /// Packets that were counted right now had come before: those of milliseconds that are over belong
    /// to these. Each with its time, its bytes and its goodput, in the order of time.
    #[cold]
    pub(super) fn date_back(&mut self, counted: &[(u64, u32, u64)]) {
        let open = self.millisecond_end.saturating_sub(NANOS_PER_MILLISECOND);
        let is_same = |a: &(u64, u32, u64), b: &(u64, u32, u64)| {
            a.0 / NANOS_PER_MILLISECOND == b.0 / NANOS_PER_MILLISECOND
        };
        for part in counted.chunk_by(is_same) {
            let Some((time, ..)) = part.first().filter(|(time, ..)| *time < open) else { return };
            let (bytes, goodput) = part.iter().fold((0u32, 0u64), |(sum, good), (_, len, gain)| {
                (sum.saturating_add(*len), good.saturating_add(*gain))
            });
            self.rate.bytes_at = self.rate.bytes_at.wrapping_add(bytes);
            let millisecond = time / NANOS_PER_MILLISECOND;
            if bytes > self.rate.peak {
                self.rate.peak = bytes;
                self.peak_at = millisecond.saturating_mul(NANOS_PER_MILLISECOND);
            }
            let second = millisecond / MILLISECONDS_PER_SECOND;
            if second < open / NANOS_PER_MILLISECOND / MILLISECONDS_PER_SECOND {
                self.date_back_by_seconds(second, (bytes.into(), goodput));
            }
        }
    }

    fn date_back_by_seconds(&mut self, second: u64, (bytes, goodput): (u64, u64)) {
        let series = self.more.as_mut().and_then(|more| more.series.as_mut());
        let Some(series) = series else { return };
        series.add(second, bytes, goodput);
        let (bytes_at, goodput_at) = self.second_at;
        self.second_at = (bytes_at.saturating_add(bytes), goodput_at.saturating_add(goodput));
    }

    /// The direction is told of congestion on its way.
    pub(super) fn notified(&mut self) {
        if self.millisecond_end == 0 {
            return;
        }
        let millisecond = (self.millisecond_end / NANOS_PER_MILLISECOND).saturating_sub(1);
        let last = u64::from(self.rate.last);
        self.set(flag::NOTIFIED, true);
        let reaction = &mut self.more().reaction;
        reaction.get_or_insert_with(|| Box::new(Reaction::new(millisecond, last))).notify();
    }

    /// Ends the count; `None` when no packet had a time.
    pub(super) fn take_rates(&mut self) -> Option<Rates> {
        let done = (self.millisecond_end / NANOS_PER_MILLISECOND).checked_sub(1)?;
        self.close_millisecond(done);
        let second = done / MILLISECONDS_PER_SECOND;
        self.close_second(second, &mut Budget { histograms: 0, series: 0 });
        let more = self.more.as_mut();
        let (series, reaction) =
            more.map_or((None, None), |more| (more.series.take(), more.reaction.take()));
        Some(Rates {
            peak_millisecond: self.rate.peak.into(),
            peak_at: self.peak_at,
            peak_second: u64::from(self.peak_second).saturating_mul(SECOND_UNIT),
            series,
            reaction,
        })
    }
}
