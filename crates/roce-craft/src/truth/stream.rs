//! Packets of one class from one end, by their numbers: which the capture has, which it misses.

/// The numbers seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    next: Option<u64>,
    /// Nothing before it was seen.
    first: u64,
    /// Numbers that were passed over and not seen since: first and behind the last.
    holes: Vec<(u64, u64)>,
    missing: u64,
}

/// What a number was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// Seen for the first time.
    New,
    Again,
}

/// Holes that are remembered; the oldest give way.
const MOST_HOLES: usize = 1024;

impl Stream {
    /// Packets whose first transmission was passed over.
    pub(super) const fn missing(&self) -> u64 {
        self.missing
    }

    /// Whether neither this nor a later one was seen.
    pub(super) fn is_ahead(&self, number: u64) -> bool {
        self.next.is_none_or(|next| number >= next)
    }

    /// Takes a packet; `is_first` says that it is the first transmission.
    pub(super) fn take(&mut self, number: u64, is_first: bool) -> Seen {
        let Some(next) = self.next else {
            (self.first, self.next) = (number, Some(number.saturating_add(1)));
            return Seen::New;
        };
        if number < self.first {
            // Sent before the capture saw anything, or lost then.
            let between = (number.saturating_add(1), self.first);
            self.holes.extend(Some(between).filter(|(a, b)| a < b));
            self.first = number;
            return Seen::New;
        }
        if number >= next {
            if number > next {
                self.missing = self.missing.saturating_add(number.saturating_sub(next));
                if self.holes.len() >= MOST_HOLES {
                    self.holes.remove(0);
                }
                self.holes.push((next, number));
            }
            self.next = Some(number.saturating_add(1));
            return Seen::New;
        }
        let Some(at) = self.holes.iter().position(|(a, b)| (*a..*b).contains(&number)) else {
            return Seen::Again;
        };
        // Overtaken on the way, and not missing after all.
        if is_first {
            self.missing = self.missing.saturating_sub(1);
        }
        let (first, behind) = self.holes.swap_remove(at);
        let parts = [(first, number), (number.saturating_add(1), behind)];
        self.holes.extend(parts.into_iter().filter(|(a, b)| a < b));
        Seen::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_by_late_packets_and_by_retransmissions() {
        let mut stream = Stream::default();
        assert!([3, 4, 8].iter().all(|n| stream.take(*n, true) == Seen::New));
        assert_eq!(stream.missing(), 3);
        assert_eq!(stream.take(6, true), Seen::New);
        assert_eq!((stream.missing(), stream.take(6, false)), (2, Seen::Again));
        assert_eq!((stream.take(5, false), stream.missing()), (Seen::New, 2));
        assert_eq!((stream.take(7, false), stream.take(7, false)), (Seen::New, Seen::Again));
        assert_eq!((stream.take(9, true), stream.missing()), (Seen::New, 2));
        // What comes again from before the first one was not seen, and is not missed either.
        assert_eq!((stream.take(1, false), stream.take(1, false)), (Seen::New, Seen::Again));
        assert_eq!((stream.take(2, false), stream.missing()), (Seen::New, 2));
    }
}
