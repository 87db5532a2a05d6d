//! What the answers say: devices, ports, queue pairs, CM ids.

use std::fmt;
use std::net::SocketAddr;

use super::attr::{self, Attrs};
use crate::{Counters, Guid, Host};

/// An RDMA device as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NlDevice {
    /// Its number, which other requests need.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// How many ports it has.
    pub ports: Option<u32>,
    /// Firmware version.
    pub firmware: Option<String>,
    /// Node GUID.
    pub node_guid: Option<Guid>,
    /// `roce`, `ib`, `iw`, `opa` or `usnic`.
    pub protocol: Option<String>,
}

/// A port as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NlPort {
    /// Its number, from 1.
    pub number: u32,
    /// State; 4 is active.
    pub state: Option<u8>,
    /// Physical state; 5 is link up.
    pub phys_state: Option<u8>,
    /// Its interface.
    pub netdev: Option<String>,
    /// Index of that interface.
    pub netdev_index: Option<u32>,
}

/// A queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QpInfo {
    /// Device name.
    pub device: String,
    /// Port; absent before the queue pair has one.
    pub port: Option<u32>,
    /// Its own number.
    pub local_qpn: u32,
    /// The other side's number; RC and UC only.
    pub remote_qpn: Option<u32>,
    /// PSN it expects next; RC and UC only.
    pub rq_psn: Option<u32>,
    /// PSN it sends next.
    pub sq_psn: Option<u32>,
    /// Type.
    pub kind: Option<QpType>,
    /// State.
    pub state: Option<QpState>,
    /// The process that owns it; absent for the kernel's own.
    pub pid: Option<u32>,
    /// The kernel module that owns it; absent for processes.
    pub kernel_owner: Option<String>,
}

/// An RDMA_CM id: what a socket is to TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CmId {
    /// Device name.
    pub device: String,
    /// Port; absent before the id is bound to one.
    pub port: Option<u32>,
    /// The kernel's number of the id.
    pub id: Option<u32>,
    /// Number of its queue pair, if it has one.
    pub local_qpn: Option<u32>,
    /// Type of that queue pair.
    pub qp_type: Option<QpType>,
    /// State.
    pub state: Option<CmState>,
    /// Port space.
    pub port_space: Option<PortSpace>,
    /// This side's address.
    pub source: Option<SocketAddr>,
    /// The other side's address; unspecified while listening.
    pub destination: Option<SocketAddr>,
    /// The process that owns it; absent for the kernel's own.
    pub pid: Option<u32>,
    /// The kernel module that owns it; absent for processes.
    pub kernel_owner: Option<String>,
}

/// All queue pairs and CM ids of this host at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Queue pairs.
    pub queue_pairs: Vec<QpInfo>,
    /// CM ids.
    pub cm_ids: Vec<CmId>,
}

impl Resources {
    /// The queue pair with this number, talking to `remote_qpn` where that is known. Numbers are
    /// unique in a device only, so `device` narrows the search where it is known.
    #[must_use]
    pub fn queue_pair(
        &self,
        device: Option<&str>,
        local_qpn: u32,
        remote_qpn: Option<u32>,
    ) -> Option<&QpInfo> {
        let fits = |qp: &&QpInfo| {
            qp.local_qpn == local_qpn
                && device.is_none_or(|device| device == qp.device)
                && remote_qpn.is_none_or(|remote| qp.remote_qpn == Some(remote))
        };
        self.queue_pairs.iter().find(fits)
    }

    /// The CM id that a queue pair belongs to.
    #[must_use]
    pub fn cm_id_of(&self, qp: &QpInfo) -> Option<&CmId> {
        self.cm_ids.iter().find(|id| id.device == qp.device && id.local_qpn == Some(qp.local_qpn))
    }
}

impl QpInfo {
    /// Who owns it, as `rdma resource` writes it: the name of a process, or `[module]`.
    #[must_use]
    pub fn owner(&self, host: &Host) -> Option<String> {
        owner(host, self.pid, self.kernel_owner.as_deref())
    }
}

impl CmId {
    /// Who owns it, as `rdma resource` writes it: the name of a process, or `[module]`.
    #[must_use]
    pub fn owner(&self, host: &Host) -> Option<String> {
        owner(host, self.pid, self.kernel_owner.as_deref())
    }
}

fn owner(host: &Host, pid: Option<u32>, module: Option<&str>) -> Option<String> {
    match (pid, module) {
        (Some(pid), _) => host.process_name(pid),
        (None, Some(module)) => Some(format!("[{module}]")),
        (None, None) => None,
    }
}

/// Type of a queue pair, by the kernel's number (`enum ib_qp_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QpType(pub u8);

/// State of a queue pair, by the kernel's number (`enum ib_qp_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QpState(pub u8);

/// State of a CM id, by the kernel's number (`enum rdma_cm_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CmState(pub u8);

/// RDMA_CM port space, by the kernel's number (`enum rdma_ucm_port_space`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortSpace(pub u32);

impl QpType {
    /// Reliable connection.
    pub const RC: Self = Self(2);
    /// Unreliable connection.
    pub const UC: Self = Self(3);
    /// Unreliable datagram.
    pub const UD: Self = Self(4);
}

impl QpState {
    /// Ready to receive and to send.
    pub const RTS: Self = Self(3);
}

