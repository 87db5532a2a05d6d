//! Which RoCE is on this wire: the verdict, and the counts that stand behind it.
//!
//! Fed frame by frame, it never looks back, so its memory does not grow with the length of a
//! capture; the table of host pairs is bounded and what did not fit is counted.

mod notes;
mod pairs;
#[cfg(test)]
mod tests;
mod traffic;

use roce_wire::mad::Management;
use roce_wire::{
    Carrier, Class, Content, Ecn, Frame, IcrcFault, IcrcState, Link, Net, Opcode, Packet, Reject,
    Service, Tunnels, Version,
};

pub use notes::{Note, NoteId};
pub use pairs::{Direction, Pair, Pairs};
pub use traffic::{Traffic, TrafficKind};

/// What is known of a frame besides its bytes.
#[derive(Clone, Copy, Debug)]
pub struct FrameInfo {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// When it was captured, in nanoseconds since the epoch; absent where the capture has no time.
    pub time_ns: Option<u64>,
    /// How long it was on the wire, in bytes.
    pub wire_len: u32,
}

/// Packets and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// How many bytes their frames had on the wire.
    pub bytes: u64,
}

impl Count {
    const fn merge(&mut self, other: Self) {
        self.packets = self.packets.saturating_add(other.packets);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    fn add(&mut self, wire_len: u32) {
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

/// What is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No RoCE.
    None,
    /// Only v1.
    V1,
    /// Only v2.
    V2,
    /// Both.
    Mixed,
}

impl Answer {
    pub(crate) const fn of(v1: bool, v2: bool) -> Self {
        match (v1, v2) {
            (false, false) => Self::None,
            (true, false) => Self::V1,
            (false, true) => Self::V2,
            (true, true) => Self::Mixed,
        }
    }

    /// The word used in machine-readable output.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Mixed => "mixed",
        }
    }
}

/// Up to which frame wrong ICRCs are looked at for their cause, which is slow.
pub(crate) const FAULT_SAMPLE: u64 = 50_000;

/// How to look.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Whether to check the ICRC of every packet.
    pub check_icrc: bool,
    /// How many pairs of hosts to tell apart.
    pub max_pairs: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { check_icrc: true, max_pairs: 32_768 }
    }
}

/// All that was counted.
#[derive(Clone, Debug)]
pub struct Verdict {
    config: Config,
    /// All frames.
    pub all: Count,
    /// When the first frame with a time was captured, in nanoseconds since the epoch.
    pub first_ns: Option<u64>,
    /// When the last one was; captures are not always in order.
    pub last_ns: Option<u64>,
    /// Frames of which the capture holds only a part.
    pub truncated: u64,
    /// RoCE packets, by how they are carried.
    pub carriers: [Count; 4],
    /// Packets by opcode.
    pub opcodes: [u64; 256],
    /// Packets whose ICRC is right.
    pub icrc_ok: u64,
    /// Packets whose ICRC is wrong or left out.
    pub icrc_bad: u64,
    /// Packets whose ICRC could not be checked, or was not to be.
    pub icrc_unchecked: u64,
    /// Known causes of wrong ICRCs among the first 50 000 frames, in the order of
    /// [`IcrcFault::ALL`].
    pub icrc_faults: [u64; 6],
    /// Congestion notification packets.
    pub cnp: u64,
    /// Priority flow control frames.
    pub pfc: u64,
    /// 802.3x PAUSE frames.
    pub pause: u64,
    /// Packets with FECN.
    pub fecn: u64,
    /// Packets with BECN.
    pub becn: u64,
    /// Packets by ECN, indexed by its two bits.
    pub ecn: [u64; 4],
    /// Packets by DSCP.
    pub dscp: [u64; 64],
    /// Packets by priority of the outermost VLAN tag (of the innermost frame, in a tunnel).
    pub pcp: [u64; 8],
    /// Packets by VLAN id; one with several tags counts for each.
    pub vlans: Box<[u64]>,
    /// Messages of connection management, in the order of [`roce_wire::mad::cm::CmAttribute::ALL`].
    pub cm: [u64; 11],
    /// What bears the RoCE port or Ethertype and is not RoCE, in the order of [`Reject::ALL`].
    pub rejected: [u64; 8],
    /// RoCE packets in tunnels, in the order of [`Tunnels::NAMES`].
    pub tunnels: [u64; 6],
    /// RoCE packets whose lengths contradict each other.
    pub odd_lengths: u64,
    /// RoCE v2 packets between link-local IPv6 addresses.
    pub link_local: u64,
    /// Who speaks with whom.
    pub pairs: Pairs,
    /// What the other frames are.
    pub traffic: Traffic,
}

