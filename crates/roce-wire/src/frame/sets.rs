//! What a walk notes in passing: the tunnels a packet is in, and lengths that contradict each other.

/// A set of tunnels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tunnels(u8);

impl Tunnels {
    /// VXLAN.
    pub const VXLAN: Self = Self(1);
    /// Geneve.
    pub const GENEVE: Self = Self(1 << 1);
    /// GRE, other than as the carrier of ERSPAN.
    pub const GRE: Self = Self(1 << 2);
    /// ERSPAN of any type.
    pub const ERSPAN: Self = Self(1 << 3);
    /// MPLS.
    pub const MPLS: Self = Self(1 << 4);
    /// IP in IP.
    pub const IPIP: Self = Self(1 << 5);
    /// Every kind with the name used in machine-readable output.
    pub const NAMES: [(Self, &'static str); 6] = [
        (Self::VXLAN, "vxlan"),
        (Self::GENEVE, "geneve"),
        (Self::GRE, "gre"),
        (Self::ERSPAN, "erspan"),
        (Self::MPLS, "mpls"),
        (Self::IPIP, "ipip"),
    ];

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `other` is in this set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A set of contradictions in the layers. The packet is shown as far as it is sound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Oddities(u8);

impl Oddities {
    /// The IP, UDP, GRH or LRH length runs past the one of the header before it.
    pub const LENGTH_EXCEEDS_OUTER: Self = Self(1);
    /// The packet is longer by its own account than the frame was on the wire.
    pub const LENGTH_EXCEEDS_FRAME: Self = Self(1 << 1);
    /// The UDP length ends before the IP length.
    pub const UDP_SHORTER_THAN_IP: Self = Self(1 << 2);
    /// The IPv4 total length is 0, as segmentation offload leaves it.
    pub const NO_IP_LENGTH: Self = Self(1 << 3);
    /// The IPv4 header has options, which RoCE v2 does not allow.
    pub const IP_OPTIONS: Self = Self(1 << 4);
    /// Every kind and what to say of it.
    pub const TEXTS: [(Self, &'static str); 5] = [
        (Self::LENGTH_EXCEEDS_OUTER, "a length runs past that of the header before it"),
        (Self::LENGTH_EXCEEDS_FRAME, "the packet is longer by its own account than the frame"),
        (Self::UDP_SHORTER_THAN_IP, "the UDP length ends before the IP length"),
        (Self::NO_IP_LENGTH, "the IPv4 total length is 0"),
        (Self::IP_OPTIONS, "the IPv4 header has options"),
    ];

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether lengths contradict each other; options, for one, do not.
    #[must_use]
    pub const fn has_lengths(self) -> bool {
        self.0 & !Self::IP_OPTIONS.0 != 0
    }

    /// Whether `other` is in this set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
