//! Trees of files beside captures whose counts the kernel told.

use super::*;
use crate::test_tree::Tree;
use roce_analyze::verdict::{Config, FrameInfo, NoteId};
use roce_capture::FileReader;
use roce_wire::{Link, Ports};

/// The host beside a fixture, as if it had been captured from `name` on that host.
fn watched(tree: &Tree, name: &str, fixture: Option<&str>) -> (Option<Beside>, Verdict) {
    let mut beside = Beside::of(tree.host(), name, true);
    let mut verdict = Verdict::new(Config::default());
    if let Some(beside) = &mut beside {
        beside.start();
    }
    if let Some(fixture) = fixture {
        let dir = env!("CARGO_MANIFEST_DIR");
        let path = format!("{dir}/../../fixtures/{fixture}.pcap");
        let mut file = FileReader::open(path.as_ref()).unwrap();
        while let Some(captured) = file.next_frame().unwrap() {
            let len = captured.wire_len as usize;
            let frame = Frame::parse(Link::Ethernet, captured.data, len, &Ports::default());
            let bad = verdict.icrc_bad;
            let info = FrameInfo {
                number: captured.number,
                time_ns: captured.time_ns,
                wire_len: captured.wire_len,
            };
            verdict.observe(&frame, Link::Ethernet, &info);
            if let Some(beside) = &mut beside {
                beside.frame(&captured, &frame, verdict.icrc_bad > bad);
            }
        }
    }
    (beside, verdict)
}

fn notes(tree: &Tree, name: &str, fixture: Option<&str>) -> Vec<HostNote> {
    let (beside, verdict) = watched(tree, name, fixture);
    beside.unwrap().end(&verdict).notes
}

/// Each fixture was captured on veth0 of the host with rxe0, or on veth1 of the one with rxe1,
/// and beside it lies how much each counter of either device grew.
#[test]
fn the_wire_is_counted_as_soft_roce_counts() {
    for (fixture, port) in [
        ("rxe/loss_a", "rxe0"),
        ("rxe/loss_b", "rxe1"),
        ("rxe/err_rnr", "rxe0"),
        ("rxe/reorder_a", "rxe0"),
        ("rxe/rping_v4", "rxe0"),
        ("rxe/rping_v6", "rxe0"),
    ] {
        let tree = Tree::soft_roce_small();
        if port == "rxe1" {
            // The same tree for the other end.
            let gids = "sys/class/infiniband/rxe0/ports/1/gids";
            for (index, gid) in [
                (1, "0000:0000:0000:0000:0000:ffff:0a4d:0002"),
                (2, "fd77:0000:0000:0000:0000:0000:0000:0002"),
            ] {
                std::fs::write(tree.path(gids).join(index.to_string()), gid).unwrap();
            }
        }
        let (beside, _) = watched(&tree, "veth0", Some(fixture));
        let counted = beside.unwrap().wire.counts();
        let of = |event| counted.iter().find(|(one, _)| *one == event).unwrap().1;
        let path = format!("{}/../../fixtures/{fixture}.counters", env!("CARGO_MANIFEST_DIR"));
        let grown = std::fs::read_to_string(path).unwrap();
        let kernel = |counter: &str| -> u64 {
            let line = grown.lines().find(|line| line.starts_with(&format!("{port} {counter} ")));
            line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
        };
        for (event, counter) in [
            (WireEvent::SequenceNakSent, "out_of_seq_request"),
            (WireEvent::RnrNakSent, "send_rnr_err"),
            (WireEvent::RnrNakReceived, "rcvd_rnr_err"),
            (WireEvent::DuplicateRequest, "duplicate_request"),
            (WireEvent::PacketSent, "sent_pkts"),
            (WireEvent::PacketReceived, "rcvd_pkts"),
        ] {
            assert_eq!(of(event), kernel(counter), "{fixture} {event}");
        }
    }
}

#[test]
fn nothing_seen_on_an_offloaded_interface_says_what_to_capture() {
    let notes = notes(&Tree::adapters(), "eth2", None);
    assert_eq!((notes.len(), notes[0].id), (1, "kernel-bypass"));
    assert!(notes[0].instead_of.contains(&NoteId::KernelBypass));
    let text = &notes[0].text;
    assert!(text.contains("RDMA of mlx5_0/1 bypasses the kernel"), "{text}");
    assert!(text.contains("`roce-sniff -i mlx5_0`"), "{text}");
    assert!(text.contains("a mirror port of the switch"), "{text}");
    // Through the bond and its VLAN, the switch is still that of the port.
    let vlan = self::notes(&Tree::adapters(), "bond0.7", None);
    assert!(vlan[0].text.contains("--set-priv-flags eth2 sniffer on"), "{}", vlan[0].text);
}

#[test]
fn nothing_seen_elsewhere() {
    let text = |tree: &Tree, name: &str| notes(tree, name, None)[0].text.clone();
    let adapters = Tree::adapters();
    assert!(text(&adapters, "eth9").contains("mlx5_0 on eth2"));
    assert!(text(&adapters, "mlx5_0").contains("the RDMA device itself"));
    let soft = Tree::soft_roce_small();
    assert!(text(&soft, "veth0").contains("there was none"));
    let plain = Tree::new("sys/class/net/eth0/ifindex = 2");
    assert!(text(&plain, "eth0").contains("no RDMA device"));
    assert!(Beside::of(plain.host(), "no-such-0", true).is_none());
}

#[test]
fn a_mode_that_the_wire_contradicts_is_noted() {
    let tree = Tree::soft_roce_small();
    let mode = "sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode";
    tree.add(&format!("{mode} = IB/RoCE v1"));
    let found = notes(&tree, "veth0", Some("rxe/rping_v4"));
    assert_eq!((found.len(), found[0].id), (1, "host-mode-disagrees"));
    assert!(found[0].text.contains("opens connections with RoCE v1"), "{}", found[0].text);
    std::fs::write(tree.path(mode), "RoCE v2\n").unwrap();
    assert!(notes(&tree, "veth0", Some("rxe/rping_v4")).is_empty());
}
