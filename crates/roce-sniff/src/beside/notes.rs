//! Remarks that need both sides: the wire's and the host's.

use roce_analyze::verdict::{Answer, NoteId, Verdict};
use roce_host::{CaptureWay, RdmaDevice, RoceMode, Visibility};
use roce_wire::Carrier;

use super::{Beside, PortSide};

/// A remark with a stable name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostNote {
    pub(crate) id: &'static str,
    pub(crate) text: String,
    /// The general remarks that this one makes needless.
    pub(crate) instead_of: &'static [NoteId],
}

pub(super) fn of(beside: &Beside, verdict: &Verdict) -> Vec<HostNote> {
    let is_silent =
        verdict.answer() == Answer::None && verdict.carrier(Carrier::InfiniBand).packets == 0;
    let mut notes = Vec::new();
    if is_silent {
        notes.push(nothing(beside));
    }
    if let Some(side) = &beside.port {
        notes.extend(mode(beside, side));
        notes.extend(gid_type(beside, side));
    }
    notes
}

/// Why nothing was seen here, and what to do, in place of the general words about it.
fn nothing(beside: &Beside) -> HostNote {
    use NoteId::{KernelBypass, Mirror, SoftRoceLoopback};
    let name = &beside.name;
    let (text, instead_of): (_, &[NoteId]) = match &beside.port {
        _ if beside.topology.device(name).is_some() => (
            format!("{name} is the RDMA device itself: what it carried meanwhile would be here."),
            &[KernelBypass, SoftRoceLoopback, Mirror],
        ),
        Some(side) if side.visibility == Visibility::OnNetdev => (
            format!(
                "{} is made of software, its traffic passes {name}: there was none.",
                side.port
            ),
            &[KernelBypass, Mirror],
        ),
        Some(side) => (offloaded(beside, side), &[KernelBypass, SoftRoceLoopback, Mirror]),
        None => (elsewhere(beside), &[KernelBypass]),
    };
    HostNote { id: KernelBypass.key(), text, instead_of }
}

fn offloaded(beside: &Beside, side: &PortSide) -> String {
    let device = &side.port.device;
    let netdev = side.netdev.as_deref().unwrap_or(&beside.name);
    let ways: Vec<String> = side
        .visibility
        .ways()
        .iter()
        .map(|way| match (way, way.command(device, netdev)) {
            (_, Some(command)) => format!("`{command}`"),
            (CaptureWay::Mirror, None) => format!(
                "a mirror port of the switch that {netdev} is plugged into, captured on another \
                 host with `roce-sniff IFACE`"
            ),
            (_, None) => way.to_string(),
        })
        .collect();
    let may = if side.visibility == Visibility::Unknown { "may bypass" } else { "bypasses" };
    let of = &side.port;
    format!(
        "RDMA of {of} {may} the kernel, so {} does not show it. Capture with {}.",
        beside.name,
        ways.join(", or ")
    )
}

/// The interface has no RDMA device: where those that there are stand.
fn elsewhere(beside: &Beside) -> String {
    let place = |device: &RdmaDevice| {
        let netdevs: Vec<&str> =
            device.ports.iter().flat_map(|port| &port.netdevs).map(String::as_str).collect();
        match netdevs.first() {
            Some(netdev) => format!("{} on {netdev}", device.name),
            None => device.name.clone(),
        }
    };
    let places: Vec<String> = beside.topology.devices.iter().map(place).collect();
    let name = &beside.name;
    if places.is_empty() {
        return format!(
            "This host has no RDMA device: {name} shows RoCE only when it is mirrored to it."
        );
    }
    format!(
        "{name} has no RDMA device: RoCE of this host goes elsewhere ({}). `roce-sniff devices` \
         says how to capture it.",
        places.join(", ")
    )
}

/// The port sends or receives another version than the one it opens connections with.
fn mode(beside: &Beside, side: &PortSide) -> Option<HostNote> {
    let mode = side.mode?;
    let ([sent_v1, sent_v2], port) = (beside.wire.sent, &side.port);
    let (other, packets) = match mode {
        RoceMode::V1 if sent_v1 == 0 && sent_v2 > 0 => (RoceMode::V2, sent_v2),
        RoceMode::V2 if sent_v2 == 0 && sent_v1 > 0 => (RoceMode::V1, sent_v1),
        _ => return None,
    };
    let default = if side.mode_is_default { ", the kernel's default" } else { "" };
    Some(HostNote {
        id: "host-mode-disagrees",
        text: format!(
            "{port} opens connections with {mode}{default}, yet all its {packets} packets here are \
             {other}: the other side opened the connections, or the application chose the GID \
             itself. `roce-sniff mode {port} --set {}` would make them agree.",
            other.short()
        ),
        instead_of: &[],
    })
}

/// The port gets packets of a version for which it has no GID.
fn gid_type(beside: &Beside, side: &PortSide) -> Option<HostNote> {
    let all = [RoceMode::V1, RoceMode::V2].into_iter().zip(side.offers);
    let lacking = all.zip(beside.wire.received).find(|((_, has), n)| !has && *n > 0);
    let ((mode, _), packets) = lacking?;
    let port = &side.port;
    Some(HostNote {
        id: "host-lacks-version",
        text: format!(
            "{packets} packets of {mode} came for {port}, which has no GID of that type and cannot \
             answer them: set the other side to {}.",
            if mode == RoceMode::V1 { "v2" } else { "v1" }
        ),
        instead_of: &[],
    })
}
