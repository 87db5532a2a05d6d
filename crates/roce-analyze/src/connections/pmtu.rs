//! The path MTU of a connection, by what its packets show.

/// Path MTUs there are, in bytes.
pub(super) const SIZES: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// What is known of the path MTU of a connection.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pmtu {
    /// By a First or Middle packet, or by how READ requests use up PSNs; 0 when not known.
    seen: u16,
    /// By the connection manager; 0 when not known.
    agreed: u16,
    /// By the last READ alone: what looks like its PSNs may be a gap. While it equals `seen`, no
    /// packet says so.
    guess: u16,
    /// The most that one packet carried.
    largest: u16,
}

impl Pmtu {
    /// In bytes. What packets show goes before what was agreed.
    pub(super) fn bytes(self) -> Option<u32> {
        [self.seen, self.agreed].into_iter().find(|bytes| *bytes != 0).map(u32::from)
    }

    /// By packets alone.
    pub(super) fn seen(self) -> Option<u32> {
        Some(u32::from(self.seen)).filter(|bytes| *bytes != 0)
    }

    /// The connection manager says so.
    pub(super) fn agree(&mut self, bytes: u32) {
        self.agreed = u16::try_from(bytes).unwrap_or(0);
    }

    /// A First or Middle carries this much; returns whether that fits what was seen before.
    #[inline]
    pub(super) fn full_packet(&mut self, payload: u32) -> bool {
        if u32::from(self.seen) == payload {
            self.guess = 0;
            return true;
        }
        if (self.seen == 0 || self.seen == self.guess) && SIZES.contains(&payload) {
            (self.seen, self.guess) = (u16::try_from(payload).unwrap_or(0), 0);
            return true;
        }
        false
    }

    /// One packet carries this much.
    #[inline]
    pub(super) fn any_packet(&mut self, payload: u32) {
        if payload > u32::from(self.largest) {
            self.larger_packet(payload);
        }
    }

    /// More than any before: what READs seemed to say may be wrong, and there is only one path MTU
    /// with room for so much, perhaps.
    #[cold]
    fn larger_packet(&mut self, payload: u32) {
        let [.., second, largest] = SIZES;
        if payload > largest {
            return;
        }
        self.largest = u16::try_from(payload).unwrap_or(0);
        if self.seen == self.guess && self.seen < self.largest {
            (self.seen, self.guess) = (0, 0);
        }
        if self.seen == 0 && payload > second {
            self.seen = u16::try_from(largest).unwrap_or(0);
        }
    }

    /// A READ of `len` bytes used up `psns` PSNs: with which path MTU is that so? When requests
    /// behind it are missing it did not use up all of them, so that more than one has to say it.
    pub(super) fn by_span(&mut self, len: u32, psns: u32) {
        let mut fitting = SIZES.into_iter().filter(|size| span_of(len, *size) == psns);
        if self.bytes().is_none()
            && let (Some(size), None) = (fitting.next(), fitting.next())
        {
            let size = u16::try_from(size).unwrap_or(0);
            if psns == 1 || self.guess == size {
                self.seen = size;
            }
            self.guess = size;
        }
    }

    /// How many PSNs a READ of `len` bytes takes; `None` when that depends on what is not known.
    #[inline]
    pub(super) fn span(self, len: u32) -> Option<u32> {
        match self.bytes() {
            Some(bytes) => Some(span_of(len, bytes)),
            None if len <= u32::from(self.largest).max(256) => Some(1),
            None => None,
        }
    }
}

/// How many packets `len` bytes are.
pub(super) fn span_of(len: u32, pmtu: u32) -> u32 {
    len.div_ceil(pmtu.max(1)).max(1)
}

/// The longest that `len` bytes are with any path MTU in room for so many packets; the shortest
/// when there is no room for any.
pub(super) fn longest_span(len: u32, room: u32) -> u32 {
    let spans = SIZES.map(|size| span_of(len, size));
    spans.into_iter().find(|span| *span <= room).unwrap_or_else(|| span_of(len, 4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_takes_at_least_one_psn() {
        assert_eq!((span_of(0, 1024), span_of(1024, 1024), span_of(1025, 1024)), (1, 1, 2));
    }

    #[test]
    fn the_psns_of_a_read_tell_the_path_mtu() {
        let mut pmtu = Pmtu::default();
        assert_eq!((pmtu.span(256), pmtu.span(257)), (Some(1), None));
        pmtu.by_span(300, 1); // 512 and up
        assert_eq!(pmtu.bytes(), None);
        pmtu.by_span(1200, 2); // or one, and another is missing
        assert_eq!(pmtu.bytes(), None);
        pmtu.by_span(1100, 2);
        assert_eq!((pmtu.bytes(), pmtu.span(8000)), (Some(1024), Some(8)));
    }

    #[test]
    fn only_the_largest_has_room_for_more_than_half_of_it() {
        let mut pmtu = Pmtu::default();
        pmtu.any_packet(2048);
        assert_eq!(pmtu.seen(), None);
        pmtu.any_packet(2049);
        assert_eq!(pmtu.seen(), Some(4096));
    }

    #[test]
    fn packets_refute_what_reads_seemed_to_tell() {
        let mut pmtu = Pmtu::default();
        pmtu.by_span(1559, 2); // behind a gap: 4096, in truth
        pmtu.by_span(1559, 2);
        assert_eq!((pmtu.bytes(), pmtu.span(1559)), (Some(1024), Some(2)));
        pmtu.any_packet(1559);
        assert_eq!((pmtu.bytes(), pmtu.span(1559), pmtu.span(1560)), (None, Some(1), None));
        assert!(pmtu.full_packet(2048) && !pmtu.full_packet(4096));
    }

    #[test]
    fn what_does_not_fit_a_span_is_a_gap() {
        // 2806 bytes are 11, 6, 3, 2 or 1 packets.
        assert_eq!([12, 7, 6, 1, 0].map(|room| longest_span(2806, room)), [11, 6, 6, 1, 1]);
    }

    #[test]
    fn packets_go_before_what_was_agreed() {
        let mut pmtu = Pmtu::default();
        pmtu.agree(4096);
        assert_eq!(pmtu.span(4096), Some(1));
        assert!(pmtu.full_packet(1024) && !pmtu.full_packet(2048));
        assert_eq!((pmtu.bytes(), pmtu.seen()), (Some(1024), Some(1024)));
    }
}
