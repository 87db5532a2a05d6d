//! What an operator wants of a wire, and what the source of frames says of itself.

use serde::Deserialize;

/// How traffic is to be marked, and from when on something is too much.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// Whether unmarked traffic is held to the marks below as well. Without it only traffic is
    /// that someone has marked: a wire without any marks may be meant so.
    pub strict: bool,
    /// DSCP of packets with data.
    pub data_dscp: u8,
    /// VLAN priority of packets with data.
    pub data_pcp: u8,
    /// DSCP of congestion notifications.
    pub cnp_dscp: u8,
    /// VLAN priority of congestion notifications.
    pub cnp_pcp: u8,
    /// Bits a second, to turn pause quanta into time. The tracker has to know it, so whoever reads a
    /// policy gives it to [the tracker](crate::connections::Config::with_link_speed).
    pub link_speed: Option<u64>,
    /// Nanoseconds without a break for which a priority is paused from which on it is a storm.
    pub pfc_storm_ns: u64,
    /// Percent of a second for which a priority is paused from which on it is a storm.
    pub pfc_storm_percent: u64,
    /// Pause frames of one priority in one second from which on it is a storm, where the speed of
    /// the link is not known, unless they cannot pause it for that percentage on any link.
    pub pfc_storm_per_second: u64,
    /// RNR NAKs of a connection for each hundred messages from which on it is a storm.
    pub rnr_storm_percent: u64,
    /// Connections between two hosts from which on their UDP source ports are compared.
    pub entropy_connections: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            strict: false,
            data_dscp: 26,
            data_pcp: 3,
            cnp_dscp: 48,
            cnp_pcp: 6,
            link_speed: None,
            pfc_storm_ns: 2_000_000,
            pfc_storm_percent: 10,
            pfc_storm_per_second: 1_000,
            rnr_storm_percent: 10,
            entropy_connections: 8,
        }
    }
}

/// What the source of the frames says of itself.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CaptureFacts {
    /// Frames that the kernel or the device dropped before they could be captured.
    pub dropped: Option<u64>,
    /// What is wrong with the file.
    pub damaged: Option<String>,
}
