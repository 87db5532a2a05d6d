//! Which header field is rewritten behind a sender, where its wrong ICRCs tell.
//!
//! A CRC of 32 bits says nothing of one packet: some source address makes every ICRC right. But
//! where packet after packet is right with the same address, or with a shorter field changed, that
//! is the proof, and tells what stood there before. Source and destination address lie side by
//! side: what one explains the other explains as well, with another value. Which it is follows
//! from the one that is the same towards all hosts, is known from this capture, or is private.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use roce_wire::{Addr, Origins};

use crate::connections::{BadIcrc, Report, Sample};

/// How many hosts of IPv6, whose addresses cannot be solved for, are tried.
const MAX_TRIED: usize = 256;
/// How many values are named.
const MAX_NAMED: usize = 4;

/// What is said of a sender.
pub(super) struct Told {
    /// What was rewritten.
    pub text: String,
    /// What else would explain it, though it is less likely.
    pub otherwise: Option<String>,
    /// How many of the packets that were looked at it explains.
    pub explained: u64,
}

/// The hosts of a capture.
pub(super) struct Hosts(BTreeSet<IpAddr>);

impl Hosts {
    pub(super) fn of(report: &Report) -> Self {
        let ends = report.connections.iter().flat_map(|c| [c.a.addr, c.b.addr]);
        let bad = report.totals.bad_icrc.iter();
        let bad = bad.flat_map(|bad| bad.samples.iter().map(|s| s.dst).chain([bad.host]));
        Self(ends.chain(bad).filter_map(ip).collect())
    }
}

const fn ip(addr: Addr) -> Option<IpAddr> {
    match addr {
        Addr::Ip(ip) => Some(ip),
        Addr::Lid(_) => None,
    }
}

/// The packets of one sender, without copies.
struct Samples<'s> {
    samples: Vec<&'s Sample>,
    /// How many a cause must explain: among them may be some that were damaged.
    needed: usize,
}

pub(super) fn told(bad: &BadIcrc, hosts: &Hosts) -> Option<Told> {
    let mut seen = BTreeSet::new();
    let is_new = |sample: &&Sample| seen.insert((sample.icrc, sample.origins.mark()));
    let samples: Vec<_> = bad.samples.iter().filter(is_new).collect();
    let needed = samples.len().saturating_sub(samples.len() / 10);
    let samples = Samples { samples, needed };
    if samples.samples.len() < 2 {
        return None;
    }
    // The least likely chance first.
    if let Some(told) = samples.known(hosts) {
        return Some(told);
    }
    let addresses = samples.addresses(hosts);
    let has_meaning = addresses.as_ref().is_some_and(|(has_meaning, _)| *has_meaning);
    let queue_pair = || samples.queue_pair().filter(|_| !has_meaning);
    samples.field().or_else(queue_pair).or_else(|| addresses.map(|(_, told)| told))
}

impl Samples<'_> {
    /// The values that a field had, and for how many packets there is one.
    fn values<T: Ord>(&self, of: impl Fn(&Origins) -> Option<T>) -> BTreeMap<T, usize> {
        let mut values = BTreeMap::new();
        for value in self.samples.iter().filter_map(|sample| of(&sample.origins)) {
            let count: &mut usize = values.entry(value).or_default();
            *count = count.saturating_add(1);
        }
        values
    }

    /// A field of 16 bits: that each packet has a solution is no chance.
    fn field(&self) -> Option<Told> {
        type Field = (fn(&Origins) -> Option<u16>, &'static str, &'static str);
        let fields: [Field; 5] = [
            (|o| o.src_port, "UDP source port", "NAT or a device that spreads flows rewrites it"),
            (|o| o.dst_port, "UDP destination port", "NAT rewrites it"),
            (|o| o.ip_id, "IPv4 identification", "a device on the way numbers packets anew"),
            (|o| o.ip_fragment, "IPv4 fragment word", "a device on the way clears or sets flags"),
            (|o| o.p_key, "P_Key", "a device on the way changes the partition"),
        ];
        fields.into_iter().find_map(|(of, name, who)| {
            let values = self.values(of);
            let explained = values.values().sum::<usize>();
            (explained >= self.needed).then(|| Told::new(name, &values, who, explained))
        })
    }

    /// 24 bits: it must be the same ones, as one packet in 256 has a solution by chance.
    fn queue_pair(&self) -> Option<Told> {
        let values = self.values(|origins| origins.dest_qp);
        let values: BTreeMap<_, _> = values.into_iter().filter(|(_, n)| *n > 1).collect();
        let explained = values.values().sum::<usize>();
        let who = "a device on the way changes the queue pair";
        (explained >= self.needed)
            .then(|| Told::new("destination queue pair", &values, who, explained))
    }

    /// An address of the capture, that of the host before it was rewritten.
    fn known(&self, hosts: &Hosts) -> Option<Told> {
        let Hosts(hosts) = hosts;
        type Fits = fn(&Origins, IpAddr) -> bool;
        let ends: [(Fits, End); 2] = [(Origins::is_from, SRC), (Origins::is_to, DST)];
        ends.into_iter().find_map(|(fits, end)| {
            let of = |sample: &Sample| {
                let v4 = (end.solved)(&sample.origins).map(IpAddr::V4);
                let v6 = hosts.iter().filter(|host| host.is_ipv6()).take(MAX_TRIED);
                let v6 = || v6.copied().find(|host| fits(&sample.origins, *host));
                v4.filter(|host| hosts.contains(host)).or_else(v6)
            };
            let mut values: BTreeMap<IpAddr, usize> = BTreeMap::new();
            for host in self.samples.iter().filter_map(|sample| of(sample)) {
                let count = values.entry(host).or_default();
                *count = count.saturating_add(1);
            }
            let explained = values.values().sum::<usize>();
            (explained >= self.needed).then(|| Told::new(end.name, &values, end.who, explained))
        })
    }

    /// The address of IPv4 that packet after packet asks for; and whether it is one that has a
    /// meaning here, and not any number.
    fn addresses(&self, hosts: &Hosts) -> Option<(bool, Told)> {
        let of = |end: &End| {
            let values = self.values(end.solved);
            let values: BTreeMap<_, _> = values.into_iter().filter(|(_, n)| *n > 1).collect();
            let explained = values.values().sum::<usize>();
            (explained >= self.needed).then_some((values, explained))
        };
        let ((src, from), (dst, to)) = match (of(&SRC), of(&DST)) {
            (Some(src), Some(dst)) => (src, dst),
            (Some((values, n)), None) => return Some((true, SRC.told(&values, n))),
            (None, Some((values, n))) => return Some((true, DST.told(&values, n))),
            (None, None) => return None,
        };
        // The fewer values the better: one source towards many destinations is one rewritten source.
        let (is_src, has_meaning) = match src.len().cmp(&dst.len()) {
            Ordering::Less => (Some(true), true),
            Ordering::Greater => (Some(false), true),
            Ordering::Equal => likelier(hosts, &src, &dst),
        };
        let (src_told, dst_told) = (SRC.told(&src, from), DST.told(&dst, to));
        Some(match is_src {
            Some(true) if has_meaning => (true, src_told),
            Some(false) if has_meaning => (true, dst_told),
            Some(true) => (false, src_told.rather_than(dst_told)),
            Some(false) => (false, dst_told.rather_than(src_told)),
            None => {
                let (src, dst) = (named(&src), named(&dst));
                let text = format!(
                    "source address was {src}, or destination address was {dst}, when the ICRC was \
                     made: one is rewritten, or the sender begins the CRC in its own way"
                );
                (false, Told { text, otherwise: None, explained: src_told.explained })
            }
        })
    }
}

