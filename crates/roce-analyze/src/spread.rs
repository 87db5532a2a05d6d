//! How the flows from one host to another spread over equal paths.
//!
//! Switches choose one of N equal paths by a hash of addresses and ports. Of two hosts that speak
//! RoCE v2, only the UDP source port differs from flow to flow. A flow is one direction of a
//! connection at one source port.
//!
//! *Entropy* is −Σ p log₂ p, where p is the part of the flows that has a port: 0 when all have the
//! same one, log₂ of the number of flows when each has its own.
//!
//! *Collisions* are what a good hash lets expect: it puts each of d different ports on a path of
//! its own choice. A flow is alone on its path when no other has its port, and none of the d − 1
//! other ports is put there: with the probability (1 − 1/N)^(d − 1). So where the part u of the flows
//! has ports of their own, 1 − u (1 − 1/N)^(d − 1) of them share their path; of bytes the same with
//! the part of the bytes. N (1 − (1 − 1/N)^d) paths are used at all. Which paths flows really take,
//! no capture tells.

use std::collections::HashMap;

use roce_wire::{Addr, Carrier};
use serde::{Serialize, Serializer};

use crate::Thousandths;
use crate::connections::{Connection, DirectionReport, Report};

/// For how many equal paths collisions are estimated.
const PATHS: [u32; 6] = [2, 4, 8, 16, 32, 64];
/// How many pairs of hosts are told.
const MAX: usize = 100;

/// The spread of all pairs of hosts with two flows or more.
#[derive(Clone, Default, Debug, Serialize)]
#[non_exhaustive]
pub struct Spreads {
    /// Those with the most bytes, at most 100: one for each direction.
    pub pairs: Vec<Spread>,
    /// How many more there are.
    pub left_off: usize,
}

/// The flows from one host to another.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Spread {
    /// Who sends.
    #[serde(serialize_with = "as_text")]
    pub from: Addr,
    /// To whom.
    #[serde(serialize_with = "as_text")]
    pub to: Addr,
    /// Connections that sent anything this way.
    pub connections: u64,
    /// Their flows: a connection with several source ports has as many.
    pub flows: u64,
    /// Different source ports.
    pub udp_src_ports: u64,
    /// Whether a connection had more source ports than the four that are known.
    pub has_more_src_ports: bool,
    /// Bytes of their frames.
    pub bytes: u64,
    /// Entropy of the source ports, in bits.
    pub entropy_bits: Thousandths,
    /// What it would be if each flow had its own.
    pub possible_bits: Thousandths,
    /// What is to be expected of equal paths.
    pub expected: [Expected; 6],
}

/// What is to be expected of so many equal paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Expected {
    /// How many there are.
    pub paths: u32,
    /// How many of them are used.
    pub used: Thousandths,
    /// Percent of the flows that share their path with another.
    pub sharing_flows_percent: Thousandths,
    /// Percent of the bytes that are of such flows.
    pub sharing_bytes_percent: Thousandths,
}

fn as_text<S: Serializer>(addr: &Addr, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(addr)
}

impl Spreads {
    /// Of all connections of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut ways: Vec<_> = report.connections.iter().flat_map(ways).collect();
        ways.sort_unstable_by_key(|(hosts, _)| *hosts);
        let groups = ways.chunk_by(|(one, _), (other, _)| one == other);
        let mut pairs: Vec<_> = groups.filter_map(Spread::of).collect();
        pairs.sort_by_key(|spread| std::cmp::Reverse(spread.bytes));
        let left_off = pairs.len().saturating_sub(MAX);
        pairs.truncate(MAX);
        Self { pairs, left_off }
    }
}

pub(crate) type Way<'r> = ((Addr, Addr), &'r DirectionReport);

/// The directions of a connection that switches spread by their source ports.
pub(crate) fn ways(connection: &Connection) -> impl Iterator<Item = Way<'_>> {
    let Connection { a, b, a_to_b, b_to_a, carrier, .. } = connection;
    let is_v2 = matches!(carrier, Carrier::V2Ipv4 | Carrier::V2Ipv6);
    let both = [((a.addr, b.addr), &**a_to_b), ((b.addr, a.addr), &**b_to_a)];
    both.into_iter().filter(move |(_, way)| is_v2 && !way.udp_src_ports.is_empty())
}

