//! Recorded answers of a 6.12 kernel against what `rdma` said of the same moment, and damaged ones.

use proptest::prelude::*;

use super::attr::Attrs;
use super::message::{Command, Family, Message, messages, request};
use super::resource::{self, CmState, PortSpace, QpState, QpType, Resources};
use crate::{Counters, Guid, Host};

const SEQUENCE: u32 = 7;

macro_rules! answer {
    ($name:literal) => {
        include_bytes!(concat!("../../fixtures/netlink/", $name, ".bin")).as_slice()
    };
}

/// The answers in a datagram, which must be whole.
fn answers(datagram: &[u8]) -> Vec<Attrs<'_>> {
    messages(Family::Rdma, datagram, SEQUENCE)
        .filter_map(|message| match message.unwrap() {
            Message::Data { attrs, .. } => Some(attrs),
            Message::End { .. } | Message::Other => None,
        })
        .collect()
}

fn end(datagram: &[u8]) -> Option<i32> {
    messages(Family::Rdma, datagram, SEQUENCE).find_map(|message| match message.unwrap() {
        Message::End { errno } => Some(errno),
        Message::Data { .. } | Message::Other => None,
    })
}

/// Runs everything that reads answers.
fn read_all(attrs: Attrs<'_>) {
    let _ = resource::device(attrs);
    let _ = resource::port(attrs);
    let _ = resource::queue_pairs(attrs).count();
    let _ = resource::cm_ids(attrs).count();
    resource::counters(attrs, &mut Counters::default());
}

#[test]
fn requests_are_as_the_kernel_wants_them() {
    // struct nlmsghdr: length, type (5 << 10) + 10, flags request | dump, sequence, port.
    let bytes = request(Command::QueuePairs, SEQUENCE, &[(1, 3)]);
    let mut expected = Vec::new();
    expected.extend(24_u32.to_ne_bytes());
    expected.extend(0x140a_u16.to_ne_bytes());
    expected.extend(0x0301_u16.to_ne_bytes());
    expected.extend(SEQUENCE.to_ne_bytes());
    expected.extend(0_u32.to_ne_bytes());
    expected.extend(8_u16.to_ne_bytes());
    expected.extend(1_u16.to_ne_bytes());
    expected.extend(3_u32.to_ne_bytes());
    assert_eq!(bytes, expected);
}

#[cfg(target_endian = "little")]
mod recorded {
    use super::*;

    #[test]
    fn devices_and_ports() {
        let answers_0 = answers(answer!("devices.0"));
        let device = resource::device(answers_0[0]).unwrap();
        assert_eq!((device.index, device.name.as_str()), (0, "rxe0"));
        assert_eq!(device.node_guid, Guid::parse("0000:00ff:fe77:0001"));
        assert_eq!(device.protocol.as_deref(), Some("roce"));
        assert_eq!((device.ports, device.firmware), (Some(1), None));

        let answers_1 = answers(answer!("devices.1"));
        assert_eq!(resource::device(answers_1[0]).unwrap().name, "rxe1");
        assert_eq!(end(answer!("devices.2")), Some(0));

        let ports = answers(answer!("ports.0"));
        let port = resource::port(ports[0]).unwrap();
        assert_eq!((port.number, port.state, port.phys_state), (1, Some(4), Some(5)));
        assert_eq!((port.netdev.as_deref(), port.netdev_index), (Some("veth0"), Some(2)));
    }

    #[test]
    fn queue_pairs() {
        let answers = answers(answer!("qps.0"));
        let qps: Vec<_> = answers.into_iter().flat_map(resource::queue_pairs).collect();
        assert_eq!(qps.len(), 2);
        let rping = &qps[0];
        assert_eq!((rping.device.as_str(), rping.port), ("rxe0", Some(1)));
        assert_eq!((rping.local_qpn, rping.remote_qpn), (17, Some(117)));
        assert_eq!((rping.kind, rping.state), (Some(QpType::RC), Some(QpState::RTS)));
        assert_eq!((rping.pid, rping.kernel_owner.as_deref()), (Some(205), None));
        // A moment after `rdma` said 13787850 and 12925602.
        assert_eq!((rping.rq_psn, rping.sq_psn), (Some(13_788_149), Some(12_925_752)));

        let gsi = &qps[1];
        assert_eq!((gsi.local_qpn, gsi.remote_qpn, gsi.sq_psn), (1, None, Some(2)));
        assert_eq!(gsi.kind.unwrap().to_string(), "GSI");
        assert_eq!((gsi.pid, gsi.kernel_owner.as_deref()), (None, Some("ib_core")));
    }

