//! Flow control: which port pauses its neighbour, how often, and for how long.
//!
//! Priority flow control (IEEE 802.1Qbb) pauses one priority of a link, PAUSE (802.3x) all of it.
//! A frame names a time in quanta of 512 bit times at the speed of the link. A new frame overwrites
//! what is left of the time before, and 0 ends it. So the time paused is not the sum of the times
//! asked for, and without the speed of the link it is not known.

use roce_wire::{Frame, Layer, MacAddr, Pause, Pfc, VlanTag};

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Bits of a quantum.
const QUANTUM_BITS: u128 = 512;
/// Most ports that are told apart.
const MAX_SENDERS: usize = 64;
/// How many lists of frames may be full.
const FULL_LISTS: usize = 16;
/// The speed that runs of pauses are judged by where none was told, in bits a second.
const ASSUMED_SPEED: u64 = 100_000_000_000;

/// Flow control of a capture, by the ports that sent it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowControl {
    /// The speed of the links in bits a second; `None` when it was not told, and no time is known.
    pub link_speed: Option<u64>,
    /// The ports, in the order of their first frame; at most 64.
    pub senders: Vec<PauseSender>,
    /// Frames of other ports than these.
    pub other_frames: u64,
    /// Frames that each list takes, and that all may still take.
    lists: (usize, usize),
    /// Whether frames have times that tell something.
    is_timed: bool,
}

/// A port that sends flow control. It stops what its neighbour on the link sends to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PauseSender {
    /// Its address; `None` when the capture does not hold link headers.
    pub mac: Option<MacAddr>,
    /// The VLAN that the frames came in. Ports send none: a mirror adds it.
    pub vlan: Option<u16>,
    /// Priority flow control, by priority.
    pub priorities: Box<[Pauses; 8]>,
    /// 802.3x PAUSE: the whole link.
    pub link: Pauses,
}

/// Pauses of one priority, or of a link.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Pauses {
    /// Frames that pause it.
    pub pauses: u64,
    /// Frames that let it go on: XON.
    pub resumes: u64,
    /// The sum of the times asked for, in quanta of 512 bit times.
    pub quanta: u64,
    /// The first ten frames, or more where all proofs are asked for.
    pub frames: Vec<u64>,
    /// The newest second of the clock with frames that pause it, how many, and the most of one.
    second: (u64, u64),
    peak: u64,
    course: Course,
}

/// How long something was paused, as far as the capture goes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PausedTime {
    /// In all, in nanoseconds.
    pub total_ns: u64,
    /// The longest time without a break, in nanoseconds.
    pub longest_ns: u64,
    /// How many frames that took.
    pub longest_frames: u64,
    /// The most in one second of the clock, in nanoseconds.
    pub peak_second_ns: u64,
}

/// The pause that is open, and those that are over.
#[derive(Clone, Copy, Default, Debug)]
struct Course {
    told: PausedTime,
    open: Option<Open>,
    /// The newest second in which something was paused, and for how long.
    second: (u64, u64),
}

/// A pause that is not over as far as was seen.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// When the priority was stopped; it did not go on since.
    first: u64,
    /// How many frames that took.
    frames: u64,
    /// When the newest of them came.
    since: u64,
    /// When its time is over.
    until: u64,
}

impl FlowControl {
    /// Nothing yet; `lists` frames are listed of each priority of each port.
    pub(super) fn new(link_speed: Option<u64>, lists: usize) -> Self {
        Self {
            link_speed: link_speed.filter(|speed| *speed > 0),
            senders: Vec::new(),
            other_frames: 0,
            lists: (lists, lists.saturating_mul(FULL_LISTS)),
            is_timed: true,
        }
    }

    /// Takes a frame of priority flow control.
    pub(super) fn pfc(&mut self, pfc: &Pfc, frame: &Frame<'_>, number: u64, time: Option<u64>) {
        let at = self.at(number, time);
        let Some((sender, lists)) = self.sender(frame) else { return };
        for (bit, (of_it, quanta)) in sender.priorities.iter_mut().zip(pfc.times()).enumerate() {
            if pfc.enabled() >> bit & 1 == 1 {
                of_it.take(quanta, at, lists);
            }
        }
    }

