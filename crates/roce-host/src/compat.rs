//! Which RDMA_CM modes of client and server connect.
//!
//! The client decides which version its connection uses; the server's side answers in the version
//! of the request (Linux takes the address of the request for its reply). So what matters is
//! whether the server has the client's version, not which one it would use as a client.
//!
//! One table, read by everything that judges a pair of hosts. The outcomes are those of Red Hat
//! Enterprise Linux 7, Networking Guide, section 13.2; that mixing is not supported is the rule
//! of the later documents, RHEL 8 to 10, "Configuring RoCE".

use crate::RoceMode;

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The mode of the side that connects.
    pub client: RoceMode,
    /// The mode of the side that listens; `V1` is one that has no RoCE v2 at all.
    pub server: RoceMode,
    /// Whether a connection comes about.
    pub connects: bool,
    /// Whether the later documents support the pair.
    pub supported: bool,
    /// Why.
    pub reason: &'static str,
    /// What a capture of the attempt shows.
    pub on_wire: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// Where this is written.
    pub source: &'static str,
}

const RHEL7: &str = "RHEL 7 Networking Guide, 13.2";
const RHEL7_AND_LATER: &str =
    "RHEL 7 Networking Guide, 13.2; mixing unsupported: RHEL 8 to 10, Configuring RoCE";

const V1_TO_V1: Row = Row {
    client: RoceMode::V1,
    server: RoceMode::V1,
    connects: true,
    supported: true,
    reason: "both use RoCE v1",
    on_wire: "Ethertype 0x8915 both ways",
    advice: "nothing to do; RoCE v1 does not cross routers",
    source: RHEL7,
};

const V1_TO_V2: Row = Row {
    client: RoceMode::V1,
    server: RoceMode::V2,
    connects: true,
    supported: false,
    reason: "the server's hardware has both versions and answers in the client's",
    on_wire: "Ethertype 0x8915 both ways, though the server's mode is v2",
    advice: "set both sides to the same mode; mixing them is not supported",
    source: RHEL7_AND_LATER,
};

const V2_TO_V2: Row = Row {
    client: RoceMode::V2,
    server: RoceMode::V2,
    connects: true,
    supported: true,
    reason: "both use RoCE v2",
    on_wire: "UDP destination port 4791 both ways",
    advice: "nothing to do",
    source: RHEL7,
};

const V2_TO_V1: Row = Row {
    client: RoceMode::V2,
    server: RoceMode::V1,
    connects: false,
    supported: false,
    reason: "the server has no RoCE v2, so the request is not understood",
    on_wire: "the client's CM REQ to UDP port 4791 repeats with one transaction id, and no CM \
              message answers; the server's kernel may send ICMP port unreachable",
    advice: "set the client to v1",
    source: RHEL7_AND_LATER,
};

/// The whole table.
pub const TABLE: [&Row; 4] = [&V1_TO_V1, &V1_TO_V2, &V2_TO_V2, &V2_TO_V1];

/// The line for a client and a server.
#[must_use]
pub const fn verdict(client: RoceMode, server: RoceMode) -> &'static Row {
    match (client, server) {
        (RoceMode::V1, RoceMode::V1) => &V1_TO_V1,
        (RoceMode::V1, RoceMode::V2) => &V1_TO_V2,
        (RoceMode::V2, RoceMode::V2) => &V2_TO_V2,
        (RoceMode::V2, RoceMode::V1) => &V2_TO_V1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RoceMode::{V1, V2};

    /// Red Hat's table, row by row.
    #[test]
    fn the_documented_outcomes() {
        for (client, server, connects, supported) in [
            (V1, V1, true, true),
            (V1, V2, true, false),
            (V2, V2, true, true),
            (V2, V1, false, false),
        ] {
            let row = verdict(client, server);
            assert_eq!((row.client, row.server), (client, server));
            assert_eq!((row.connects, row.supported), (connects, supported), "{row:?}");
            assert!(TABLE.contains(&row));
        }
    }
}
