//! How busy the wire was, whatever the frames were.

use serde::Serialize;

use super::rate::{MILLISECONDS_PER_SECOND, NANOS_PER_MILLISECOND};
use super::series::{OverTime, Series};

/// Counts the bytes of all frames over time. Each frame costs a comparison and a sum.
#[derive(Clone, Default, Debug)]
pub struct WireRate {
    bytes: u64,
    /// When the millisecond ends that is open, in nanoseconds; 0 before the first frame.
    end: u64,
    /// Bytes when it began, and when its second began.
    millisecond_at: u64,
    second_at: u64,
    peak: u64,
    peak_at: u64,
    peak_second: u64,
    series: Option<Series>,
}

/// How busy the wire was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct WireRates {
    /// Bytes of all frames that were looked at, RoCE or not.
    pub bytes: u64,
    /// The most of them in one millisecond of the clock.
    pub peak_millisecond_bytes: u64,
    /// When that millisecond began, in nanoseconds since the epoch.
    pub peak_millisecond_ns: u64,
    /// The most of them in one second of the clock.
    pub peak_second_bytes: u64,
    /// Second by second.
    pub over_time: OverTime,
}

impl WireRate {
    /// Takes a frame: its time in nanoseconds since the epoch, and its bytes on the wire.
    #[inline]
    pub fn record(&mut self, time_ns: Option<u64>, wire_len: u32) {
        if let Some(time) = time_ns
            && time >= self.end
        {
            self.turn(time);
        }
        self.bytes = self.bytes.saturating_add(u64::from(wire_len));
    }

    #[inline(never)]
    fn turn(&mut self, time: u64) {
        let next = time / NANOS_PER_MILLISECOND;
        if let Some(done) = (self.end / NANOS_PER_MILLISECOND).checked_sub(1) {
            self.close_millisecond(done);
            let second = done / MILLISECONDS_PER_SECOND;
            if second != next / MILLISECONDS_PER_SECOND {
                self.close_second(second);
            }
        }
        self.millisecond_at = self.bytes;
        self.end = next.saturating_add(1).saturating_mul(NANOS_PER_MILLISECOND);
    }

    const fn close_millisecond(&mut self, done: u64) {
        let bytes = self.bytes.saturating_sub(self.millisecond_at);
        if bytes > self.peak {
            self.peak = bytes;
            self.peak_at = done.saturating_mul(NANOS_PER_MILLISECOND);
        }
    }

    fn close_second(&mut self, second: u64) {
        let bytes = self.bytes.saturating_sub(self.second_at);
        self.peak_second = self.peak_second.max(bytes);
        self.series.get_or_insert_with(|| Series::new(second)).add(second, bytes, 0);
        self.second_at = self.bytes;
    }

    /// What was counted; `None` when no frame had a time.
    #[must_use]
    pub fn finish(mut self) -> Option<WireRates> {
        let done = (self.end / NANOS_PER_MILLISECOND).checked_sub(1)?;
        self.close_millisecond(done);
        self.close_second(done / MILLISECONDS_PER_SECOND);
        Some(WireRates {
            bytes: self.bytes,
            peak_millisecond_bytes: self.peak,
            peak_millisecond_ns: self.peak_at,
            peak_second_bytes: self.peak_second,
            over_time: self.series?.told(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_millisecond_and_every_second_are_told() {
        assert_eq!(WireRate::default().finish(), None);
        let mut wire = WireRate::default();
        // 100 bytes each 400 µs for three seconds, and a burst.
        for n in 0..7_500 {
            wire.record(Some(5_000_000_000 + n * 400_000), 100);
        }
        wire.record(Some(8_000_000_000), 9_000);
        let told = wire.finish().unwrap();
        assert_eq!((told.bytes, told.peak_millisecond_bytes), (759_000, 9_000));
        assert_eq!(told.peak_millisecond_ns, 8_000_000_000);
        assert_eq!(told.peak_second_bytes, 250_000);
        assert_eq!(told.over_time.bytes, [250_000, 250_000, 250_000, 9_000]);
    }
}
