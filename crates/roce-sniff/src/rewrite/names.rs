//! What everything is called afterwards: by the user's maps first, then by the seed.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use roce_wire::{Addr, Gid, Lid, MacAddr, Net, Packet, Ports, QKey, Qpn, RKey, VirtAddr};

use super::args::MapArgs;
use super::family::Family;
use super::hidden::Hidden;
use super::maps::{self, IpMap, Map, QpnMap};
use super::merged::{Merged, Name};
use super::src_ports::{Learner, SrcPorts};

/// All new names.
pub(super) struct Names {
    ip: Vec<IpMap>,
    mac: Vec<Map<MacAddr>>,
    lid: Vec<Map<u16>>,
    vlan: Vec<Map<u16>>,
    qpn: Vec<QpnMap>,
    udp_port: Vec<Map<u16>>,
    cm_port: Vec<Map<u16>>,
    r_key: Vec<Map<u32>>,
    /// The names by a seed, of an anonymous trace.
    pub(super) hidden: Option<Rc<Hidden>>,
    /// The IP family that RoCE is carried in afterwards.
    pub(super) family: Option<Family>,
    /// What was learnt of source ports before.
    src_ports: SrcPorts,
    ports: Ports,
    /// What the maps have made one.
    merged: RefCell<Merged>,
}

impl Names {
    pub(super) fn new(args: &MapArgs, family: Option<Family>, ports: &Ports) -> Self {
        Self {
            ip: args.map_ip.clone(),
            mac: args.map_mac.clone(),
            lid: args.map_lid.clone(),
            vlan: args.map_vlan.clone(),
            qpn: args.map_qpn.clone(),
            udp_port: args.map_udp_port.clone(),
            cm_port: args.map_cm_port.clone(),
            r_key: args.map_r_key.clone(),
            hidden: args.anonymize.as_deref().map(Hidden::new).map(Rc::new),
            family,
            src_ports: SrcPorts::default(),
            ports: *ports,
            merged: RefCell::default(),
        }
    }

    pub(super) fn mac(&self, mac: MacAddr) -> MacAddr {
        let hidden = || self.hidden.as_deref().map_or(mac, |hidden| hidden.mac(mac));
        let new = maps::find(&self.mac, mac).unwrap_or_else(hidden);
        self.note(&self.mac, Name::Mac(mac), Name::Mac(new));
        new
    }

    /// The address of the same family.
    pub(super) fn ip(&self, ip: IpAddr) -> IpAddr {
        let hidden = || self.hidden.as_deref().map_or(ip, |hidden| hidden.ip(ip));
        if self.ip.is_empty() {
            return hidden();
        }
        let new = maps::find_ip(&self.ip, maps::bits_of(ip)).map(Ipv6Addr::from_bits);
        let new = match (new, ip) {
            (None, _) => hidden(),
            (Some(new), IpAddr::V4(ip)) => IpAddr::V4(new.to_ipv4_mapped().unwrap_or(ip)),
            (Some(new), IpAddr::V6(_)) => IpAddr::V6(new),
        };
        self.note(&self.ip, Name::Ip(ip.to_canonical()), Name::Ip(new.to_canonical()));
        new
    }

    pub(super) fn ipv4(&self, ip: Ipv4Addr) -> Ipv4Addr {
        match self.ip(IpAddr::V4(ip)) {
            IpAddr::V4(new) => new,
            IpAddr::V6(_) => ip,
        }
    }

    pub(super) fn gid(&self, gid: Gid) -> Gid {
        match self.ip(IpAddr::V6(gid.ipv6())) {
            IpAddr::V6(new) => Gid::from(new),
            IpAddr::V4(new) => Gid::from_ipv4(new),
        }
    }

    /// The address in the family that RoCE is carried in afterwards; `None` when there are no more
    /// addresses in it.
    pub(super) fn carried(&mut self, ip: IpAddr) -> Option<IpAddr> {
        let new = self.ip(ip);
        match &mut self.family {
            Some(family) => family.address(new),
            None => Some(new),
        }
    }

    /// The GID that connection management names; an unused one stays unused.
    pub(super) fn carried_gid(&mut self, gid: Gid) -> Gid {
        if gid.is_zero() {
            return gid;
        }
        let ip = gid.ipv4().map_or(IpAddr::V6(gid.ipv6()), IpAddr::V4);
        match self.carried(ip) {
            Some(IpAddr::V4(new)) => Gid::from_ipv4(new),
            Some(IpAddr::V6(new)) => Gid::from(new),
            None => self.gid(gid),
        }
    }

