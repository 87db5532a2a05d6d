//! From the file to the plan: everything that can be wrong is found here, with its line.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::Spanned;

use roce_wire::MacAddr;

use super::ScenarioError;
use super::file::{
    At, Capture, Carrier, Cm, CmAnswer, Connection, Ecn, File, Host, Pause, Service, Side,
};
use crate::plan::{
    Both, CapturePlan, CmPlan, ConnectionPlan, Dir, HostPlan, Limits, PausePlan, Plan,
};
use crate::rng::Chance;

/// A scenario's text, and what was read from it.
pub(super) struct Check<'t> {
    text: &'t str,
    file: &'t File,
    hosts: Vec<HostPlan>,
    pauses: Vec<(Arc<PausePlan>, Option<usize>)>,
}

pub(super) type Result<T> = core::result::Result<T, ScenarioError>;

impl<'t> Check<'t> {
    pub(super) fn run(text: &'t str, file: &'t File) -> Result<Plan> {
        let mut check = Self { text, file, hosts: Vec::new(), pauses: Vec::new() };
        check.hosts = check.hosts()?;
        check.pauses = file.pause.iter().map(|pause| check.pause(pause)).collect::<Result<_>>()?;
        if file.connection.is_empty() {
            return Err(ScenarioError::general("there is no [[connection]]"));
        }
        let mut connections: Vec<ConnectionPlan> =
            file.connection.iter().map(|entry| check.connection(entry)).collect::<Result<_>>()?;
        for event in &file.event {
            check.event(event, &mut connections)?;
        }
        Ok(Plan {
            question: file.question.clone(),
            answer: file.answer.clone(),
            seed: file.seed,
            epoch: file.epoch_ns,
            capture: check.capture(&file.capture)?,
            connections: connections.into_iter().map(Arc::new).collect(),
            pauses: check.pauses.iter().map(|(pause, _)| Arc::clone(pause)).collect(),
            max_frames: None,
        })
    }

    pub(super) fn connections(&self) -> &[Connection] {
        &self.file.connection
    }

    pub(super) fn wrong<T>(&self, span: &Range<usize>, message: impl Into<String>) -> Result<T> {
        Err(ScenarioError::at(self.text, span, message))
    }

    /// The value, when it lies between two others.
    pub(super) fn between<T: PartialOrd + Copy + core::fmt::Display>(
        &self,
        value: &Spanned<T>,
        what: &str,
        (low, high): (T, T),
    ) -> Result<T> {
        let number = *value.get_ref();
        if number < low || number > high {
            return self.wrong(&value.span(), format!("{what} is {number}, not {low} to {high}"));
        }
        Ok(number)
    }

    /// The same for a value that may be left out.
    pub(super) fn between_or<T: PartialOrd + Copy + core::fmt::Display>(
        &self,
        value: Option<&Spanned<T>>,
        what: &str,
        range: (T, T),
        default: T,
    ) -> Result<T> {
        value.map_or(Ok(default), |value| self.between(value, what, range))
    }

    pub(super) fn chance(&self, value: &Spanned<f64>) -> Result<Chance> {
        Chance::new(*value.get_ref())
            .map_or_else(|| self.wrong(&value.span(), "a rate lies between 0 and 1"), Ok)
    }

