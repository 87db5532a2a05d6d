//! The interfaces that frames can be captured from.

use std::net::IpAddr;

/// An interface, or another device that can be captured from, such as an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name to capture by.
    pub name: String,
    /// What the system says it is.
    pub description: Option<String>,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether it is a loopback.
    pub loopback: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// What libpcap lists besides network interfaces and RDMA devices: never a frame with RoCE there.
#[cfg(feature = "libpcap")]
const NO_NETWORK: [&str; 5] = ["bluetooth", "dbus-", "nflog", "nfqueue", "usbmon"];

/// The interfaces that exist, in the order the system names them; none where it does not say.
#[cfg(feature = "libpcap")]
#[must_use]
pub fn interfaces() -> Vec<Interface> {
    let devices = pcap::Device::list().unwrap_or_default();
    devices
        .into_iter()
        .filter(|device| !NO_NETWORK.iter().any(|start| device.name.starts_with(start)))
        .map(|device| Interface {
            up: device.flags.is_up(),
            loopback: device.flags.is_loopback(),
            addresses: device.addresses.iter().map(|address| address.addr).collect(),
            name: device.name,
            description: device.desc,
        })
        .collect()
}

/// The interfaces that exist, in the order the system names them; none where it does not say.
#[cfg(all(feature = "pnet", not(feature = "libpcap")))]
#[must_use]
pub fn interfaces() -> Vec<Interface> {
    pnet_datalink::interfaces()
        .into_iter()
        .map(|device| Interface {
            up: device.is_up(),
            loopback: device.is_loopback(),
            addresses: device.ips.iter().map(|network| network.ip()).collect(),
            name: device.name,
            description: None,
        })
        .collect()
}

/// The interfaces that exist; none in a build that cannot capture.
#[cfg(not(any(feature = "pnet", feature = "libpcap")))]
#[must_use]
pub const fn interfaces() -> Vec<Interface> {
    Vec::new()
}

/// How many frames an interface has received and sent since it exists, by the kernel's account;
/// none where it keeps no account, as for `any` and RDMA devices.
#[must_use]
pub fn frames_passed(interface: &str) -> Option<u64> {
    // The name goes into a path.
    if interface.contains('/') {
        return None;
    }
    let count = |file: &str| -> Option<u64> {
        let path = format!("/sys/class/net/{interface}/statistics/{file}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    Some(count("rx_packets")?.saturating_add(count("tx_packets")?))
}