impl Verdict {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            all: Count::default(),
            first_ns: None,
            last_ns: None,
            truncated: 0,
            carriers: [Count::default(); 4],
            opcodes: [0; 256],
            icrc_ok: 0,
            icrc_bad: 0,
            icrc_unchecked: 0,
            icrc_faults: [0; 6],
            cnp: 0,
            pfc: 0,
            pause: 0,
            fecn: 0,
            becn: 0,
            ecn: [0; 4],
            dscp: [0; 64],
            pcp: [0; 8],
            vlans: vec![0; 4096].into_boxed_slice(),
            cm: [0; 11],
            rejected: [0; 8],
            tunnels: [0; 6],
            odd_lengths: 0,
            link_local: 0,
            pairs: Pairs::new(config.max_pairs),
            traffic: Traffic::default(),
        }
    }

    /// Takes one frame into account. Says whether it counted as RoCE, as InfiniBand or as MAC
    /// control: whether it is one of those that this is about.
    pub fn observe(&mut self, frame: &Frame<'_>, link: Link, info: &FrameInfo) -> bool {
        self.frame(frame, info);
        match &frame.content {
            Content::Pfc(_) => bump(Some(&mut self.pfc)),
            Content::Pause(_) => bump(Some(&mut self.pause)),
            Content::Other(other) => {
                self.traffic.add(link, other);
                return false;
            }
            Content::Packet(..) | Content::NoBth(_) | Content::Rejected(_) => {
                if let Some(reject) = frame.rejection() {
                    bump(self.rejected.get_mut(position(&Reject::ALL, reject)));
                    return false;
                }
                self.roce(frame, info);
            }
        }
        true
    }

    fn frame(&mut self, frame: &Frame<'_>, info: &FrameInfo) {
        self.all.add(info.wire_len);
        bump_if(Some(&mut self.truncated), frame.is_cut());
        if let Some(now) = info.time_ns {
            self.first_ns = Some(self.first_ns.map_or(now, |first| first.min(now)));
            self.last_ns = Some(self.last_ns.map_or(now, |last| last.max(now)));
        }
    }

    fn roce(&mut self, frame: &Frame<'_>, info: &FrameInfo) {
        let (carrier, net) = match &frame.content {
            Content::Packet(net, packet) => {
                self.packet(packet);
                (net.carrier(), Some(net))
            }
            Content::NoBth(no_bth) => (no_bth.carrier, no_bth.net.as_ref()),
            _ => return,
        };
        if let Some(count) = self.carriers.get_mut(carrier_index(carrier)) {
            count.add(info.wire_len);
        }
        let is_sound = self.icrc(frame, info.number) != Some(IcrcState::Bad);
        self.marks(frame, net);
        if let Some(net) = net {
            let class = if is_sound { connected_class(frame) } else { None };
            self.pairs.add(net, class, info.number);
        }
    }

    fn packet(&mut self, packet: &Packet<'_>) {
        let bth = packet.bth;
        bump(self.opcodes.get_mut(usize::from(bth.opcode.0)));
        bump_if(Some(&mut self.cnp), bth.opcode == Opcode::CNP);
        bump_if(Some(&mut self.fecn), bth.fecn());
        bump_if(Some(&mut self.becn), bth.becn());
        if bth.dest_qp() == roce_wire::Qpn::GSI && packet.deth.is_some() {
            self.cm(packet.payload);
        }
    }

    /// Counts a message of connection management, also when the capture cut it.
    fn cm(&mut self, payload: &[u8]) {
        let management = Management::parse(payload).ok();
        if let Some(attribute) = management.and_then(|management| management.cm_attribute()) {
            bump(self.cm.get_mut(attribute as usize));
        }
    }

    fn icrc(&mut self, frame: &Frame<'_>, number: u64) -> Option<IcrcState> {
        let state = self.config.check_icrc.then(|| frame.icrc_state()).flatten();
        match state {
            Some(IcrcState::Ok) => bump(Some(&mut self.icrc_ok)),
            Some(IcrcState::Bad) => {
                if number <= FAULT_SAMPLE
                    && let Some(fault) = IcrcFault::of(frame)
                {
                    bump(self.icrc_faults.get_mut(position(&IcrcFault::ALL, fault)));
                }
                bump(Some(&mut self.icrc_bad));
            }
            _ => bump(Some(&mut self.icrc_unchecked)),
        }
        state
    }

    fn marks(&mut self, frame: &Frame<'_>, net: Option<&Net<'_>>) {
        if let Some(class) = net.and_then(Net::traffic_class) {
            bump(self.ecn.get_mut(usize::from(Ecn::from_tos(class).bits())));
            bump(self.dscp.get_mut(usize::from(class >> 2)));
        }
        if let Some(outer) = frame.vlans.first() {
            bump(self.pcp.get_mut(usize::from(outer.pcp())));
        }
        for tag in frame.vlans {
            bump(self.vlans.get_mut(usize::from(tag.vlan())));
        }
        if !frame.tunnels.is_empty() {
            for ((tunnel, _), count) in Tunnels::NAMES.iter().zip(&mut self.tunnels) {
                *count = count.saturating_add(u64::from(frame.tunnels.has(*tunnel)));
            }
        }
        bump_if(Some(&mut self.odd_lengths), !frame.oddities.is_empty());
        if let Some(Net::V2Ipv6(ip, ..)) = net {
            let local = ip.src().is_unicast_link_local();
            bump_if(Some(&mut self.link_local), local);
        }
    }

    /// Takes over what another verdict saw of other frames of the same trace.
    ///
    /// The parts may come in any order; [`Self::settle`] when the last one is in.
    pub fn merge(&mut self, other: Self) {
        let Self {
            config: _,
            all,
            first_ns,
            last_ns,
            truncated,
            carriers,
            opcodes,
            icrc_ok,
            icrc_bad,
            icrc_unchecked,
            icrc_faults,
            cnp,
            pfc,
            pause,
            fecn,
            becn,
            ecn,
            dscp,
            pcp,
            vlans,
            cm,
            rejected,
            tunnels,
            odd_lengths,
            link_local,
            pairs,
            traffic,
        } = other;
        self.all.merge(all);
        self.first_ns = [self.first_ns, first_ns].into_iter().flatten().min();
        self.last_ns = [self.last_ns, last_ns].into_iter().flatten().max();
        for (count, theirs) in self.carriers.iter_mut().zip(carriers) {
            count.merge(theirs);
        }
        for (count, theirs) in [
            (&mut self.truncated, truncated),
            (&mut self.icrc_ok, icrc_ok),
            (&mut self.icrc_bad, icrc_bad),
            (&mut self.icrc_unchecked, icrc_unchecked),
            (&mut self.cnp, cnp),
            (&mut self.pfc, pfc),
            (&mut self.pause, pause),
            (&mut self.fecn, fecn),
            (&mut self.becn, becn),
            (&mut self.odd_lengths, odd_lengths),
            (&mut self.link_local, link_local),
        ] {
            *count = count.saturating_add(theirs);
        }
        sum(&mut self.opcodes, &opcodes);
        sum(&mut self.icrc_faults, &icrc_faults);
        sum(&mut self.ecn, &ecn);
        sum(&mut self.dscp, &dscp);
        sum(&mut self.pcp, &pcp);
        sum(&mut self.vlans, &vlans);
        sum(&mut self.cm, &cm);
        sum(&mut self.rejected, &rejected);
        sum(&mut self.tunnels, &tunnels);
        self.pairs.merge(pairs);
        self.traffic.merge(&traffic);
    }

    /// Puts merged parts into the order of the trace.
    pub fn settle(&mut self) {
        self.pairs.sort();
    }

    /// The answer.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let v1 = self.carrier(Carrier::V1).packets > 0;
        Answer::of(v1, self.version(Version::V2).packets > 0)
    }

    /// What was carried in this way.
    #[must_use]
    pub fn carrier(&self, carrier: Carrier) -> Count {
        self.carriers.get(carrier_index(carrier)).copied().unwrap_or_default()
    }

    /// What was of this version.
    #[must_use]
    pub fn version(&self, version: Version) -> Count {
        let mut sum = Count::default();
        for carrier in CARRIERS {
            if carrier.version() == Some(version) {
                let count = self.carrier(carrier);
                sum.packets = sum.packets.saturating_add(count.packets);
                sum.bytes = sum.bytes.saturating_add(count.bytes);
            }
        }
        sum
    }

    /// RoCE packets of both versions.
    #[must_use]
    pub fn roce_packets(&self) -> u64 {
        self.version(Version::V1).packets.saturating_add(self.version(Version::V2).packets)
    }

    /// How many were rejected, for any reason.
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        self.rejected.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// What is worth saying beside the counts.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        notes::notes(self)
    }
}

/// The ways to carry a packet, in the order of [`Verdict::carriers`].
pub const CARRIERS: [Carrier; 4] =
    [Carrier::V1, Carrier::V2Ipv4, Carrier::V2Ipv6, Carrier::InfiniBand];

pub(crate) const fn carrier_index(carrier: Carrier) -> usize {
    match carrier {
        Carrier::V1 => 0,
        Carrier::V2Ipv4 => 1,
        Carrier::V2Ipv6 => 2,
        Carrier::InfiniBand => 3,
    }
}

/// Who sent a packet of a reliable connection: a requester, who must be answered, or a responder.
fn connected_class(frame: &Frame<'_>) -> Option<Class> {
    let (_, packet) = frame.packet()?;
    let info = packet.bth.opcode.info()?;
    matches!(info.service, Service::Rc | Service::Xrc).then_some(info.class)
}

fn position<T: PartialEq>(all: &[T], one: T) -> usize {
    all.iter().position(|item| *item == one).unwrap_or(usize::MAX)
}
