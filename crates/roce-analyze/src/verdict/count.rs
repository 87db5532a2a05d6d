//! Packets and bytes, counted.

/// Packets and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// How many bytes their frames had on the wire.
    pub bytes: u64,
}

impl Count {
    pub(super) const fn merge(&mut self, other: Self) {
        self.packets = self.packets.saturating_add(other.packets);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    pub(super) fn add(&mut self, wire_len: u32) {
        bump(Some(&mut self.packets));
        self.bytes = self.bytes.wrapping_add(u64::from(wire_len));
    }
}

/// Adds each of `theirs` to its counterpart.
pub(crate) fn sum(ours: &mut [u64], theirs: &[u64]) {
    for (count, theirs) in ours.iter_mut().zip(theirs) {
        *count = count.saturating_add(*theirs);
    }
}

/// Adds one. Nobody lives to see 2^64 packets, so this need not be a saturating addition.
#[inline]
pub(crate) fn bump(counter: Option<&mut u64>) {
    bump_if(counter, true);
}

/// Adds one when the condition holds.
#[inline]
pub(crate) fn bump_if(counter: Option<&mut u64>, condition: bool) {
    if let Some(counter) = counter {
        *counter = counter.wrapping_add(u64::from(condition));
    }
}
