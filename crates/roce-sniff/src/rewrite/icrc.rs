//! The ICRC and the checksums of an edited packet: right where they were right, and wrong in the
//! same way where they were wrong.

use roce_wire::{Extent, Frame, Icrc, IcrcFault, Link, Mend, Ports, mend};

use super::shape::put;

/// What is to become of a packet's ICRC.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seal {
    /// It is to be right.
    Right,
    /// It was made by a known mistake; in the other byte order if so said.
    Mistaken(IcrcFault, bool),
    /// It was off by these bits.
    Off(u32),
    /// There is none, or it cannot be known.
    Open,
    /// What there is may be no ICRC at all.
    NoPacket,
}

impl Seal {
    /// That of a frame as it was.
    pub(super) fn of(frame: &Frame<'_>, is_roce: bool) -> Self {
        let Some((_, packet)) = frame.packet() else { return Self::NoPacket };
        let open = if is_roce { Self::Open } else { Self::NoPacket };
        let (Some(old), Some(right)) = (packet.icrc, frame.right_icrc()) else { return open };
        let (old, right) = (old.get(), right.get());
        if old == right {
            return Self::Right;
        }
        if !is_roce {
            return Self::NoPacket;
        }
        let fault = IcrcFault::of(frame);
        match fault.and_then(|fault| Some((fault, fault.icrc(frame)?.get()))) {
            Some((fault, made)) if made == old => Self::Mistaken(fault, false),
            Some((fault, made)) if made.swap_bytes() == old => Self::Mistaken(fault, true),
            _ => Self::Off(old ^ right),
        }
    }

    /// Whether it was there and wrong.
    pub(super) const fn is_wrong(self) -> bool {
        matches!(self, Self::Mistaken(..) | Self::Off(_))
    }

    /// Mends checksums and ICRC of a frame that was edited.
    pub(super) fn put_on(self, bytes: &mut [u8], link: Link, wire_len: usize, ports: &Ports) {
        let frame = Frame::parse(link, bytes, wire_len, ports);
        let Some(extent) = Extent::of(&frame, wire_len).filter(|_| !matches!(self, Self::NoPacket))
        else {
            return;
        };
        let what = Mend { lengths: false, checksums: true, icrc: matches!(self, Self::Right) };
        if let Some(icrc) = self.wrong(&frame) {
            let at = extent.packet_end.saturating_sub(size_of::<Icrc>());
            put(bytes, at, &icrc.to_le_bytes());
        }
        mend(bytes, link, extent, ports, what);
    }

    /// The wrong ICRC.
    fn wrong(self, frame: &Frame<'_>) -> Option<u32> {
        let right = frame.right_icrc()?.get();
        let made = match self {
            Self::Mistaken(fault, is_swapped) => {
                let made = fault.icrc(frame).map_or(!right, Icrc::get);
                if is_swapped { made.swap_bytes() } else { made }
            }
            Self::Off(by) => right ^ by,
            Self::Right | Self::Open | Self::NoPacket => return None,
        };
        // The mistake may have no effect here.
        Some(if made == right { !right } else { made })
    }
}