    #[test]
    fn cm_ids() {
        let answers = answers(answer!("cm-ids.0"));
        let ids: Vec<_> = answers.into_iter().flat_map(resource::cm_ids).collect();
        assert_eq!(ids.len(), 2);
        assert_eq!((ids[0].id, ids[0].state), (Some(0), Some(CmState::LISTEN)));
        assert_eq!(ids[0].source, "10.77.0.2:7174".parse().ok());
        assert_eq!(ids[0].destination, "0.0.0.0:0".parse().ok());
        assert_eq!((ids[0].local_qpn, ids[0].qp_type), (None, None));

        assert_eq!((ids[1].id, ids[1].state), (Some(1), Some(CmState::CONNECT)));
        assert_eq!((ids[1].local_qpn, ids[1].qp_type), (Some(117), Some(QpType::RC)));
        assert_eq!(ids[1].destination, "10.77.0.1:44921".parse().ok());
        assert_eq!(ids[1].port_space.map(|space| space.to_string()).as_deref(), Some("TCP"));
        assert_eq!((ids[1].port_space, ids[1].pid), (Some(PortSpace(0x106)), Some(202)));
    }

    #[test]
    fn a_connection_and_its_owner() {
        let resources = Resources {
            queue_pairs: answers(answer!("qps.0"))
                .into_iter()
                .flat_map(resource::queue_pairs)
                .collect(),
            cm_ids: Vec::new(),
        };
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/205")).unwrap();
        std::fs::write(dir.path().join("proc/205/comm"), "rping\n").unwrap();
        let host = Host::at(dir.path());
        let rping = resources.queue_pair(Some("rxe0"), 17, Some(117)).unwrap();
        assert_eq!(rping.owner(&host).as_deref(), Some("rping"));
        assert_eq!(resources.queue_pair(None, 17, None), Some(rping));
        assert_eq!(resources.queue_pair(Some("rxe1"), 17, None), None);
        assert_eq!(resources.queue_pair(None, 17, Some(18)), None);
        let gsi = resources.queue_pair(None, 1, None).unwrap();
        assert_eq!(gsi.owner(&host).as_deref(), Some("[ib_core]"));
        assert_eq!(resources.cm_id_of(rping), None);
    }

    #[test]
    fn counters() {
        let mut counters = Counters::default();
        for attrs in answers(answer!("counters.0")) {
            resource::counters(attrs, &mut counters);
        }
        assert_eq!(counters.values.len(), 15);
        // Between the two of `rdma`, 2501 and 2838.
        assert_eq!(counters.get("sent_pkts"), Some(2719));
        assert_eq!(counters.get("duplicate_request"), Some(0));
        assert_eq!(end(answer!("counters.1")), Some(0));
    }

    #[test]
    fn an_error_is_an_error() {
        assert_eq!(end(answer!("no-device.0")), Some(libc::EINVAL));
    }

    /// An answer to an older question is passed over.
    #[test]
    fn another_sequence_number() {
        let mut all = messages(Family::Rdma, answer!("qps.0"), SEQUENCE + 1);
        assert!(matches!(all.next(), Some(Ok(Message::Other))));
        assert!(all.next().is_none());
    }

    /// Cut anywhere, an answer is refused and the offset said, never read half.
    #[test]
    fn truncation_is_reported() {
        let whole = answer!("qps.0");
        for cut in 1..whole.len() {
            let damaged =
                messages(Family::Rdma, &whole[..cut], SEQUENCE).find_map(Result::err).unwrap();
            assert_eq!(damaged.offset, 0, "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn flipped_bits_do_no_harm(at in 0_usize..672, bit in 0_u32..8) {
            for recorded in [answer!("qps.0"), answer!("cm-ids.0"), answer!("counters.0")] {
                let mut bytes = recorded.to_vec();
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
                for message in messages(Family::Rdma, &bytes, SEQUENCE) {
                    if let Ok(Message::Data { attrs, .. }) = message {
                        read_all(attrs);
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(messages(Family::Rdma, &bytes, SEQUENCE).count() <= bytes.len() / 16 + 1);
        read_all(Attrs(&bytes));
    }
}