/// Whether it is the source, by which addresses are more likely to be anyone's; and whether that
/// address is near one of the capture, or private.
fn likelier(
    Hosts(hosts): &Hosts,
    src: &BTreeMap<Ipv4Addr, usize>,
    dst: &BTreeMap<Ipv4Addr, usize>,
) -> (Option<bool>, bool) {
    let net = |ip: &Ipv4Addr| ip.to_bits() >> 8;
    let is_near = |ip: &Ipv4Addr| {
        hosts.iter().any(|host| matches!(host, IpAddr::V4(host) if net(host) == net(ip)))
    };
    // RFC 1918, and 100.64.0.0/10 of RFC 6598.
    let is_private = |ip: &Ipv4Addr| ip.is_private() || ip.to_bits() >> 22 == 0b01_1001_0001;
    let is_host = |ip: &Ipv4Addr| !ip.is_loopback() && (1..=223).contains(&(ip.to_bits() >> 24));
    type Test<'t> = &'t dyn Fn(&Ipv4Addr) -> bool;
    let tests: [(Test<'_>, bool); 3] = [(&is_near, true), (&is_private, true), (&is_host, false)];
    for (is_likely, has_meaning) in tests {
        match (src.keys().all(is_likely), dst.keys().all(is_likely)) {
            (true, false) => return (Some(true), has_meaning),
            (false, true) => return (Some(false), has_meaning),
            _ => {}
        }
    }
    (None, false)
}

/// One end of a packet.
struct End {
    name: &'static str,
    who: &'static str,
    solved: fn(&Origins) -> Option<Ipv4Addr>,
}

const SRC: End = End {
    name: "source address",
    who: "NAT or a load balancer rewrites it",
    solved: |origins| origins.src,
};
const DST: End = End {
    name: "destination address",
    who: "NAT or a load balancer rewrites it",
    solved: |origins| origins.dst,
};

impl End {
    fn told(&self, values: &BTreeMap<Ipv4Addr, usize>, explained: usize) -> Told {
        Told::new(self.name, values, self.who, explained)
    }
}

impl Told {
    fn new<T: std::fmt::Display>(
        name: &str,
        values: &BTreeMap<T, usize>,
        who: &str,
        explained: usize,
    ) -> Self {
        let text = format!("{name} was {} when the ICRC was made: {who}", named(values));
        let explained = u64::try_from(explained).unwrap_or(u64::MAX);
        Self { text, otherwise: None, explained }
    }

    fn rather_than(self, other: Self) -> Self {
        let otherwise = other.text.split(':').next().map(str::to_owned);
        Self { otherwise, ..self }
    }
}

/// The first values.
fn named<T: std::fmt::Display>(values: &BTreeMap<T, usize>) -> String {
    let mut names: Vec<_> = values.keys().take(MAX_NAMED).map(T::to_string).collect();
    let more = values.len().saturating_sub(names.len());
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