    /// Numbers that count from 1, in order.
    pub(super) fn numbers(&self, numbers: &[Spanned<u64>], of: &str) -> Result<Vec<u64>> {
        if let Some(zero) = numbers.iter().find(|number| *number.get_ref() == 0) {
            return self.wrong(&zero.span(), format!("{of} are numbered from 1"));
        }
        let mut numbers: Vec<u64> = numbers.iter().map(|number| *number.get_ref()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The names of all hosts: those of the file, or those that connections name.
    fn names(&self) -> Vec<&'t str> {
        if !self.file.host.is_empty() {
            return self.file.host.iter().map(|host| host.name.get_ref().as_str()).collect();
        }
        let ends = |c: &'t Connection| [c.from.get_ref().as_str(), c.to.get_ref().as_str()];
        let mut seen = BTreeSet::new();
        self.file.connection.iter().flat_map(ends).filter(|name| seen.insert(*name)).collect()
    }

    fn hosts(&self) -> Result<Vec<HostPlan>> {
        let names = self.names();
        let mut seen = BTreeSet::new();
        let hosts = &self.file.host;
        if let Some(twice) = hosts.iter().find(|host| !seen.insert(host.name.get_ref())) {
            let name = twice.name.get_ref();
            return self.wrong(&twice.name.span(), format!("there are two hosts named {name:?}"));
        }
        let written = |name: &str| hosts.iter().find(|host| host.name.get_ref() == name);
        Ok(names.iter().enumerate().map(|(index, name)| host(index, written(name))).collect())
    }

    /// The place of a host in the list.
    fn host_index(&self, name: &Spanned<String>) -> Result<usize> {
        let found = self.names().iter().position(|known| known == name.get_ref());
        found.map_or_else(
            || self.wrong(&name.span(), format!("there is no host {:?}", name.get_ref())),
            Ok,
        )
    }

    fn host(&self, name: &Spanned<String>) -> Result<HostPlan> {
        let index = self.host_index(name)?;
        // The index comes from the same list.
        self.hosts.get(index).copied().ok_or_else(|| ScenarioError::general("host list is short"))
    }

    fn capture(&self, capture: &Capture) -> Result<CapturePlan> {
        let miss = self.numbers(&capture.miss, "frames")?;
        let snaplen = match &capture.snaplen {
            Some(snaplen) => {
                let bytes = self.between(snaplen, "snaplen", (1, 0x4_0000))?;
                Some(usize::try_from(bytes).unwrap_or(usize::MAX))
            }
            None => None,
        };
        Ok(CapturePlan {
            snaplen,
            mirror_delay: capture.mirror_delay.map(|delay| delay.0),
            miss_chance: capture
                .miss_rate
                .as_ref()
                .map_or(Ok(Chance::default()), |rate| self.chance(rate))?,
            miss,
            start: capture.start.0,
            stop: capture.stop.map(|stop| stop.0),
        })
    }

    fn pause(&self, pause: &Pause) -> Result<(Arc<PausePlan>, Option<usize>)> {
        let stops = pause.stops.as_ref().map(|host| self.host_index(host)).transpose()?;
        let mut priorities = 0u8;
        for priority in &pause.priorities {
            let priority = self.between(priority, "priority", (0, 7))?;
            priorities |= 1u8.wrapping_shl(u32::from(priority));
        }
        // A quantum is 512 bit times.
        let bits = u64::from(pause.quanta).saturating_mul(512);
        let link = pause.link.map_or(100_000_000_000, |rate| rate.0);
        let length = bits.saturating_mul(1_000_000_000).checked_div(link).unwrap_or(0);
        let plan = PausePlan {
            from: pause.from.0,
            priorities: (!pause.priorities.is_empty()).then_some(priorities),
            quanta: pause.quanta,
            start: pause.start.0,
            count: pause.count,
            interval: pause.interval.0.max(1),
            resume: pause.resume,
            length,
        };
        Ok((Arc::new(plan), stops))
    }

    /// What stops this host from sending at this priority.
    fn stopped(&self, host: usize, priority: u8) -> Vec<Arc<PausePlan>> {
        let concerns = |(pause, stops): &&(Arc<PausePlan>, Option<usize>)| {
            *stops == Some(host)
                && pause.priorities.is_none_or(|set| set >> (priority & 7) & 1 == 1)
        };
        self.pauses.iter().filter(concerns).map(|(pause, _)| Arc::clone(pause)).collect()
    }

    fn connection(&self, entry: &Connection) -> Result<ConnectionPlan> {
        let hosts = Both::new(self.host(&entry.from)?, self.host(&entry.to)?);
        let indices = Both::new(self.host_index(&entry.from)?, self.host_index(&entry.to)?);
        if indices.forth == indices.back {
            return self.wrong(&entry.to.span(), "a connection goes from one host to another");
        }
        let dscp = self.between_or(entry.dscp.as_ref(), "dscp", (0, 63), 0)?;
        let pcp = self.between_or(entry.pcp.as_ref(), "pcp", (0, 7), 0)?;
        let vlan = self.vlan(entry, pcp)?;
        let priority = vlan.map_or(dscp >> 3, |(pcp, _)| pcp);
        let pmtu = self.pmtu(entry)?;
        let (rtt, ps_per_byte) = (entry.rtt.map_or(10_000, |rtt| rtt.0), ps_per_byte(entry));
        let latency = (rtt / 2).max(1);
        let ops = self.ops(entry, pmtu)?;
        Ok(ConnectionPlan {
            name: entry.name.clone(),
            hosts,
            repeat: self.between(&entry.repeat, "repeat", (1, 1_000_000))?,
            carrier: entry.carrier,
            service: entry.service,
            vlan,
            vxlan: self.below_2_to_24(entry.vxlan.as_ref(), "vxlan")?,
            traffic_class: dscp << 2 | ecn_bits(entry.ecn),
            hop_limit: entry.hop_limit.unwrap_or(64),
            pmtu,
            qpn: self.pair(entry.qpn.as_ref(), "qpn", 2)?,
            psn: self.pair(entry.psn.as_ref(), "psn", 0)?,
            p_key: entry.p_key.unwrap_or(0xffff),
            srqn: self.below_2_to_24(entry.srqn.as_ref(), "srqn")?.unwrap_or(0x4000),
            mig_req: entry.mig_req,
            udp_src_port: entry.udp_src_port,
            ip_id: entry.ip_id,
            icrc_fault: entry.icrc_fault,
            start: entry.start.0,
            ps_per_byte,
            gap: entry.gap.0,
            latency,
            leg: leg(self.file.capture.at, latency),
            jitter: entry.jitter.0,
            ack_delay: entry.ack_delay.map_or(1_000, |delay| delay.0),
            limits: self.limits(entry)?,
            cnp: entry.cnp,
            cnp_interval: entry.cnp_interval.map_or(4_000, |interval| interval.0),
            cm: entry.cm.as_ref().map(|cm| self.cm(cm, entry.service)).transpose()?,
            ops,
            rules: Both::default(),
            stopped: Both::new(
                self.stopped(indices.forth, priority),
                self.stopped(indices.back, priority),
            ),
        })
    }

    fn limits(&self, entry: &Connection) -> Result<Limits> {
        let window = self.between_or(entry.window.as_ref(), "window", (1, 65_536), 64)?;
        let timeout_code = self.between_or(entry.timeout.as_ref(), "timeout", (1, 31), 14)?;
        // Often enough that the window never closes for good.
        let often = window.div_ceil(2).min(32);
        let ack_every =
            self.between_or(entry.ack_every.as_ref(), "ack_every", (1, window), often)?;
        Ok(Limits {
            window: u64::from(window),
            max_reads: self.between_or(entry.max_reads.as_ref(), "max_reads", (1, 255), 16)?,
            ack_every: u64::from(ack_every),
            retransmit: entry.retransmit,
            timeout: exponent(timeout_code),
            timeout_code,
            retries: self.between_or(entry.retries.as_ref(), "retries", (0, 7), 7)?,
            rnr_retries: self.between_or(entry.rnr_retries.as_ref(), "rnr_retries", (0, 7), 7)?,
        })
    }

    fn vlan(&self, entry: &Connection, pcp: u8) -> Result<Option<(u8, u16)>> {
        match (&entry.vlan, &entry.pcp) {
            (Some(vlan), _) => Ok(Some((pcp, self.between(vlan, "vlan", (0, 4095))?))),
            (None, Some(pcp)) => self.wrong(&pcp.span(), "pcp needs a vlan (0 for a priority tag)"),
            (None, None) => Ok(None),
        }
    }

    fn pmtu(&self, entry: &Connection) -> Result<u32> {
        match &entry.pmtu {
            None => Ok(1024),
            Some(pmtu) if matches!(pmtu.get_ref(), 256 | 512 | 1024 | 2048 | 4096) => {
                Ok(*pmtu.get_ref())
            }
            Some(pmtu) => self.wrong(
                &pmtu.span(),
                format!("pmtu is {}, not 256, 512, 1024, 2048 or 4096", pmtu.get_ref()),
            ),
        }
    }

    /// A number of 24 bits.
    fn below_2_to_24(&self, number: Option<&Spanned<u32>>, what: &str) -> Result<Option<u32>> {
        number.map(|number| self.between(number, what, (0, 0xff_ffff))).transpose()
    }

    /// Two numbers of 24 bits.
    fn pair(
        &self,
        pair: Option<&Spanned<[u32; 2]>>,
        what: &str,
        least: u32,
    ) -> Result<Option<Both<u32>>> {
        let Some(pair) = pair else { return Ok(None) };
        let [forth, back] = *pair.get_ref();
        if [forth, back].iter().any(|number| !(least..=0xff_ffff).contains(number)) {
            return self.wrong(&pair.span(), format!("a {what} is {least} to 16777215"));
        }
        Ok(Some(Both::new(forth, back)))
    }

    fn cm(&self, cm: &Cm, service: Service) -> Result<CmPlan> {
        let default_reason = match (cm.answer, service) {
            (CmAnswer::Reject, Service::Ud) => 1,
            // Nobody listens on that service id.
            (CmAnswer::Reject, _) => 8,
            _ => 0,
        };
        let timeout_code = self.between(&cm.timeout, "timeout", (1, 31))?;
        let room = if service == Service::Ud { 180 } else { 56 };
        let private_data = match &cm.private_data {
            Some(data) if data.get_ref().len() > room => {
                let message = format!("private_data is longer than {room} bytes");
                return self.wrong(&data.span(), message);
            }
            Some(data) => data.get_ref().clone().into_bytes(),
            None => Vec::new(),
        };
        Ok(CmPlan {
            port: cm.port,
            src_port: cm.src_port,
            answer: cm.answer,
            reason: cm.reason.as_ref().map_or(default_reason, |reason| *reason.get_ref()),
            retries: self.between(&cm.retries, "retries", (0, 15))?,
            timeout_code,
            timeout: exponent(timeout_code),
            think: cm.think.map_or(50_000, |think| think.0),
            mra: cm.mra,
            rtu_delay: cm.rtu_delay.0,
            disconnect: cm.disconnect.map(dir),
            drep: cm.drep,
            alternate_path: cm.alternate_path,
            icmp: cm.icmp,
            private_data,
        })
    }
}

/// A host as written, or made up from its place in the list.
fn host(index: usize, written: Option<&Host>) -> HostPlan {
    let number = u16::try_from(index.saturating_add(1)).unwrap_or(u16::MAX);
    let [high, low] = number.to_be_bytes();
    let made = HostPlan {
        mac: MacAddr([2, 0, 0, 0, high, low]),
        ipv4: Ipv4Addr::new(10, 0, high, low),
        ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number),
    };
    let Some(written) = written else { return made };
    HostPlan {
        mac: written.mac.map_or(made.mac, |mac| mac.0),
        ipv4: written.ipv4.unwrap_or(made.ipv4),
        ipv6: written.ipv6.unwrap_or(made.ipv6),
    }
}

pub(super) const fn dir(side: Side) -> Dir {
    match side {
        Side::From => Dir::Forth,
        Side::To => Dir::Back,
    }
}

const fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// 4.096 µs times two to the power of `code`, at most 31, in nanoseconds.
const fn exponent(code: u8) -> u64 {
    4096u64.wrapping_shl((code & 31) as u32)
}

fn ps_per_byte(entry: &Connection) -> u64 {
    let bits = entry.rate.map_or(25_000_000_000, |rate| rate.0);
    8_000_000_000_000u64.checked_div(bits).unwrap_or(0)
}

/// The way from each end to the capture point.
const fn leg(at: At, latency: u64) -> Both<u64> {
    match at {
        At::From => Both::new(0, latency),
        At::To => Both::new(latency, 0),
        At::Middle => Both::new(latency / 2, latency.div_ceil(2)),
    }
}

/// Carriers whose connections have UDP source ports.
pub(crate) const fn has_udp(carrier: Carrier) -> bool {
    !matches!(carrier, Carrier::V1)
}