    /// Takes a frame of 802.3x PAUSE.
    pub(super) fn pause(
        &mut self,
        pause: &Pause,
        frame: &Frame<'_>,
        number: u64,
        time: Option<u64>,
    ) {
        let at = self.at(number, time);
        if let Some((sender, lists)) = self.sender(frame) {
            sender.link.take(pause.time(), at, lists);
        }
    }

    fn at(&mut self, frame: u64, time: Option<u64>) -> At {
        self.is_timed &= time.is_some();
        At { frame, time, speed: self.link_speed.unwrap_or(ASSUMED_SPEED) }
    }

    fn sender(&mut self, frame: &Frame<'_>) -> Option<(&mut PauseSender, &mut (usize, usize))> {
        // What a tunnel holds is behind its own Ethernet header.
        let of_layer = |(_, layer)| match layer {
            Layer::Ethernet(ethernet) => Some(ethernet.src),
            _ => None,
        };
        let mac = frame.layers().filter_map(of_layer).last();
        let vlan = frame.vlans.last().map(VlanTag::vlan);
        let known = self.senders.iter().position(|one| one.mac == mac && one.vlan == vlan);
        let at = known.unwrap_or(self.senders.len());
        if at >= MAX_SENDERS {
            self.other_frames = self.other_frames.saturating_add(1);
            return None;
        }
        if known.is_none() {
            let (priorities, link) = Default::default();
            self.senders.push(PauseSender { mac, vlan, priorities, link });
        }
        Some((self.senders.get_mut(at)?, &mut self.lists))
    }

    /// The capture ends. Times that are all the same tell nothing.
    pub(super) fn end(&mut self, times: Option<(u64, u64)>) {
        let Some((_, last)) = times.filter(|(first, last)| first < last) else {
            self.is_timed = false;
            return;
        };
        for sender in &mut self.senders {
            for pauses in sender.priorities.iter_mut().chain([&mut sender.link]) {
                pauses.course.close(last);
            }
        }
    }

    /// How long something was paused; `None` when the speed of the link or the times of the frames
    /// are not known.
    #[must_use]
    pub fn paused(&self, pauses: &Pauses) -> Option<PausedTime> {
        (self.link_speed.is_some() && self.is_timed).then_some(pauses.course.told)
    }

    /// The most frames that pause it in one second of the clock; `None` when the times of the frames
    /// are not known.
    #[must_use]
    pub fn peak_per_second(&self, pauses: &Pauses) -> Option<u64> {
        self.is_timed.then_some(pauses.peak)
    }

    /// What [`Self::paused`] says, and where the speed of the link is not known as if it were 100 Gbit/s.
    pub(crate) fn supposed(&self, pauses: &Pauses) -> Option<PausedTime> {
        self.is_timed.then_some(pauses.course.told)
    }
}

impl Default for FlowControl {
    fn default() -> Self {
        Self::new(None, super::totals::MAX_FRAMES)
    }
}

/// A frame: its number, when it came, and the speed of its link.
#[derive(Clone, Copy)]
struct At {
    frame: u64,
    time: Option<u64>,
    speed: u64,
}

