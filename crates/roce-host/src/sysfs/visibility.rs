//! What a capture has to do to see a device's RDMA traffic.

use std::fmt;

use super::driver;

/// Where the RDMA traffic of a device can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// On its interface, both ways: the device is made of software.
    OnNetdev,
    /// Not on the interface: the adapter does it all, past the kernel. `how` lists what shows it
    /// nevertheless, best first.
    Offloaded {
        /// What shows it.
        how: &'static [CaptureWay],
    },
    /// The driver is not known. Traffic missing from the interface means that it is offloaded.
    Unknown,
}

/// A way to capture offloaded traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureWay {
    /// libpcap on the name of the RDMA device; it needs libpcap built with libibverbs, and at
    /// high rates it loses packets without saying so.
    RdmaDevice,
    /// The driver's `sniffer` switch, which copies offloaded packets to the interface.
    SnifferSwitch,
    /// The vendor's `ibdump`, which writes a capture file.
    Ibdump,
    /// A mirror port of the switch, or a tap.
    Mirror,
}

impl Visibility {
    /// What is known of a driver, by the name of its PCI driver.
    ///
    /// ConnectX: libpcap's rdmasniff module and ibdump's manual. Intel E810: its manual names a
    /// mirror of the switch as the only way. Of the others no other way is documented.
    pub(crate) fn of_driver(name: Option<&str>) -> Self {
        use CaptureWay::{Ibdump, Mirror, RdmaDevice, SnifferSwitch};
        match name {
            Some(driver::RXE | driver::SIW) => Self::OnNetdev,
            Some("mlx5_core" | "mlx5_core.sf") => {
                Self::Offloaded { how: &[RdmaDevice, SnifferSwitch, Ibdump, Mirror] }
            }
            Some("mlx4_core") => Self::Offloaded { how: &[Ibdump, Mirror] },
            Some(
                "ice" | "i40e" | "idpf" | "bnxt_en" | "qede" | "qed" | "hns3" | "hns_roce_hw_v2"
                | "be2net" | "mana" | "vmw_pvrdma" | "erdma" | "cxgb4" | "efa" | "ionic",
            ) => Self::Offloaded { how: &[Mirror] },
            _ => Self::Unknown,
        }
    }

    /// Whether the traffic bypasses the interface, as far as is known.
    #[must_use]
    pub const fn bypasses_kernel(self) -> Option<bool> {
        match self {
            Self::OnNetdev => Some(false),
            Self::Offloaded { .. } => Some(true),
            Self::Unknown => None,
        }
    }

    /// What to try when the interface shows nothing, best first.
    #[must_use]
    pub const fn ways(self) -> &'static [CaptureWay] {
        match self {
            Self::OnNetdev => &[],
            Self::Offloaded { how } => how,
            Self::Unknown => &[CaptureWay::RdmaDevice, CaptureWay::Mirror],
        }
    }
}

impl CaptureWay {
    /// The command for it, given the RDMA device and its interface; a mirror is set up on the
    /// switch and has none.
    #[must_use]
    pub fn command(self, device: &str, netdev: &str) -> Option<String> {
        match self {
            Self::RdmaDevice => Some(format!("roce-sniff -i {device}")),
            Self::SnifferSwitch => Some(format!(
                "ethtool --set-priv-flags {netdev} sniffer on && roce-sniff -i {netdev}"
            )),
            Self::Ibdump => {
                Some(format!("ibdump -d {device} -w {device}.pcap && roce-sniff -r {device}.pcap"))
            }
            Self::Mirror => None,
        }
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnNetdev => f.write_str("visible on its interface"),
            Self::Offloaded { how } => {
                f.write_str("bypasses the kernel; capture by ")?;
                for (n, way) in how.iter().enumerate() {
                    write!(f, "{}{way}", if n == 0 { "" } else { ", or " })?;
                }
                Ok(())
            }
            Self::Unknown => f.write_str("unknown driver, its traffic may bypass the kernel"),
        }
    }
}

impl fmt::Display for CaptureWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RdmaDevice => "the RDMA device's name",
            Self::SnifferSwitch => "the driver's sniffer switch",
            Self::Ibdump => "ibdump",
            Self::Mirror => "a mirror port of the switch",
        })
    }
}
