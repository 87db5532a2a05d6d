//! What the frames are that carry no RoCE: the answer to "then what is in this capture?".

use roce_wire::{EtherType, Link, Other};

/// A kind of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "each variant is what it is called")]
pub enum TrafficKind {
    Tcp,
    Udp,
    Icmp,
    OtherIp,
    Arp,
    Lldp,
    OtherEthernet,
    IpOverInfiniBand,
    OtherInfiniBand,
    OtherLink,
}

impl TrafficKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Tcp,
        Self::Udp,
        Self::Icmp,
        Self::OtherIp,
        Self::Arp,
        Self::Lldp,
        Self::OtherEthernet,
        Self::IpOverInfiniBand,
        Self::OtherInfiniBand,
        Self::OtherLink,
    ];

    /// What to call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
            Self::OtherIp => "other IP",
            Self::Arp => "ARP",
            Self::Lldp => "LLDP",
            Self::OtherEthernet => "other Ethernet",
            Self::IpOverInfiniBand => "IP over InfiniBand",
            Self::OtherInfiniBand => "other InfiniBand",
            Self::OtherLink => "unknown link type",
        }
    }

    fn of(link: Link, other: &Other) -> Self {
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        const ICMP: u8 = 1;
        const ICMPV6: u8 = 58;
        match (link, other.protocol, other.ethertype) {
            (Link::IpOverInfiniBand, ..) => Self::IpOverInfiniBand,
            (Link::Other, ..) => Self::OtherLink,
            (_, Some(TCP), _) => Self::Tcp,
            (_, Some(UDP), _) => Self::Udp,
            (_, Some(ICMP | ICMPV6), _) => Self::Icmp,
            (_, Some(_), _) => Self::OtherIp,
            (_, _, Some(EtherType::ARP)) => Self::Arp,
            (_, _, Some(EtherType::LLDP)) => Self::Lldp,
            (Link::InfiniBand, ..) => Self::OtherInfiniBand,
            _ => Self::OtherEthernet,
        }
    }
}

/// Frames by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    counts: [u64; 10],
    perftest: u64,
}

/// The TCP port over which perftest's programs exchange their queue pairs.
const PERFTEST: u16 = 18515;

impl Traffic {
    pub(super) fn add(&mut self, link: Link, other: &Other) {
        let kind = TrafficKind::of(link, other);
        let index = TrafficKind::ALL.iter().position(|one| *one == kind);
        super::bump(index.and_then(|index| self.counts.get_mut(index)));
        if kind == TrafficKind::Tcp
            && other.ports.is_some_and(|(a, b)| a == PERFTEST || b == PERFTEST)
        {
            self.perftest = self.perftest.saturating_add(1);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        super::sum(&mut self.counts, &other.counts);
        self.perftest = self.perftest.saturating_add(other.perftest);
    }

    /// The kinds that were seen with their frames, most frequent first.
    #[must_use]
    pub fn shares(&self) -> Vec<(TrafficKind, u64)> {
        let kinds = TrafficKind::ALL.into_iter().zip(self.counts);
        let mut shares: Vec<_> = kinds.filter(|(_, count)| *count > 0).collect();
        shares.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
        shares
    }

    /// How many frames of one kind were seen.
    #[must_use]
    pub fn count(&self, kind: TrafficKind) -> u64 {
        self.shares().into_iter().find(|(one, _)| *one == kind).map_or(0, |(_, count)| count)
    }

    /// TCP segments of perftest's exchange, after which RDMA follows.
    #[must_use]
    pub const fn perftest(&self) -> u64 {
        self.perftest
    }
}
