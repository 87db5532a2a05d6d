//! Devices, ports, GID tables and interfaces, read from trees of files.

use std::net::IpAddr;

use crate::tree::Tree;
use roce_host::events::{self, CounterFamily, WireEvent};
use roce_host::{CaptureWay, Error, GidType, Host, RoceMode, Visibility};

/// Against what `ibv_devinfo`, `ibstat` and `rdma link` said on that host.
#[test]
fn soft_roce_as_its_own_tools_show_it() {
    let tree = Tree::soft_roce();
    let devices = tree.host().rdma_devices().unwrap();
    assert_eq!(devices.len(), 1);
    let device = &devices[0];
    assert_eq!((device.name.as_str(), device.driver.as_deref()), ("rxe0", Some("rdma_rxe")));
    assert_eq!(device.firmware, None);
    assert_eq!(device.node_guid.unwrap().to_string(), "0000:00ff:fe77:0001");
    assert_eq!(device.node_type.as_ref().unwrap().to_string(), "CA");
    assert_eq!(device.visibility, Visibility::OnNetdev);

    let port = device.port(1).unwrap();
    assert!(port.is_active() && device.is_roce(port));
    assert_eq!(port.phys_state.as_ref().unwrap().to_string(), "LinkUp");
    assert_eq!(port.rate.as_ref().unwrap().mbit_per_sec, 10_000);
    assert_eq!((port.lid, port.netdevs.as_slice()), (None, &["veth0".to_owned()][..]));

    let gids: Vec<_> = port
        .gids
        .entries
        .iter()
        .map(|gid| format!("{} {} {} {:?}", gid.index, gid.gid, gid.kind, gid.netdev))
        .collect();
    assert_eq!(
        gids,
        [
            "0 fe80::ff:fe77:1 RoCE v2 Some(\"veth0\")",
            "1 ::ffff:10.77.0.1 RoCE v2 Some(\"veth0\")",
            "2 fd77::1 RoCE v2 Some(\"veth0\")",
        ]
    );
    assert_eq!((port.gids.slots, port.gids.unreadable), (1024, 0));
    assert_eq!(RoceMode::kernel_default(port), Some(RoceMode::V2));
}

#[test]
fn an_adapter_with_both_versions() {
    let tree = Tree::adapters();
    let device = tree.host().rdma_device("mlx5_0").unwrap();
    assert_eq!(device.driver.as_deref(), Some("mlx5_core"));
    assert_eq!(device.firmware.as_deref(), Some("22.35.1012"));
    assert_eq!(device.board.as_deref(), Some("MT_0000000359"));
    assert_eq!(device.visibility.ways().first(), Some(&CaptureWay::RdmaDevice));
    assert_eq!(device.visibility.bypasses_kernel(), Some(true));
    assert_eq!(
        CaptureWay::RdmaDevice.command("mlx5_0", "eth2").as_deref(),
        Some("roce-sniff -i mlx5_0")
    );

    let port = &device.ports[0];
    // The representor of a virtual function is not an interface of the port.
    assert_eq!(port.netdevs, ["eth2", "eth2.100"]);
    assert_eq!((port.gids.slots, port.gids.unreadable), (256, 1));
    assert_eq!(port.gids.types(), ["IB/RoCE v1", "RoCE v2", "RoCE v3"]);
    assert!(port.gids.offers(RoceMode::V1) && port.gids.offers(RoceMode::V2));
    // One GID, two entries: the index chooses the version.
    let (third, fourth) = (port.gids.get(3).unwrap(), port.gids.get(4).unwrap());
    assert_eq!((third.gid, &third.kind, &fourth.kind), (fourth.gid, &GidType::V1, &GidType::V2));
    assert_eq!(third.ip(), "10.0.0.1".parse::<IpAddr>().unwrap());
    assert_eq!(port.gids.get(6).unwrap().netdev, None);
    assert!(port.gids.get(2).is_none());
}

#[test]
fn iwarp_and_infiniband_are_not_roce() {
    let tree = Tree::adapters();
    let devices = tree.host().rdma_devices().unwrap();
    let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["mlx5_0", "mlx5_10", "rocep2s0f0"]);
    for (device, is_roce) in devices.iter().zip([true, false, false]) {
        assert_eq!(device.is_roce(&device.ports[0]), is_roce, "{}", device.name);
    }
    assert_eq!(devices[1].ports[0].lid, Some(42));
    assert_eq!(devices[2].visibility, Visibility::Offloaded { how: &[CaptureWay::Mirror] });
    assert!(!devices[2].ports[0].is_active());
}

#[test]
fn gids_that_their_interface_does_not_have() {
    let tree = Tree::adapters();
    let device = tree.host().rdma_device("mlx5_0").unwrap();
    let addresses = [
        ("eth2".to_owned(), "10.0.0.1".parse().unwrap()),
        // The VLAN's address stands on another interface.
        ("eth2".to_owned(), "10.100.0.1".parse().unwrap()),
    ];
    let stale = device.ports[0].gids.without_address(&addresses);
    assert_eq!(stale.iter().map(|gid| gid.index).collect::<Vec<_>>(), [5]);
}

