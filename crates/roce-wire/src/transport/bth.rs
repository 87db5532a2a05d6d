//! Base Transport Header, 12 bytes, in every packet.
//!
//! ```text
//!      0               1               2               3
//!  0  | OpCode        |S|M|Pad| TVer  | P_Key                         |
//!  4  |F|B| reserved  | DestQP                                        |
//!  8  |A| reserved    | PSN                                           |
//! ```
//! S solicited event, M MigReq, F FECN, B BECN, A AckReq. Sources: Linux
//! `drivers/infiniband/core/ud_header.c`, `sw/rxe/rxe_hdr.h`; FECN and BECN as in IBTA Annex A17.

use core::fmt;
use zerocopy::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Fields, Header, Opcode, PKey, Psn, Qpn};

/// Base Transport Header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Bth {
    /// What the packet is.
    pub opcode: Opcode,
    flags: u8,
    /// The partition.
    pub p_key: PKey,
    dest: U32,
    seq: U32,
}

const _: () = assert!(size_of::<Bth>() == 12);

const SOLICITED: u8 = 0x80;
const MIG_REQ: u8 = 0x40;
const PAD: u8 = 0x30;
const TVER: u8 = 0x0f;
const FECN: u32 = 0x8000_0000;
const BECN: u32 = 0x4000_0000;
const RESERVED_6: u32 = 0x3f00_0000;
const ACK_REQ: u32 = 0x8000_0000;
const RESERVED_7: u32 = 0x7f00_0000;
const LOW_24: u32 = 0x00ff_ffff;

impl Bth {
    /// A header with the default partition and every other bit zero.
    #[must_use]
    pub const fn new(opcode: Opcode, dest_qp: Qpn, psn: Psn) -> Self {
        Self {
            opcode,
            flags: 0,
            p_key: PKey::DEFAULT,
            dest: U32::new(dest_qp.get()),
            seq: U32::new(psn.get()),
        }
    }

    /// SE: the receiver is to raise a solicited event.
    #[must_use]
    pub const fn solicited(&self) -> bool {
        self.flags & SOLICITED != 0
    }

    /// M: the path migration state; 1 on ConnectX, 0 on Linux soft-RoCE. Harmless either way.
    #[must_use]
    pub const fn mig_req(&self) -> bool {
        self.flags & MIG_REQ != 0
    }

    /// How many pad bytes stand between payload and ICRC, 0 to 3.
    #[must_use]
    pub const fn pad_count(&self) -> u8 {
        (self.flags & PAD) >> 4
    }

    /// Transport header version; 0 in every packet that is RoCE.
    #[must_use]
    pub const fn tver(&self) -> u8 {
        self.flags & TVER
    }

    /// FECN: the packet met congestion.
    #[must_use]
    pub const fn fecn(&self) -> bool {
        self.dest.get() & FECN != 0
    }

    /// BECN: congestion was met the other way; set in a CNP.
    #[must_use]
    pub const fn becn(&self) -> bool {
        self.dest.get() & BECN != 0
    }

    /// The six reserved bits beside FECN and BECN, which the ICRC leaves out.
    #[must_use]
    pub const fn reserved_6(&self) -> u8 {
        ((self.dest.get() & RESERVED_6) >> 24) as u8
    }

    /// The queue pair the packet goes to.
    #[must_use]
    pub const fn dest_qp(&self) -> Qpn {
        Qpn::new(self.dest.get())
    }

    /// Whether the requester asks for an acknowledgement.
    #[must_use]
    pub const fn ack_req(&self) -> bool {
        self.seq.get() & ACK_REQ != 0
    }

    /// The seven reserved bits beside AckReq, which the ICRC covers.
    #[must_use]
    pub const fn reserved_7(&self) -> u8 {
        ((self.seq.get() & RESERVED_7) >> 24) as u8
    }

    /// The packet sequence number.
    #[must_use]
    pub const fn psn(&self) -> Psn {
        Psn::new(self.seq.get())
    }

    /// The same with another SE.
    #[must_use]
    pub const fn with_solicited(self, on: bool) -> Self {
        Self { flags: self.flags & !SOLICITED | if on { SOLICITED } else { 0 }, ..self }
    }

    /// The same with another MigReq.
    #[must_use]
    pub const fn with_mig_req(self, on: bool) -> Self {
        Self { flags: self.flags & !MIG_REQ | if on { MIG_REQ } else { 0 }, ..self }
    }

    /// The same with another pad count, modulo 4.
    #[must_use]
    pub const fn with_pad_count(self, pad: u8) -> Self {
        Self { flags: self.flags & !PAD | (pad & 3) << 4, ..self }
    }

