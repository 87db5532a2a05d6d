//! Capturing through libpcap: kernel filter, large buffer, drop counters.
//!
//! On Linux libpcap maps a ring of blocks that the kernel packs with frames of any length; a block
//! is handed over when it is full or 10 ms old. libpcap's own wait for the next block has no time
//! limit on such a ring, so it is kept from waiting, and the waiting is done here. In immediate
//! mode the ring has a slot of the whole snaplen for each frame instead: 32 MiB are 500 slots of
//! 64 KiB then, which is 1.4 ms of traffic at 360 thousand frames a second.

use std::thread;
use std::time::Duration;

use pcap::{Active, Capture, Inactive, Linktype, PacketHeader, Precision};

use super::{LiveOptions, Next, RoceOnly, Stats, explain};
use crate::{Error, Frame, LinkType, roce_filter_on};

/// How old a block of frames gets before the kernel hands it over.
const BLOCK_AGE_MS: i32 = 10;
/// The pauses between looks at an empty ring: short at first, then longer while nothing comes.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// A running capture.
pub struct LiveCapture {
    name: String,
    capture: Capture<Active>,
    link_type: LinkType,
    /// Time stamps are nanoseconds rather than microseconds.
    nanoseconds: bool,
    number: u64,
    pause: Duration,
    stats: Stats,
    /// libpcap's counters at the last look; they are 32 bits wide and wrap.
    counters: [u32; 3],
}

impl LiveCapture {
    /// Starts to capture.
    ///
    /// # Errors
    /// When there is no such interface, it is down, the permission is missing, or the filter does
    /// not compile.
    pub fn open(options: &LiveOptions) -> Result<Self, Error> {
        let name = options.interface.clone();
        // The pseudo-interface for all interfaces has no promiscuous mode.
        let promiscuous = options.promiscuous && name != "any";
        let nanoseconds = stamps_nanoseconds(&name);
        let activate = |promiscuous: bool| {
            prepare(options, nanoseconds).and_then(|inactive| inactive.promisc(promiscuous).open())
        };
        let opened = match activate(promiscuous) {
            // Libpcap warns where it cannot be promiscuous, and a warning arrives as an error.
            Err(_) if promiscuous => activate(false),
            opened => opened,
        };
        let capture = opened.map_err(|e| failure(&name, e))?;
        let mut capture = capture.setnonblock().map_err(|e| failure(&name, e))?;
        prefer_cooked_v2(&mut capture);
        let mut live = Self {
            link_type: LinkType::from_dlt(capture.get_datalink().0),
            name,
            capture,
            nanoseconds,
            number: 0,
            pause: SHORTEST_PAUSE,
            stats: Stats::default(),
            counters: [0; 3],
        };
        // The user's own expression first, so that a mistake in it is told in its own words.
        if let Some(expression) = &options.filter {
            live.set_filter(expression)?;
        }
        let roce = options.roce_only.as_ref().and_then(|RoceOnly { ports, tunnels }| {
            roce_filter_on(live.link_type, ports, *tunnels)
        });
        if let Some(roce) = roce {
            let both = |user| format!("({roce}) and ({user})");
            live.set_filter(&options.filter.as_ref().map_or_else(|| roce.clone(), both))?;
        }
        Ok(live)
    }

    /// Replaces the kernel's filter.
    ///
    /// # Errors
    /// [`Error::Filter`] when the expression does not compile for this link type.
    pub fn set_filter(&mut self, expression: &str) -> Result<(), Error> {
        self.capture.filter(expression, true).map_err(|e| Error::Filter {
            expression: expression.to_owned(),
            link_type: self.link_type,
            message: message(e),
        })
    }

    /// The next frame, if there is one soon.
    ///
    /// # Errors
    /// When the interface goes away or down.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Next<'_>, Error> {
        match self.capture.next_packet() {
            Ok(packet) => {
                self.pause = SHORTEST_PAUSE;
                self.number = self.number.saturating_add(1);
                Ok(Next::Frame(Frame {
                    number: self.number,
                    time_ns: time_ns(packet.header, self.nanoseconds),
                    link_type: self.link_type,
                    wire_len: packet.header.len.max(packet.header.caplen),
                    data: packet.data,
                    interface: 0,
                }))
            }
            Err(pcap::Error::TimeoutExpired) => {
                thread::sleep(self.pause);
                self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
                Ok(Next::Timeout)
            }
            Err(pcap::Error::NoMorePackets) => Ok(Next::End),
            Err(e) => Err(failure(&self.name, e)),
        }
    }

    /// The kernel's counters, where it has them.
    pub fn stats(&mut self) -> Option<Stats> {
        let now = self.capture.stats().ok()?;
        let now = [now.received, now.dropped, now.if_dropped];
        let Stats { received, dropped, if_dropped } = &mut self.stats;
        for ((total, before), now) in
            [received, dropped, if_dropped].into_iter().zip(&mut self.counters).zip(now)
        {
            *total = total.saturating_add(now.wrapping_sub(*before).into());
            *before = now;
        }
        Some(self.stats)
    }

    /// What the frames start with.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.link_type
    }
}

/// A capture that is set up but not started.
fn prepare(options: &LiveOptions, nanoseconds: bool) -> Result<Capture<Inactive>, pcap::Error> {
    let precision = if nanoseconds { Precision::Nano } else { Precision::Micro };
    Ok(Capture::from_device(options.interface.as_str())?
        .snaplen(i32::try_from(options.snaplen).unwrap_or(i32::MAX))
        .buffer_size(i32::try_from(options.buffer_size).unwrap_or(i32::MAX))
        .timeout(BLOCK_AGE_MS)
        .immediate_mode(options.immediate)
        .precision(precision))
}

/// Libpcap gives nanoseconds for network interfaces and RDMA devices; asked for them by others it
/// stays with microseconds, and the answer is not passed on.
fn stamps_nanoseconds(name: &str) -> bool {
    let exists = |class: &str| std::path::Path::new("/sys/class").join(class).join(name).exists();
    name == "any" || exists("net") || exists("infiniband")
}

/// The second version of the cooked header names the interface; old libpcaps lack it.
fn prefer_cooked_v2(capture: &mut Capture<Active>) {
    let wanted = Linktype(LinkType::LINUX_SLL2.to_dlt());
    if capture.get_datalink().0 == LinkType::LINUX_SLL.to_dlt() {
        // The first version, which it has now, does as well.
        let _ = capture.set_datalink(wanted);
    }
}

fn time_ns(header: &PacketHeader, nanoseconds: bool) -> Option<u64> {
    let seconds = u64::try_from(header.ts.tv_sec).ok()?;
    // The field is named for microseconds whatever it holds.
    let fraction = u64::try_from(header.ts.tv_usec).ok()?;
    let step = if nanoseconds { 1 } else { 1_000 };
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction.checked_mul(step)?)
}

fn failure(name: &str, e: pcap::Error) -> Error {
    explain(name, message(e))
}

/// Libpcap's own words, without the wrapper's.
pub(crate) fn message(e: pcap::Error) -> String {
    match e {
        pcap::Error::PcapError(message) => message,
        other => other.to_string(),
    }
}
