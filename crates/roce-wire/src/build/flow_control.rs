//! Frames of MAC control: priority flow control and PAUSE, 60 bytes each.

use bytes::BufMut;
use zerocopy::IntoBytes;

use crate::header::{TooShort, put};
use crate::{EtherType, Ethernet, Header, MacAddr, Pause, Pfc};

/// A frame of priority flow control or PAUSE, padded to the shortest Ethernet frame.
///
/// ```
/// use roce_wire::{FlowControl, MacAddr};
/// let mut frame = Vec::new();
/// let mut times = [0; 8];
/// times[3] = 0xffff;
/// FlowControl::pfc(MacAddr([2, 0, 0, 0, 0, 1]), 1 << 3, times).emit(&mut frame).unwrap();
/// assert_eq!(frame.len(), 60);
/// assert_eq!(&frame[12..18], [0x88, 0x08, 0x01, 0x01, 0x00, 0x08]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FlowControl {
    bytes: [u8; Self::LEN],
}

impl FlowControl {
    /// The length of a frame, in bytes, without FCS.
    pub const LEN: usize = 60;
    /// The address that bridges never forward (IEEE 802.3 annex 31B).
    pub const DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

    /// Priority flow control from the port `src`: the enabled priorities (bit n for priority n) and
    /// all eight times in quanta, 0 for "go on".
    #[must_use]
    pub fn pfc(src: MacAddr, enabled: u8, times: [u16; 8]) -> Self {
        Self::of(src, Pfc::new(enabled, times).as_bytes())
    }

    /// PAUSE from the port `src`: the whole link, time in quanta, 0 for "go on".
    #[must_use]
    pub fn pause(src: MacAddr, time: u16) -> Self {
        Self::of(src, Pause::new(time).as_bytes())
    }

    fn of(src: MacAddr, body: &[u8]) -> Self {
        let ethernet = Ethernet::new(Self::DESTINATION, src, EtherType::MAC_CONTROL);
        let mut bytes = [0; Self::LEN];
        for (to, &from) in bytes.iter_mut().zip(ethernet.as_bytes().iter().chain(body)) {
            *to = from;
        }
        Self { bytes }
    }

    /// The frame.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// [`TooShort`] when `out` has no room for it; nothing is written then.
    pub fn emit(&self, out: &mut impl BufMut) -> Result<(), TooShort> {
        put(Ethernet::NAME, &self.bytes, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_pfc_frame_is_made_byte_for_byte() {
        // 802.1Qbb frame of a switch port: priority 3, 0xffff quanta, as documented by its vendor.
        let mut expected = [0u8; 60];
        expected[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
        expected[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        expected[12..18].copy_from_slice(&[0x88, 0x08, 0x01, 0x01, 0x00, 0x08]);
        expected[24..26].copy_from_slice(&[0xff, 0xff]);
        let mut times = [0; 8];
        times[3] = 0xffff;
        let made = FlowControl::pfc(MacAddr([2, 0, 0, 0, 0, 9]), 1 << 3, times);
        assert_eq!(*made.bytes(), expected);
    }

    #[test]
    fn pause_has_its_opcode_and_time() {
        let made = FlowControl::pause(MacAddr([2, 0, 0, 0, 0, 9]), 0x1234);
        assert_eq!(made.bytes()[12..20], [0x88, 0x08, 0, 1, 0x12, 0x34, 0, 0]);
        assert!(made.emit(&mut &mut [0u8; 59][..]).is_err());
    }
}