    /// The same with another transport version, modulo 16.
    #[must_use]
    pub const fn with_tver(self, tver: u8) -> Self {
        Self { flags: self.flags & !TVER | tver & TVER, ..self }
    }

    /// The same with another FECN.
    #[must_use]
    pub const fn with_fecn(self, on: bool) -> Self {
        self.with_dest(FECN, if on { FECN } else { 0 })
    }

    /// The same with another BECN.
    #[must_use]
    pub const fn with_becn(self, on: bool) -> Self {
        self.with_dest(BECN, if on { BECN } else { 0 })
    }

    /// The same with other reserved bits beside FECN and BECN, modulo 64.
    #[must_use]
    pub const fn with_reserved_6(self, bits: u8) -> Self {
        self.with_dest(RESERVED_6, (bits as u32 & 0x3f) << 24)
    }

    /// The same for another queue pair.
    #[must_use]
    pub const fn with_dest_qp(self, qp: Qpn) -> Self {
        self.with_dest(LOW_24, qp.get())
    }

    /// The same with another AckReq.
    #[must_use]
    pub const fn with_ack_req(self, on: bool) -> Self {
        self.with_seq(ACK_REQ, if on { ACK_REQ } else { 0 })
    }

    /// The same with other reserved bits beside AckReq, modulo 128.
    #[must_use]
    pub const fn with_reserved_7(self, bits: u8) -> Self {
        self.with_seq(RESERVED_7, (bits as u32 & 0x7f) << 24)
    }

    /// The same with another PSN.
    #[must_use]
    pub const fn with_psn(self, psn: Psn) -> Self {
        self.with_seq(LOW_24, psn.get())
    }

    const fn with_dest(self, mask: u32, bits: u32) -> Self {
        Self { dest: U32::new(self.dest.get() & !mask | bits), ..self }
    }

    const fn with_seq(self, mask: u32, bits: u32) -> Self {
        Self { seq: U32::new(self.seq.get() & !mask | bits), ..self }
    }
}

impl Header for Bth {
    const NAME: &'static str = "BTH";

    fn fields(&self, f: &mut Fields<'_>) {
        f.named("opcode", 8, self.opcode.0, &self.opcode);
        f.flag("se", self.solicited());
        f.flag("mig_req", self.mig_req());
        f.uint("pad_count", 2, self.pad_count());
        f.uint("tver", 4, self.tver());
        f.hex("p_key", 16, self.p_key.get());
        f.flag("fecn", self.fecn());
        f.flag("becn", self.becn());
        f.reserved(6, self.reserved_6());
        f.hex("dest_qp", 24, self.dest_qp().get());
        f.flag("ack_req", self.ack_req());
        f.reserved(7, self.reserved_7());
        f.uint("psn", 24, self.psn().get());
    }
}

impl fmt::Display for Bth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} qp {} psn {}", self.opcode, self.dest_qp(), self.psn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The BTH of a ConnectX-4 Lx CNP (scapy `test/contrib/roce.uts`).
    const CNP: [u8; 12] = [0x81, 0, 0xff, 0xff, 0x40, 0, 0x00, 0xd2, 0, 0, 0, 0];

    #[test]
    fn a_captured_cnp_reads_as_published() {
        let (bth, rest) = Bth::parse(&CNP).unwrap();
        assert!(rest.is_empty());
        assert_eq!(bth.opcode, Opcode::CNP);
        assert!(bth.becn() && !bth.fecn() && !bth.ack_req() && !bth.mig_req());
        assert_eq!((bth.dest_qp(), bth.psn(), bth.tver()), (Qpn::new(0xd2), Psn::new(0), 0));
    }

    #[test]
    fn it_is_built_as_captured() {
        let bth = Bth::new(Opcode::CNP, Qpn::new(0xd2), Psn::new(0)).with_becn(true);
        assert_eq!(bth.as_bytes(), CNP);
    }

    #[test]
    fn a_setter_touches_its_own_bits_only() {
        let (all, _) = Bth::parse(&[0xff; 12]).unwrap();
        let none = all
            .with_solicited(false)
            .with_mig_req(false)
            .with_pad_count(0)
            .with_tver(0)
            .with_fecn(false)
            .with_becn(false)
            .with_reserved_6(0)
            .with_dest_qp(Qpn::new(0))
            .with_ack_req(false)
            .with_reserved_7(0)
            .with_psn(Psn::new(0));
        assert_eq!(none.as_bytes(), [0xff, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(none.with_pad_count(2).as_bytes()[1], 0x20);
        assert_eq!(none.with_reserved_6(0xff).as_bytes()[4], 0x3f);
        assert_eq!(none.with_reserved_7(0xff).as_bytes()[8], 0x7f);
    }
}
