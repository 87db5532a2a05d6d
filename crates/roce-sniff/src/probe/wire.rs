//! Frames out and in: what an exchange wants to send, sent; what comes back, told to it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use roce_capture::{Batch, FrameSender, HAS_FILTERS, LiveCapture, LiveOptions, Next, Tally};
use roce_wire::{
    Addr, Content, Frame, FrameBuilder, Gid, Gmp, IcrcState, Link, MacAddr, Management, Net,
    PacketBuilder, Ports, Psn, Qpn, Ready, Udp, Version,
};

use super::exchange::{Exchange, Moment};
use super::icmp;
use super::offer::{Ends, gid, random};
use crate::stop::Stop;

/// Long enough for every frame of the exchange; what is longer is not of it.
const SNAPLEN: u32 = 1024;
const BUFFER: u32 = 2 << 20;

/// An interface to ask through.
pub(crate) struct Wire {
    sender: FrameSender,
    capture: LiveCapture,
    start: Instant,
    psn: Psn,
}

/// What is known of the frame that carried the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// The sender's GID: on v2 that of its IP address.
    pub(crate) gid: Gid,
    pub(crate) src_mac: Option<MacAddr>,
    pub(crate) traffic_class: Option<u8>,
    pub(crate) hop_limit: Option<u8>,
    pub(crate) udp_src_port: Option<u16>,
    pub(crate) icrc: Option<IcrcState>,
}

impl Wire {
    /// Opens an interface to send to and hear from one host.
    pub(crate) fn open(interface: &str, host: IpAddr) -> Result<Self> {
        let mut options = LiveOptions::new(interface);
        options.snaplen = SNAPLEN;
        options.buffer_size = BUFFER;
        options.immediate = true;
        options.promiscuous = false;
        if HAS_FILTERS {
            // ICMP comes from any router on the way.
            let filter = format!(
                "ether proto 0x8915 or (host {host} and udp dst port {}) or icmp or icmp6",
                Udp::ROCE_V2
            );
            options.filter = Some(filter);
        }
        let capture = LiveCapture::open(&options)?;
        Ok(Self {
            sender: FrameSender::open(interface)?,
            capture,
            start: Instant::now(),
            psn: first_psn(),
        })
    }

    /// Carries an exchange to its end over one version. Returns how its answer was carried.
    pub(crate) fn run(
        &mut self,
        version: Version,
        ends: &Ends,
        udp_src_port: u16,
        exchange: &mut Exchange,
        stop: &Stop,
    ) -> Result<Option<Carried>> {
        self.start = Instant::now();
        let head = head(version, ends, udp_src_port);
        let mut carried = None;
        loop {
            while let Some(gmp) = exchange.poll(self.start.elapsed()) {
                self.send(&head, &gmp)?;
            }
            if exchange.is_over() {
                return Ok(carried);
            }
            if stop.is_wanted() {
                exchange.abandon(self.start.elapsed());
                continue;
            }
            match self.capture.next_frame()? {
                Next::Frame(captured) => {
                    let moment = Moment { at: self.start.elapsed(), stamp_ns: captured.time_ns };
                    let link = Link::from_linktype(captured.link_type.0);
                    let wire_len = usize::try_from(captured.wire_len).unwrap_or(usize::MAX);
                    let frame = Frame::parse(link, captured.data, wire_len, &Ports::default());
                    let told = Told { version, ends, udp_src_port, moment };
                    let answer = told.tell(&frame, exchange);
                    carried = carried.or(answer);
                }
                Next::Timeout => {}
                Next::End => bail!("the capture has ended"),
            }
        }
    }

