//! From an address to the interface, the source and the Ethernet address to send to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pnet_datalink::NetworkInterface;
use roce_host::{Host, Route, RouteKind, RouteNetlink};
use roce_wire::MacAddr;

/// How long to wait for an answer to ARP or neighbour discovery; the kernel asks three times, a
/// second apart.
const PATIENCE: Duration = Duration::from_millis(3500);
const PAUSE: Duration = Duration::from_millis(10);
/// The discard service: a datagram there makes the kernel look for its neighbour.
const DISCARD: u16 = 9;

/// An address as typed, with the interface behind `%` where that is given.
#[derive(Clone, Debug)]
pub(crate) struct HostArg {
    pub(crate) ip: IpAddr,
    pub(crate) zone: Option<String>,
}

impl std::str::FromStr for HostArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, zone) = match text.split_once('%') {
            Some((address, zone)) => (address, Some(zone.to_owned())),
            None => (text, None),
        };
        let ip: IpAddr = address
            .parse()
            .map_err(|_| "expected an IPv4 or IPv6 address; names are not resolved".to_owned())?;
        let bad = match ip {
            IpAddr::V4(ip) => ip.is_multicast() || ip.is_unspecified() || ip.is_broadcast(),
            IpAddr::V6(ip) => ip.is_multicast() || ip.is_unspecified(),
        };
        if bad {
            return Err("expected the address of one host".to_owned());
        }
        // An IPv4 address in IPv6 form is that IPv4 address.
        Ok(Self { ip: ip.to_canonical(), zone })
    }
}

/// The way to a host.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) ip: IpAddr,
    pub(crate) interface: String,
    index: u32,
    pub(crate) src: IpAddr,
    pub(crate) src_mac: MacAddr,
    pub(crate) mtu: Option<u32>,
    /// The router in between.
    pub(crate) gateway: Option<IpAddr>,
}

impl Way {
    /// Asks the kernel how it would send to the host.
    pub(crate) fn to(host: &HostArg, by: Option<&str>) -> Result<Self> {
        let interfaces = pnet_datalink::interfaces();
        let named = by.or(host.zone.as_deref());
        let by = named.map(|name| interface_of(&interfaces, name)).transpose()?;
        let ip = host.ip;
        if let IpAddr::V6(v6) = ip
            && v6.is_unicast_link_local()
            && by.is_none()
        {
            bail!("{ip} is link-local: name the interface with -i, or as {ip}%eth0");
        }
        let mut netlink = RouteNetlink::open()?;
        let route = netlink.route(ip, by.map(|interface| interface.index)).with_context(|| {
            format!("no route to {ip}; see `ip route get {ip}`, or name an interface with -i")
        })?;
        let Some(route) = route else { bail!("no route to {ip}") };
        check_kind(ip, &route)?;
        let Some(interface) = interfaces.iter().find(|one| one.index == route.interface) else {
            bail!("the route to {ip} leaves by interface {}, which is not there", route.interface);
        };
        let Some(src) = route.source.or_else(|| own_address(interface, ip)) else {
            bail!("{} has no address to ask {ip} from; give it one", interface.name);
        };
        let (src_mac, mtu) = ethernet(interface)?;
        Ok(Self {
            ip,
            interface: interface.name.clone(),
            index: interface.index,
            src,
            src_mac,
            mtu,
            gateway: route.gateway,
        })
    }

    /// The next hop: the router, or the host itself.
    pub(crate) fn next_hop(&self) -> IpAddr {
        self.gateway.unwrap_or(self.ip)
    }

