//! What a long file leaves behind in the system's memory.
//!
//! All that is written to a file stays there. Once that memory is full the system looks for pages
//! to free for each one that is written, and makes the writer wait for the disk: of a file of 17 GB
//! that is two thirds of the kernel's time. And what others had in memory is gone. So the system is
//! told early to bring a long file to disk, and then that nobody needs the pages.

use std::fs::File;
use std::num::NonZeroU64;

use rustix::fs::{Advice, fadvise};

/// So much from its start stays in memory: a file that is read as soon as it is written is rarely
/// longer.
const KEPT: u64 = 1 << 30;
/// The system is told after this many bytes. Less would cost more calls; more would leave the disk
/// idle and then busy.
const STEP: NonZeroU64 = NonZeroU64::new(8 << 20).unwrap();
/// How far behind the end of the file pages are let go. Until then a disk that is fast enough has
/// them; pages that it has not yet are not dropped, and stay.
const BEHIND: u64 = 4 * STEP.get();

/// How far a file has been brought to disk.
#[derive(Debug)]
pub(super) struct Behind {
    /// The first byte that the system was not told of.
    next: u64,
}

impl Behind {
    /// For a file that is open and empty; `None` where nothing is kept, as for a device.
    pub(super) fn of(file: &File) -> Option<Self> {
        file.metadata().ok().filter(std::fs::Metadata::is_file).map(|_| Self { next: KEPT })
    }

    /// The file has this many bytes now.
    pub(super) fn reached(&mut self, file: &File, len: u64) {
        while len.saturating_sub(self.next) >= STEP.get() {
            // Of bytes that are not on disk yet this only begins to write them.
            advise(file, self.next);
            if let Some(start) = self.next.checked_sub(BEHIND).filter(|start| *start >= KEPT) {
                advise(file, start);
            }
            self.next = self.next.saturating_add(STEP.get());
        }
    }
}

/// One step from here on is not needed any more. It is advice: where it fails, the file is written
/// all the same.
fn advise(file: &File, start: u64) {
    let _ = fadvise(file, start, Some(STEP), Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_files_and_devices_are_left_alone() {
        assert!(Behind::of(&File::create("/dev/null").unwrap()).is_none());
        let file = tempfile::tempfile().unwrap();
        let mut behind = Behind::of(&file).unwrap();
        behind.reached(&file, 0);
        behind.reached(&file, KEPT + STEP.get() - 1);
        assert_eq!(behind.next, KEPT);
    }

    #[test]
    fn long_files_are_told_of_in_whole_steps_and_keep_their_bytes() {
        use std::os::unix::fs::FileExt;

        let file = tempfile::tempfile().unwrap();
        let mut behind = Behind::of(&file).unwrap();
        // A hole up to what is kept takes no room.
        let len = KEPT + 2 * BEHIND + 1;
        let places: Vec<u64> = (KEPT..len).step_by(1 << 20).collect();
        for place in &places {
            file.write_all_at(&place.to_be_bytes(), *place).unwrap();
            behind.reached(&file, place + 1);
        }
        assert_eq!(behind.next, KEPT + 2 * BEHIND);
        let mut bytes = [0; 8];
        for place in &places {
            file.read_exact_at(&mut bytes, *place).unwrap();
            assert_eq!(u64::from_be_bytes(bytes), *place);
        }
    }
}
