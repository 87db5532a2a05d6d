//! Which mistake made a wrong ICRC: the known ones, tried one after the other.

mod linear;
mod origins;
mod unmasked;

use core::fmt;
use zerocopy::IntoBytes;

pub use origins::Origins;
pub use unmasked::Unmasked;

use crate::icrc::{self, Cover};
use crate::{Frame, Header, Icrc, Opcode, Packet};

/// A known way to get the ICRC wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum IcrcFault {
    /// The length leaves no room for it, or the last four bytes belong to the payload by the
    /// packet's own DMA length.
    Missing,
    /// It is zero: not filled in yet, or left out.
    Zero,
    /// It is right but for the order of its bytes.
    ByteOrder,
    /// It is made with the Castagnoli polynomial (CRC-32C).
    Castagnoli,
    /// A FLUSH of Linux soft-RoCE, which covers BTH, FETH and RETH twice (seen in 6.12).
    SoftRoceFlush,
    /// It covers fields as they stand that are to be masked.
    NotMasked(Unmasked),
    /// It does not cover the eight bytes of ones that stand for the LRH.
    LacksLrh,
    /// Its bits are not inverted at the end.
    NotInverted,
    /// None of these: the packet or its ICRC was changed on the way, or it is no RoCE at all.
    Unknown,
}

impl IcrcFault {
    /// The fault of a packet whose ICRC is not right; slow, for a sample only.
    #[must_use]
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        let (net, packet) = frame.packet()?;
        let Some(icrc) = packet.icrc else { return (!packet.is_cut()).then_some(Self::Missing) };
        let right = frame.right_icrc()?;
        if right == *icrc {
            return None;
        }
        let cover = net.cover();
        let off_by = icrc.get() ^ right.get();
        Some(if icrc.get() == 0 {
            Self::Zero
        } else if icrc.get() == right.get().swap_bytes() {
            Self::ByteOrder
        } else if off_by == u32::MAX {
            Self::NotInverted
        } else if soft_roce_flush(cover, packet) == Some(*icrc) {
            Self::SoftRoceFlush
        } else if ends_in_payload(packet) {
            Self::Missing
        } else if unmasked::lacks_lrh(cover, packet, off_by) {
            Self::LacksLrh
        } else if let Some(fields) = unmasked::of(cover, packet, off_by) {
            Self::NotMasked(fields)
        } else if is_castagnoli(cover, packet, *icrc) {
            Self::Castagnoli
        } else {
            Self::Unknown
        })
    }

    /// The ICRC that this fault gives a packet; that of CRC-32C in the byte order of the right one.
    ///
    /// `None` when the fault does not say, does not happen to this packet, or when not every byte
    /// that the ICRC covers is there.
    #[must_use]
    pub fn icrc(self, frame: &Frame<'_>) -> Option<Icrc> {
        let (net, packet) = frame.packet()?;
        let right = frame.right_icrc()?;
        match self {
            Self::Zero => Some(Icrc::new(0)),
            Self::ByteOrder => Some(Icrc::new(right.get().swap_bytes())),
            Self::Castagnoli => Some(Icrc::new(castagnoli(net.cover(), packet))),
            Self::SoftRoceFlush => soft_roce_flush(net.cover(), packet),
            Self::NotMasked(fields) => unmasked::off_by(net.cover(), packet, fields)
                .map(|off_by| Icrc::new(right.get() ^ off_by)),
            Self::LacksLrh => unmasked::without_lrh(net.cover(), packet, right),
            Self::NotInverted => Some(Icrc::new(!right.get())),
            Self::Missing | Self::Unknown => None,
        }
    }
}

impl fmt::Display for IcrcFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Zero => "zero (not filled in)",
            Self::ByteOrder => "right but for its byte order",
            Self::Castagnoli => "made with CRC-32C instead of CRC-32",
            Self::SoftRoceFlush => "as Linux soft-RoCE makes it for FLUSH",
            Self::NotMasked(fields) => return write!(f, "made without masking {fields}"),
            Self::LacksLrh => "made without the eight bytes of ones for the LRH",
            Self::NotInverted => "right but for not being inverted at the end",
            Self::Unknown => "changed on the way, or not RoCE",
        })
    }
}

/// What soft-RoCE puts on a FLUSH: it takes the payload to begin at the BTH, so that the transport
/// headers are covered a second time, unmasked.
fn soft_roce_flush(cover: Cover<'_>, packet: &Packet<'_>) -> Option<Icrc> {
    let flush = matches!(packet.bth.opcode, Opcode::RC_FLUSH | Opcode::RD_FLUSH);
    let once = flush.then(|| icrc::compute(cover, packet.bth, packet.after_bth()))?;
    let mut hasher = crc32fast::Hasher::new_with_initial(once.get());
    hasher.update(packet.bth.as_bytes());
    hasher.update(packet.after_bth());
    Some(Icrc::new(hasher.finalize()))
}

/// Whether what stands in the place of the ICRC is payload: an RDMA WRITE of one packet carries as
/// many bytes as its RETH says (IBA C9-94), and this one only with those four.
fn ends_in_payload(packet: &Packet<'_>) -> bool {
    let is_write_only = matches!(packet.bth.opcode.0 & 0x1f, 0x0a | 0x0b);
    let with_icrc = packet.payload_wire_len().checked_add(Icrc::LEN);
    let dma_len = packet.reth.and_then(|reth| usize::try_from(reth.dma_len()).ok());
    is_write_only && dma_len.is_some() && dma_len == with_icrc
}

/// Whether the ICRC is CRC-32C over the right bytes, in either byte order.
fn is_castagnoli(cover: Cover<'_>, packet: &Packet<'_>, icrc: Icrc) -> bool {
    let crc = castagnoli(cover, packet);
    [crc, crc.swap_bytes()].contains(&icrc.get())
}

/// CRC-32C over what the ICRC covers.
fn castagnoli(cover: Cover<'_>, packet: &Packet<'_>) -> u32 {
    let mut crc = u32::MAX;
    icrc::covered(cover, packet.bth, packet.after_bth(), &mut |bytes| {
        for &byte in bytes {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                // The Castagnoli polynomial 0x1edc6f41, reflected.
                crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            }
        }
    });
    !crc
}
