//! Flow control: which port pauses its neighbour, how often, and for how long.
//!
//! Priority flow control (IEEE 802.1Qbb) pauses one priority of a link, PAUSE (802.3x) all of it.
//! A frame names a time in quanta of 512 bit times at the speed of the link. A new frame overwrites
//! what is left of the time before, and 0 ends it. So the time paused is not the sum of the times
//! asked for, and without the speed of the link it is not known; where each is ended soon, by XON or
//! by asking for little, it is known not to be more than so much.

mod course;
#[cfg(test)]
mod tests;

use roce_wire::{Frame, Layer, MacAddr, Pause, Pfc, VlanTag};

use course::Course;
pub use course::PausedTime;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Bits of a quantum.
const QUANTUM_BITS: u128 = 512;
/// Most ports that are told apart.
const MAX_SENDERS: usize = 64;
/// How many lists of frames may be full.
const FULL_LISTS: usize = 16;
/// The speed that runs of pauses are judged by where none was told, in bits a second.
const ASSUMED_SPEED: u64 = 100_000_000_000;
/// No link with priority flow control is slower, in bits a second: no quantum lasts longer than there.
const SLOWEST_SPEED: u64 = 1_000_000_000;

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
    /// The same as if the link were the slowest.
    slowest: Course,
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
                pauses.course.end(last);
                pauses.slowest.end(last);
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

    /// The most that [`Self::paused`] may say, whatever the speed of the link; `None` when the times
    /// of the frames are not known.
    #[must_use]
    pub fn paused_at_most(&self, pauses: &Pauses) -> Option<PausedTime> {
        self.is_timed.then_some(pauses.slowest.told)
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
    /// When a pause of so many quanta ends that begins now, at so many bits a second.
    fn until(quanta: u16, now: u64, speed: u64) -> u64 {
        let bits = u128::from(quanta).saturating_mul(QUANTUM_BITS);
        let nanos = bits.saturating_mul(u128::from(NANOS_PER_SECOND));
        let nanos = nanos.checked_div(u128::from(speed)).unwrap_or(0);
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
            self.course.follow(quanta, now, At::until(quanta, now, at.speed));
            self.slowest.follow(quanta, now, At::until(quanta, now, SLOWEST_SPEED.min(at.speed)));
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
