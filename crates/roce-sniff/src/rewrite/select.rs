//! Which frames are kept: by number, time, expression and connection.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Result, bail};
use roce_capture::Frame as Captured;
use roce_wire::mad::Management;
use roce_wire::mad::cm::CmMessage;
use roce_wire::{Addr, Frame, Net, Packet, Qpn};

use super::args::SelectArgs;
use super::maps::{End, Ends};
use crate::drive::Filter;

/// How many connections being made are remembered; the oldest are forgotten.
const MAX_EXCHANGES: usize = 4096;

/// Frame numbers from one to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameRange {
    first: u64,
    last: u64,
}

impl FromStr for FrameRange {
    type Err = String;

    /// `10`, `10-20`, `10-`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err("expected frame numbers from 1, such as 10-20,30,100-".to_owned()),
        };
        let (first, last) = match text.split_once('-') {
            Some((first, "")) => (number(first)?, u64::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        if first <= last { Ok(Self { first, last }) } else { Err("its end is first".to_owned()) }
    }
}

/// A time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// Since the epoch.
    Absolute(u64),
    /// Since the first frame.
    Relative(u64),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected seconds, such as 1.5 or 1700000000.25".to_owned();
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if seconds.is_empty() || !is_number(seconds) || !is_number(fraction) || fraction.len() > 9 {
            return Err(wrong());
        }
        let seconds: u64 = seconds.parse().map_err(|_| wrong())?;
        let nanos: u64 = format!("{fraction:0<9}").parse().map_err(|_| wrong())?;
        let time = seconds.checked_mul(1_000_000_000).and_then(|time| time.checked_add(nanos));
        let time = time.ok_or_else(wrong)?;
        Ok(if seconds >= 100_000_000 { Self::Absolute(time) } else { Self::Relative(time) })
    }
}

impl Moment {
    fn since_epoch(self, first: u64) -> u64 {
        match self {
            Self::Absolute(time) => time,
            Self::Relative(time) => first.saturating_add(time),
        }
    }
}

/// What to keep.
pub(super) struct Selection {
    filter: Filter,
    frames: Vec<FrameRange>,
    last: u64,
    from: Option<Moment>,
    to: Option<Moment>,
    first_time: Option<u64>,
    connections: Vec<Ends>,
    exchanges: VecDeque<Exchange>,
}

/// A connection that is wanted, by its comm ids.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Exchange {
    host: Addr,
    comm_id: u32,
}

impl Selection {
    pub(super) fn new(args: &SelectArgs) -> Result<Self> {
        if let (Some(Moment::Absolute(from)), Some(Moment::Absolute(to)))
        | (Some(Moment::Relative(from)), Some(Moment::Relative(to))) = (args.from, args.to)
            && from > to
        {
            bail!("--from is later than --to: no frame is between them");
        }
        Ok(Self {
            filter: Filter::new(args.filter.clone())?,
            last: args.frames.iter().map(|range| range.last).max().unwrap_or(u64::MAX),
            frames: args.frames.clone(),
            from: args.from,
            to: args.to,
            first_time: None,
            connections: args.connection.clone(),
            exchanges: VecDeque::new(),
        })
    }

    /// Whether no later frame can be wanted.
    pub(super) const fn is_over(&self, number: u64) -> bool {
        number >= self.last
    }

    pub(super) fn wants(&mut self, captured: &Captured<'_>, frame: &Frame<'_>) -> Result<bool> {
        if let (None, Some(time)) = (self.first_time, captured.time_ns) {
            self.first_time = Some(time);
        }
        let number = captured.number;
        let in_range = |range: &FrameRange| (range.first..=range.last).contains(&number);
        if !self.frames.is_empty() && !self.frames.iter().any(in_range) {
            return Ok(false);
        }
        if !self.is_in_time(captured.time_ns) || !self.filter.matches(captured)? {
            return Ok(false);
        }
        if self.connections.is_empty() {
            return Ok(true);
        }
        Ok(match frame.packet() {
            Some((net, packet)) if frame.is_roce() => self.is_connected(net, packet),
            _ => false,
        })
    }

    fn is_in_time(&self, time: Option<u64>) -> bool {
        if self.from.is_none() && self.to.is_none() {
            return true;
        }
        let (Some(time), Some(first)) = (time, self.first_time) else { return false };
        self.from.is_none_or(|from| time >= from.since_epoch(first))
            && self.to.is_none_or(|to| time <= to.since_epoch(first))
    }

