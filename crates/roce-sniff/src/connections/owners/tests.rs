//! A capture of soft-RoCE, 10.77.0.1 qp 0x13 to 10.77.0.2 qp 0x77, beside the tree of its host.

use super::*;
use crate::test_tree::Tree;
use roce_analyze::connections::{Config, Tracker};
use roce_capture::FileReader;
use roce_host::netlink::CmState;
use roce_wire::{Frame, Link, Ports};

const CLIENT: u32 = 0x13;
const SERVER: u32 = 0x77;

fn connections() -> Vec<Connection> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/rxe/loss_write_b.pcap");
    let mut file = FileReader::open(path.as_ref()).unwrap();
    let mut tracker = Tracker::new(Config::default());
    while let Some(captured) = file.next_frame().unwrap() {
        let len = captured.wire_len as usize;
        let frame = Frame::parse(Link::Ethernet, captured.data, len, &Ports::default());
        tracker.observe(&frame, captured.number, captured.time_ns);
    }
    tracker.finish().connections
}

/// A queue pair of rxe0, which has 10.77.0.1, and of process 205.
fn qp(local: u32, remote: u32) -> QpInfo {
    QpInfo {
        device: "rxe0".to_owned(),
        port: Some(1),
        local_qpn: local,
        remote_qpn: Some(remote),
        rq_psn: None,
        sq_psn: None,
        kind: Some(QpType::RC),
        state: None,
        pid: Some(205),
        kernel_owner: None,
    }
}

fn cm_id(local: u32, destination: &str) -> CmId {
    CmId {
        device: "rxe0".to_owned(),
        port: Some(1),
        id: Some(1),
        local_qpn: Some(local),
        qp_type: Some(QpType::RC),
        state: Some(CmState::CONNECT),
        port_space: None,
        source: "10.77.0.1:44921".parse().ok(),
        destination: destination.parse().ok(),
        pid: Some(205),
        kernel_owner: None,
    }
}

/// What the host says of the one connection, after moments with these queue pairs and CM ids.
fn joined(change: impl Fn(&mut Connection), moments: &[(Vec<QpInfo>, Vec<CmId>)]) -> Connection {
    let tree = Tree::soft_roce_small();
    tree.add("proc/205/comm = rping");
    let mut owners = Owners::new(tree.host(), None);
    for (queue_pairs, cm_ids) in moments {
        let moment = Resources { queue_pairs: queue_pairs.clone(), cm_ids: cm_ids.clone() };
        owners.keep(&moment);
    }
    let mut connections = connections();
    assert_eq!(connections.len(), 1);
    connections.iter_mut().for_each(change);
    owners.join(&mut connections);
    connections.remove(0)
}

fn rping(cm_port: Option<u16>) -> Option<Box<Owner>> {
    Some(Box::new(Owner { process: Some("rping".to_owned()), pid: Some(205), cm_port }))
}

#[test]
fn the_local_end_has_a_process() {
    let own = qp(CLIENT, SERVER);
    let found = joined(|_| {}, &[(vec![own.clone()], vec![])]);
    assert_eq!(found.owners, [rping(None), None]);
    assert_eq!(found.learned_from, connections()[0].learned_from);

    let id = cm_id(CLIENT, "10.77.0.2:7174");
    let found = joined(|_| {}, &[(vec![own.clone()], vec![id]), (vec![], vec![])]);
    assert_eq!(found.owners, [rping(Some(44921)), None]);

    // First seen before it was connected.
    let found = joined(|_| {}, &[(vec![qp(CLIENT, 0)], vec![]), (vec![own], vec![])]);
    assert_eq!(found.owners, [rping(None), None]);
    let found = joined(|_| {}, &[(vec![qp(CLIENT, 0)], vec![])]);
    assert_eq!(found.owners, [rping(None), None]);
}

#[test]
fn other_queue_pairs_are_not_it() {
    let other_device = QpInfo { device: "rxe1".to_owned(), ..qp(CLIENT, SERVER) };
    let datagram = QpInfo { kind: Some(QpType::UD), ..qp(CLIENT, SERVER) };
    for other in [qp(CLIENT, 0x78), qp(0x14, SERVER), other_device, datagram] {
        let found = joined(|_| {}, &[(vec![other.clone()], vec![])]);
        assert_eq!(found.owners, [None, None], "{other:?}");
    }
    let id = cm_id(CLIENT, "10.77.0.9:7174");
    let found = joined(|_| {}, &[(vec![qp(CLIENT, SERVER)], vec![id])]);
    assert_eq!(found.owners, [None, None], "the connection manager names another host");
}

/// The number was used again meanwhile, with the same one on the other side.
#[test]
fn what_fits_two_processes_is_left_out() {
    let later = QpInfo { pid: Some(206), ..qp(CLIENT, SERVER) };
    let found = joined(|_| {}, &[(vec![qp(CLIENT, SERVER)], vec![]), (vec![later], vec![])]);
    assert_eq!(found.owners, [None, None]);
}

#[test]
fn the_kernel_owns_some() {
    let own =
        QpInfo { pid: None, kernel_owner: Some("nvme_rdma".to_owned()), ..qp(CLIENT, SERVER) };
    let found = joined(|_| {}, &[(vec![own], vec![])]);
    let owner = found.owners[0].as_ref().unwrap();
    assert_eq!((owner.process.as_deref(), owner.pid), (Some("[nvme_rdma]"), None));
}

/// One way only was captured: either the own number is missing, or the other side's.
#[test]
fn the_host_knows_both_numbers() {
    for forgets_a in [true, false] {
        let one_way = |connection: &mut Connection| {
            (connection.learned_from, connection.confidence) = (None, None);
            let end = if forgets_a { &mut connection.a } else { &mut connection.b };
            end.qpn = None;
        };
        let found = joined(one_way, &[(vec![qp(CLIENT, SERVER)], vec![])]);
        assert_eq!((found.a.qpn, found.b.qpn), (Some(CLIENT), Some(SERVER)));
        assert_eq!(found.learned_from, Some(LearnedFrom::Host));
        assert_eq!(found.owners, [rping(None), None]);
    }
    let one_way = |connection: &mut Connection| connection.a.qpn = None;
    let two = vec![qp(CLIENT, SERVER), qp(0x14, SERVER)];
    let found = joined(one_way, &[(two, vec![])]);
    assert_eq!((found.a.qpn, found.owners), (None, [None, None]), "to two hosts, perhaps");
}
