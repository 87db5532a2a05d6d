//! What tells one connection from another: queue pairs, PSNs, ids, keys.

use roce_wire::{Gid, Qpn};

use crate::plan::{Both, Carrier, ConnectionPlan, Dir};
use crate::rng::Rng;

/// The numbers of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub qpn: Both<u32>,
    /// First PSNs.
    pub psn: Both<u32>,
    pub udp_src_port: u16,
    /// RDMA_CM's port of the active end.
    pub cm_src_port: u16,
    /// The flow label that the REQ names.
    pub flow_label: u32,
    pub comm_id: Both<u32>,
    pub guid: Both<u64>,
    pub r_key: Both<u32>,
    pub address: Both<u64>,
    pub q_key: u32,
    pub ip_id: Both<u16>,
    /// First PSNs of the general services queue pairs.
    pub gsi_psn: Both<u32>,
}

/// Queue pairs are counted up from here, at the active and at the passive end.
const FIRST_QPN: Both<u32> = Both { forth: 0x0000_0100, back: 0x0008_0000 };

impl Identity {
    /// The numbers of connection number `index`, from 0.
    pub(crate) fn new(plan: &ConnectionPlan, index: u32, rng: &mut Rng) -> Self {
        let mut draw = || {
            let [a, b, c, d, ..] = rng.next().to_be_bytes();
            u32::from_be_bytes([a, b, c, d])
        };
        let qpn = plan.qpn.unwrap_or(Both {
            forth: FIRST_QPN.forth.wrapping_add(index) & 0xff_ffff,
            back: FIRST_QPN.back.wrapping_add(index) & 0xff_ffff,
        });
        let random = Both::new(draw() >> 8, draw() >> 8);
        let ids = Both::new(draw(), draw());
        let keys = Both::new(draw(), draw());
        let high = Both::new(u64::from(draw() >> 8), u64::from(draw() >> 8));
        let low = draw().to_be_bytes();
        let gsi = Both::new(draw() >> 8, draw() >> 8);
        let port_draw = draw().to_be_bytes();
        let cm_src_port = plan
            .cm
            .as_ref()
            .and_then(|cm| cm.src_port)
            .unwrap_or_else(|| local_port(u16::from_be_bytes([port_draw[0], port_draw[1]])));
        let flow_label = flow_label(plan, &qpn, cm_src_port);
        Self {
            qpn,
            psn: plan.psn.unwrap_or(random),
            udp_src_port: plan.udp_src_port.unwrap_or_else(|| fold(flow_label)),
            cm_src_port,
            flow_label,
            comm_id: ids,
            guid: Both::new(eui64(plan, Dir::Forth), eui64(plan, Dir::Back)),
            r_key: keys,
            // Page-aligned, as buffers of applications are.
            address: Both::new(
                0x7f00_0000_0000 | high.forth << 12,
                0x7f00_0000_0000 | high.back << 12,
            ),
            q_key: 0x1111_1111,
            ip_id: Both::new(
                u16::from_be_bytes([low[0], low[1]]),
                u16::from_be_bytes([low[2], low[3]]),
            ),
            gsi_psn: gsi,
        }
    }

    pub(crate) fn qpn(&self, dir: Dir) -> Qpn {
        Qpn::new(*self.qpn.of(dir))
    }
}

/// Linux picks from its range of local ports, 32768 to 60999.
const fn local_port(draw: u16) -> u16 {
    32_768 | (draw % 28_232)
}

/// The flow label from which Linux derives the UDP source port: RDMA_CM's from its ports
/// (`cma_get_roce_udp_flow_label`), else from both queue pairs (`rdma_calc_flow_label`).
fn flow_label(plan: &ConnectionPlan, qpn: &Both<u32>, cm_src_port: u16) -> u32 {
    if let Some(cm) = &plan.cm {
        let sum = u32::from(cm_src_port).wrapping_mul(31).wrapping_add(u32::from(cm.port));
        return sum & 0xf_ffff;
    }
    from_queue_pairs(qpn.forth, qpn.back)
}

/// The flow label of two queue pairs, the same from both ends.
pub(crate) fn from_queue_pairs(a: u32, b: u32) -> u32 {
    let mut v = u64::from(a).wrapping_mul(u64::from(b));
    v ^= v >> 20;
    v ^= v >> 40;
    u32::try_from(v & 0xf_ffff).unwrap_or(0)
}

/// The UDP source port of a flow label (`rdma_flow_label_to_udp_sport`): 0xc000 to 0xffff.
pub(crate) fn fold(label: u32) -> u16 {
    let folded = label & 0x3fff ^ (label & 0xf_c000) >> 14;
    u16::try_from(folded).unwrap_or(0) | 0xc000
}

/// The GID of an end.
pub(crate) fn gid(plan: &ConnectionPlan, dir: Dir) -> Gid {
    let host = plan.hosts.of(dir);
    match plan.carrier {
        Carrier::V1 | Carrier::V2Ipv4 => Gid::from_ipv4(host.ipv4),
        Carrier::V2Ipv6 => Gid::from(host.ipv6),
    }
}

/// The adapter's GUID: its MAC address with FFFE in the middle.
fn eui64(plan: &ConnectionPlan, dir: Dir) -> u64 {
    let [a, b, c, d, e, f] = plan.hosts.of(dir).mac.0;
    u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_follow_the_rule_of_linux() {
        // By hand from the formulas of `include/rdma/ib_verbs.h`.
        assert_eq!(fold(0), 0xc000);
        assert_eq!(fold(0xf_ffff), 0xffff ^ 0x3f);
        assert_eq!(fold(0x7_9a63), 0xc000 | (0x1a63 ^ 0x1e));
        assert_eq!(from_queue_pairs(1, 1), 1);
        // 0x10_0000 * 0x10 = 0x100_0000; shifted by 20 it is 0x10.
        assert_eq!(from_queue_pairs(0x10_0000, 0x10), 0x10);
        assert_eq!(from_queue_pairs(0x123, 0x4567), from_queue_pairs(0x4567, 0x123));
    }
}
