//! The UDP source ports of one direction.

use core::ops::Deref;

use serde::{Serialize, Serializer};

/// How many are listed.
const MAX: usize = 4;

/// UDP source ports, the first four that were seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SrcPorts {
    len: u8,
    has_more: bool,
    ports: [u16; MAX],
}

impl SrcPorts {
    /// Whether there were more than are listed.
    pub(super) const fn has_more(&self) -> bool {
        self.has_more
    }

    /// A packet came from this one.
    #[inline]
    pub(super) fn add(&mut self, port: u16) {
        // Nearly always it is the first.
        if self.len > 0 && self.ports.first() == Some(&port) {
            return;
        }
        if self.contains(&port) {
            return;
        }
        match self.ports.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = port;
                self.len = self.len.saturating_add(1);
            }
            None => self.has_more = true,
        }
    }
}

impl Deref for SrcPorts {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        self.ports.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Serialize for SrcPorts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_are_listed_once_each() {
        let mut ports = SrcPorts::default();
        [7, 7, 9, 7, 8, 9, 0].into_iter().for_each(|port| ports.add(port));
        assert_eq!((&*ports, ports.has_more()), (&[7, 9, 8, 0][..], false));
        ports.add(9);
        assert!(!ports.has_more());
        ports.add(10);
        assert_eq!((&*ports, ports.has_more()), (&[7, 9, 8, 0][..], true));
    }
}
