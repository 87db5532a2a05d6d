//! The layers of a frame, looked at more than once.

use roce_wire::{Frame, Layer, MAX_LAYERS};

/// The layers with their offsets, in wire order.
pub(super) struct Layers<'a> {
    list: [(usize, Layer<'a>); MAX_LAYERS],
    count: usize,
}

impl<'a> Layers<'a> {
    pub(super) fn of(frame: &Frame<'a>) -> Self {
        let mut layers = Self { list: [(0, Layer::Raw("", &[])); MAX_LAYERS], count: 0 };
        for (slot, layer) in layers.list.iter_mut().zip(frame.layers()) {
            *slot = layer;
            layers.count = layers.count.saturating_add(1);
        }
        layers
    }

    pub(super) fn as_slice(&self) -> &[(usize, Layer<'a>)] {
        self.list.get(..self.count).unwrap_or_default()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, (usize, Layer<'a>)> {
        self.as_slice().iter()
    }

    pub(super) fn first(&self) -> Option<&Layer<'a>> {
        self.as_slice().first().map(|(_, layer)| layer)
    }

    /// Where the network header of the packet stands: the last there is.
    pub(super) fn innermost_net(&self) -> Option<usize> {
        let is_net = |layer: &Layer<'_>| {
            matches!(layer, Layer::Ipv4(_) | Layer::Ipv6(_) | Layer::Grh(_) | Layer::Lrh(_))
        };
        self.as_slice().iter().rposition(|(_, layer)| is_net(layer))
    }
}
