//! One frame after the other.

use roce_wire::mad::Management;
use roce_wire::{
    Class, Content, Ecn, Frame, IcrcFault, IcrcState, Link, Net, Opcode, Packet, Qpn, Reject,
    Service, Tunnels,
};

use super::{FAULT_SAMPLE, FrameInfo, Verdict, bump, bump_if, carrier_index};

impl Verdict {
    /// Takes one frame into account. Says whether it counted as RoCE, as InfiniBand or as MAC
    /// control: whether it is one of those that this is about.
    pub fn observe(&mut self, frame: &Frame<'_>, link: Link, info: &FrameInfo) -> bool {
        self.frame(frame, info);
        match &frame.content {
            Content::Pfc(_) => bump(Some(&mut self.pfc)),
            Content::Pause(_) => bump(Some(&mut self.pause)),
            Content::Other(other) => {
                self.traffic.add(link, other);
                return false;
            }
            Content::Packet(..) | Content::NoBth(_) | Content::Rejected(_) => {
                if let Some(reject) = frame.rejection() {
                    bump(self.rejected.get_mut(position(&Reject::ALL, reject)));
                    return false;
                }
                self.roce(frame, info);
            }
        }
        true
    }

    fn frame(&mut self, frame: &Frame<'_>, info: &FrameInfo) {
        self.all.add(info.wire_len);
        bump_if(Some(&mut self.truncated), frame.is_cut());
        if let Some(now) = info.time_ns {
            self.first_ns = Some(self.first_ns.map_or(now, |first| first.min(now)));
            self.last_ns = Some(self.last_ns.map_or(now, |last| last.max(now)));
        }
    }

    fn roce(&mut self, frame: &Frame<'_>, info: &FrameInfo) {
        let (carrier, net) = match &frame.content {
            Content::Packet(net, packet) => {
                self.packet(packet);
                (net.carrier(), Some(net))
            }
            Content::NoBth(no_bth) => (no_bth.carrier, no_bth.net.as_ref()),
            _ => return,
        };
        if let Some(count) = self.carriers.get_mut(carrier_index(carrier)) {
            count.add(info.wire_len);
        }
        let is_sound = self.icrc(frame, info.number) != Some(IcrcState::Bad);
        self.marks(frame, net);
        if let Some(net) = net {
            let class = if is_sound { connected_class(frame) } else { None };
            self.pairs.add(net, class, info.number);
        }
    }

    fn packet(&mut self, packet: &Packet<'_>) {
        let bth = packet.bth;
        bump(self.opcodes.get_mut(usize::from(bth.opcode.0)));
        bump_if(Some(&mut self.cnp), bth.opcode == Opcode::CNP);
        bump_if(Some(&mut self.fecn), bth.fecn());
        bump_if(Some(&mut self.becn), bth.becn());
        if bth.dest_qp() == Qpn::GSI && packet.deth.is_some() {
            self.cm(packet.payload);
        }
    }

    /// Counts a message of connection management, also when the capture cut it.
    fn cm(&mut self, payload: &[u8]) {
        let management = Management::parse(payload).ok();
        if let Some(attribute) = management.and_then(|management| management.cm_attribute()) {
            bump(self.cm.get_mut(attribute as usize));
        }
    }

    fn icrc(&mut self, frame: &Frame<'_>, number: u64) -> Option<IcrcState> {
        let state = self.config.check_icrc.then(|| frame.icrc_state()).flatten();
        match state {
            Some(IcrcState::Ok) => bump(Some(&mut self.icrc_ok)),
            Some(IcrcState::Bad) => {
                if number <= FAULT_SAMPLE
                    && let Some(fault) = IcrcFault::of(frame)
                {
                    bump(Some(self.icrc_faults.entry(fault).or_default()));
                }
                bump(Some(&mut self.icrc_bad));
            }
            _ => bump(Some(&mut self.icrc_unchecked)),
        }
        state
    }

    fn marks(&mut self, frame: &Frame<'_>, net: Option<&Net<'_>>) {
        if let Some(class) = net.and_then(Net::traffic_class) {
            bump(self.ecn.get_mut(usize::from(Ecn::from_tos(class).bits())));
            bump(self.dscp.get_mut(usize::from(class >> 2)));
        }
        if let Some(outer) = frame.vlans.first() {
            bump(self.pcp.get_mut(usize::from(outer.pcp())));
        }
        for tag in frame.vlans {
            bump(self.vlans.get_mut(usize::from(tag.vlan())));
        }
        if !frame.tunnels.is_empty() {
            for ((tunnel, _), count) in Tunnels::NAMES.iter().zip(&mut self.tunnels) {
                *count = count.saturating_add(u64::from(frame.tunnels.has(*tunnel)));
            }
        }
        bump_if(Some(&mut self.odd_lengths), !frame.oddities.is_empty());
        if let Some(Net::V2Ipv6(ip, ..)) = net {
            let local = ip.src().is_unicast_link_local();
            bump_if(Some(&mut self.link_local), local);
        }
    }
}

/// Who sent a packet of a reliable connection: a requester, who must be answered, or a responder.
fn connected_class(frame: &Frame<'_>) -> Option<Class> {
    let (_, packet) = frame.packet()?;
    let info = packet.bth.opcode.info()?;
    matches!(info.service, Service::Rc | Service::Xrc).then_some(info.class)
}

fn position<T: PartialEq>(all: &[T], one: T) -> usize {
    all.iter().position(|item| *item == one).unwrap_or(usize::MAX)
}
