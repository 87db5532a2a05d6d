//! Which RoCE is on this wire: the verdict, and the counts that stand behind it.
//!
//! Fed frame by frame, it never looks back, so its memory does not grow with the length of a
//! capture; the table of host pairs is bounded and what did not fit is counted.

mod count;
mod merge;
mod notes;
mod observe;
mod pairs;
#[cfg(test)]
mod tests;
mod traffic;

use roce_wire::{Carrier, IcrcFault, Version};
use std::collections::BTreeMap;

pub use count::Count;
pub(crate) use count::{bump, bump_if, sum};
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
    /// Known causes of wrong ICRCs among the first 50 000 frames, in order.
    pub icrc_faults: BTreeMap<IcrcFault, u64>,
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
    /// What bears the RoCE port or Ethertype and is not RoCE, in the order of
    /// [`roce_wire::Reject::ALL`].
    pub rejected: [u64; 8],
    /// RoCE packets in tunnels, in the order of [`roce_wire::Tunnels::NAMES`].
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
            icrc_faults: BTreeMap::new(),
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
