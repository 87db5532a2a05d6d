//! What the probe's answers mean for RDMA_CM between this host and that one.

use roce_host::compat::{self, Row};
use roce_host::{Host, ModeStatus, PortRef, RoceMode};

/// How this host opens connections by the interface that was used.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) port: PortRef,
    pub(crate) mode: Option<RoceMode>,
    /// Whether the mode is what the kernel starts with, since the setting cannot be read.
    pub(crate) is_default: bool,
}

impl Client {
    /// The RDMA port under an interface; `None` where there is none, or it does not speak RoCE.
    /// What cannot be read of it is no reason to fail: the probe needs no RDMA device.
    pub(crate) fn of(host: &Host, interface: &str) -> Option<Self> {
        let topology = host.topology().ok()?;
        let links = topology.rdma_of(interface);
        let link = links.iter().find(|link| link.device.is_roce(link.port))?;
        let port = link.port_ref();
        let (mode, is_default) = match host.mode(&port) {
            Ok(ModeStatus::Known { mode, .. }) => (mode, false),
            _ => (RoceMode::kernel_default(link.port), true),
        };
        Some(Self { port, mode, is_default })
    }
}

/// The server's mode by what it answered: v2 when it answers over v2, else v1 when over v1.
pub(crate) const fn server(answers_v1: bool, answers_v2: bool) -> Option<RoceMode> {
    match (answers_v1, answers_v2) {
        (_, true) => Some(RoceMode::V2),
        (true, false) => Some(RoceMode::V1),
        (false, false) => None,
    }
}

/// The rows of the table that apply: that of this host's mode, or of both when it has none.
pub(crate) fn rows(client: Option<&Client>, server: Option<RoceMode>) -> Vec<&'static Row> {
    let Some(server) = server else { return Vec::new() };
    match client.and_then(|client| client.mode) {
        Some(mode) => vec![compat::verdict(mode, server)],
        None => [RoceMode::V1, RoceMode::V2].map(|mode| compat::verdict(mode, server)).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_tree::Tree;
    use RoceMode::{V1, V2};

    #[test]
    fn each_row_of_the_table() {
        for (mode, v1, v2, connects, supported) in [
            (V1, true, false, true, true),
            (V1, true, true, true, false),
            (V2, false, true, true, true),
            (V2, true, false, false, false),
        ] {
            let port = PortRef { device: "rxe0".to_owned(), port: 1 };
            let client = Client { port, mode: Some(mode), is_default: false };
            let rows = rows(Some(&client), server(v1, v2));
            assert_eq!(rows.len(), 1);
            assert_eq!((rows[0].connects, rows[0].supported), (connects, supported));
        }
        assert_eq!(rows(None, server(false, true)).len(), 2);
        assert!(rows(None, server(false, false)).is_empty());
    }

    #[test]
    fn the_mode_is_that_of_the_interface() {
        let tree = Tree::soft_roce_small();
        let client = Client::of(&tree.host(), "veth0").unwrap();
        assert_eq!((client.mode, client.is_default), (Some(V2), true));
        tree.add("sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode = IB/RoCE v1");
        let client = Client::of(&tree.host(), "veth0").unwrap();
        assert_eq!((client.mode, client.is_default), (Some(V1), false));
        assert!(Client::of(&tree.host(), "lo").is_none());
        // Through a bond and a VLAN on it.
        assert!(Client::of(&Tree::adapters().host(), "bond0.7").is_some());
    }
}