    fn is_connected(&mut self, net: &Net<'_>, packet: &Packet<'_>) -> bool {
        let (src, dst) = (net.src(), net.dst());
        let dest_qp = packet.bth.dest_qp();
        if dest_qp == Qpn::GSI && packet.deth.is_some() {
            return self.is_managed(src, dst, packet.payload);
        }
        let src_qp = packet.deth.map(|deth| deth.src_qp());
        self.connections.iter().any(|Ends(a, b)| {
            let goes = |from: &End, to: &End| {
                from.host == src && to.host == dst && is_of(to, dest_qp)
                    // Only datagrams say where they come from.
                    && src_qp.is_none_or(|qpn| is_of(from, qpn))
            };
            goes(a, b) || goes(b, a)
        })
    }

    /// Whether connection management is about a wanted connection: by the queue pair that it
    /// names, or by a comm id that came with one.
    fn is_managed(&mut self, src: Addr, dst: Addr, payload: &[u8]) -> bool {
        let is_pair = |a: Addr, b: Addr| {
            move |Ends(one, two): &Ends| {
                (one.host == a && two.host == b) || (one.host == b && two.host == a)
            }
        };
        let Ok(Management { message: Some(message), .. }) = Management::parse(payload) else {
            let mut pairs = self.connections.iter().filter(|ends| is_pair(src, dst)(ends));
            return pairs.any(|Ends(a, b)| a.qpn.is_none() && b.qpn.is_none());
        };
        let named = named(&message, src, dst);
        let by_qpn = self.connections.iter().any(|Ends(a, b)| {
            [(a, b), (b, a)].into_iter().any(|(one, two)| match named {
                Some((local, remote, qpn)) => {
                    one.host == local && two.host == remote && is_of(one, qpn)
                }
                None => {
                    one.host == src && two.host == dst && one.qpn.is_none() && two.qpn.is_none()
                }
            })
        });
        let ids = [
            message.local_comm_id().map(|id| Exchange { host: src, comm_id: id.get() }),
            message.remote_comm_id().map(|id| Exchange { host: dst, comm_id: id.get() }),
        ];
        let mut ids = ids.into_iter().flatten();
        let is_known = ids.any(|id| self.exchanges.contains(&id));
        // A REQ to another queue pair of the far end is told apart only when that is answered.
        if !by_qpn && !is_known {
            return false;
        }
        if let Some(id) = message.local_comm_id() {
            self.remember(Exchange { host: src, comm_id: id.get() });
        }
        true
    }

    fn remember(&mut self, exchange: Exchange) {
        if self.exchanges.contains(&exchange) {
            return;
        }
        if self.exchanges.len() >= MAX_EXCHANGES {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
    }
}

fn is_of(end: &End, qpn: Qpn) -> bool {
    end.qpn.is_none_or(|wanted| wanted == qpn.get())
}

/// The queue pair that a message names, with its host and the other host.
fn named(message: &CmMessage<'_>, src: Addr, dst: Addr) -> Option<(Addr, Addr, Qpn)> {
    Some(match message {
        CmMessage::Req(req) => (src, dst, req.local_qpn()),
        CmMessage::Rep(rep) => (src, dst, rep.local_qpn()),
        CmMessage::SidrRep(rep) => (src, dst, rep.qpn()),
        CmMessage::Dreq(dreq) => (dst, src, dreq.remote_qpn()),
        CmMessage::Lap(lap) => (dst, src, lap.remote_qpn()),
        _ => return None,
    })
}

/// The host that a GID names.
pub(super) fn host_of(gid: roce_wire::Gid) -> Addr {
    Addr::Ip(gid.ipv4().map_or(IpAddr::V6(gid.ipv6()), IpAddr::V4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_moments_are_read() {
        assert_eq!("10-20".parse(), Ok(FrameRange { first: 10, last: 20 }));
        assert_eq!("30".parse(), Ok(FrameRange { first: 30, last: 30 }));
        assert_eq!("100-".parse(), Ok(FrameRange { first: 100, last: u64::MAX }));
        for wrong in ["", "0", "-", "-5", "20-10", "1-2-3", "x"] {
            assert!(wrong.parse::<FrameRange>().is_err(), "{wrong}");
        }
        assert_eq!("1.5".parse(), Ok(Moment::Relative(1_500_000_000)));
        assert_eq!("0".parse(), Ok(Moment::Relative(0)));
        assert_eq!("1700000000.000000001".parse(), Ok(Moment::Absolute(1_700_000_000_000_000_001)));
        for wrong in ["", ".5", "-1", "1.0000000001", "1e3", "99999999999999999999"] {
            assert!(wrong.parse::<Moment>().is_err(), "{wrong}");
        }
    }
}