#[test]
fn interfaces_and_what_stands_on_them() {
    let tree = Tree::adapters();
    let topology = tree.host().topology().unwrap();
    assert!(topology.interface("bonding_masters").is_none());
    let eth2 = topology.interface("eth2").unwrap();
    assert_eq!((eth2.index, eth2.mtu, eth2.arp_type), (Some(4), Some(9000), Some(1)));
    assert_eq!(eth2.operstate.as_deref(), Some("up"));
    assert_eq!(eth2.driver.as_deref(), Some("mlx5_core"));

    let links = |name: &str| -> Vec<_> {
        topology
            .rdma_of(name)
            .iter()
            .map(|link| format!("{}/{} {}", link.device.name, link.port.number, link.distance))
            .collect()
    };
    assert_eq!(links("eth2"), ["mlx5_0/1 0"]);
    assert_eq!(links("eth2.100"), ["mlx5_0/1 0"]); // It has a GID of its own.
    assert_eq!(links("bond0"), ["mlx5_0/1 1"]);
    assert_eq!(links("bond0.7"), ["mlx5_0/1 2"]);
    assert_eq!(links("ens2f0"), ["rocep2s0f0/1 0"]);
    for none in ["eth9", "loop_a", "no-such", ""] {
        assert!(links(none).is_empty(), "{none}");
    }
}

#[test]
fn counters_and_their_changes() {
    let tree = Tree::adapters();
    let host = tree.host();
    let before = host.hw_counters("mlx5_0", 1).unwrap();
    assert_eq!((before.get("np_cnp_sent"), before.lifespan_ms), (Some(40), Some(10)));
    assert_eq!(before.get("lifespan"), None);
    let dir = "sys/class/infiniband/mlx5_0/ports/1/hw_counters";
    std::fs::write(tree.path(&format!("{dir}/np_cnp_sent")), "42\n").unwrap();
    std::fs::write(tree.path(&format!("{dir}/out_of_sequence")), "3\n").unwrap();
    let changes = host.hw_counters("mlx5_0", 1).unwrap().since(&before);
    let deltas: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.delta())).collect();
    // A counter that went back was reset: its change is not known.
    assert_eq!(deltas, [("np_cnp_sent", Some(2)), ("out_of_sequence", None)]);

    let port = host.port_counters("mlx5_0", 1).unwrap();
    assert_eq!(port.get("port_xmit_data"), Some(12_345_678_901));
    assert_eq!(port.get("symbol_error"), None);
    assert!(matches!(host.hw_counters("mlx5_0", 3), Err(Error::NoSuchPort { port: 3, .. })));

    let tree = Tree::soft_roce_small();
    assert!(tree.host().cm_counters("rxe0", 1).unwrap().get("cm_tx_msgs/req").is_some());
    assert!(tree.host().port_counters("rxe0", 1).unwrap().values.is_empty());
}

/// A run in which the other side lost packets, as the wire would count it.
#[test]
fn events_by_counter() {
    let tree = Tree::adapters();
    let host = tree.host();
    let before = host.hw_counters("mlx5_0", 1).unwrap();
    let mut after = before.clone();
    after.values.insert("out_of_sequence".to_owned(), 9);
    after.values.insert("np_cnp_sent".to_owned(), 39);
    let counts = events::counts(CounterFamily::Mlx5, &before, &after);
    let counts: Vec<_> = counts.iter().map(|c| (c.event, c.count)).collect();
    // Events whose counters are not there are absent; a counter that went back says nothing.
    assert_eq!(counts, [(WireEvent::SequenceNakSent, Some(2)), (WireEvent::CnpSent, None)]);
    let device = host.rdma_device("mlx5_0").unwrap();
    let family = CounterFamily::of_driver(device.driver.as_deref().unwrap());
    assert_eq!(family, Some(CounterFamily::Mlx5));
}

#[test]
fn cm_counters_of_older_kernels() {
    let tree = Tree::adapters();
    tree.add("sys/class/infiniband_cm/mlx5_0/1/cm_tx_msgs/req = 5");
    assert_eq!(tree.host().cm_counters("mlx5_0", 1).unwrap().get("cm_tx_msgs/req"), Some(5));
}

#[test]
fn a_host_without_rdma() {
    let tree = Tree::new("sys/class/net/lo/ifindex = 1");
    let host = tree.host();
    assert!(host.rdma_devices().unwrap().is_empty());
    assert_eq!(host.interfaces().unwrap().len(), 1);
    let error = host.rdma_device("mlx5_0").unwrap_err();
    assert!(error.to_string().contains("rdma link add"), "{error}");
    assert!(matches!(host.rdma_device("../net"), Err(Error::DeviceName { .. })));

    let error = Tree::soft_roce_small().host().rdma_device("mlx5_0").unwrap_err();
    assert_eq!(error.to_string(), "no RDMA device \"mlx5_0\"; there is rxe0");
    assert!(Host::at("/nonexistent").rdma_devices().unwrap().is_empty());
}

/// Neither a pipe nor an endless file in a tree that someone prepared stops the reader.
#[test]
fn prepared_trees_do_not_hang_it() {
    let tree = Tree::soft_roce_small();
    let fw_ver = tree.path("sys/class/infiniband/rxe0/fw_ver");
    std::fs::remove_file(&fw_ver).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &fw_ver).unwrap();
    let board = tree.path("sys/class/infiniband/rxe0/board_id");
    assert!(std::process::Command::new("mkfifo").arg(&board).status().unwrap().success());
    let device = tree.host().rdma_device("rxe0").unwrap();
    assert_eq!(device.board, None);
}