impl CmState {
    /// Connected, or connecting.
    pub const CONNECT: Self = Self(5);
    /// Listening.
    pub const LISTEN: Self = Self(8);
}

/// The name of a number, or the number.
fn named(f: &mut fmt::Formatter<'_>, number: u32, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => f.write_str(name),
        None => write!(f, "{number:#x}"),
    }
}

impl fmt::Display for QpType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            0 => "SMI",
            1 => "GSI",
            2 => "RC",
            3 => "UC",
            4 => "UD",
            5 => "RAW_IPV6",
            6 => "RAW_ETHERTYPE",
            8 => "RAW_PACKET",
            9 => "XRC_INI",
            10 => "XRC_TGT",
            0xff => "DRIVER",
            number => return named(f, number.into(), None),
        };
        f.write_str(name)
    }
}

impl fmt::Display for QpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 7] = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];
        named(f, self.0.into(), NAMES.get(usize::from(self.0)).copied())
    }
}

impl fmt::Display for CmState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 11] = [
            "IDLE",
            "ADDR_QUERY",
            "ADDR_RESOLVED",
            "ROUTE_QUERY",
            "ROUTE_RESOLVED",
            "CONNECT",
            "DISCONNECT",
            "ADDR_BOUND",
            "LISTEN",
            "DEVICE_REMOVAL",
            "DESTROYING",
        ];
        named(f, self.0.into(), NAMES.get(usize::from(self.0)).copied())
    }
}

impl fmt::Display for PortSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            0x0002 => "IPOIB",
            0x0106 => "TCP",
            0x0111 => "UDP",
            0x013f => "IB",
            number => return named(f, number, None),
        };
        f.write_str(name)
    }
}

/// One device from one answer.
pub(crate) fn device(attrs: Attrs<'_>) -> Option<NlDevice> {
    Some(NlDevice {
        index: attrs.u32(attr::DEV_INDEX)?,
        name: attrs.text(attr::DEV_NAME)?,
        ports: attrs.u32(attr::PORT_INDEX),
        firmware: attrs.text(attr::FW_VERSION),
        node_guid: attrs.u64(attr::NODE_GUID).filter(|guid| *guid != 0).map(Guid),
        protocol: attrs.text(attr::DEV_PROTOCOL),
    })
}

/// One port from one answer.
pub(crate) fn port(attrs: Attrs<'_>) -> Option<NlPort> {
    Some(NlPort {
        number: attrs.u32(attr::PORT_INDEX)?,
        state: attrs.u8(attr::PORT_STATE),
        phys_state: attrs.u8(attr::PORT_PHYS_STATE),
        netdev: attrs.text(attr::NDEV_NAME),
        netdev_index: attrs.u32(attr::NDEV_INDEX),
    })
}

/// The queue pairs in one answer.
pub(crate) fn queue_pairs(attrs: Attrs<'_>) -> impl Iterator<Item = QpInfo> {
    let device = attrs.text(attr::DEV_NAME).unwrap_or_default();
    attrs.nested(attr::RES_QP).all(attr::RES_QP_ENTRY).filter_map(move |entry| {
        Some(QpInfo {
            device: device.clone(),
            port: entry.u32(attr::PORT_INDEX),
            local_qpn: entry.u32(attr::RES_LQPN)?,
            remote_qpn: entry.u32(attr::RES_RQPN),
            rq_psn: entry.u32(attr::RES_RQ_PSN),
            sq_psn: entry.u32(attr::RES_SQ_PSN),
            kind: entry.u8(attr::RES_TYPE).map(QpType),
            state: entry.u8(attr::RES_STATE).map(QpState),
            pid: entry.u32(attr::RES_PID),
            kernel_owner: entry.text(attr::RES_KERN_NAME),
        })
    })
}

/// The CM ids in one answer.
pub(crate) fn cm_ids(attrs: Attrs<'_>) -> impl Iterator<Item = CmId> {
    let device = attrs.text(attr::DEV_NAME).unwrap_or_default();
    attrs.nested(attr::RES_CM_ID).all(attr::RES_CM_ID_ENTRY).map(move |entry| CmId {
        device: device.clone(),
        port: entry.u32(attr::PORT_INDEX),
        id: entry.u32(attr::RES_CM_IDN),
        local_qpn: entry.u32(attr::RES_LQPN),
        qp_type: entry.u8(attr::RES_TYPE).map(QpType),
        state: entry.u8(attr::RES_STATE).map(CmState),
        port_space: entry.u32(attr::RES_PS).map(PortSpace),
        source: entry.socket_addr(attr::RES_SRC_ADDR),
        destination: entry.socket_addr(attr::RES_DST_ADDR),
        pid: entry.u32(attr::RES_PID),
        kernel_owner: entry.text(attr::RES_KERN_NAME),
    })
}

/// Adds the counters in one answer to `counters`.
pub(crate) fn counters(attrs: Attrs<'_>, counters: &mut Counters) {
    for entry in attrs.nested(attr::STAT_HWCOUNTERS).all(attr::STAT_HWCOUNTER_ENTRY) {
        let name = entry.text(attr::STAT_HWCOUNTER_ENTRY_NAME);
        if let (Some(name), Some(value)) = (name, entry.u64(attr::STAT_HWCOUNTER_ENTRY_VALUE)) {
            counters.values.insert(name, value);
        }
    }
}