    fn send(&mut self, head: &FrameBuilder<Ready>, gmp: &Gmp) -> Result<()> {
        let packet = PacketBuilder::gmp(self.psn, gmp);
        self.psn = self.psn.add(1);
        let mut frame = Vec::with_capacity(head.len(&packet));
        head.emit(&packet, &mut frame).context("cannot build a frame")?;
        let (mut batch, mut tally) = (Batch::default(), Tally::default());
        batch.push(1, &frame);
        self.sender.send(&batch, &mut tally, || true)?;
        match tally.first_failure {
            Some(refused) => bail!("cannot send: {}", refused.reason),
            None => Ok(()),
        }
    }
}

fn first_psn() -> Psn {
    Psn::new(u32::try_from(random() & 0xff_ffff).unwrap_or(0))
}

/// The headers of every frame of an exchange.
fn head(version: Version, ends: &Ends, udp_src_port: u16) -> FrameBuilder<Ready> {
    let ethernet = FrameBuilder::ethernet(ends.dst_mac, ends.src_mac);
    match (version, ends.src, ends.dst) {
        (Version::V2, IpAddr::V4(src), IpAddr::V4(dst)) => {
            ethernet.ipv4(src, dst).udp(udp_src_port)
        }
        (Version::V2, IpAddr::V6(src), IpAddr::V6(dst)) => {
            ethernet.ipv6(src, dst).udp(udp_src_port)
        }
        _ => ethernet.grh(gid(ends.src), gid(ends.dst)),
    }
}

/// A frame that came, seen by one exchange.
struct Told<'t> {
    version: Version,
    ends: &'t Ends,
    udp_src_port: u16,
    moment: Moment,
}

impl Told<'_> {
    /// Tells the exchange what the frame says. Returns how it was carried when it is an answer.
    fn tell(&self, frame: &Frame<'_>, exchange: &mut Exchange) -> Option<Carried> {
        if let Some((error, quoted)) = icmp::unreachable(frame) {
            let ours = icmp::Quoted {
                src: self.ends.src,
                dst: self.ends.dst,
                src_port: self.udp_src_port,
                dst_port: Udp::ROCE_V2,
            };
            if self.version == Version::V2 && quoted == ours {
                exchange.take_icmp(error, self.moment);
            }
            return None;
        }
        let Content::Packet(net, packet) = &frame.content else { return None };
        if net.carrier().version() != Some(self.version) || packet.bth.dest_qp() != Qpn::GSI {
            return None;
        }
        let management = Management::parse(packet.payload).ok()?;
        let between = (net.src(), net.dst());
        let (here, there) = (Addr::Ip(self.ends.src), Addr::Ip(self.ends.dst));
        if between == (here, there) {
            exchange.seen(&management, self.moment);
            return None;
        }
        let answers = between == (there, here) && exchange.receive(&management, self.moment);
        answers.then(|| carried(frame, net))
    }
}

fn carried(frame: &Frame<'_>, net: &Net<'_>) -> Carried {
    let src_mac = frame.layers().find_map(|(_, layer)| match layer {
        roce_wire::Layer::Ethernet(ethernet) => Some(ethernet.src),
        _ => None,
    });
    let hop_limit = match net {
        Net::V2Ipv4(ip, ..) => Some(ip.ttl),
        Net::V2Ipv6(ip, ..) => Some(ip.hop_limit),
        _ => net.grh().map(|grh| grh.hop_limit),
    };
    Carried {
        gid: match (net.grh(), net.src()) {
            (Some(grh), _) => grh.sgid,
            (None, Addr::Ip(ip)) => gid(ip),
            (None, Addr::Lid(_)) => gid(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED)),
        },
        src_mac,
        traffic_class: net.traffic_class(),
        hop_limit,
        udp_src_port: net.udp().map(|udp| udp.src_port()),
        icrc: frame.icrc_state(),
    }
}

/// Waits until the next round, or until the user wants to stop.
pub(crate) fn wait(pause: Duration, stop: &Stop) {
    let start = Instant::now();
    while start.elapsed() < pause && !stop.is_wanted() {
        std::thread::sleep(pause.saturating_sub(start.elapsed()).min(Duration::from_millis(50)));
    }
}

#[cfg(test)]
mod tests;