    /// The Ethernet address of the next hop; `None` when nobody answers to its IP address.
    pub(crate) fn resolve(&self) -> Result<Option<MacAddr>> {
        let mut netlink = RouteNetlink::open()?;
        let hop = self.next_hop();
        let known = netlink.neighbour(self.index, hop)?;
        if let Some(mac) = known.and_then(|neighbour| neighbour.mac) {
            return Ok(Some(MacAddr(mac)));
        }
        self.stir()?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match netlink.neighbour(self.index, hop)? {
                Some(neighbour) if neighbour.mac.is_some() => {
                    return Ok(neighbour.mac.map(MacAddr));
                }
                Some(neighbour) if neighbour.failed => return Ok(None),
                _ => std::thread::sleep(PAUSE),
            }
        }
        Ok(None)
    }

    /// Makes the kernel look for the neighbour.
    fn stir(&self) -> Result<()> {
        let send = || -> std::io::Result<()> {
            let socket = UdpSocket::bind(self.socket_addr(self.src, 0))?;
            socket.send_to(&[], self.socket_addr(self.ip, DISCARD))?;
            Ok(())
        };
        send().with_context(|| {
            format!(
                "cannot make the kernel look for {} on {}; give its Ethernet address with --mac",
                self.next_hop(),
                self.interface
            )
        })
    }

    /// A socket that takes what comes to the RoCE port, so that this host's kernel does not answer
    /// the other side with ICMP. Not to be had where soft-RoCE has it, which is as good.
    pub(crate) fn hush(&self) -> Option<UdpSocket> {
        UdpSocket::bind(self.socket_addr(self.src, roce_wire::Udp::ROCE_V2)).ok()
    }

    fn socket_addr(&self, ip: IpAddr, port: u16) -> SocketAddr {
        match ip {
            IpAddr::V4(ip) => SocketAddr::V4(SocketAddrV4::new(ip, port)),
            IpAddr::V6(ip) => {
                let scope = if ip.is_unicast_link_local() { self.index } else { 0 };
                SocketAddr::V6(SocketAddrV6::new(ip, port, 0, scope))
            }
        }
    }
}

fn check_kind(ip: IpAddr, route: &Route) -> Result<()> {
    match route.kind {
        RouteKind::Unicast => Ok(()),
        RouteKind::Local => bail!(
            "{ip} is an address of this host: RDMA to oneself reaches no wire; ask from another \
             host, or see `roce-sniff devices`"
        ),
        RouteKind::Group => bail!("{ip} is the address of a group, not of one host"),
        RouteKind::Other(_) => bail!("this host's routing table forbids {ip}"),
    }
}

fn interface_of<'i>(all: &'i [NetworkInterface], name: &str) -> Result<&'i NetworkInterface> {
    all.iter().find(|interface| interface.name == name).with_context(|| {
        let names: Vec<&str> = all.iter().map(|interface| interface.name.as_str()).collect();
        format!("{name}: no such interface; there are: {}", names.join(", "))
    })
}

/// An address of the interface of the same family, for routes that do not name one.
fn own_address(interface: &NetworkInterface, to: IpAddr) -> Option<IpAddr> {
    let mut own = interface.ips.iter().map(|network| network.ip());
    match to {
        IpAddr::V4(_) => own.find(|ip| ip.is_ipv4() && *ip != IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        IpAddr::V6(to) => own.find(|ip| match ip {
            IpAddr::V6(ip) => {
                *ip != Ipv6Addr::UNSPECIFIED
                    && ip.is_unicast_link_local() == to.is_unicast_link_local()
            }
            IpAddr::V4(_) => false,
        }),
    }
}

/// The hardware address and the MTU of an Ethernet interface.
fn ethernet(interface: &NetworkInterface) -> Result<(MacAddr, Option<u32>)> {
    const ETHERNET: u16 = 1;
    let described = Host::local().interfaces()?.into_iter().find(|one| one.name == interface.name);
    let kind = described.as_ref().and_then(|one| one.arp_type);
    let mac = interface.mac.map(|mac| MacAddr(mac.octets())).filter(|mac| mac.0 != [0; 6]);
    match (mac, kind) {
        (Some(mac), None | Some(ETHERNET)) => Ok((mac, described.and_then(|one| one.mtu))),
        _ => bail!("{} is no Ethernet interface, so no RoCE leaves by it", interface.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses() {
        let host: HostArg = "fe80::1%eth0".parse().unwrap();
        assert_eq!((host.ip.to_string().as_str(), host.zone.as_deref()), ("fe80::1", Some("eth0")));
        let mapped: HostArg = "::ffff:10.0.0.1".parse().unwrap();
        assert!(mapped.ip.is_ipv4());
        for bad in ["", "server1", "10.0.0.256", "224.0.0.1", "ff02::1", "0.0.0.0", "::"] {
            assert!(bad.parse::<HostArg>().is_err(), "{bad}");
        }
    }

    #[test]
    fn this_host_is_not_asked() {
        let host: HostArg = "127.0.0.1".parse().unwrap();
        let error = Way::to(&host, None).unwrap_err().to_string();
        assert!(error.contains("an address of this host"), "{error}");
        let error = Way::to(&host, Some("no-such-0")).unwrap_err().to_string();
        assert!(error.contains("no such interface"), "{error}");
        let local: HostArg = "fe80::1".parse().unwrap();
        assert!(Way::to(&local, None).unwrap_err().to_string().contains("-i"));
    }
}