impl At {
    /// When a pause of so many quanta ends that begins now.
    fn until(self, quanta: u16, now: u64) -> u64 {
        let bits = u128::from(quanta).saturating_mul(QUANTUM_BITS);
        let nanos = bits.saturating_mul(u128::from(NANOS_PER_SECOND));
        let nanos = nanos.checked_div(u128::from(self.speed)).unwrap_or(0);
        now.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Pauses {
    fn take(&mut self, quanta: u16, at: At, lists: &mut (usize, usize)) {
        let (list, left) = lists;
        if self.frames.len() < *list && *left > 0 {
            *left = left.saturating_sub(1);
            self.frames.push(at.frame);
        }
        if let Some(now) = at.time {
            self.course.follow(quanta, now, at.until(quanta, now));
        }
        if quanta == 0 {
            self.resumes = self.resumes.saturating_add(1);
            return;
        }
        self.pauses = self.pauses.saturating_add(1);
        self.quanta = self.quanta.saturating_add(u64::from(quanta));
        let now = at.time.map_or(0, |time| time / NANOS_PER_SECOND);
        let (second, count) = &mut self.second;
        if *second != now {
            (*second, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        self.peak = self.peak.max(*count);
    }

    /// Whether there was any frame of it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pauses == 0 && self.resumes == 0
    }
}

impl Course {
    fn follow(&mut self, quanta: u16, now: u64, until: u64) {
        let before = self.close(now).filter(|open| now <= open.until);
        if quanta > 0 {
            let (first, frames) = before.map_or((now, 0), |open| (open.first, open.frames));
            self.open = Some(Open { first, frames: frames.saturating_add(1), since: now, until });
        }
    }

    /// Counts the open pause up to now, and returns it.
    fn close(&mut self, now: u64) -> Option<Open> {
        let open = self.open.take()?;
        let end = open.until.min(now);
        self.add(open.since, end);
        let length = end.saturating_sub(open.first);
        if length >= self.told.longest_ns {
            (self.told.longest_ns, self.told.longest_frames) = (length, open.frames);
        }
        Some(open)
    }

    /// It was paused from `from` to `to`.
    fn add(&mut self, from: u64, to: u64) {
        let Some(length) = to.checked_sub(from) else { return };
        self.told.total_ns = self.told.total_ns.saturating_add(length);
        let (first, last) = (from / NANOS_PER_SECOND, to / NANOS_PER_SECOND);
        if first == last {
            return self.add_within(last, length);
        }
        self.add_within(first, NANOS_PER_SECOND.saturating_sub(from % NANOS_PER_SECOND));
        if last.saturating_sub(first) > 1 {
            self.told.peak_second_ns = NANOS_PER_SECOND;
        }
        self.add_within(last, to % NANOS_PER_SECOND);
    }

    fn add_within(&mut self, second: u64, length: u64) {
        let (known, sum) = &mut self.second;
        if *known != second {
            (*known, *sum) = (second, 0);
        }
        *sum = sum.saturating_add(length);
        self.told.peak_second_ns = self.told.peak_second_ns.max(*sum);
    }
}

#[cfg(test)]
mod tests {
    use roce_wire::{FlowControl as Frames, Link, Ports};

    use super::*;

    const MICRO: u64 = 1_000;
    const MILLI: u64 = 1_000_000;
    const PORT: MacAddr = MacAddr([2, 0xaa, 0, 0, 0, 1]);
    const SPEED: Option<u64> = Some(100_000_000_000);

    /// Frames for priority 3: when, and for how many quanta.
    fn follow(speed: Option<u64>, frames: &[(u64, u16)], end: u64) -> FlowControl {
        let mut control = FlowControl::new(speed, 10);
        for (number, (time, quanta)) in (1..).zip(frames) {
            let made = Frames::pfc(PORT, 1 << 3, [0, 0, 0, *quanta, 0, 0, 0, 0]);
            take(&mut control, made.bytes(), number, Some(*time));
        }
        control.end(Some((0, end)));
        control
    }

    fn take(control: &mut FlowControl, bytes: &[u8], number: u64, time: Option<u64>) {
        let frame = Frame::parse(Link::Ethernet, bytes, bytes.len(), &Ports::default());
        match frame.content {
            roce_wire::Content::Pfc(pfc) => control.pfc(pfc, &frame, number, time),
            roce_wire::Content::Pause(pause) => control.pause(pause, &frame, number, time),
            _ => panic!("no flow control"),
        }
    }

    fn priority_3(control: &FlowControl) -> (&Pauses, Option<PausedTime>) {
        let pauses = &control.senders[0].priorities[3];
        (pauses, control.paused(pauses))
    }

    /// By hand, at 100 Gbit/s: a quantum is 512 / 100e9 s = 5.12 ns, 65535 of them 335.5392 µs.
    #[test]
    fn a_new_frame_overwrites_what_is_left() {
        let frames = [
            (MILLI, 1_000),
            (5 * MILLI, 65_535),
            (5 * MILLI + 100 * MICRO, 65_535),
            (10 * MILLI, 65_535),
            (10 * MILLI + 50 * MICRO, 0),
        ];
        let control = follow(SPEED, &frames, 20 * MILLI);
        let (pauses, paused) = priority_3(&control);
        assert_eq!((pauses.pauses, pauses.resumes), (4, 1));
        assert_eq!((pauses.quanta, control.peak_per_second(pauses)), (197_605, Some(4)));
        assert_eq!(pauses.frames, [1, 2, 3, 4, 5]);
        // 5.12 µs, 100 + 335.539 µs, and 50 µs until XON.
        let (total_ns, longest_ns) = (5_120 + 435_539 + 50_000, 435_539);
        let told = PausedTime { total_ns, longest_ns, longest_frames: 2, peak_second_ns: total_ns };
        assert_eq!(paused, Some(told));
        assert_eq!((control.senders[0].mac, control.senders[0].vlan), (Some(PORT), None));
    }

    #[test]
    fn a_link_that_is_paused_half_of_the_time_is_not_paused_without_end() {
        let frames: Vec<_> = (0..1_490).map(|n| (n * 670 * MICRO, 65_535)).collect();
        let paused = priority_3(&follow(SPEED, &frames, 1_000 * MILLI)).1.unwrap();
        assert_eq!((paused.longest_ns, paused.longest_frames), (335_539, 1));
        // 1490 × 335.539 µs of 998.3 ms.
        assert_eq!(paused.total_ns, 499_953_110);
        // At 25 Gbit/s a pause takes four times as long: 1342 µs, which the next one renews.
        let slow = priority_3(&follow(Some(25_000_000_000), &frames, 2_000 * MILLI)).1.unwrap();
        assert_eq!(slow.longest_ns, 1_489 * 670 * MICRO + 1_342_156);
        assert_eq!((slow.total_ns, slow.longest_frames), (slow.longest_ns, 1_490));
    }

    #[test]
    fn what_is_renewed_in_time_is_one_pause_up_to_the_end_of_the_capture() {
        let frames: Vec<_> = (0..3_334).map(|n| (n * 300 * MICRO, 65_535)).collect();
        let paused = priority_3(&follow(SPEED, &frames, 1_000 * MILLI)).1.unwrap();
        // The last frame comes 100 µs before the end.
        assert_eq!((paused.total_ns, paused.longest_ns), (1_000 * MILLI, 1_000 * MILLI));
        assert_eq!((paused.longest_frames, paused.peak_second_ns), (3_334, 1_000 * MILLI));
    }

    #[test]
    fn a_pause_counts_for_the_seconds_it_lies_in() {
        // 65535 quanta at 10 Mbit/s: 3.355392 s.
        let control = follow(Some(10_000_000), &[(500 * MILLI, 65_535)], 9_000 * MILLI);
        let paused = priority_3(&control).1.unwrap();
        assert_eq!((paused.total_ns, paused.peak_second_ns), (3_355_392_000, 1_000 * MILLI));
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let frames = [(MILLI, 1_000), (2 * MILLI, 1_000)];
        let control = follow(None, &frames, 20 * MILLI);
        assert_eq!((priority_3(&control).1, priority_3(&control).0.quanta), (None, 2_000));
        assert_eq!(priority_3(&follow(Some(0), &frames, 20 * MILLI)).1, None);
        let same = follow(SPEED, &frames, 0);
        let (pauses, paused) = priority_3(&same);
        assert_eq!((paused, same.peak_per_second(pauses)), (None, None));
        let mut control = FlowControl::new(SPEED, 10);
        take(&mut control, Frames::pause(PORT, 9).bytes(), 1, None);
        control.end(Some((0, MILLI)));
        assert_eq!(control.paused(&control.senders[0].link), None);
        assert_eq!(control.senders[0].link.quanta, 9);
    }

    #[test]
    fn ports_are_told_apart_up_to_a_bound() {
        let mut control = FlowControl::new(SPEED, 10);
        for number in 0..100 {
            let port = MacAddr([2, 0, 0, 0, 0, number]);
            let made = Frames::pfc(port, 1 << 3 | 1, [u16::from(number); 8]);
            let time = Some(u64::from(number));
            take(&mut control, made.bytes(), u64::from(number), time);
        }
        assert_eq!((control.senders.len(), control.other_frames), (64, 36));
        let last = &control.senders[63].priorities;
        assert_eq!((last[0].quanta, last[1].quanta, last[3].quanta), (63, 0, 63));
        let listed: usize = control
            .senders
            .iter()
            .flat_map(|sender| &*sender.priorities)
            .map(|pauses| pauses.frames.len())
            .sum();
        assert_eq!(listed, 128);
    }
}
