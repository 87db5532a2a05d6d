//! How much goes over the wire in how short a time.

/// How much goes over the wire in how short a time.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rate {
    millisecond: u64,
    in_millisecond: u32,
    in_second: u32,
    /// Most bytes of frames in a millisecond of the clock.
    pub peak_millisecond: u32,
    /// Most bytes of frames in a second of the clock, in units of 256 bytes.
    pub peak_second: u32,
}

const NANOS_PER_MILLISECOND: u64 = 1_000_000;
const MILLISECONDS_PER_SECOND: u64 = 1_000;
/// So that 400 Gbit/s for a second fit into 32 bits.
pub(super) const SECOND_UNIT: u32 = 256;

impl Rate {
    #[inline]
    pub(super) fn record(&mut self, time: u64, bytes: u32) {
        let millisecond = time / NANOS_PER_MILLISECOND;
        if millisecond != self.millisecond {
            if millisecond / MILLISECONDS_PER_SECOND != self.millisecond / MILLISECONDS_PER_SECOND {
                self.in_second = 0;
            }
            (self.millisecond, self.in_millisecond) = (millisecond, 0);
        }
        self.in_millisecond = self.in_millisecond.saturating_add(bytes);
        self.in_second = self.in_second.saturating_add(bytes.div_ceil(SECOND_UNIT));
        self.peak_millisecond = self.peak_millisecond.max(self.in_millisecond);
        self.peak_second = self.peak_second.max(self.in_second);
    }
}
