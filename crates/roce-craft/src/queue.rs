//! Queues that run empty again and again.

use std::collections::VecDeque;

/// Drops the first. A queue that is empty then begins anew at the start of its memory: on its round
/// through all of that it would push other things out of the cache.
///
/// Who needs the first looks at it in its place: moved out, it would be copied in parts that do not
/// fit those in which it was written, and a processor waits for such.
#[inline]
pub(crate) fn drop_first<T: Copy>(queue: &mut VecDeque<T>) {
    queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
}
