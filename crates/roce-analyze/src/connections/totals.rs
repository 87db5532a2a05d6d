//! What is counted of all frames, so that each is accounted for once.

use roce_wire::Addr;

use super::bad_icrc::BadIcrc;
use super::config::Config;
use super::pauses::FlowControl;
use super::proof::MANY_PROOFS_PER_EVENT;
use super::seen::Seen;
use super::strange::Strange;

/// Where every frame went. The counts of packets add up to `frames`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Totals {
    /// All frames that were observed.
    pub frames: u64,
    /// Packets of connections, also of those that were evicted.
    pub connection_packets: u64,
    /// Management datagrams: to queue pair 1, or 0 on InfiniBand.
    pub management: u64,
    /// RoCE packets whose headers the capture cut.
    pub cut_headers: u64,
    /// Packets with a bad ICRC that fit no connection.
    pub icrc_bad_elsewhere: u64,
    /// Packets that were refused because the table of connections can hold none.
    pub refused: u64,
    /// Frames with the port or Ethertype of RoCE that are not RoCE.
    pub not_roce: u64,
    /// Frames of priority flow control.
    pub pfc: u64,
    /// 802.3x PAUSE frames.
    pub pause: u64,
    /// All other frames.
    pub other: u64,
    /// RoCE packets by version: v1, v2 over IPv4, v2 over IPv6, InfiniBand.
    pub carriers: [u64; 4],
    /// Frames that the capture cut.
    pub cut_frames: u64,
    /// The first ten of those.
    pub cut_frame_numbers: Vec<u64>,
    /// ICRC right, wrong or missing, not to be checked.
    pub icrc: [u64; 3],
    /// Packets with data by ECN codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub data_ecn: [u64; 4],
    /// The number of the last frame.
    pub last_frame: u64,
    /// First and last time, in nanoseconds.
    pub times: Option<(u64, u64)>,
    /// Frames that stand behind later ones.
    pub disorder: Disorder,
    /// The largest frame seen, of any kind, in bytes on the wire.
    pub largest_frame: u64,
    /// Flow control by the ports that sent it.
    pub flow_control: FlowControl,
    /// Packets that no receiver takes, up to 64 kinds.
    pub strange: Vec<Strange>,
    /// Hosts whose packets have a bad ICRC, up to 64.
    pub bad_icrc: Vec<BadIcrc>,
    /// ICMP errors that say that port 4791 is unreachable: the host that says so, and the frame.
    pub unreachable: Vec<(Addr, u64)>,
    pub(super) frame_lists: FrameLists,
}

/// Frames of a capture that is not in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Disorder {
    /// How many stand behind later ones.
    pub frames: u64,
    /// By how much at most, in nanoseconds.
    pub most_ns: u64,
    /// The number of the first of them; 0 when there is none.
    pub first_frame: u64,
    /// How often time steps back from one frame to the next.
    pub steps: u64,
    /// How many frames there were with the newest of them, and its time.
    newest: (u64, u64),
}

impl Disorder {
    #[cold]
    fn note(&mut self, ns: u64, time: u64, (number, count): (u64, u64)) {
        let (before, newest) = self.newest;
        if before.saturating_add(1) != count || time < newest {
            self.steps = self.steps.saturating_add(1);
        }
        self.newest = (count, time);
        if self.frames == 0 {
            self.first_frame = number;
        }
        self.frames = self.frames.saturating_add(1);
        self.most_ns = self.most_ns.max(ns);
    }
}

/// How many frames are listed as proof, unless all are asked for.
pub(super) const MAX_FRAMES: usize = 10;

/// How long lists of frames get.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameLists(usize);

impl Default for FrameLists {
    fn default() -> Self {
        Self(MAX_FRAMES)
    }
}

impl FrameLists {
    /// Adds a frame to a list of proofs that has room.
    pub(super) fn add(self, frames: &mut Vec<u64>, frame: u64) {
        if frames.len() < self.0 {
            frames.push(frame);
        }
    }
}

impl Totals {
    /// Nothing counted yet.
    pub(super) fn new(config: &Config) -> Self {
        let frames = if config.all_proofs { MANY_PROOFS_PER_EVENT } else { MAX_FRAMES };
        let flow_control = FlowControl::new(config.link_speed, frames);
        Self { flow_control, frame_lists: FrameLists(frames), ..Self::default() }
    }

    /// Whether every frame is accounted for once.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        let parts = [
            self.connection_packets,
            self.management,
            self.cut_headers,
            self.icrc_bad_elsewhere,
            self.refused,
            self.not_roce,
            self.pfc,
            self.pause,
            self.other,
        ];
        parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part)) == self.frames
    }

    /// Packets of RoCE and InfiniBand.
    #[must_use]
    pub fn roce_packets(&self) -> u64 {
        self.carriers.iter().fold(0u64, |sum, part| sum.saturating_add(*part))
    }

    /// How long the capture is, in nanoseconds; `None` when frames have no times, or all the same.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.times.map(|(first, last)| last.saturating_sub(first)).filter(|length| *length > 0)
    }

    /// Counts a frame of any kind.
    #[inline]
    pub(super) fn count_frame(&mut self, number: u64, time: Option<u64>, len: u64, is_cut: bool) {
        // Frames are counted one by one: no count of 64 bits will ever wrap.
        self.frames = self.frames.wrapping_add(1);
        self.last_frame = number;
        if is_cut {
            self.note_cut(number);
        }
        self.largest_frame = self.largest_frame.max(len);
        if let Some(time) = time {
            self.count_time(time, number);
        }
    }

    #[cold]
    fn note_cut(&mut self, number: u64) {
        self.cut_frames = self.cut_frames.saturating_add(1);
        self.frame_lists.add(&mut self.cut_frame_numbers, number);
    }

    #[inline]
    fn count_time(&mut self, time: u64, number: u64) {
        match &mut self.times {
            Some((_, last)) if time >= *last => *last = time,
            Some((first, last)) => {
                *first = time.min(*first);
                self.disorder.note(last.saturating_sub(time), time, (number, self.frames));
            }
            None => self.times = Some((time, time)),
        }
    }

    #[inline]
    pub(super) const fn count_connection_packet(&mut self) {
        self.connection_packets = self.connection_packets.wrapping_add(1);
    }

    /// Counts the ECN codepoint of a packet with data.
    #[inline]
    pub(super) fn count_marks(&mut self, seen: &Seen) {
        if seen.is_data()
            && let Some(ecn) = seen.ecn()
            && let Some(count) = self.data_ecn.get_mut(usize::from(ecn.bits()))
        {
            *count = count.wrapping_add(1);
        }
    }
}
