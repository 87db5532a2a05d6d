//! Capturing from an interface.

#[cfg(feature = "libpcap")]
mod libpcap;
#[cfg(not(any(feature = "pnet", feature = "libpcap")))]
mod none;
#[cfg(all(feature = "pnet", not(feature = "libpcap")))]
mod pnet;

#[cfg(feature = "libpcap")]
pub use libpcap::LiveCapture;
#[cfg(feature = "libpcap")]
pub(crate) use libpcap::message;
#[cfg(not(any(feature = "pnet", feature = "libpcap")))]
pub use none::LiveCapture;
#[cfg(all(feature = "pnet", not(feature = "libpcap")))]
pub use pnet::LiveCapture;

use crate::{Error, Frame, interfaces};

/// Whether this build compiles filter expressions, for the kernel and for files.
pub const HAS_FILTERS: bool = cfg!(feature = "libpcap");

/// What to capture, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// An interface, `any`, or an RDMA device such as `mlx5_0`.
    pub interface: String,
    /// How many bytes of each frame to keep. Less makes the buffer last longer; the ICRC can be
    /// checked of whole frames only.
    pub snaplen: u32,
    /// Bytes of kernel buffer between the wire and this program.
    pub buffer_size: u32,
    /// Hand over each frame as it comes instead of in blocks of at most 10 ms. The kernel then
    /// keeps a slot of the full snaplen for every frame, so the buffer holds far fewer.
    pub immediate: bool,
    /// Let the kernel keep what may be RoCE only, and drop the rest before it costs anything.
    pub roce_only: Option<RoceOnly>,
    /// A BPF expression that frames must also satisfy.
    pub filter: Option<String>,
    /// Take frames that are addressed to other hosts, too.
    pub promiscuous: bool,
}

impl LiveOptions {
    /// Everything the interface sees, with a buffer of 32 MiB.
    #[must_use]
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            snaplen: 256 << 10,
            buffer_size: 32 << 20,
            immediate: false,
            roce_only: None,
            filter: None,
            promiscuous: true,
        }
    }
}

/// What [`roce_filter_on`](crate::roce_filter_on) is to be built from, once the link type is known.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RoceOnly {
    /// UDP ports of RoCE v2; 4791 if there are none.
    pub ports: Vec<u16>,
    /// Keep tunnels, too.
    pub tunnels: bool,
}

/// What came of waiting for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// None for now; at most 100 ms have gone by. Time to look at the clock and the signals.
    Timeout,
    /// There will be no more.
    End,
}

/// The kernel's account of a capture so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Frames that passed the filter, those dropped included.
    pub received: u64,
    /// Frames dropped because the buffer was full.
    pub dropped: u64,
    /// Frames dropped by the interface or its driver, where they say so.
    pub if_dropped: u64,
}

/// Puts a library's complaint about an interface in words that say what to do.
fn explain(name: &str, message: String) -> Error {
    let lower = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let name = name.to_owned();
    if says(&["permission", "permitted"]) {
        return Error::NoPermission { name };
    }
    if says(&["is not up", "is down", "went down"]) {
        return Error::InterfaceDown { name };
    }
    let existing: Vec<String> = interfaces().into_iter().map(|i| i.name).collect();
    if !existing.contains(&name) && says(&["no such device", "doesn't exist", "not exist"]) {
        return Error::NoSuchInterface { name, existing };
    }
    Error::Live { name, message }
}