    pub(super) fn lid(&self, lid: Lid) -> Lid {
        let lid = lid.get();
        let hidden = || self.hidden.as_deref().map_or(lid, |hidden| hidden.lid(lid));
        let new = maps::find(&self.lid, lid).unwrap_or_else(hidden);
        self.note(&self.lid, Name::Lid(lid), Name::Lid(new));
        Lid::new(new)
    }

    pub(super) fn vlan(&self, vlan: u16) -> u16 {
        let new = maps::find(&self.vlan, vlan).unwrap_or(vlan);
        self.note(&self.vlan, Name::Vlan(vlan), Name::Vlan(new));
        new
    }

    /// A queue pair of a host, which is called as it was before.
    pub(super) fn qpn(&self, host: Addr, qpn: Qpn) -> Qpn {
        let hidden =
            || self.hidden.as_deref().map_or(qpn, |hidden| Qpn::new(hidden.qpn(qpn.get())));
        let new = maps::find_qpn(&self.qpn, host, qpn).unwrap_or_else(hidden);
        self.note(&self.qpn, Name::Qpn(host, qpn.get()), Name::Qpn(host, new.get()));
        new
    }

    /// Takes what a look through the capture has told of source ports.
    pub(super) fn learn(&mut self, learner: Learner) {
        self.src_ports = learner.finish(|host, qpn| self.qpn(host, qpn));
    }

    /// The UDP source port of a packet, whose BTH may be cut.
    pub(super) fn src_port(&self, packet: Option<(&Net<'_>, &Packet<'_>)>, port: u16) -> u16 {
        let hidden = |hidden: &Hidden| {
            let made = packet.and_then(|packet| {
                self.src_ports.of(packet, port, |host, qpn| self.qpn(host, qpn))
            });
            made.unwrap_or_else(|| hidden.src_port(port, &self.ports))
        };
        let new = maps::find(&self.udp_port, port)
            .unwrap_or_else(|| self.hidden.as_deref().map_or(port, hidden));
        self.note(&self.udp_port, Name::UdpPort(port), Name::UdpPort(new));
        new
    }

    pub(super) fn dst_port(&self, port: u16) -> u16 {
        let new = maps::find(&self.udp_port, port).unwrap_or(port);
        self.note(&self.udp_port, Name::UdpPort(port), Name::UdpPort(new));
        new
    }

    pub(super) fn cm_port(&self, port: u16) -> u16 {
        let new = maps::find(&self.cm_port, port).unwrap_or(port);
        self.note(&self.cm_port, Name::CmPort(port), Name::CmPort(new));
        new
    }

    /// The flow label that a connection request names.
    pub(super) fn flow_label(&self, label: u32) -> u32 {
        self.hidden.as_deref().map_or(label, |hidden| hidden.flow_label(label, &self.ports))
    }

    pub(super) fn r_key(&self, host: Addr, key: RKey) -> RKey {
        let key = key.get();
        let hidden = || self.hidden.as_deref().map_or(key, |hidden| hidden.r_key(host, key));
        let new = maps::find(&self.r_key, key).unwrap_or_else(hidden);
        self.note(&self.r_key, Name::RKey(host, key), Name::RKey(host, new));
        RKey::new(new)
    }

    pub(super) fn virt_addr(&self, host: Addr, key: RKey, addr: VirtAddr) -> VirtAddr {
        let hidden = |hidden: &Hidden| hidden.virt_addr(host, key.get(), addr.get());
        self.hidden.as_deref().map_or(addr, |names| VirtAddr::new(hidden(names)))
    }

    pub(super) fn q_key(&self, key: QKey) -> QKey {
        self.hidden.as_deref().map_or(key, |hidden| QKey::new(hidden.q_key(key.get())))
    }

    pub(super) fn guid(&self, guid: u64) -> u64 {
        self.hidden.as_deref().map_or(guid, |hidden| hidden.guid(guid))
    }

    /// Takes down what a name has become, where there are maps for its kind.
    fn note<T>(&self, maps: &[T], old: Name, new: Name) {
        if !maps.is_empty() {
            self.merged.borrow_mut().note(old, new);
        }
    }

    /// What is to be said of names that have become one.
    pub(super) fn remarks(&self) -> Vec<String> {
        self.merged.borrow().remarks()
    }

    /// The ports that RoCE v2 goes to afterwards; `None` when there are too many.
    pub(super) fn new_ports(&self) -> Option<Ports> {
        let mut ports = Ports::default();
        let all = self.ports.as_slice().iter().all(|port| ports.add(self.dst_port(*port)));
        all.then_some(ports)
    }
}
