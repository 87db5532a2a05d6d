//! The walk's steps through tunnels. Each opens a new frame or datagram inside the old one.

use super::Tunnels;
use super::layers::{Kind, Record};
use super::walk::{Next, Walk};
use crate::EtherType;
use crate::header::Header;
use crate::tunnel::{ErspanII, ErspanIII, Geneve, Gre, MplsLabel, Vxlan};

/// Frame type of ERSPAN III: what is mirrored begins with an IP header.
const ERSPAN_IP: u8 = 2;

impl<R: Record> Walk<'_, R> {
    pub(super) fn vxlan(&mut self) -> Next {
        match self.take::<Vxlan>(Kind::Vxlan) {
            Some(_) => self.inside(Tunnels::VXLAN, Next::Ethernet),
            None => self.other(),
        }
    }

    pub(super) fn geneve(&mut self) -> Next {
        let Some(geneve) = self.take::<Geneve>(Kind::Geneve) else { return self.other() };
        match self.take_raw(Kind::GeneveOptions, geneve.options_len()) {
            Some(_) => self.inside(Tunnels::GENEVE, Next::EtherType(geneve.protocol())),
            None => self.other(),
        }
    }

    pub(super) fn gre(&mut self) -> Next {
        let Some(gre) = self.take::<Gre>(Kind::Gre) else { return self.other() };
        // Version 1 carries PPP, nothing that could hold RoCE.
        if gre.version() != 0 {
            return self.other();
        }
        let optional = gre.optional_len();
        if self.take_raw(Kind::GreFields, optional).is_none() {
            return self.other();
        }
        match gre.protocol() {
            EtherType::ERSPAN if gre.has_sequence() => self.erspan_ii(),
            EtherType::ERSPAN => self.inside(Tunnels::ERSPAN, Next::Ethernet),
            EtherType::ERSPAN_III => self.erspan_iii(),
            protocol => self.inside(Tunnels::GRE, Next::EtherType(protocol)),
        }
    }

    fn erspan_ii(&mut self) -> Next {
        match self.take::<ErspanII>(Kind::ErspanII) {
            Some(_) => self.inside(Tunnels::ERSPAN, Next::Ethernet),
            None => self.other(),
        }
    }

    fn erspan_iii(&mut self) -> Next {
        let Some(erspan) = self.take::<ErspanIII>(Kind::ErspanIII) else { return self.other() };
        if erspan.has_platform() && self.take_raw(Kind::ErspanPlatform, 8).is_none() {
            return self.other();
        }
        let next = if erspan.frame_type() == ERSPAN_IP { Next::Ip } else { Next::Ethernet };
        self.inside(Tunnels::ERSPAN, next)
    }

    pub(super) fn mpls(&mut self) -> Next {
        let mut len = 0usize;
        let mut bottom = false;
        for chunk in self.rest().chunks_exact(MplsLabel::LEN) {
            len = len.saturating_add(MplsLabel::LEN);
            bottom = MplsLabel::parse(chunk).is_ok_and(|(label, _)| label.is_bottom());
            if bottom {
                break;
            }
        }
        if self.take_raw(Kind::Mpls, len).is_none() || !bottom {
            return self.other();
        }
        match self.rest().first().map(|first| first >> 4) {
            Some(4 | 6) => self.inside(Tunnels::MPLS, Next::Ip),
            Some(0) if self.take_raw(Kind::ControlWord, 4).is_some() => {
                self.inside(Tunnels::MPLS, Next::Ethernet)
            }
            _ => self.other(),
        }
    }

    fn inside(&mut self, tunnel: Tunnels, next: Next) -> Next {
        self.tunnels.insert(tunnel);
        next
    }
}
