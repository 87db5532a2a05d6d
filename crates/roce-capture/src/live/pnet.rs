//! Capturing without libpcap: a packet socket through `pnet_datalink`.
//!
//! There is no kernel filter, no ring and no drop counter: for machines without libpcap and for
//! moderate rates. The kernel takes the outer VLAN tag off a frame before a packet socket sees
//! it, and this interface does not hand it on.

use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

use pnet_datalink::{Channel, Config, DataLinkReceiver};

use super::{LiveOptions, Next, Stats, explain};
use crate::{Error, Frame, LinkType, interfaces};

/// How long to wait for a frame.
const PATIENCE: Duration = Duration::from_millis(100);
/// No frame is longer, segmentation offload included.
const LONGEST: usize = 256 << 10;

/// A running capture.
pub struct LiveCapture {
    name: String,
    receiver: Box<dyn DataLinkReceiver>,
    link_type: LinkType,
    snaplen: usize,
    number: u64,
}

impl LiveCapture {
    /// Starts to capture.
    ///
    /// # Errors
    /// When there is no such interface, it is down, the permission is missing, or a filter is
    /// asked for, which this build cannot compile. `roce_only` saves work where it can be had and
    /// is passed over here.
    pub fn open(options: &LiveOptions) -> Result<Self, Error> {
        let name = options.interface.clone();
        if let Some(expression) = options.filter.clone() {
            let message = "this build has no libpcap and compiles no filters".to_owned();
            return Err(Error::Filter { expression, link_type: LinkType::ETHERNET, message });
        }
        let Some(device) = pnet_datalink::interfaces().into_iter().find(|d| d.name == name) else {
            let existing = interfaces().into_iter().map(|interface| interface.name).collect();
            return Err(Error::NoSuchInterface { name, existing });
        };
        if !device.is_up() {
            return Err(Error::InterfaceDown { name });
        }
        let link_type = link_type(&name)?;
        let config = Config {
            read_buffer_size: LONGEST,
            read_timeout: Some(PATIENCE),
            promiscuous: options.promiscuous,
            ..Config::default()
        };
        let receiver = match pnet_datalink::channel(&device, config) {
            Ok(Channel::Ethernet(_, receiver)) => receiver,
            Ok(_) => {
                let what = "no channel for whole frames; use a build with libpcap".to_owned();
                return Err(Error::Unsupported { name, what });
            }
            Err(e) => return Err(explain(&name, e.to_string())),
        };
        let snaplen = usize::try_from(options.snaplen).unwrap_or(LONGEST);
        Ok(Self { name, receiver, link_type, snaplen, number: 0 })
    }

    /// The next frame, if there is one soon.
    ///
    /// # Errors
    /// When the interface goes away or down.
    pub fn next_frame(&mut self) -> Result<Next<'_>, Error> {
        match self.receiver.next() {
            Ok(bytes) => {
                self.number = self.number.saturating_add(1);
                Ok(Next::Frame(Frame {
                    number: self.number,
                    time_ns: now_ns(),
                    link_type: self.link_type,
                    wire_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                    data: bytes.get(..self.snaplen).unwrap_or(bytes),
                    interface: 0,
                }))
            }
            Err(e) => match e.kind() {
                ErrorKind::TimedOut | ErrorKind::Interrupted | ErrorKind::WouldBlock => {
                    Ok(Next::Timeout)
                }
                _ => Err(explain(&self.name, e.to_string())),
            },
        }
    }

    /// No counters are to be had this way.
    pub const fn stats(&mut self) -> Option<Stats> {
        None
    }

    /// What the frames start with.
    #[must_use]
    pub const fn link_type(&self) -> LinkType {
        self.link_type
    }
}

/// What a packet socket's frames start with, from the kernel's hardware type (`if_arp.h`).
fn link_type(name: &str) -> Result<LinkType, Error> {
    let path = std::path::Path::new("/sys/class/net").join(name).join("type");
    match std::fs::read_to_string(path).unwrap_or_default().trim() {
        "1" | "772" => Ok(LinkType::ETHERNET),
        "65534" | "768" | "776" | "778" => Ok(LinkType::RAW),
        kind => {
            let what = format!("hardware type {kind} cannot be read without libpcap");
            Err(Error::Unsupported { name: name.to_owned(), what })
        }
    }
}

fn now_ns() -> Option<u64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}