impl Spread {
    /// Of what goes from one host to another; `None` for a single flow.
    pub(crate) fn of(ways: &[Way<'_>]) -> Option<Self> {
        let &((from, to), _) = ways.first()?;
        let mut ports: HashMap<u16, (u32, f64)> = HashMap::new();
        let (mut flows, mut bytes) = (0_u32, 0_u64);
        for (_, way) in ways {
            bytes = bytes.saturating_add(way.bytes);
            let count = u32::try_from(way.udp_src_ports.len()).unwrap_or(u32::MAX);
            flows = flows.saturating_add(count);
            for port in way.udp_src_ports.iter() {
                let (flows, bytes) = ports.entry(*port).or_default();
                *flows = flows.saturating_add(1);
                // How much went from each port is not known.
                *bytes += float(way.bytes) / f64::from(count.max(1));
            }
        }
        if flows < 2 {
            return None;
        }
        let different = u32::try_from(ports.len()).unwrap_or(u32::MAX);
        let parts = ports.values().map(|(count, _)| f64::from(*count) / f64::from(flows));
        let entropy: f64 = parts.map(|part| -part * part.log2()).sum();
        let alone = || ports.values().filter(|(count, _)| *count == 1);
        let alone_bytes: f64 = alone().map(|(_, bytes)| bytes).sum();
        let alone_flows: f64 = alone().map(|(count, _)| f64::from(*count)).sum();
        let alone = (alone_flows / f64::from(flows), alone_bytes / float(bytes.max(1)));
        Some(Self {
            from,
            to,
            connections: u64::try_from(ways.len()).unwrap_or(u64::MAX),
            flows: flows.into(),
            udp_src_ports: different.into(),
            has_more_src_ports: ways.iter().any(|(_, way)| way.has_more_src_ports),
            bytes,
            entropy_bits: Thousandths::nearest(entropy),
            possible_bits: Thousandths::nearest(f64::from(flows).log2()),
            expected: PATHS.map(|paths| Expected::of(paths, different, alone)),
        })
    }
}

impl Expected {
    /// Of `different` ports; `alone` are the parts of the flows and of the bytes that have a port of
    /// their own.
    fn of(paths: u32, different: u32, alone: (f64, f64)) -> Self {
        let elsewhere = 1.0 - 1.0 / f64::from(paths);
        let none = |ports: u32| elsewhere.powf(f64::from(ports));
        let (flows, bytes) = alone;
        let sharing = |alone: f64| {
            Thousandths::nearest(100.0 * (1.0 - alone * none(different.saturating_sub(1))))
        };
        Self {
            paths,
            used: Thousandths::nearest(f64::from(paths) * (1.0 - none(different))),
            sharing_flows_percent: sharing(flows),
            sharing_bytes_percent: sharing(bytes),
        }
    }
}

/// A count as a factor; beyond 2⁵³ it is rounded.
const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(expected: &Expected) -> [u32; 3] {
        let Expected { used, sharing_flows_percent, sharing_bytes_percent, .. } = expected;
        [used, sharing_flows_percent, sharing_bytes_percent].map(|number| number.0)
    }

    /// Two balls in two bins: they meet with probability 1/2; 1.5 bins are used. Four in four: one is
    /// alone with (3/4)³ = 27/64; 4 (1 − 81/256) = 2.734 bins are used.
    #[test]
    fn ports_of_their_own_are_balls_in_bins() {
        let alone = (1.0, 1.0);
        assert_eq!(told(&Expected::of(2, 2, alone)), [1_500, 50_000, 50_000]);
        assert_eq!(told(&Expected::of(4, 4, alone)), [2_734, 57_813, 57_813]);
        // One ball has a bin for itself.
        assert_eq!(told(&Expected::of(64, 1, alone)), [1_000, 0, 0]);
    }

    /// Flows with a port in common share their path for certain.
    #[test]
    fn flows_of_one_port_share_their_path() {
        assert_eq!(told(&Expected::of(8, 1, (0.0, 0.0))), [1_000, 100_000, 100_000]);
        // Two of three flows have one port, the third with half of the bytes its own: it is alone
        // with 3/4.
        let expected = Expected::of(4, 2, (1.0 / 3.0, 0.5));
        assert_eq!(told(&expected), [1_750, 75_000, 62_500]);
    }
}
