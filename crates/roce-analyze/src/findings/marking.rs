//! DSCP and VLAN priority against the policy.

use super::collect::{Collector, ways};
use super::policy::Policy;
use crate::connections::{DirectionReport, Report};

pub(super) fn judge(report: &Report, policy: &Policy, found: &mut Collector) {
    // Marks say something where someone has set any.
    let any = |mask: fn(&DirectionReport) -> u64| {
        report.connections.iter().flat_map(|c| c.directions()).any(|d| mask(d) & !1 != 0)
    };
    let are_dscps_used = policy.strict || any(|d| d.data_dscps);
    let are_pcps_used = policy.strict || any(|d| u64::from(d.pcps));
    for connection in &report.connections {
        for (way, direction) in ways(connection) {
            let first = direction.first_frame.map_or(connection.first_frame, |n| n.get().into());
            let first = [first];
            if are_dscps_used {
                let wrong = direction.data_dscps & !bit(policy.data_dscp);
                list(found, "dscp-policy", &way, wrong, policy.data_dscp, first);
            }
            let cnps = direction.cnp_dscps & !bit(policy.cnp_dscp);
            let frames = direction.frames(crate::connections::Event::Cnp).collect::<Vec<_>>();
            list(found, "cnp-unprioritised", &way, cnps, policy.cnp_dscp, frames);
            if are_pcps_used && direction.data_dscps != 0 {
                // Notifications may be among them: their priority is allowed as well.
                let allowed = bit(policy.data_pcp) | bit(policy.cnp_pcp);
                let wrong = u64::from(direction.pcps) & !allowed;
                list(found, "pcp-policy", &way, wrong, policy.data_pcp, first);
            }
        }
    }
}

fn bit(number: u8) -> u64 {
    1u64.checked_shl(u32::from(number)).unwrap_or(0)
}

fn list(
    found: &mut Collector,
    id: &'static str,
    way: &str,
    wrong: u64,
    wanted: u8,
    frames: impl IntoIterator<Item = u64>,
) {
    if wrong == 0 {
        return;
    }
    let Some(finding) = found.add(id, way, 1, frames) else { return };
    finding.number("wanted", u64::from(wanted));
    if id == "dscp-policy" {
        // As hosts are told it: the DSCP, and ECT(0) below.
        finding.number("traffic_class", u64::from(wanted) << 2 | 2);
    }
    for number in (0u8..64).filter(|number| wrong & bit(*number) != 0) {
        finding.list_number("seen", u64::from(number));
    }
}
