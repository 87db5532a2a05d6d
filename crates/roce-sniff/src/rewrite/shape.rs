//! A frame whose headers come and go: its bytes, and how long it was on the wire.

use std::ops::Range;

use roce_wire::{Frame, Layer, Link, Ports};

/// A frame being put into another shape.
pub(super) struct Shape<'s> {
    pub(super) bytes: &'s mut Vec<u8>,
    /// The length on the wire, which may be more than what was captured.
    pub(super) wire_len: usize,
    pub(super) link: Link,
    /// The link type's number in libpcap.
    pub(super) linktype: u32,
    pub(super) ports: Ports,
}

impl Shape<'_> {
    pub(super) fn parse(&self) -> Frame<'_> {
        Frame::parse(self.link, self.bytes, self.wire_len, &self.ports)
    }

    /// Puts `new` in the place of some bytes, all of them captured.
    pub(super) fn splice(&mut self, old: Range<usize>, new: &[u8]) {
        if old.start > old.end || old.end > self.bytes.len() {
            return;
        }
        let removed = old.len();
        self.bytes.splice(old, new.iter().copied());
        self.wire_len = self.wire_len.saturating_sub(removed).saturating_add(new.len());
    }

    /// Writes over words that are there.
    pub(super) fn patch(&mut self, patches: &[(usize, u16)]) {
        for (at, word) in patches {
            put(self.bytes, *at, &word.to_be_bytes());
        }
    }
}

/// Writes over bytes that are there.
pub(super) fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(room) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..new.len())) {
        room.copy_from_slice(new);
    }
}

/// The big-endian word at `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|word| u16::from_be_bytes(*word))
}

/// Where a header says what follows it, as an Ethertype; `None` where it does not.
pub(super) fn ethertype_at((at, layer): &(usize, Layer<'_>)) -> Option<usize> {
    Some(match layer {
        Layer::Ethernet(_) => at.saturating_add(12),
        Layer::Vlans(_) => at.saturating_add(layer.bytes().len()).saturating_sub(2),
        Layer::Sll(_) => at.saturating_add(14),
        Layer::Sll2(_) => *at,
        Layer::Gre(_) | Layer::Geneve(_) => at.saturating_add(2),
        _ => return None,
    })
}

/// New words and where they go.
pub(super) type Patches = Vec<(usize, u16)>;

/// The lengths that headers say when what they carry grows by so much; `None` when one does not
/// fit its field.
pub(super) fn grown(headers: &[(usize, Layer<'_>)], by: isize) -> Option<Patches> {
    let mut patches = Patches::new();
    for (at, layer) in headers {
        let fields: &[usize] = match layer {
            Layer::Ipv4(_) => &[2],
            Layer::Ipv6(_) | Layer::Udp(_) | Layer::Grh(_) => &[4],
            // Record length and length on the wire.
            Layer::Erf(_) => &[10, 14],
            _ => &[],
        };
        for field in fields {
            let old = usize::from(word(layer.bytes(), *field)?);
            // Segmentation offload leaves it open.
            if old > 0 || !matches!(layer, Layer::Ipv4(_)) {
                let new = u16::try_from(old.checked_add_signed(by)?).ok()?;
                patches.push((at.saturating_add(*field), new));
            }
        }
    }
    Some(patches)
}
